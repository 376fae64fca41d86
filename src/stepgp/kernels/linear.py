"""Kernels of the weighted inner product x = Σ_d σ_d² a_d b_d."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp.kernels.base import Kernel
from stepgp.kernels.gradient import KernelGradient, Pullback
from stepgp.kernels.positive import Ard, Positive, PositiveLike, as_positive, pulled, scalar
from stepgp.kernels.priors import LogNormal

Slope = Callable[[Array], tuple[Array, tuple[Floats, ...]]]
"""adjoint of k ↦ (adjoint of x, gradients in the logs of further parameters)."""


@dataclass(frozen=True, init=False)
class InnerProduct(Kernel):
    """k(a, b) = κ(Σ_d σ_d² a_d b_d); by default σ² = 1/D, so that x ≈ 1 on standardised rows."""

    variance: Positive

    @abstractmethod
    def _rule(self, x: Array) -> tuple[Array, Slope]:
        """κ(x) and its slope; x is kept."""

    @property
    def parts(self) -> tuple[Positive, ...]:
        return (self.variance,)

    def with_parts(self, parts: Sequence[Positive]) -> Self:
        return replace(self, variance=parts[0])

    def amplified(self, factor: float) -> Self:
        return replace(self, variance=self.variance.times(factor))

    def _resolved(self, n_features: int) -> Self:
        variance = self.variance.resolved(
            n_features, value=1.0 / n_features, prior=LogNormal(-math.log(n_features), 1.5)
        )
        return self if variance is self.variance else replace(self, variance=variance)

    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        same, w = A is B, like(self.variance.values, A)
        if same:
            scaled = A * w**0.5
            x = scaled @ scaled.T
            x = 0.5 * (x + x.T)  # not every library's product is symmetric to the bit
        else:
            x = (A * w) @ B.T
        value, slope = self._rule(x)

        def pullback(adjoint: Array) -> KernelGradient:
            xp = namespace(A, B)
            inner, shapes = slope(adjoint)
            first = inner @ B
            per_feature = self.variance.values * to_numpy(xp.sum(A * first, axis=0))
            if same:
                first = first + inner.T @ A
            return KernelGradient(pulled(self.parts, (per_feature, *shapes)), first * w)

        return value, pullback

    def _diagonal(self, X: Array) -> Array:
        return self._rule((X * X) @ like(self.variance.values, X))[0]

    def _diagonal_pullback(self, X: Array, adjoint: Array) -> Floats:
        squares, variance = X * X, self.variance.values
        _, slope = self._rule(squares @ like(variance, X))
        inner, shapes = slope(1.0 * adjoint)
        return pulled(self.parts, (variance * to_numpy(inner @ squares), *shapes))


@final
@dataclass(frozen=True, init=False)
class Linear(InnerProduct):
    """k(a, b) = Σ_d σ_d² a_d b_d. Lines through the origin: add a Constant for an intercept."""

    def __init__(self, variance: PositiveLike = None, *, ard: Ard = False) -> None:
        object.__setattr__(self, "variance", as_positive("variance", variance, ard=ard))

    def _rule(self, x: Array) -> tuple[Array, Slope]:
        return x, lambda adjoint: (adjoint, ())


@final
@dataclass(frozen=True, init=False)
class Polynomial(InnerProduct):
    """k(a, b) = (c + Σ_d σ_d² a_d b_d)^p, p a whole number that is not learnt."""

    degree: int
    offset: Positive

    def __init__(
        self,
        degree: int = 2,
        variance: PositiveLike = None,
        offset: PositiveLike = None,
        *,
        ard: Ard = False,
    ) -> None:
        if degree != int(degree) or degree < 1:
            raise ValueError(f"Polynomial degree got {degree!r}, expected a whole number ≥ 1.")
        object.__setattr__(self, "degree", int(degree))
        object.__setattr__(self, "variance", as_positive("variance", variance, ard=ard))
        object.__setattr__(self, "offset", scalar("offset", offset, default=1.0))

    @property
    def parts(self) -> tuple[Positive, ...]:
        return (self.variance, self.offset)

    def with_parts(self, parts: Sequence[Positive]) -> Self:
        return replace(self, variance=parts[0], offset=parts[1])

    def amplified(self, factor: float) -> Self:
        """(s c + Σ_d s σ_d² a_d b_d)^p with s = factor^(1/p)."""
        root = factor ** (1.0 / self.degree)
        variance, offset = self.variance.times(root), self.offset.times(root)
        return replace(self, variance=variance, offset=offset)

    def _rule(self, x: Array) -> tuple[Array, Slope]:
        xp, offset = namespace(x), float(self.offset.values[0])
        base = x + offset
        lower = base ** (self.degree - 1)

        def slope(adjoint: Array) -> tuple[Array, tuple[Floats, ...]]:
            adjoint *= lower
            adjoint *= float(self.degree)
            return adjoint, (np.asarray([offset * float(xp.sum(adjoint))]),)

        return lower * base, slope
