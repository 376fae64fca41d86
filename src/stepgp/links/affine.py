"""A link in other units: shift + scale · g."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self, final

import numpy as np
import numpy.typing as npt

from stepgp._array import Array, Floats
from stepgp.cells.base import Expectation
from stepgp.links.base import Link
from stepgp.links.feature import Feature, Support

_POWERS = (Feature.VALUE, Feature.SQUARE)


@final
@dataclass(frozen=True)
class Affine(Link):
    """shift + scale · g(x): a link learnt on standardised targets, back in the user's units."""

    inner: Link
    shift: float
    scale: float
    lipschitz: float | None = field(init=False, default=None)

    support = Support.REAL

    def __post_init__(self) -> None:
        if self.inner.lipschitz is not None:
            object.__setattr__(self, "lipschitz", abs(self.scale) * self.inner.lipschitz)

    def __call__(self, x: Array) -> Array:
        return self.shift + self.scale * self.inner(x)

    def inverse(self, level: npt.ArrayLike) -> Floats | None:
        return self.inner.inverse((np.asarray(level, dtype=np.float64) - self.shift) / self.scale)

    def image(self, mean: Floats, var: Floats) -> tuple[Floats, Floats] | None:
        inner = self.inner.image(mean, var)
        if inner is None:
            return None
        return self.shift + self.scale * inner[0], self.scale**2 * inner[1]

    @property
    def params(self) -> Floats:
        return self.inner.params

    def with_params(self, params: Floats) -> Self:
        return replace(self, inner=self.inner.with_params(params))

    @property
    def bounds(self) -> Floats:
        return self.inner.bounds

    def log_prior(self) -> float:
        return self.inner.log_prior()

    def log_prior_gradient(self) -> Floats:
        return self.inner.log_prior_gradient()

    def pull(self, feature: Feature, points: Floats, adjoint: Floats) -> Floats:
        """∂(s + c g) = c ∂g and ∂(s + c g)² = 2sc ∂g + c² ∂g²."""
        by_value = self.scale * adjoint
        if feature is Feature.SQUARE:
            by_value = 2.0 * self.shift * by_value
            by_square = self.inner.pull(Feature.SQUARE, points, self.scale**2 * adjoint)
            return by_square + self.inner.pull(Feature.VALUE, points, by_value)
        return self.inner.pull(Feature.VALUE, points, by_value)

    def completed(self, default: Link) -> Affine:
        return replace(self, inner=self.inner.completed(default))

    def placed(self, centre: float, reach: float) -> Affine:
        return replace(self, inner=self.inner.placed(centre, reach))

    def conditioned(
        self, points: Floats, features: tuple[Feature, ...], statistics: Floats
    ) -> Affine:
        own = self._inner_statistics(features, statistics)
        return replace(self, inner=self.inner.conditioned(points, _POWERS, own))

    def informed(
        self, points: Floats, features: tuple[Feature, ...], statistics: Floats, bend: Floats
    ) -> Affine:
        own = self._inner_statistics(features, statistics)
        inner = self.inner.informed(points, _POWERS, own, self.scale**2 * bend)
        return replace(self, inner=inner)

    def _inner_statistics(self, features: tuple[Feature, ...], statistics: Floats) -> Floats:
        """T₁ g + T₂ g² = const + (c T₁ + 2sc T₂) h + c² T₂ h² at g = s + c h, (2, K)."""
        linear, square = np.zeros((2, statistics.shape[1]))
        for feature, row in zip(features or (Feature.VALUE,), statistics, strict=True):
            if feature is Feature.SQUARE:
                linear = linear + 2.0 * self.shift * self.scale * row
                square = square + self.scale**2 * row
            else:
                linear = linear + self.scale * row
        return np.stack([linear, square])

    def band(self, x: npt.ArrayLike, coverage: float = 0.95, *, var: npt.ArrayLike = 0.0) -> Floats:
        return np.sort(self.shift + self.scale * self.inner.band(x, coverage, var=var), axis=-1)

    def expected(self, feature: Feature, mean: Array, var: Array) -> Expectation | None:
        """E(s + c g) = s + c E g and E(s + c g)² = s² + 2sc E g + c² E g²."""
        value = self.inner.expected(Feature.VALUE, mean, var)
        if value is None or feature not in (Feature.VALUE, Feature.SQUARE):
            return None
        if feature is Feature.VALUE:
            return Expectation(
                self.shift + self.scale * value.value,
                self.scale * value.d_mean,
                self.scale * value.d_var,
            )
        square = self.inner.expected(Feature.SQUARE, mean, var)
        if square is None:
            return None
        linear, quadratic = 2.0 * self.shift * self.scale, self.scale**2
        return Expectation(
            self.shift**2 + linear * value.value + quadratic * square.value,
            linear * value.d_mean + quadratic * square.d_mean,
            linear * value.d_var + quadratic * square.d_var,
        )
