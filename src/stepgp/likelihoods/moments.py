"""Weighted location and spread of targets, for rough starts."""

from __future__ import annotations

import numpy as np

from stepgp._array import Floats

_MAD_TO_SD = 1.482602218505602  # 1/Φ⁻¹(3/4): the standard deviation of a normal per unit of MAD


def weighted_sd(y: Floats, weight: Floats | None = None) -> float:
    """√(Σ w (y − ȳ)²/Σ w)."""
    mean = np.average(y, weights=weight)
    return float(np.sqrt(np.average((y - mean) ** 2, weights=weight)))


def weighted_median(y: Floats, weight: Floats | None = None) -> float:
    """The smallest y with at least half of the weight at or below it."""
    order = np.argsort(y)
    total = np.cumsum(np.ones_like(y) if weight is None else weight[order])
    return float(y[order[np.searchsorted(total, 0.5 * total[-1])]])


def robust_sd(y: Floats, weight: Floats | None = None) -> float:
    """1.4826 · median |y − median y|; the standard deviation where over half the y are equal."""
    middle = weighted_median(y, weight)
    mad = weighted_median(np.abs(y - middle), weight)
    return _MAD_TO_SD * mad if mad > 0.0 else weighted_sd(y, weight)
