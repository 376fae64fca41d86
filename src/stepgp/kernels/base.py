"""Kernel: values, and gradients by pullback; + and * of kernels; the constant a float becomes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from operator import mul
from typing import Any, Self, final

import numpy as np

from stepgp._array.namespace import Array, Floats, namespace
from stepgp.kernels.gradient import KernelGradient, Pullback, joined
from stepgp.kernels.parametrised import Compound
from stepgp.kernels.positive import Positive, PositiveLike, scalar


class Kernel(Compound):
    """A positive semi-definite function k(a, b) of two rows, with its gradients.

    To add one, write `parts`/`with_parts`, `_resolved`, `_evaluate`, `_diagonal` and
    `_diagonal_pullback`, and put it in the list of tests/kernels/cases.py.
    """

    # NumPy scalars must leave `scalar * kernel` to __rmul__.
    __array_ufunc__ = None

    @abstractmethod
    def _resolved(self, n_features: int) -> Self:
        """See `for_features`; itself where nothing is left to resolve."""

    @abstractmethod
    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        """Of a resolved kernel on checked inputs; see `with_pullback`."""

    @abstractmethod
    def _diagonal(self, X: Array) -> Array:
        """k(x_i, x_i) of a resolved kernel, a new array (n,)."""

    @abstractmethod
    def _diagonal_pullback(self, X: Array, adjoint: Array) -> Floats:
        """Gradient of Σ adjoint_i k(x_i, x_i) in the parameters, of a resolved kernel."""

    def amplified(self, factor: float) -> Kernel:
        """`factor`·k where variances were left open, their priors and bounds moved along.

        Itself where all are given, fixed or fitted already.
        """
        return self

    def shortened(self, factors: Floats) -> Kernel:
        """With lengthscales started that many times shorter, (D,), where they were left open.

        Priors and bounds stay; itself where all are given, fixed or fitted already.
        """
        return self

    @final
    def for_features(self, n_features: int) -> Self:
        """With everything that depends on the number of features resolved; idempotent."""
        if n_features < 1:
            raise ValueError(
                f"{type(self).__name__} got {n_features} features, expected at least 1."
            )
        return self._resolved(n_features)

    @final
    def __call__(self, A: Array, B: Array) -> Array:
        """k(a_i, b_j), shape (a, b). Pass the same object twice for an exactly symmetric matrix."""
        return self._for_rows(A, B)._evaluate(A, B)[0]

    @final
    def with_pullback(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        """(K, pullback); pullback(adjoint) is the gradient of Σ adjoint_ij K_ij.

        Intermediates are shared, so K must not be modified before the last pullback. The adjoint
        is overwritten: pass a copy to keep it. Where A *is* B (the same object), `first` is the
        gradient through both arguments, for any adjoint; elsewhere B is held.
        """
        return self._for_rows(A, B)._evaluate(A, B)

    @final
    def diag(self, X: Array) -> Array:
        """k(x_i, x_i), shape (n,)."""
        return self._for_rows(X, X)._diagonal(X)

    @final
    def diag_pullback(self, X: Array, adjoint: Array) -> Floats:
        """Gradient of Σ adjoint_i k(x_i, x_i) in the parameters, shape (P,)."""
        return self._for_rows(X, X)._diagonal_pullback(X, adjoint)

    def _for_rows(self, A: Array, B: Array) -> Self:
        if len(A.shape) != 2 or len(B.shape) != 2 or A.shape[1] != B.shape[1]:
            raise ValueError(
                f"{type(self).__name__} got arrays of shapes {tuple(A.shape)} and "
                f"{tuple(B.shape)}, expected (a, D) and (b, D). Reshape one feature to (n, 1)."
            )
        return self.for_features(A.shape[1])

    # ---- + and *, flattened

    @property
    def terms(self) -> tuple[Kernel, ...]:
        """The summands."""
        return (self,)

    @property
    def factors(self) -> tuple[Kernel, ...]:
        """The factors."""
        return (self,)

    def __add__(self, other: Kernel | float) -> Kernel:
        return Sum((self, _as_kernel(other)))

    def __radd__(self, other: float) -> Kernel:
        return Sum((_as_kernel(other), self))

    def __mul__(self, other: Kernel | float) -> Kernel:
        return Product((self, _as_kernel(other)))

    def __rmul__(self, other: float) -> Kernel:
        return Product((_as_kernel(other), self))


def _as_kernel(other: Any) -> Kernel:
    if isinstance(other, Kernel):
        return other
    if isinstance(other, Real):
        return Constant(float(other))
    raise TypeError(
        f"A kernel can be added to or multiplied by a kernel or a positive number, got {other!r}."
    )


@final
@dataclass(frozen=True, init=False)
class Constant(Kernel):
    """k(a, b) = σ²."""

    variance: Positive

    def __init__(self, variance: PositiveLike = None) -> None:
        object.__setattr__(self, "variance", scalar("variance", variance, default=1.0))

    @property
    def parts(self) -> tuple[Positive, ...]:
        return (self.variance,)

    def with_parts(self, parts: Sequence[Positive]) -> Self:
        return replace(self, variance=parts[0])

    def amplified(self, factor: float) -> Self:
        return replace(self, variance=self.variance.times(factor))

    def _resolved(self, n_features: int) -> Self:
        return self

    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        xp, value = namespace(A, B), float(self.variance.values[0])

        def pullback(adjoint: Array) -> KernelGradient:
            total = np.asarray([value * float(xp.sum(adjoint))])
            return KernelGradient(self.variance.pull(total), xp.zeros_like(A))

        K = xp.full((A.shape[0], B.shape[0]), value, dtype=A.dtype, device=A.device)
        return K, pullback

    def _diagonal(self, X: Array) -> Array:
        value = float(self.variance.values[0])
        return namespace(X).full((X.shape[0],), value, dtype=X.dtype, device=X.device)

    def _diagonal_pullback(self, X: Array, adjoint: Array) -> Floats:
        total = float(namespace(adjoint).sum(adjoint))
        return self.variance.pull(self.variance.values * total)


@dataclass(frozen=True)
class Composite(Kernel):
    """Several kernels of the same rows; parameters are named by class and position: RBF0.…"""

    kernels: tuple[Kernel, ...]

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return self.kernels

    def with_parts(self, parts: Sequence[Kernel]) -> Self:
        return type(self)(tuple(parts))

    def part_label(self, index: int) -> str:
        return f"{type(self.kernels[index]).__name__}{index}."

    def shortened(self, factors: Floats) -> Self:
        return self.with_parts([kernel.shortened(factors) for kernel in self.kernels])

    def _resolved(self, n_features: int) -> Self:
        return self.with_parts([kernel.for_features(n_features) for kernel in self.kernels])

    def _all(self, A: Array, B: Array) -> tuple[list[Array], list[Pullback]]:
        pairs = [kernel._evaluate(A, B) for kernel in self.kernels]
        return [value for value, _ in pairs], [pullback for _, pullback in pairs]


@final
@dataclass(frozen=True)
class Sum(Composite):
    """k(a, b) = Σ_i k_i(a, b)."""

    def __post_init__(self) -> None:
        terms = tuple(term for kernel in self.kernels for term in kernel.terms)
        object.__setattr__(self, "kernels", _at_least_one(terms, "Sum"))

    @property
    def terms(self) -> tuple[Kernel, ...]:
        return self.kernels

    def amplified(self, factor: float) -> Self:
        return self.with_parts([kernel.amplified(factor) for kernel in self.kernels])

    def shortened(self, factors: Floats) -> Self:
        """Of equal terms each a ninth as long as the one before: equal ones would stay equal."""
        before = [self.kernels[:i].count(kernel) for i, kernel in enumerate(self.kernels)]
        pairs = zip(self.kernels, before, strict=True)
        return self.with_parts([kernel.shortened(9.0**n * factors) for kernel, n in pairs])

    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        xp = namespace(A, B)
        values, pullbacks = self._all(A, B)

        def pullback(adjoint: Array) -> KernelGradient:
            # every pullback may overwrite what it is given
            copies = [xp.asarray(adjoint, copy=True) for _ in pullbacks[1:]]
            return joined(
                [pull(own) for pull, own in zip(pullbacks, [*copies, adjoint], strict=True)]
            )

        return sum(values[1:], values[0]), pullback

    def _diagonal(self, X: Array) -> Array:
        diagonals = [kernel._diagonal(X) for kernel in self.kernels]
        return sum(diagonals[1:], diagonals[0])

    def _diagonal_pullback(self, X: Array, adjoint: Array) -> Floats:
        return np.concatenate([k._diagonal_pullback(X, adjoint) for k in self.kernels])


@final
@dataclass(frozen=True)
class Product(Composite):
    """k(a, b) = Π_i k_i(a, b)."""

    def __post_init__(self) -> None:
        factors = tuple(factor for kernel in self.kernels for factor in kernel.factors)
        object.__setattr__(self, "kernels", _at_least_one(factors, "Product"))

    @property
    def factors(self) -> tuple[Kernel, ...]:
        return self.kernels

    def amplified(self, factor: float) -> Self:
        """By the first factor that has a variance left open."""
        for index, kernel in enumerate(self.kernels):
            moved = kernel.amplified(factor)
            if moved != kernel:
                return self.with_parts([*self.kernels[:index], moved, *self.kernels[index + 1 :]])
        return self

    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        values, pullbacks = self._all(A, B)

        def pullback(adjoint: Array) -> KernelGradient:
            return joined([pull(_but(values, i, adjoint)) for i, pull in enumerate(pullbacks)])

        return _but(values, 0, values[0]), pullback

    def _diagonal(self, X: Array) -> Array:
        diagonals = [kernel._diagonal(X) for kernel in self.kernels]
        return _but(diagonals, 0, diagonals[0])

    def _diagonal_pullback(self, X: Array, adjoint: Array) -> Floats:
        diagonals = [kernel._diagonal(X) for kernel in self.kernels]
        gradients = [
            kernel._diagonal_pullback(X, _but(diagonals, i, adjoint))
            for i, kernel in enumerate(self.kernels)
        ]
        return np.concatenate(gradients)


def _but(values: list[Array], index: int, start: Array) -> Array:
    """start · Π_{j≠index} values_j."""
    return reduce(mul, values[:index] + values[index + 1 :], start)


def _at_least_one(kernels: tuple[Kernel, ...], name: str) -> tuple[Kernel, ...]:
    if not kernels:
        raise ValueError(f"{name} got no kernel, expected at least one: {name}((RBF(), Linear())).")
    return kernels
