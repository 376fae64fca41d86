"""Order 0: the paper's step function, with the probabilities of its cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace
from stepgp._array.special import (
    log_normal_cdf_difference,
    normal_cdf_pdf,
    normal_remainder_pdf,
    normal_tail,
)
from stepgp.cells.base import CellFamily, Expectation, Table
from stepgp.cells.grid import Grid, check_grid
from stepgp.cells.narrow import narrow_steps
from stepgp.cells.windows import along_rows, columns, in_windows, largest_of, shared_sizes


@final
@dataclass(frozen=True, eq=False)
class Indicator(CellFamily):
    """w_k = P(l_k ≤ f < u_k), f ~ N(μ, v) (paper, eq. piececonst)."""

    grid: Grid

    def __post_init__(self) -> None:
        check_grid(self.grid)

    @property
    def nodes(self) -> Floats:
        return self.grid.nodes

    @property
    def span(self) -> tuple[float, float]:
        return float(self.grid.edges[0]), float(self.grid.edges[-1])

    def stencil(self) -> tuple[Floats, Floats]:
        return self.grid.stencil()

    def refined(self) -> Indicator:
        return Indicator(self.grid.refined())

    def extended(self, low: float, high: float) -> Indicator:
        return Indicator(self.grid.extended(low, high))

    @property
    def order(self) -> int:
        """A level read off-centre is wrong by the slope, one of the middle by the curvature."""
        return 1 if self.grid.rule == "upper" else 2

    def _masses(self, mean: Array, var: Array, near: Array | None) -> Array:
        """Φ(b) − Φ(a) = [μ in the cell] + first difference of signed tails.

        With Φ(z) = [z ≥ 0] − sign(z)·Φ(−|z|), two edges on one side of the mean are subtracted
        in their own tail, so a far cell keeps its relative digits. Cells far narrower than √v
        have a series.
        """
        xp = namespace(mean)
        z, _ = _standardised(self._edges(mean, near), mean, var)
        above = z < 0  # the edge lies above the mean
        tail, _ = normal_tail(xp.abs(z))
        step = xp.astype(above, z.dtype)
        tail = xp.where(above, -tail, tail)
        step_jump = _differences(step, first=0.0, last=1.0)
        mass = step_jump + _differences(tail, first=0.0, last=0.0)
        mass = xp.maximum(mass, xp.zeros_like(mass))
        narrow = narrow_steps(self._edges(mean, near), mean, var)
        return mass if narrow is None else _with_inner(mass, narrow.holds, narrow.masses())

    def _mass_slopes(self, mean: Array, var: Array) -> tuple[Array, Array]:
        """∂Φ((e−μ)/s)/∂μ = −φ/s and ∂/∂v = −zφ/2v with z = (e−μ)/s at every edge e."""
        z, deviation = _standardised(like(self.grid.edges, mean), mean, var)
        _, density = normal_cdf_pdf(z)
        by_mean = -density / deviation
        by_var = density * z / (2.0 * deviation * deviation)
        by_mean = _differences(by_mean, first=0.0, last=0.0)
        by_var = _differences(by_var, first=0.0, last=0.0)
        narrow = narrow_steps(self._edges(mean, None), mean, var)
        if narrow is None:
            return by_mean, by_var
        of_mean, of_var = narrow.slopes(var)
        return (
            _with_inner(by_mean, narrow.holds, of_mean),
            _with_inner(by_var, narrow.holds, of_var),
        )

    def _log_masses(self, mean: Array, var: Array, near: Array | None) -> Array:
        xp = namespace(mean)
        edges, deviation = self._edges(mean, near), xp.sqrt(var)[:, None]
        end = xp.full_like(edges[..., :1], np.inf)
        if not end.shape[-1]:  # one cell holds all
            return xp.zeros_like(deviation)
        low, high = xp.concat([-end, edges], axis=-1), xp.concat([edges, end], axis=-1)
        log = log_normal_cdf_difference(
            (low - mean[:, None]) / deviation, (high - mean[:, None]) / deviation
        )
        narrow = narrow_steps(edges, mean, var)
        return log if narrow is None else _with_inner(log, narrow.holds, narrow.log_masses())

    def expect(self, values: Array, mean: Array, var: Array) -> Expectation:
        """Σ_k w_k h_k = h(μ) + Σ_j (h_{j+1} − h_j)(Φ(z_j) − [z_j ≥ 0]), z_j = (μ − e_j)/√v.

        Only edges near the mean add to its own level, so levels far away cost no digits.
        """
        xp = namespace(values)
        edges, jumps = like(self.grid.edges, mean), values[:, 1:] - values[:, :-1]

        def window(rows: Array, near: Array, mean: Array, var: Array) -> Expectation:
            here = xp.take(values, self._cell_of(mean), axis=1)
            return _add_tails(here, columns(jumps, near), columns(edges, near), mean, var)

        found = in_windows(self.grid.edges, mean, var, window, shared_sizes(values))
        return Expectation(found.value.T, found.d_mean.T, found.d_var.T)

    def expect_table(self, table: Table, mean: Array, var: Array) -> Expectation:
        xp = namespace(mean)
        edges = like(self.grid.edges, mean)

        def window(rows: Array, near: Array, mean: Array, var: Array) -> Expectation:
            # Edge j lies between the cells j and j + 1.
            own = table(rows, xp.concat([near, near[:, -1:] + 1], axis=1))
            here = along_rows(own, self._cell_of(mean) - near[:, 0])
            jumps = own[..., 1:] - own[..., :-1]
            return _add_tails(here, jumps, columns(edges, near), mean, var)

        def sizes(rows: Array, at: Array) -> Array:
            return largest_of(table(rows, at[:, None])[..., 0])

        return in_windows(self.grid.edges, mean, var, window, sizes)

    def _edges(self, reference: Array, near: Array | None) -> Array:
        """All inner edges, (K−1,), or those between the near cells of each row, (n, W−1)."""
        edges = like(self.grid.edges, reference)
        return edges if near is None else columns(edges, near[:, :-1])

    def _cell_of(self, points: Array) -> Array:
        """The index of the cell [l_k, u_k) that contains each point."""
        return namespace(points).searchsorted(like(self.grid.edges, points), points, side="right")


def _add_tails(here: Array, jumps: Array, edges: Array, mean: Array, var: Array) -> Expectation:
    """h(μ) + Σ_j J_j (Φ_j − [z_j ≥ 0]) with its derivatives Σ_j J_j φ_j/√v and −Σ_j J_j z_jφ_j/2v.

    `edges` (n, W) are the near ones of each row, `jumps` (n, W) or (R, n, W) those of its function.
    """
    xp = namespace(mean)
    z, deviation = _standardised(edges, mean, var)
    tail, density = normal_remainder_pdf(z)
    z *= density
    return Expectation(
        xp.vecdot(jumps, tail) + here,
        xp.vecdot(jumps, density) / deviation[:, 0],
        xp.vecdot(jumps, z) / (-2.0 * var),
    )


def _standardised(edges: Array, mean: Array, var: Array) -> tuple[Array, Array]:
    """z = (μ − e)/√v at every edge, and √v as a column."""
    deviation = namespace(mean).sqrt(var)[:, None]
    z = mean[:, None] - edges
    z /= deviation
    return z, deviation


def _with_inner(at_cells: Array, where: Array, other: Array) -> Array:
    """Other values in some of the bounded cells."""
    xp = namespace(at_cells)
    inner = xp.where(where, other, at_cells[:, 1:-1])
    return xp.concat([at_cells[:, :1], inner, at_cells[:, -1:]], axis=1)


def _differences(at_edges: Array, *, first: float, last: float) -> Array:
    """Cell-wise differences of a function of the K−1 edges with given values at ∓∞."""
    xp = namespace(at_edges)
    column = xp.ones_like(at_edges[:, :1])
    padded = xp.concat([first * column, at_edges, last * column], axis=1)
    return padded[:, 1:] - padded[:, :-1]
