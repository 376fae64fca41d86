"""Which cells a row sees: those of the model, more of them beyond, or its own around its mean."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp.cells import Grid, Hat
from stepgp.cells.base import CellFamily
from stepgp.cells.windows import columns
from stepgp.links import Feature, Link
from stepgp.model.rules import feature_levels

_SIGHT, _TAIL = 6.0, 40.0
"""Deviations around its mean where a row lies, and where eᶠ or an outlier may still weigh."""
_EVEN, _GROWTH = 8.0, 1.02
"""A row's own cells: even to that many deviations, growing from there to the tail."""
_FEWEST, _USUAL = 32, 256
"""Own cells in a deviation: a spacing h adds h²/6 to a variance, 1/32 of √v 0.02 % of v."""
_SHARE = 8
"""Own cells are as narrow as the model's while there are not many more of them than of those."""


Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sight(ABC):
    """The cells of n rows N(μ, v): how much of each row falls into them, and their levels."""

    mean: Array
    var: Array

    @abstractmethod
    def masses(self) -> Array:
        """w_k, (n, K)."""

    @abstractmethod
    def log_masses(self) -> Array:
        """log w_k, (n, K)."""

    @abstractmethod
    def levels(self, link: Link, feature: Feature) -> Array:
        """The feature of every cell's level, (n, K)."""


@final
@dataclass(frozen=True, eq=False)
class SharedCells(Sight):
    """Those near each row of cells that all rows share."""

    cells: CellFamily
    near: Array
    """Indices of consecutive cells of each row, (n, W)."""

    def masses(self) -> Array:
        return self.cells.masses(self.mean, self.var, self.near)

    def log_masses(self) -> Array:
        return self.cells.log_masses(self.mean, self.var, self.near)

    def levels(self, link: Link, feature: Feature) -> Array:
        return columns(like(feature_levels(self.cells, link, feature), self.mean), self.near)


@final
@dataclass(frozen=True, eq=False)
class OwnCells(Sight):
    """Hats of each row's own with nodes μ + √v t_k: all rows have the masses of N(0, 1).

    Nothing is lost where μ is so large that neighbouring nodes are no different floats.
    """

    standard: CellFamily
    """Hats with the nodes t_k."""

    def masses(self) -> Array:
        return self._for_all(self.standard.masses(np.zeros(1), np.ones(1)))

    def log_masses(self) -> Array:
        return self._for_all(self.standard.log_masses(np.zeros(1), np.ones(1)))

    def levels(self, link: Link, feature: Feature) -> Array:
        deviation = namespace(self.mean).sqrt(self.var)
        nodes = like(self.standard.nodes, self.mean)
        return link.feature(feature, self.mean[:, None] + deviation[:, None] * nodes)

    def _for_all(self, row: Floats) -> Array:
        shape = self.mean.shape[0], row.shape[1]
        return namespace(self.mean).broadcast_to(like(row, self.mean), shape)


@dataclass(frozen=True, eq=False)
class Group:
    """Rows with the cells that they share, or, where each has `own` ones, those of N(0, 1)."""

    rows: Rows
    cells: CellFamily
    own: bool


def together(cells: CellFamily, n_rows: int) -> Iterator[Group]:
    """All rows with the same cells."""
    yield Group(np.arange(n_rows), cells, own=False)


def apart(cells: CellFamily, mean: Array, var: Array) -> Iterator[Group]:
    """Rows within these cells, rows at their ends, and rows beyond; what a row sees is its own.

    A row that lies on some of the cells (six deviations around its mean) sees them, and where its
    tail reaches beyond them (forty deviations) more of them: in powers of two, so that rows of like
    needs go together. A row that lies on none of them has hats around its own mean, no wider than
    the narrowest of these cells while that takes few thousand: far out only its own deviation
    matters. Where √v is so many widths that it takes more, moments and quantiles are right to
    √v/256, but a density far narrower than that shows the levels one by one.
    """
    deviation, width = np.sqrt(to_numpy(var)), cells.finest_width
    centre, (low, high) = to_numpy(mean), cells.span
    far = (centre + _SIGHT * deviation <= low) | (centre - _SIGHT * deviation >= high)
    tail = _TAIL * deviation
    down, up = _doublings((low - centre + tail) / width), _doublings((centre + tail - high) / width)
    for rows, reach in _alike(np.flatnonzero(~far), down, up):
        left, right = (0.0 if n < 0 else math.ldexp(width, n) for n in reach)
        yield Group(rows, cells.extended(low - left, high + right), own=False)
    fewest, most = math.log2(_FEWEST), math.log2(max(_USUAL, cells.n_cells // _SHARE))
    fineness = np.clip(_doublings(deviation / width), int(fewest), int(most))
    for rows, (doublings,) in _alike(np.flatnonzero(far), fineness):
        yield Group(rows, _standard_hats(2**doublings), own=True)


def _standard_hats(number: int) -> Hat:
    """For N(0, 1), with `number` nodes in a deviation."""
    even = np.arange(1.0, _EVEN * number + 1.0) / number
    n_growing = math.ceil(
        math.log1p((_TAIL - _EVEN) * number * (_GROWTH - 1.0)) / math.log(_GROWTH)
    )
    growing = _EVEN + np.cumsum(_GROWTH ** np.arange(1.0, n_growing + 1.0)) / number
    right = np.concatenate([even, growing])
    return Hat(Grid(np.concatenate([-right[::-1], [0.0], right])))


def _doublings(ratio: Floats) -> Rows:
    """The smallest n ≥ 0 with 2ⁿ ≥ ratio, −1 where the ratio is not positive."""
    some = ratio > 0.0
    n = np.ceil(np.log2(np.where(some, ratio, 1.0)))
    return np.where(some, np.maximum(n, 0.0), -1.0).astype(np.intp)


def _alike(rows: Rows, *keys: Rows) -> Iterator[tuple[Rows, list[int]]]:
    """The rows in groups that agree in every key."""
    kinds, kind = np.unique(np.stack([key[rows] for key in keys]), axis=1, return_inverse=True)
    for number, values in enumerate(kinds.T.tolist()):
        yield rows[kind.ravel() == number], values
