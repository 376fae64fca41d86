"""Where the inducing inputs start: k-means++, greedy conditional variance, or the first rows."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist

from stepgp._array.namespace import Floats
from stepgp.kernels import Kernel

InducingMethod = Literal["kmeans++", "greedy", "first"]

_LLOYD_ROUNDS = 10
_CANDIDATES = 4_000


def choose_inducing(
    X: Floats,
    weight: Floats | None,
    n_inducing: int,
    *,
    method: InducingMethod,
    kernel: Kernel,
    generator: np.random.Generator,
) -> Floats:
    """At most `n_inducing` distinct inputs, chosen from (or as centres of) the rows."""
    if method == "first":
        return first_rows(X, n_inducing)
    if len(X) > _CANDIDATES:
        chosen = np.sort(generator.choice(len(X), _CANDIDATES, replace=False))
        X, weight = X[chosen], None if weight is None else weight[chosen]
    distinct, index = np.unique(X, axis=0, return_inverse=True)
    mass = np.bincount(index.ravel(), weights=weight, minlength=len(distinct)).astype(np.float64)
    if len(distinct) <= n_inducing:
        return distinct
    if method == "greedy":
        return distinct[greedy_variance(distinct, n_inducing, kernel)]
    return kmeans(distinct, mass, n_inducing, generator)


def first_rows(X: Floats, n_rows: int) -> Floats:
    """The first distinct rows, in their order (the paper's choice)."""
    _, first_seen = np.unique(X, axis=0, return_index=True)
    return X[np.sort(first_seen)[:n_rows]]


def kmeans(X: Floats, weight: Floats, n_centres: int, generator: np.random.Generator) -> Floats:
    """Weighted k-means: k-means++ seeding (Arthur & Vassilvitskii 2007), then Lloyd's rounds.

    scikit-learn's KMeans gives the same, at several times the whole import time of this package.
    """
    centres = np.empty((n_centres, X.shape[1]))
    nearest = np.full(len(X), np.inf)
    share = weight / weight.sum()
    for index in range(n_centres):
        centres[index] = X[generator.choice(len(X), p=share)]
        nearest = np.minimum(nearest, _squared(X, centres[index : index + 1])[:, 0])
        share = nearest * weight
        share = share / share.sum() if share.any() else weight / weight.sum()
    for _ in range(_LLOYD_ROUNDS):
        label = np.argmin(_squared(X, centres), axis=1)
        mass = np.bincount(label, weights=weight, minlength=n_centres)
        filled = mass > 0
        for column in range(X.shape[1]):
            total = np.bincount(label, weights=weight * X[:, column], minlength=n_centres)
            centres[filled, column] = total[filled] / mass[filled]
    return centres


def greedy_variance(X: Floats, n_inducing: int, kernel: Kernel) -> np.ndarray:
    """Rows picked one by one where the prior variance given those before is largest.

    A pivoted Cholesky of K_XX (Burt, Rasmussen & van der Wilk 2020), O(N M²).
    """
    residual = np.array(kernel.diag(X))
    columns = np.zeros((n_inducing, len(X)))
    chosen = np.zeros(n_inducing, dtype=np.int64)
    for step in range(n_inducing):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= 1e-10 * residual.max(initial=1.0):
            return chosen[:step]
        chosen[step] = pivot
        row = kernel(X[pivot : pivot + 1], X)[0] - columns[:step, pivot] @ columns[:step]
        columns[step] = row / np.sqrt(residual[pivot])
        residual = np.maximum(residual - columns[step] ** 2, 0.0)
    return chosen


def _squared(X: Floats, centres: Floats) -> Floats:
    return cdist(X, centres, "sqeuclidean")
