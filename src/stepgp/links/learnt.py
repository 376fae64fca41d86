"""Links that are read from the data: a reference link of a latent value that is shifted by d(x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Self, final

import numpy as np
import numpy.typing as npt

from stepgp._array import Array, Floats, like, to_numpy
from stepgp._array.linalg import symmetric
from stepgp.links.base import Link, deviations
from stepgp.links.feature import Feature, Support
from stepgp.links.fixed import Identity
from stepgp.links.knots import interpolate, interpolate_adjoint, interpolation_matrix

_STEP = 0.02
"""For slopes of features: such differences, extrapolated, have errors of 1e-9."""
_NOTHING = 1e-2
"""Precision of what neither data nor prior say anything about."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LearntLink(Link, ABC):
    """g(x) = reference(x + d(x)), d linear between values d_j at knots, constant beyond them.

    So levels stay in the support of the reference, its tails keep their digits, and no data
    (d = 0) leaves the reference. A fit places the knots, moves the parameters θ ↦ d with all
    others, and leaves the curvature that bands come from.
    """

    reference: Link | None = None
    """None: the usual link of the likelihood."""
    n_knots: int = 33
    knots: Floats | None = None
    """Latent values; None: placed by the fit."""
    theta: Floats | None = None
    covariance: Floats | None = field(default=None, repr=False)
    """Of d at the knots, given q(f)."""

    def __post_init__(self) -> None:
        if self.knots is not None:
            knots = np.asarray(self.knots, dtype=np.float64)
            if knots.ndim != 1 or len(knots) < 2 or not np.all(np.diff(knots) > 0.0):
                raise ValueError(
                    f"knots must be two or more increasing latent values, got {self.knots!r}."
                )
            object.__setattr__(self, "knots", knots)
        elif self.n_knots < 2:
            raise ValueError(f"n_knots must be at least 2, got {self.n_knots!r}.")

    # --- What a kind of learnt link has to say

    @abstractmethod
    def _deviations(self, theta: Floats) -> Floats:
        """d at the knots."""

    @abstractmethod
    def _pull_deviations(self, adjoint: Floats) -> Floats:
        """A gradient in d as one in θ."""

    @abstractmethod
    def _start(self) -> Floats:
        """θ with d = 0."""

    @abstractmethod
    def precision(self) -> Floats:
        """Curvature of −log prior in d at the knots, (J, J); zero where there is no prior."""

    # --- A link

    @property
    def support(self) -> Support:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._known.support

    @property
    def standard(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._known.standard

    @property
    @final
    def _known(self) -> Link:
        return Identity() if self.reference is None else self.reference

    @final
    def shift(self, x: Array) -> Array:
        """d(x)."""
        if self.knots is None:
            return 0.0 * x
        return like(interpolate(self.knots, self.deviations, to_numpy(x)), x)

    @final
    def __call__(self, x: Array) -> Array:
        return self._known(x + self.shift(x))

    @final
    def log(self, x: Array) -> Array:
        return self._known.log(x + self.shift(x))

    @final
    def log_complement(self, x: Array) -> Array:
        return self._known.log_complement(x + self.shift(x))

    # --- Where the fit puts it

    @final
    def completed(self, default: Link) -> Self:
        return self if self.reference is not None else replace(self, reference=default)

    @final
    def placed(self, centre: float, reach: float) -> Self:
        if self.knots is not None:
            return self if self.theta is not None else replace(self, theta=self._start())
        knots = np.linspace(centre - reach, centre + reach, self.n_knots)
        here = replace(self, knots=knots)
        return replace(here, theta=here._start())

    # --- Parameters

    @property
    @final
    def _placed_knots(self) -> Floats:
        if self.knots is None:
            raise ValueError(f"{type(self).__name__} has no knots yet: a fit places them.")
        return self.knots

    @property
    def params(self) -> Floats:
        return np.zeros(0) if self.theta is None else self.theta

    @final
    def with_params(self, params: Floats) -> Self:
        return replace(self, theta=np.array(params), covariance=None)

    @final
    def pull(self, feature: Feature, points: Floats, adjoint: Floats) -> Floats:
        """Through ∂feature(reference(η))/∂η, the interpolation, and θ ↦ d."""
        first, _ = self._slopes(feature, points)
        # A level that counts for nothing may have a slope that is no number.
        by_shift = np.where(adjoint == 0.0, 0.0, adjoint * first)
        return self._pull_deviations(interpolate_adjoint(self._placed_knots, points, by_shift))

    @final
    def _slopes(self, feature: Feature, points: Floats) -> tuple[Floats, Floats]:
        """∂ and ∂² of feature(reference(η)) in η = x + d(x), by differences extrapolated once."""
        eta = points + self.shift(points)
        here = self._known.feature(feature, eta)

        def central(step: float) -> tuple[Floats, Floats]:
            above, below = (self._known.feature(feature, eta + side * step) for side in (1, -1))
            return (above - below) / (2.0 * step), (above - 2.0 * here + below) / step**2

        coarse, fine = central(_STEP), central(0.5 * _STEP)
        first, second = ((4.0 * f - c) / 3.0 for f, c in zip(fine, coarse, strict=True))
        return first, second

    # --- What was learnt

    @property
    @final
    def deviations(self) -> Floats:
        """d at the knots, (J,)."""
        if self.theta is None:
            return np.zeros(len(self._placed_knots))
        return self._deviations(self.theta)

    @property
    @final
    def levels(self) -> Floats:
        """g at the knots, (J,)."""
        return to_numpy(self(self._placed_knots))

    @final
    def informed(
        self, points: Floats, features: tuple[Feature, ...], statistics: Floats, bend: Floats
    ) -> Self:
        """With the covariance (Q + BᵀCB)⁻¹ of d: Laplace's, with q(f) held."""
        information = self._information(points, features, statistics, bend)
        # Knots of which nothing at all is known still have a band: a wide one.
        information[np.diag_indices_from(information)] += _NOTHING
        return replace(self, covariance=np.linalg.inv(information))

    @final
    def _information(
        self, points: Floats, features: tuple[Feature, ...], statistics: Floats, bend: Floats
    ) -> Floats:
        """Q + BᵀCB, C_k = −Σ_i w_ik ∂²log p(y_i | reference(η))/∂η² where that is positive.

        B interpolates from the knots to the points.
        """
        curvature = np.zeros(len(points))
        for feature, row in zip(features or (Feature.VALUE,), statistics, strict=True):
            first, second = self._slopes(feature, points)
            curvature -= row * second
            if feature is Feature.VALUE:
                curvature -= bend * first**2
        B = interpolation_matrix(self._placed_knots, points)
        return symmetric((B.T * np.maximum(curvature, 0.0)) @ B + self.precision())

    @final
    def band(self, x: npt.ArrayLike, coverage: float = 0.95, *, var: npt.ArrayLike = 0.0) -> Floats:
        """reference(x + d ± z·sd): the variance of d, given q(f), and of f + d(f) under var.

        The latter to first order, (1 + d′)² var. Pointwise, (n, 2).
        """
        if self.covariance is None:
            raise ValueError("This link has not been fitted: there is nothing to take a band from.")
        at = np.asarray(x, dtype=np.float64)
        B = interpolation_matrix(self._placed_knots, at)
        of_link = np.einsum("nj,jk,nk->n", B, self.covariance, B)
        ahead, behind = (self.shift(at + side * _STEP) for side in (1.0, -1.0))
        slope = 1.0 + (ahead - behind) / (2.0 * _STEP)
        reach = deviations(coverage) * np.sqrt(of_link + slope**2 * var)
        centre = at + self.shift(at)
        ends = [to_numpy(self._known(centre + side * reach)) for side in (-1.0, 1.0)]
        return np.sort(np.stack(ends, axis=-1), axis=-1)
