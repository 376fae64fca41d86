"""How large the latent function is, and how finely the likelihood sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stepgp._array.namespace import Floats, to_numpy
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.rows.memory import MemoryRows

_ROWS, _GROUPS = 256, 8
_REACH, _FURTHER, _FURTHEST = 16.0, 64.0, 1e15
_RUNGS = 100
_NOTHING = 1e-6
"""Nats a row: a level that runs off to infinity stops where a rung gains less, and less than
the rung before."""
_ORDINARY = 10.0
"""A spread within this factor of one is three prior deviations away: kernels find it alone."""
_BEND = 1.0 / 16.0
"""Nats that the widest cell may hide at the peak of a row's likelihood: cells of .7 noise sd."""

Table = Callable[[Floats], Floats]
"""Latent values (1, W) or (n, W) ↦ log p(y_i | g(x)), (n, W)."""


@dataclass(frozen=True)
class Start:
    """What is known of the latent function before any input has been looked at."""

    centre: float
    """The best single latent value for all rows."""
    spread: float = 1.0
    """Deviation of the latent values that the targets ask for, to a factor of two or three; 1 where
    that is the order of it."""
    width: float = np.inf
    """The widest cells through which the likelihood can still be told from its interpolant."""


def start_of(rows: MemoryRows, likelihood: Likelihood, link: Link, centre: float) -> Start:
    """From the log-density of at most 256 rows at latent values around the best single one.

    The likelihood is only evaluated, so any will do. Latent values lie at distances from the
    centre that shrink by √2, so that every order of magnitude is seen alike.
    """
    rows = rows.head(_ROWS)
    y = to_numpy(rows.y)
    exposure = None if rows.exposure is None else to_numpy(rows.exposure)
    weight = np.ones(len(y)) if rows.weight is None else to_numpy(rows.weight)
    table = _table_of(likelihood, link, y, exposure)
    order = np.argsort(y if exposure is None else y / exposure, kind="stable")
    reach = max(_REACH, abs(centre))
    while True:
        grid = _around(centre, reach)
        values = table(grid[None, :])
        best, runs_off = _best_of_groups(values, weight, order)
        if not runs_off or reach >= _FURTHEST:
            break
        reach *= _FURTHER
    spread = _robust_deviation(grid[best])
    unusual = spread > 0.0 and not 1.0 / _ORDINARY <= spread <= _ORDINARY
    peaks = _peaks(table, values, grid)
    return Start(centre, spread if unusual else 1.0, _width(table, peaks, weight, reach))


def _best_of_groups(values: Floats, weight: Floats, order: np.ndarray) -> tuple[np.ndarray, bool]:
    """The best column for each of eight groups of rows in that order; whether one runs off.

    Every group shares half its weight with all rows: a group of one class alone, or of zero
    counts, has its best value at infinity.
    """
    shared = weight @ values / weight.sum()
    best: list[int] = []
    runs_off = False
    for rows in np.array_split(order, min(_GROUPS, len(order))):
        own = weight[rows] @ values[rows] / weight[rows].sum()
        score = 0.5 * (own + shared)
        score = np.where(np.isnan(score), -np.inf, score)
        top = int(np.argmax(score))
        outwards = score if top else score[::-1]
        with np.errstate(invalid="ignore"):  # −∞ less −∞ is no rise
            before, last = np.diff(outwards[-3:])
        runs_off |= top in (0, len(score) - 1) and bool(last > _NOTHING or last > before > 0.0)
        best.append(top)
    return np.array(best), runs_off


def _robust_deviation(values: Floats) -> float:
    """The interquartile range over that of a normal; the standard deviation where that is zero."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float((high - low) / 1.349 if high > low else np.std(values))


def _peaks(table: Table, values: Floats, grid: Floats) -> Floats:
    """Where each row's log-density is largest, (n,): the best column, closed in on by quarters."""
    top = np.argmax(np.where(np.isnan(values), -np.inf, values), axis=1)
    low, high = grid[np.maximum(top - 1, 0)], grid[np.minimum(top + 1, len(grid) - 1)]
    parts = np.linspace(0.0, 1.0, 9)
    row = np.arange(len(top))
    for _ in range(8):
        points = low[:, None] + (high - low)[:, None] * parts
        at = table(points)
        top = np.argmax(np.where(np.isnan(at), -np.inf, at), axis=1)
        low, high = points[row, np.maximum(top - 1, 0)], points[row, np.minimum(top + 1, 8)]
    return 0.5 * (low + high)


def _width(table: Table, peaks: Floats, weight: Floats, reach: float) -> float:
    """The largest 2h with h(x) − ½(h(x − h) + h(x + h)) ≤ 1/16 nats a row at the rows' peaks x.

    Of a normal density with deviation σ that difference is ½h²/σ².
    """
    half = _ladder(reach)
    here = table(peaks[:, None])
    beside = 0.5 * (table(peaks[:, None] - half) + table(peaks[:, None] + half))
    with np.errstate(all="ignore"):
        bend = weight @ (here - beside) / weight.sum()
    hidden = np.flatnonzero(~(bend <= _BEND))
    if not hidden.size:
        return np.inf
    return 2.0 * float(half[min(hidden[-1] + 1, len(half) - 1)])


def _ladder(reach: float) -> Floats:
    """reach, reach/√2, reach/2, …"""
    return reach * np.power(2.0, -0.5 * np.arange(_RUNGS))


def _around(centre: float, reach: float) -> Floats:
    """The centre, and the rungs of a ladder on either side of it."""
    rungs = _ladder(reach)
    return centre + np.concatenate([-rungs, [0.0], rungs[::-1]])


def _table_of(likelihood: Likelihood, link: Link, y: Floats, exposure: Floats | None) -> Table:
    """The log-density of all rows at given latent values, from its features where it has any."""
    if not likelihood.features:
        scale = 1.0 if exposure is None else exposure[:, None]

        def direct(x: Floats) -> Floats:
            with np.errstate(all="ignore"):
                return to_numpy(likelihood.log_prob(y[:, None], link(x) * scale))

        return direct
    statistics = to_numpy(likelihood.statistics(y, exposure))
    base = to_numpy(likelihood.base(y, exposure))[:, None]

    def split(x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            features = [link.feature(feature, x) for feature in likelihood.features]
            terms = zip(statistics.T, features, strict=True)
            return base + sum(own[:, None] * feature for own, feature in terms)

    return split
