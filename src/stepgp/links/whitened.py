"""Learnt links whose parameters are deviations in a unit that the rows see alike."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field, replace
from typing import Self, final

import numpy as np
from scipy.linalg import solve_triangular

from stepgp._array import Floats
from stepgp.links.feature import Feature
from stepgp.links.learnt import LearntLink


@dataclass(frozen=True, eq=False, kw_only=True)
class Whitened(LearntLink, ABC):
    """θ = Lᵀd with LLᵀ = M, a metric close to the curvature of the objective in d.

    Noise of a hundredth of f makes that 10⁴ times the curvature of a prior of order one, and an
    optimiser that meets both in one unit crawls.
    """

    metric: Floats | None = field(default=None, repr=False)
    """M, (J, J); None: the identity, until a fit knows better."""

    @final
    def _deviations(self, theta: Floats) -> Floats:
        return solve_triangular(self._root(), theta, trans="T", lower=True)

    @final
    def _pull_deviations(self, adjoint: Floats) -> Floats:
        return solve_triangular(self._root(), adjoint, lower=True)

    @final
    def _start(self) -> Floats:
        return np.zeros(len(self._placed_knots))

    @final
    def conditioned(
        self, points: Floats, features: tuple[Feature, ...], statistics: Floats
    ) -> Self:
        if not self.params.size:
            return self
        information = self._information(points, features, statistics, np.zeros(len(points)))
        information[np.diag_indices_from(information)] += 1.0
        new = replace(self, metric=information)
        return replace(new, theta=new._root().T @ self.deviations)

    @final
    def _root(self) -> Floats:
        if self.metric is None:
            return np.eye(len(self._placed_knots))
        return np.asarray(np.linalg.cholesky(self.metric), dtype=np.float64)
