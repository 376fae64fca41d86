"""Rows grouped by where they look, so that each meets only the knots within its reach."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp.cells.base import Expectation

REACH = 7.5
"""Deviations from its mean that a row sees at least: a normal tail beyond is below 4e-14."""
_WIDER = 4.0 / 3.0
_NEGLIGIBLE = 3e-11
"""What a function may weigh at the end of a window, in its own unit (nats)."""
_ROWS = 512  # of a group: its arrays stay in the cache of one core

Window = Callable[[slice, Array, Array, Array], tuple[Expectation, float]]
"""(knots within reach, rows, mean, var) ↦ expectation for these rows, and the largest absolute
value that their functions have at the ends of the window."""


def largest_at_ends(values: Array, first: int, last: int) -> float:
    """max |values| in two columns, as far as there are such."""
    xp = namespace(values)
    first, last = max(first, 0), min(last, values.shape[1] - 1)
    ends = xp.stack([values[:, first], values[:, last]])
    return float(xp.max(xp.abs(ends)))


def in_windows(knots: Floats, mean: Array, var: Array, function: Window) -> Expectation:
    """`function` on groups of rows with neighbouring means, put together in the rows' order.

    `function` sees the slice of `knots` that lies within 7.5 deviations of a mean of the group.
    Where it has grown so much up to there that even a normal tail of it counts, as eᶠ may, the
    window is widened until it does not.
    """
    xp = namespace(mean)
    knots = to_numpy(like(knots, mean))  # in the rows' precision, so that all comparisons agree
    order = xp.argsort(mean)
    deviation = xp.sqrt(var)
    parts: list[Expectation] = []
    n_rows = mean.shape[0]
    for start in range(0, n_rows, _ROWS):
        rows = order[start : min(start + _ROWS, n_rows)]
        centre, spread, own_var = (xp.take(array, rows) for array in (mean, deviation, var))
        reach = REACH
        while True:
            low = np.searchsorted(knots, float(xp.min(centre - reach * spread)), side="left")
            high = np.searchsorted(knots, float(xp.max(centre + reach * spread)), side="right")
            part, at_ends = function(slice(int(low), int(high)), rows, centre, own_var)
            if at_ends * math.exp(-0.5 * reach * reach) <= _NEGLIGIBLE:
                break
            if low == 0 and high == len(knots):
                break
            reach *= _WIDER
        parts.append(part)
    back = xp.argsort(order)
    return Expectation(
        xp.take(xp.concat([part.value for part in parts]), back, axis=0),
        xp.take(xp.concat([part.d_mean for part in parts]), back, axis=0),
        xp.take(xp.concat([part.d_var for part in parts]), back, axis=0),
    )
