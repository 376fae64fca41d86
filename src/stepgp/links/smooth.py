"""Learnt links whose deviation from the reference is smooth a priori; also increasing ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from stepgp._array import Floats
from stepgp._array.linalg import symmetric
from stepgp.links.learnt import LearntLink
from stepgp.links.whitened import Whitened

_BEND, _SHIFT = 2.0, 1.0
"""Prior precisions of ∫ d″² and of the mean of d² over the knots."""


def bending(knots: Floats, stiffness: float) -> Floats:
    """Q with dᵀQd = 2λ ∫ d″(x)² dx + mean of d²: a smoothing spline held at the reference.

    Second differences of values at knots h apart: ∫ d″² ≈ Σ (d_{j−1} − 2d_j + d_{j+1})²/h³.
    """
    gaps = np.diff(knots)
    slopes = np.diff(np.eye(len(knots)), axis=0) / gaps[:, None]
    middle = 0.5 * (gaps[1:] + gaps[:-1])
    curvatures = np.diff(slopes, axis=0) / np.sqrt(middle)[:, None]
    held = _SHIFT / len(knots) * np.eye(len(knots))
    return symmetric(_BEND * stiffness * curvatures.T @ curvatures + held)


def _check(stiffness: float) -> None:
    if not (math.isfinite(stiffness) and stiffness > 0.0):
        raise ValueError(f"stiffness must be a positive number, got {stiffness!r}.")


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Smooth(Whitened):
    """d ~ N(0, Q⁻¹), Q of second differences: log prior −½ dᵀQd."""

    stiffness: float = 1.0
    """How much smoother than usual."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self.stiffness)

    def log_prior(self) -> float:
        if not self.params.size:
            return 0.0
        return -0.5 * float(self.deviations @ self.precision() @ self.deviations)

    def log_prior_gradient(self) -> Floats:
        if not self.params.size:
            return self.params
        return self._pull_deviations(-self.precision() @ self.deviations)

    def precision(self) -> Floats:
        return bending(self._placed_knots, self.stiffness)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Monotone(LearntLink):
    """Increasing: η_j = x_j + d_j never falls, with the prior of `Smooth`.

    θ = (d_0, η_1 − η_0, η_2 − η_1, …), all but the first held at or above zero by the optimiser:
    levels that the data would have fall are tied, as in isotonic regression.
    """

    stiffness: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self.stiffness)

    def _deviations(self, theta: Floats) -> Floats:
        knots = self._placed_knots
        return np.cumsum(theta) - (knots - knots[0])

    def _pull_deviations(self, adjoint: Floats) -> Floats:
        return np.cumsum(adjoint[::-1])[::-1]

    def _start(self) -> Floats:
        return np.concatenate([[0.0], np.diff(self._placed_knots)])

    @property
    def bounds(self) -> Floats:
        low = np.zeros(len(self.params))
        low[:1] = -np.inf
        return np.stack([low, np.full_like(low, np.inf)], axis=1)

    def log_prior(self) -> float:
        if self.knots is None:
            return 0.0
        return -0.5 * float(self.deviations @ self.precision() @ self.deviations)

    def log_prior_gradient(self) -> Floats:
        if self.knots is None:
            return np.zeros(0)
        return self._pull_deviations(-self.precision() @ self.deviations)

    def precision(self) -> Floats:
        return bending(self._placed_knots, self.stiffness)
