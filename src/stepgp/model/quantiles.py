"""Quantiles of many distributions at once, from their cdf alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import elementwise

from stepgp._array.namespace import Floats

Rows = npt.NDArray[np.intp]
Cdf = Callable[[Floats, Rows], Floats]
"""(y, rows) ↦ P(Y ≤ y) for a selection of rows."""


def continuous_quantile(cdf: Cdf, p: float, centre: Floats) -> Floats:
    """The root of cdf(y) = p: a bracket that doubles around `centre`, then Chandrupatla.

    Rounding may leave cdf(∞) a little below one; a p that is not below it means nearly all of it.
    """
    rows = np.arange(len(centre))
    most = np.nextafter(cdf(np.full(len(centre), np.inf), rows), 0.0)
    target = np.fmin(p, most)  # `most` is NaN for a cdf that does not know infinity
    width = np.maximum(1.0, np.abs(centre))

    def excess(y: Floats, rows: Any) -> Floats:
        flat = np.ravel(y)
        index = np.broadcast_to(np.asarray(rows), np.shape(y)).ravel().astype(np.intp)
        return (cdf(flat, index) - target[index]).reshape(np.shape(y))

    found = elementwise.bracket_root(
        excess, centre - width, centre + width, args=(rows,), maxiter=1000
    )
    low, high = found.bracket
    root = elementwise.find_root(
        excess, (low, high), args=(rows,), tolerances={"xatol": 0.0, "xrtol": 1e-14}
    )
    return np.asarray(root.x, dtype=np.float64)


def discrete_quantile(cdf: Cdf, p: float, centre: Floats) -> Floats:
    """The smallest whole y ≥ 0 with cdf(y) ≥ p, by doubling and bisection on the integers.

    Rounding may leave cdf(∞) a little below one; a p above that means all of it.
    """
    rows = np.arange(len(centre))
    target = np.minimum(p, cdf(np.full(len(centre), np.inf), rows))
    low = np.full(len(centre), -1.0)  # cdf(low) < target throughout
    high = np.floor(np.maximum(centre, 0.0))
    while True:
        short = cdf(high, rows) < target
        if not short.any():
            break
        low = np.where(short, high, low)
        high = np.where(short, 2.0 * high + 1.0, high)
    while True:
        middle = np.floor(low + 0.5 * (high - low))
        # Beyond 2⁵³, where not every whole number is a float, the middle may be an end.
        between = (low < middle) & (middle < high)
        if not between.any():
            return high
        enough = cdf(middle, rows) >= target
        low = np.where(between & ~enough, middle, low)
        high = np.where(between & enough, middle, high)
