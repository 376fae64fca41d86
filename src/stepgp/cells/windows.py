"""Rows grouped by how many knots they see, so that each meets only those within its reach."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from array_api_compat import is_numpy_array

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp.cells.base import Expectation

REACH = 7.5
"""Deviations from its mean that a row sees at least: a normal tail beyond is below 4e-14."""
_WIDER = 4.0 / 3.0
_WIDE = 9.0
"""The same where masses are wanted themselves: the tail beyond is below 2e-19."""
_NEGLIGIBLE = 3e-11
"""What a function may weigh at the end of a window, in its own unit (nats).

Beyond it lies less than a third of that. A share of what the function is near the mean would widen
the windows of rows whose log-probability is almost 0, and cost a pass over the rows a fifth."""
_NARROWEST = 8
_ENTRIES = 25_000
"""Rows × knots of a group: its arrays stay in the cache."""
_MANY = 250_000
"""The same where a group is searched for a quantile: many calls each, so fewer groups."""
_WORTH = 6_000
"""Rows × knots that take as long as the calls of NumPy for another group."""

Sizes = Callable[[Array, Array], Array]
"""(rows, knots) ↦ |value| of each row's function at one knot of each row, (n,)."""
Weighs = Callable[[Array, Array], Array]
"""(one cell of each row, reach in deviations) ↦ whether the rest beyond it still counts, (n,)."""
Window = Callable[[Array, Array, Array, Array], Expectation]
"""(rows, knots, mean, var) ↦ expectation of these n rows over the knots (n, W) of each."""


def in_windows(
    knots: Floats, mean: Array, var: Array, function: Window, sizes: Sizes | None = None
) -> Expectation:
    """`function` on groups of rows that see equally many knots, put together in the rows' order.

    A row sees the knots (indices of them) within 7.5 deviations of its mean. Where its function
    has grown so much up to there that even a normal tail of it counts, as eᶠ may, it sees more;
    without `sizes` it is known not to.
    """
    xp = namespace(mean)
    first, count = _reach(like(knots, mean), mean, var, sizes)
    groups = _groups(to_numpy(count), len(knots))
    parts: list[Expectation] = []
    for rows, width in groups:
        chosen = like(rows, first)
        start = xp.minimum(xp.take(first, chosen), like(len(knots) - width, first))
        near = start[:, None] + like(np.arange(width), first)[None, :]
        parts.append(function(chosen, near, xp.take(mean, chosen), xp.take(var, chosen)))
    if len(parts) == 1:
        return parts[0]
    order = np.concatenate([rows for rows, _ in groups])
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    there = like(back, first)
    return Expectation(
        xp.take(xp.concat([part.value for part in parts], axis=-1), there, axis=-1),
        xp.take(xp.concat([part.d_mean for part in parts], axis=-1), there, axis=-1),
        xp.take(xp.concat([part.d_var for part in parts], axis=-1), there, axis=-1),
    )


def columns(values: Array, index: Array) -> Array:
    """values[…, index] for a matrix of indices."""
    if is_numpy_array(values):
        return np.take(values, index, axis=-1)
    xp = namespace(values)
    flat = xp.take(values, xp.reshape(index, (-1,)), axis=-1)
    return xp.reshape(flat, (*values.shape[:-1], *index.shape))


def along_rows(values: Array, index: Array) -> Array:
    """values[…, i, index_i] for values (…, n, W) and one index for each of the n rows."""
    xp = namespace(values)
    flat = index + values.shape[-1] * like(np.arange(int(values.shape[-2])), index)
    return xp.take(xp.reshape(values, (*values.shape[:-2], -1)), flat, axis=-1)


def largest_of(values: Array) -> Array:
    """The largest of |values| over all functions of a row, (n,) from (n,) or (R, n)."""
    xp = namespace(values)
    size = xp.abs(values)
    return size if size.ndim == 1 else xp.max(size, axis=0)


def shared_sizes(values: Array) -> Sizes | None:
    """The largest of several functions, (R, K), that all rows share; None where all are small."""
    xp = namespace(values)
    largest = xp.max(xp.abs(values), axis=0)
    if not float(xp.max(largest)) * math.exp(-0.5 * REACH * REACH) > _NEGLIGIBLE:
        return None
    return lambda rows, at: xp.take(largest, at)


def _reach(knots: Array, mean: Array, var: Array, sizes: Sizes | None) -> tuple[Array, Array]:
    """The first knot that each row sees, and how many."""
    xp = namespace(mean)
    deviation = xp.sqrt(var)
    last_knot = knots.shape[0] - 1
    reach = REACH * xp.ones_like(mean)
    while True:
        first = xp.searchsorted(knots, mean - reach * deviation, side="left")
        end = xp.searchsorted(knots, mean + reach * deviation, side="right")
        if sizes is None:
            break
        rows = xp.arange(mean.shape[0], dtype=first.dtype, device=mean.device)
        ends = xp.clip(first - 1, min=0), xp.clip(end, max=last_knot)
        largest = xp.maximum(sizes(rows, ends[0]), sizes(rows, ends[1]))
        short = largest * xp.exp(-0.5 * reach * reach) > _NEGLIGIBLE
        short = short & ((first > 0) | (end <= last_knot))
        if not xp.any(short):
            break
        reach = xp.where(short, _WIDER * reach, reach)
    return first, end - first


def _groups(
    count: Floats, n_knots: int, entries: int = _ENTRIES
) -> list[tuple[npt.NDArray[np.intp], int]]:
    """Rows by the next power of two of what they see, in pieces that fit the cache.

    Few rows join those that see twice as much: a group of their own would cost more.
    """
    found: list[tuple[npt.NDArray[np.intp], int]] = []
    width, left = _NARROWEST, np.arange(len(count))
    while len(left):
        width = min(width, n_knots)
        narrow = count[left] <= width
        rows = left[narrow]
        if width == n_knots or len(rows) * width >= _WORTH or len(rows) == len(left):
            size = max(entries // width, 1)
            found.extend((rows[i : i + size], width) for i in range(0, len(rows), size))
            left = left[~narrow]
        width *= 2
    return found


def near_cells(
    nodes: Floats, mean: Array, var: Array, weighs: Weighs | None = None
) -> list[tuple[npt.NDArray[np.intp], Array]]:
    """Groups of rows, each with the consecutive cells (n, W) that its rows see.

    Those within 9 deviations of the mean, one more on either side, and for as long as `weighs`
    says so of one of the two at the ends, those within 4/3 of that, and so on.
    """
    xp = namespace(mean)
    x, last, deviation = like(nodes, mean), len(nodes) - 1, xp.sqrt(var)
    reach = _WIDE * xp.ones_like(mean)
    while True:
        first = xp.clip(xp.searchsorted(x, mean - reach * deviation, side="left") - 1, min=0)
        end = xp.clip(xp.searchsorted(x, mean + reach * deviation, side="right"), max=last)
        if weighs is None:
            break
        short = (weighs(first, reach) & (first > 0)) | (weighs(end, reach) & (end < last))
        if not xp.any(short):
            break
        reach = xp.where(short, _WIDER * reach, reach)
    groups: list[tuple[npt.NDArray[np.intp], Array]] = []
    for rows, width in _groups(to_numpy(end - first + 1), len(nodes), _MANY):
        start = xp.minimum(xp.take(first, like(rows, first)), like(len(nodes) - width, first))
        groups.append((rows, start[:, None] + like(np.arange(width), first)[None, :]))
    return groups
