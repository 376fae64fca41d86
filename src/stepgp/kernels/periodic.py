"""The periodic kernel: an RBF of the rows wound around a circle per feature."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp._array.special import exp_inplace
from stepgp.kernels.base import Kernel
from stepgp.kernels.distance import affine_distances
from stepgp.kernels.gradient import KernelGradient, Pullback
from stepgp.kernels.positive import Ard, Positive, PositiveLike, as_positive, pulled, scalar
from stepgp.kernels.priors import LogNormal, lengthscale_prior, lengthscale_start


@final
@dataclass(frozen=True, init=False)
class Periodic(Kernel):
    """k(a, b) = σ² exp(−2 Σ_d sin²(π (a_d − b_d)/p_d)/ℓ_d²).

    With φ_d(x) = (cos α, sin α), α = 2π x_d/p_d, this is σ² exp(−½ Σ_d |φ_d(a) − φ_d(b)|²/ℓ_d²)
    (MacKay 1998; Rasmussen & Williams 2006, eq. 4.31, one factor per feature). One period for all
    features unless `period` is a sequence; it is learnt well only from a start near the truth.
    """

    lengthscale: Positive
    variance: Positive
    period: Positive

    def __init__(
        self,
        lengthscale: PositiveLike = None,
        variance: PositiveLike = None,
        period: PositiveLike = None,
        *,
        ard: Ard = "shrunk",
    ) -> None:
        each = not isinstance(period, Positive) and np.ndim(1.0 if period is None else period) > 0
        object.__setattr__(self, "lengthscale", as_positive("lengthscale", lengthscale, ard=ard))
        object.__setattr__(self, "variance", scalar("variance", variance, default=1.0))
        object.__setattr__(self, "period", as_positive("period", period, ard=each))

    @property
    def parts(self) -> tuple[Positive, ...]:
        return (self.lengthscale, self.variance, self.period)

    def with_parts(self, parts: Sequence[Positive]) -> Self:
        return replace(self, lengthscale=parts[0], variance=parts[1], period=parts[2])

    def amplified(self, factor: float) -> Self:
        return replace(self, variance=self.variance.times(factor))

    def shortened(self, factors: Floats) -> Self:
        return replace(self, lengthscale=self.lengthscale.started(1.0 / factors))

    def _resolved(self, n_features: int) -> Self:
        lengthscale = self.lengthscale.resolved(
            n_features, value=lengthscale_start(n_features), prior=lengthscale_prior(n_features)
        )
        period = self.period.resolved(n_features, value=1.0, prior=LogNormal())
        if lengthscale is self.lengthscale and period is self.period:
            return self
        return replace(self, lengthscale=lengthscale, period=period)

    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        xp, same, n_features = namespace(A, B), A is B, A.shape[1]
        frequency = like(2.0 * math.pi / self.period.values, A)
        shift = xp.mean(A, axis=0)  # angles of many turns would lose digits
        angles = (A - shift) * frequency
        other_angles = angles if same else (B - shift) * frequency
        circle = xp.concat([xp.cos(angles), xp.sin(angles)], axis=1)
        other = circle if same else xp.concat([xp.cos(other_angles), xp.sin(other_angles)], axis=1)
        weights = np.tile(np.exp(-2.0 * self.lengthscale.log_values), 2)
        t, distances_pullback = affine_distances(
            circle, other, weights, scale=-0.5, offset=float(self.variance.log_values[0])
        )
        value = exp_inplace(t)

        def turned(gradient: Array) -> Array:
            """∂/∂angle from ∂/∂(cos, sin) of the same rows."""
            return (
                gradient[:, n_features:] * circle[:, :n_features]
                - gradient[:, :n_features] * circle[:, n_features:]
            )

        def pullback(adjoint: Array) -> KernelGradient:
            adjoint *= value
            total, lengthscale, first = distances_pullback(adjoint)
            first = turned(first)
            # k depends on α − β only, and α, β ∝ 1/p: ∂/∂log p = −Σ_ij (α_i − β_j) ∂k_ij/∂α_i
            period = xp.sum(angles * first, axis=0)
            if not same:
                moments = adjoint @ (xp.concat([other_angles, other_angles], axis=1) * other)
                period -= xp.sum(turned(moments * like(weights, A)), axis=0)
            gradients = (
                lengthscale[:n_features] + lengthscale[n_features:],
                np.asarray([total]),
                -to_numpy(period),
            )
            return KernelGradient(pulled(self.parts, gradients), first * frequency)

        return value, pullback

    def _diagonal(self, X: Array) -> Array:
        value = float(self.variance.values[0])
        return namespace(X).full((X.shape[0],), value, dtype=X.dtype, device=X.device)

    def _diagonal_pullback(self, X: Array, adjoint: Array) -> Floats:
        total = self.variance.values * float(namespace(adjoint).sum(adjoint))
        zeros = np.zeros(len(self.lengthscale.values))
        return pulled(self.parts, (zeros, total, zeros))
