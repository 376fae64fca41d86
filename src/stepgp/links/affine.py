"""A link in other units: shift + scale · g."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
import numpy.typing as npt

from stepgp._array import Array, Floats
from stepgp.cells.base import Expectation
from stepgp.links.base import Link
from stepgp.links.feature import Feature, Support


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
