"""M×M algebra on NumPy float64: Cholesky with escalating jitter, triangular inverses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import is_numpy_array
from scipy.linalg import blas, lapack

from stepgp._array.namespace import Array, Floats, namespace


class NotPositiveDefinite(ArithmeticError):
    """A matrix that must be positive definite is not; the message says which and what to try."""


@dataclass(frozen=True)
class Factor:
    """K + jitter·mean(diag K)·I = LLᵀ with its explicit inverse factor."""

    lower: Floats
    inverse: Floats
    jitter: float

    @property
    def log_determinant(self) -> float:
        return 2.0 * float(np.sum(np.log(np.diag(self.lower))))


def cholesky_lower(matrix: Floats) -> Floats | None:
    """The lower Cholesky factor, or None where the matrix is not positive definite."""
    lower, info = lapack.dpotrf(matrix, lower=1, clean=1)
    return lower if info == 0 and np.isfinite(np.sum(np.diag(lower))) else None


def triangular_inverse(lower: Floats) -> Floats:
    """L⁻¹ of a lower triangular matrix."""
    inverse, info = lapack.dtrtri(lower, lower=1)
    if info != 0:
        raise NotPositiveDefinite("A triangular factor has a zero on its diagonal.")
    return inverse


def factorise(matrix: Floats, *, jitter: float, largest: float = 1e-3) -> Factor:
    """Cholesky of `matrix` with relative jitter, ten times larger until it succeeds."""
    scale = float(np.mean(np.diag(matrix)))
    if not np.isfinite(matrix).all():
        raise NotPositiveDefinite("The kernel matrix of the inducing inputs is not finite.")
    while jitter <= largest:
        lower = cholesky_lower(matrix + jitter * scale * np.eye(len(matrix)))
        if lower is not None:
            return Factor(lower, triangular_inverse(lower), jitter)
        jitter *= 10.0
    raise NotPositiveDefinite(
        f"The kernel matrix of {len(matrix)} inducing inputs is not positive definite even with "
        f"a relative jitter of {largest:g}. Try fewer inducing inputs, or a shorter lengthscale."
    )


def column_dots(A: Array, B: Array) -> Array:
    """Σ_i a_ij b_ij, (n,)."""
    if is_numpy_array(A):  # no array of the products
        return np.einsum("ij,ij->j", A, B)
    return namespace(A).sum(A * B, axis=0)


def add_outer(A: Array, left: Array, right: Array) -> Array:
    """A + left rightᵀ, in the memory of A."""
    if is_numpy_array(A) and A.dtype == np.float64 and A.flags.c_contiguous:
        return blas.dger(1.0, right, left, a=A.T, overwrite_a=1).T  # no array of the product
    A += left[:, None] * right
    return A


def symmetric(matrix: Floats) -> Floats:
    """The symmetric part: rounding must not leak an antisymmetric one."""
    return 0.5 * (matrix + matrix.T)
