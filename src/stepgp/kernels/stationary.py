"""Kernels of the scaled distance r² = Σ_d (a_d − b_d)²/ℓ_d²: one rule κ(r²), κ′(r²) each.

Formulas: Rasmussen & Williams, Gaussian Processes for Machine Learning (2006), §4.2.1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np

from stepgp._array.namespace import Array, Floats, namespace
from stepgp._array.special import exp_inplace
from stepgp.kernels.base import Kernel
from stepgp.kernels.distance import affine_distances
from stepgp.kernels.gradient import KernelGradient, Pullback
from stepgp.kernels.inplace import inverse_inplace, root_inplace
from stepgp.kernels.positive import Ard, Positive, PositiveLike, as_positive, pulled, scalar
from stepgp.kernels.priors import lengthscale_prior, lengthscale_start


def _no_shape(adjoint: Array) -> tuple[Floats, ...]:
    return ()


@final
@dataclass(frozen=True)
class Rule:
    """A kernel's value σ²κ(r²), and what its pullback needs.

    Arrays are handed over as they are and multiplied in place: a new array of this size costs
    several times its arithmetic, as its memory comes in pages from the operating system.
    """

    value: Array
    slopes: tuple[Array, ...]
    """−2σ²κ′(r²) = factor · their product."""
    factor: float = 1.0
    shape: Callable[[Array], tuple[Floats, ...]] = _no_shape
    """adjoint ↦ gradients in the logs of further parameters."""

    @property
    def is_own_slope(self) -> bool:
        """−2κ′ = κ (the RBF): then Σ adjoint ∘ value comes with the other gradients."""
        return len(self.slopes) == 1 and self.slopes[0] is self.value


@dataclass(frozen=True, init=False)
class Stationary(Kernel):
    """k(a, b) = σ² κ(r²), κ(0) = 1."""

    lengthscale: Positive
    variance: Positive

    def __init__(
        self,
        lengthscale: PositiveLike = None,
        variance: PositiveLike = None,
        *,
        ard: Ard = "shrunk",
    ) -> None:
        object.__setattr__(self, "lengthscale", as_positive("lengthscale", lengthscale, ard=ard))
        object.__setattr__(self, "variance", scalar("variance", variance, default=1.0))

    @abstractmethod
    def _argument(self) -> tuple[float, float]:
        """(scale, offset) of the rule's argument t = scale·r² + offset."""

    @abstractmethod
    def _rule(self, t: Array) -> Rule:
        """The value and its slope from t, which may be overwritten."""

    @property
    def parts(self) -> tuple[Positive, ...]:
        return (self.lengthscale, self.variance)

    def with_parts(self, parts: Sequence[Positive]) -> Self:
        return replace(self, lengthscale=parts[0], variance=parts[1])

    def amplified(self, factor: float) -> Self:
        return replace(self, variance=self.variance.times(factor))

    def shortened(self, factors: Floats) -> Self:
        return replace(self, lengthscale=self.lengthscale.started(1.0 / factors))

    def _resolved(self, n_features: int) -> Self:
        lengthscale = self.lengthscale.resolved(
            n_features, value=lengthscale_start(n_features), prior=lengthscale_prior(n_features)
        )
        return self if lengthscale is self.lengthscale else replace(self, lengthscale=lengthscale)

    @property
    def _log_variance(self) -> float:
        return float(self.variance.log_values[0])

    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        scale, offset = self._argument()
        weights = np.exp(-2.0 * self.lengthscale.log_values)
        t, distances_pullback = affine_distances(A, B, weights, scale=scale, offset=offset)
        rule = self._rule(t)

        def pullback(adjoint: Array) -> KernelGradient:
            shapes = rule.shape(adjoint)
            variance = None if rule.is_own_slope else _dot(adjoint, rule.value)
            for slope in rule.slopes:
                adjoint *= slope
            total, lengthscale, first = distances_pullback(adjoint)
            first *= rule.factor
            variance = np.asarray([total if variance is None else variance])
            gradients = (rule.factor * lengthscale, variance, *shapes)
            return KernelGradient(pulled(self.parts, gradients), first)

        return rule.value, pullback

    def _diagonal(self, X: Array) -> Array:
        value = math.exp(self._log_variance)
        return namespace(X).full((X.shape[0],), value, dtype=X.dtype, device=X.device)

    def _diagonal_pullback(self, X: Array, adjoint: Array) -> Floats:
        total = self.variance.values * float(namespace(adjoint).sum(adjoint))
        lengthscale = np.zeros(len(self.lengthscale.values))
        shapes = [np.zeros(1) for _ in self.parts[2:]]
        return pulled(self.parts, (lengthscale, total, *shapes))


@final
@dataclass(frozen=True, init=False)
class RBF(Stationary):
    """Squared exponential: κ = exp(−½ r²), −2κ′ = κ."""

    def _argument(self) -> tuple[float, float]:
        return -0.5, self._log_variance

    def _rule(self, t: Array) -> Rule:
        value = exp_inplace(t)
        return Rule(value, (value,))


@final
@dataclass(frozen=True, init=False)
class Matern12(Stationary):
    """Exponential: κ = e^{−r}, −2κ′ = e^{−r}/r.

    It has a kink at r = 0, where every direction is as good as another: the gradient is 0 there.
    """

    def _argument(self) -> tuple[float, float]:
        return 1.0, 0.0

    def _rule(self, t: Array) -> Rule:
        r = root_inplace(t)
        value = exp_inplace(self._log_variance - r)
        r[r == 0] = 1.0  # finite is enough: every gradient multiplies this by a − b = 0
        return Rule(value, (value, inverse_inplace(r)))


@final
@dataclass(frozen=True, init=False)
class Matern32(Stationary):
    """κ = (1 + q) e^{−q}, q = √3 r; −2κ′ = 3 e^{−q}."""

    def _argument(self) -> tuple[float, float]:
        return 3.0, 0.0

    def _rule(self, t: Array) -> Rule:
        value = root_inplace(t)
        decay = exp_inplace(self._log_variance - value)
        value += 1.0
        value *= decay
        return Rule(value, (decay,), 3.0)


@final
@dataclass(frozen=True, init=False)
class Matern52(Stationary):
    """κ = (1 + q + q²/3) e^{−q}, q = √5 r; −2κ′ = (5/3)(1 + q) e^{−q}."""

    def _argument(self) -> tuple[float, float]:
        return 5.0, 0.0

    def _rule(self, t: Array) -> Rule:
        q = root_inplace(t)
        decay = exp_inplace(self._log_variance - q)
        q += 1.0
        value = q + 1.0  # 1 + q + q²/3 = ((p + 1) p + 1)/3 with p = q + 1
        value *= q
        value += 1.0
        value *= decay
        value *= 1.0 / 3.0
        return Rule(value, (q, decay), 5.0 / 3.0)


@final
@dataclass(frozen=True, init=False)
class RationalQuadratic(Stationary):
    """κ = t^{−α}, t = 1 + r²/(2α); −2κ′ = κ/t; ∂κ/∂log α = α κ (1 − 1/t − log t)."""

    alpha: Positive

    def __init__(
        self,
        lengthscale: PositiveLike = None,
        variance: PositiveLike = None,
        alpha: PositiveLike = None,
        *,
        ard: Ard = "shrunk",
    ) -> None:
        super().__init__(lengthscale, variance, ard=ard)
        object.__setattr__(self, "alpha", scalar("alpha", alpha, default=1.0))

    @property
    def parts(self) -> tuple[Positive, ...]:
        return (self.lengthscale, self.variance, self.alpha)

    def with_parts(self, parts: Sequence[Positive]) -> Self:
        return replace(self, lengthscale=parts[0], variance=parts[1], alpha=parts[2])

    def _argument(self) -> tuple[float, float]:
        return 0.5 / float(self.alpha.values[0]), 1.0

    def _rule(self, t: Array) -> Rule:
        xp, alpha = namespace(t), float(self.alpha.values[0])
        log_t = xp.log(t)
        value = log_t * -alpha
        value += self._log_variance
        value = exp_inplace(value)

        t = inverse_inplace(t)

        def shape(adjoint: Array) -> tuple[Floats, ...]:
            slope = 1.0 - t
            slope -= log_t
            slope *= value
            return (np.asarray([alpha * _dot(adjoint, slope)]),)

        return Rule(value, (value, t), shape=shape)


def _dot(a: Array, b: Array) -> float:
    """Σ a_ij b_ij without a temporary."""
    xp = namespace(a, b)
    return float(xp.vecdot(xp.reshape(a, (-1,)), xp.reshape(b, (-1,))))
