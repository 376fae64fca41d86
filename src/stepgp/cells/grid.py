"""The line cut into cells, and the point that stands for each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from stepgp._array.namespace import Array, Floats, to_numpy
from stepgp.cells.checks import checked_marginals

Rule = Literal["upper", "midpoint", "average"]

# Three-point Gauss–Legendre rule on (−1, 1): the average of a cubic over a cell is exact.
_GAUSS_POINTS = np.array([-np.sqrt(0.6), 0.0, np.sqrt(0.6)])
_GAUSS_WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0

_EVEN_STEPS, _GROWTH = 1_024, 1.01
"""Cells that are added on a side before they grow, at least; and how: a range of any size needs few
thousand, and one at distance d is no wider than d/100."""


@dataclass(frozen=True, eq=False)
class Grid:
    """K cells [l_k, u_k) with K−1 inner `edges`, the first and last cell unbounded.

    `rule` says what stands for a cell: its upper edge (the paper: x_k = u_k, x_K = l_K), its
    midpoint, or the average of the link over it. The two unbounded cells always use their edge.
    """

    edges: Floats
    rule: Rule = "upper"

    def __post_init__(self) -> None:
        edges = np.asarray(self.edges, dtype=np.float64)
        if edges.ndim != 1 or len(edges) < 1 or not np.isfinite(edges).all():
            raise ValueError(
                f"edges must be a non-empty list of finite numbers, got shape {edges.shape}."
            )
        if np.any(np.diff(edges) <= 0):
            raise ValueError("edges must increase strictly; sort them and drop repeated ones.")
        if self.rule not in get_args(Rule):
            raise ValueError(f"rule must be one of {get_args(Rule)}, got {self.rule!r}.")
        object.__setattr__(self, "edges", edges)

    @classmethod
    def uniform(cls, low: float, high: float, n_cells: int, rule: Rule = "upper") -> Grid:
        """K cells whose inner edges are evenly spaced from `low` to `high` (the paper's grid)."""
        _check_count(n_cells)
        if not np.isfinite([low, high]).all() or low >= high:
            raise ValueError(f"low must be below high and both finite, got {low} and {high}.")
        return cls(np.linspace(low, high, n_cells - 1), rule)

    @classmethod
    def quantiles(cls, values: Array, n_cells: int, rule: Rule = "midpoint") -> Grid:
        """Edges at evenly spaced quantiles of `values`; ties are merged."""
        _check_count(n_cells)
        edges = np.quantile(to_numpy(values), np.linspace(0.0, 1.0, n_cells - 1))
        return cls(np.unique(edges), rule)

    @classmethod
    def covering(
        cls,
        mean: Array,
        var: Array,
        n_cells: int,
        *,
        deviations: float = 6.0,
        rule: Rule = "midpoint",
    ) -> Grid:
        """A uniform grid that contains mean ± `deviations`·√var of every row."""
        mean, var = checked_marginals(mean, var)
        low, high = marginal_range(mean, var, deviations=deviations)
        return cls.uniform(low, high, n_cells, rule)

    @property
    def n_cells(self) -> int:
        return len(self.edges) + 1

    @property
    def nodes(self) -> Floats:
        """x_k: one point of each cell."""
        points, weights = self.stencil()
        return points @ weights

    def stencil(self) -> tuple[Floats, Floats]:
        """Points (K, P) and weights (P,): the level of cell k is Σ_p weight_p g(point_kp)."""
        low = np.concatenate([self.edges[:1], self.edges])
        high = np.concatenate([self.edges, self.edges[-1:]])
        if self.rule == "upper":
            return high[:, None], np.ones(1)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        if self.rule == "midpoint":
            return middle[:, None], np.ones(1)
        return middle[:, None] + half[:, None] * _GAUSS_POINTS, _GAUSS_WEIGHTS

    def refined(self) -> Grid:
        """Every bounded cell cut in two."""
        middle = 0.5 * (self.edges[1:] + self.edges[:-1])
        return Grid(np.sort(np.concatenate([self.edges, middle])), self.rule)

    def extended(self, low: float, high: float) -> Grid:
        """More cells of the smallest width on either side until they reach `low` and `high`.

        Beyond as many as there are already they grow by 1 %. They stand where they would for any
        other range, so that rows see the same cells whatever other rows ask for.
        """
        if len(self.edges) < 2 or (self.edges[0] <= low and high <= self.edges[-1]):
            return self
        width, even = float(np.min(np.diff(self.edges))), max(_EVEN_STEPS, self.n_cells)
        left = self.edges[0] - _steps(width, self.edges[0] - low, even)[::-1]
        right = self.edges[-1] + _steps(width, high - self.edges[-1], even)
        return Grid(np.concatenate([left, self.edges, right]), self.rule)


def check_grid(grid: object) -> None:
    """Raise TypeError where cells are given something else than a grid."""
    if not isinstance(grid, Grid):
        raise TypeError(
            f"Cells are made of a Grid, got {grid!r}: write Grid.uniform(-5.0, 5.0, 100), or "
            "Grid(edges) for edges of your own."
        )


def marginal_range(mean: Array, var: Array, *, deviations: float = 6.0) -> tuple[float, float]:
    """The smallest interval that contains mean ± deviations·√var of every row."""
    centre, spread = to_numpy(mean), deviations * np.sqrt(to_numpy(var))
    return float(np.min(centre - spread)), float(np.max(centre + spread))


def _steps(width: float, reach: float, even: int) -> Floats:
    """width, 2·width, … up to the first beyond `reach`; growing where these would be too many."""
    count = max(0, math.ceil(reach / width))
    if count <= even:
        return width * np.arange(1.0, count + 1.0)
    # Σ γ^j from 1 to m reaches r/width at m = log(1 + r (γ − 1)/(γ width))/log γ.
    further = (reach - even * width) * (_GROWTH - 1.0) / (_GROWTH * width)
    growing = np.power(
        _GROWTH, np.arange(1.0, math.ceil(math.log1p(further) / math.log(_GROWTH)) + 1)
    )
    return width * np.cumsum(np.concatenate([np.ones(even), growing]))


def _check_count(n_cells: int) -> None:
    if n_cells < 3:
        raise ValueError(f"n_cells must be at least 3, got {n_cells}.")
