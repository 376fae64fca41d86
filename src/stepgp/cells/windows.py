"""Rows grouped by where they look, so that each meets only the knots within its reach."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp.cells.base import Expectation

REACH = 7.5
"""Beyond 7.5 deviations a normal tail is below 4e-14, its ramp below 5e-15."""
_ROWS = 512  # of a group: its arrays stay in the cache of one core

Window = Callable[[slice, Array, Array, Array], Expectation]
"""(knots within reach, rows, mean, var) ↦ expectation for these rows."""


def in_windows(knots: Floats, mean: Array, var: Array, function: Window) -> Expectation:
    """`function` on groups of rows with neighbouring means, put together in the rows' order.

    `function` sees the slice of `knots` that lies within 7.5 deviations of a mean of the group:
    all others are so far from each row that a normal tail beyond them is nothing.
    """
    xp = namespace(mean)
    knots = to_numpy(like(knots, mean))  # in the rows' precision, so that all comparisons agree
    order = xp.argsort(mean)
    deviation = xp.sqrt(var)
    parts: list[Expectation] = []
    n_rows = mean.shape[0]
    for start in range(0, n_rows, _ROWS):
        rows = order[start : min(start + _ROWS, n_rows)]
        centre, spread = xp.take(mean, rows), REACH * xp.take(deviation, rows)
        low = np.searchsorted(knots, float(xp.min(centre - spread)), side="left")
        high = np.searchsorted(knots, float(xp.max(centre + spread)), side="right")
        near = slice(int(low), int(high))
        parts.append(function(near, rows, centre, xp.take(var, rows)))
    back = xp.argsort(order)
    return Expectation(
        xp.take(xp.concat([part.value for part in parts]), back, axis=0),
        xp.take(xp.concat([part.d_mean for part in parts]), back, axis=0),
        xp.take(xp.concat([part.d_var for part in parts]), back, axis=0),
    )
