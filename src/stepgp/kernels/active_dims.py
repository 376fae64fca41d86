"""A kernel that sees only some of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, final

from stepgp._array.namespace import Array, Floats, namespace
from stepgp.kernels.base import Kernel
from stepgp.kernels.gradient import KernelGradient, Pullback


@final
@dataclass(frozen=True)
class ActiveDims(Kernel):
    """k(a, b) = inner(a_dims, b_dims); features are counted from 0."""

    inner: Kernel
    dims: tuple[int, ...]
    n_features: int | None = None

    def __post_init__(self) -> None:
        dims = tuple(int(dim) for dim in self.dims)
        if not dims or min(dims) < 0 or len(set(dims)) < len(dims) or dims != tuple(self.dims):
            raise ValueError(
                f"ActiveDims dims got {self.dims!r}, expected different whole numbers ≥ 0, at "
                "least one, such as (0, 2)."
            )
        object.__setattr__(self, "dims", dims)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return (self.inner,)

    def with_parts(self, parts: Sequence[Kernel]) -> Self:
        return replace(self, inner=parts[0])

    def amplified(self, factor: float) -> Self:
        return replace(self, inner=self.inner.amplified(factor))

    def shortened(self, factors: Floats) -> Self:
        return replace(self, inner=self.inner.shortened(factors[list(self.dims)]))

    def _resolved(self, n_features: int) -> Self:
        if max(self.dims) >= n_features:
            raise ValueError(
                f"ActiveDims got dims {self.dims}, but the input has {n_features} features, "
                f"numbered 0 to {n_features - 1}."
            )
        if self.n_features not in (None, n_features):
            raise ValueError(
                f"ActiveDims was set up for {self.n_features} features, but the input has "
                f"{n_features} features. Build a new kernel for the other input."
            )
        return replace(self, inner=self.inner.for_features(len(self.dims)), n_features=n_features)

    def _seen(self, X: Array) -> Array:
        xp = namespace(X)
        return xp.take(X, xp.asarray(self.dims, device=X.device), axis=1)

    def _evaluate(self, A: Array, B: Array) -> tuple[Array, Pullback]:
        left = self._seen(A)
        right = left if A is B else self._seen(B)  # the same object stays the same object
        value, inner_pullback = self.inner._evaluate(left, right)

        def pullback(adjoint: Array) -> KernelGradient:
            inner = inner_pullback(adjoint)
            first = namespace(A).zeros_like(A)
            for position, dim in enumerate(self.dims):
                first[:, dim] = inner.first[:, position]
            return KernelGradient(inner.params, first)

        return value, pullback

    def _diagonal(self, X: Array) -> Array:
        return self.inner.diag(self._seen(X))

    def _diagonal_pullback(self, X: Array, adjoint: Array) -> Floats:
        return self.inner.diag_pullback(self._seen(X), adjoint)
