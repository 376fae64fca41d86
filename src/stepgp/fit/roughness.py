"""How fast targets vary along every input by itself, before any model has been fitted."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from stepgp._array.namespace import Floats

_NEAR = 4
"""Neighbours along an input whose likeness tells whether it matters at all."""
_SURE = 4.0
"""Standard errors that this likeness must be away from none."""


def lengthscales(X: Floats, scores: Floats) -> Floats:
    """A lengthscale for every input from the likeness of rows beside one another, (D,).

    Rows sorted by one input have scores with the autocorrelation r_k between neighbours of order k,
    at the median distance d_k; all other inputs are noise to it. Where r is there at all, ℓ is the
    d at which it has fallen by half (a sixth of the period of a wave); else ∞.
    """
    spread = float(np.std(scores))
    if len(scores) < 10 * _NEAR or not spread > 0.0:
        return np.inf * np.ones(X.shape[1])
    scores = (scores - np.mean(scores)) / spread
    found = [_lengthscale(X[:, j], scores) for j in range(X.shape[1])]
    return np.array(found, dtype=np.float64)


def normal_scores(y: Floats) -> Floats:
    """Normal quantiles of the ranks: whatever the distribution, no row is an outlier."""
    return np.asarray(ndtri((rankdata(y) - 0.5) / len(y)), dtype=np.float64)


def _lengthscale(x: Floats, scores: Floats) -> float:
    order = np.argsort(x, kind="stable")
    x, scores = x[order], scores[order]
    n_rows = len(x)
    near = np.mean([_likeness(scores, k) for k in range(1, _NEAR + 1)])
    if near < _SURE / np.sqrt(_NEAR * n_rows):
        return np.inf
    for lag in np.unique(np.geomspace(_NEAR, n_rows // 4, 20).astype(int)):
        around = [_likeness(scores, k) for k in range(lag, lag + max(_NEAR, lag // 4))]
        if np.mean(around) < 0.5 * near:
            return float(np.median(x[lag:] - x[:-lag])) or np.inf
    return np.inf


def _likeness(scores: Floats, lag: int) -> float:
    return float(scores[lag:] @ scores[:-lag]) / (len(scores) - lag)
