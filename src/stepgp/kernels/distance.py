"""Weighted squared distances between rows, fast or exact, and their pullback."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from array_api_compat import is_numpy_array
from scipy.spatial.distance import pdist, squareform

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy

DistancePullback = Callable[[Array], tuple[float, Floats, Array]]
"""F ↦ (Σ F_ij; Σ_ij F_ij w_d (a_id − b_jd)², one per feature d; −Σ_j F_ij w_d (a_id − b_jd))

With s_ij = Σ_d w_d (a_id − b_jd)², w = ℓ⁻², and F = −2 ∂L/∂s: the second is ∂L/∂log ℓ_d, the
third ∂L/∂A (through both arguments where A is B). F is only read.
"""


def affine_distances(
    A: Array, B: Array, weights: Floats, *, scale: float, offset: float = 0.0
) -> tuple[Array, DistancePullback]:
    """t_ij = scale · Σ_d w_d (a_id − b_jd)² + offset, shape (a, b), a new array.

    Two different arrays cost one matrix product: |a|², |b|² and the offset ride along as two
    more columns. It is off by a few ε·|scale|·(|a|² + |b|²); for positive scales that much is taken
    off, so that equal rows give t ≤ offset and a root can clip it to an exact 0. Where A *is* B
    (the same object) the distances come from differences: exact to the last digits, 0 on the
    diagonal, symmetric to the bit; that matrix is the one that gets factorised.
    """
    if A is B:
        return _within(A, weights, scale, offset)
    return _between(A, B, weights, scale, offset)


def _within(
    A: Array, weights: Floats, scale: float, offset: float
) -> tuple[Array, DistancePullback]:
    xp = namespace(A)
    centred = A - xp.mean(A, axis=0)  # before the weights, whose product rounds
    total = _squared_differences(centred * like(np.sqrt(weights), A))
    total *= scale
    total += offset

    def pullback(F: Array) -> tuple[float, Floats, Array]:
        both = F + F.T
        rows = xp.sum(both, axis=1)
        pulled = both @ centred
        pulled -= rows[:, None] * centred
        # Σ_ij F_ij (a_i − a_j)² = −Σ_i a_i · [both @ a − rows a]_i, as both is symmetric
        per_feature = -weights * to_numpy(xp.sum(centred * pulled, axis=0))
        pulled *= like(weights, A)
        return 0.5 * float(xp.sum(rows)), per_feature, pulled

    return total, pullback


def _squared_differences(A: Array) -> Array:
    """Σ_d (a_id − a_jd)² by differences, shape (a, a)."""
    if is_numpy_array(A):  # half the pairs, and no array of all pairs for every feature
        return np.asarray(squareform(pdist(A, "sqeuclidean")), dtype=A.dtype)
    total = namespace(A).zeros((A.shape[0], A.shape[0]), dtype=A.dtype, device=A.device)
    for feature in range(A.shape[1]):
        column = A[:, feature]
        difference = column[:, None] - column[None, :]
        difference *= difference
        total += difference
    return total


def _between(
    A: Array, B: Array, weights: Floats, scale: float, offset: float
) -> tuple[Array, DistancePullback]:
    xp = namespace(A, B)
    # Distances do not change under a shift, but |a|² + |b|² − 2ab loses digits far from 0.
    shift = xp.mean(A, axis=0)
    left, right = A - shift, B - shift
    w = like(weights, A)
    n_features = A.shape[1]
    rounding = (n_features + 2) * float(xp.finfo(left.dtype).eps) if scale > 0 else 0.0
    square_scale = scale * (1.0 - rounding)
    left_weighted = left * w
    left_columns = xp.concat(
        [
            (-2.0 * scale) * left_weighted,
            square_scale * xp.sum(left_weighted * left, axis=1, keepdims=True) + offset,
            xp.ones((A.shape[0], 1), dtype=left.dtype, device=left.device),
        ],
        axis=1,
    )
    squares = right * right
    right_columns = xp.concat(
        [
            right,
            xp.ones((B.shape[0], 1), dtype=left.dtype, device=left.device),
            squares @ (square_scale * w)[:, None],
        ],
        axis=1,
    )

    def pullback(F: Array) -> tuple[float, Floats, Array]:
        product = F @ right_columns
        pulled, rows = product[:, :n_features], product[:, n_features]
        columns = xp.sum(F, axis=0)
        rows_left = rows[:, None] * left
        # Σ F (a − b)² = Σ_i rows a² + Σ_j columns b² − 2 Σ_i a·(F b)
        squared = xp.sum((rows_left - 2.0 * pulled) * left, axis=0) + columns @ squares
        return float(xp.sum(rows)), weights * to_numpy(squared), (pulled - rows_left) * w

    return left_columns @ right_columns.T, pullback
