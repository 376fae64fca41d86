"""k-means++ with a few Lloyd rounds on a subset of rows: where the peers' inducing inputs start."""

from __future__ import annotations

import numpy as np

from benchmarks.score import Floats


def _squared_distances(X: Floats, C: Floats) -> Floats:
    return (X * X).sum(1)[:, None] + (C * C).sum(1) - 2.0 * (X @ C.T)


def kmeans(X: Floats, m: int, rounds: int = 10, subset: int = 10_000) -> Floats:
    """Centres (m, D), the same for every peer."""
    rng = np.random.default_rng(0)
    if len(X) > subset:
        X = X[rng.choice(len(X), subset, replace=False)]
    m = min(m, len(X))
    centres = np.empty((m, X.shape[1]))
    centres[0] = X[rng.integers(len(X))]
    nearest = np.full(len(X), np.inf)
    for j in range(1, m):
        np.minimum(nearest, ((X - centres[j - 1]) ** 2).sum(1), out=nearest)
        cut = rng.random() * nearest.sum()
        centres[j] = X[min(np.searchsorted(np.cumsum(nearest), cut), len(X) - 1)]
    for _ in range(rounds):
        label = _squared_distances(X, centres).argmin(1)
        count = np.bincount(label, minlength=m)
        total = np.stack([np.bincount(label, column, m) for column in X.T], axis=1)
        filled = count > 0
        centres[filled] = total[filled] / count[filled, None]
    return centres
