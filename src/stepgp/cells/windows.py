"""Rows grouped by where they look, so that each meets only the knots within its reach."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stepgp._array.namespace import Array, Floats, namespace
from stepgp.cells.base import Expectation

REACH = 8.5
"""Beyond 8.5 deviations a normal tail is below 1e-17."""
_ROWS = 512  # of a group: its arrays stay in the cache of one core

Window = Callable[[slice, Array, Array, Array], Expectation]
"""(knots within reach, rows, mean, var) ↦ expectation for these rows."""


def in_windows(knots: Floats, mean: Array, var: Array, function: Window) -> Expectation:
    """`function` on groups of rows with neighbouring means, put together in the rows' order.

    `function` sees the slice of `knots` that lies within 8.5 deviations of a mean of the group;
    for all its rows the knots below the slice lie far on the left, those above far on the right.
    """
    xp = namespace(mean)
    order = xp.argsort(mean)
    deviation = xp.sqrt(var)
    parts: list[Expectation] = []
    for start in range(0, mean.shape[0], _ROWS):
        rows = order[start : start + _ROWS]
        centre, spread = xp.take(mean, rows), REACH * xp.take(deviation, rows)
        low, high = np.searchsorted(
            knots, [float(xp.min(centre - spread)), float(xp.max(centre + spread))]
        )
        near = slice(int(low), max(int(high), int(low) + 1))
        if near.stop > len(knots):
            near = slice(len(knots) - 1, len(knots))
        parts.append(function(near, rows, centre, xp.take(var, rows)))
    back = xp.argsort(order)
    return Expectation(
        xp.take(xp.concat([part.value for part in parts]), back, axis=0),
        xp.take(xp.concat([part.d_mean for part in parts]), back, axis=0),
        xp.take(xp.concat([part.d_var for part in parts]), back, axis=0),
    )
