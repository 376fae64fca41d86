"""Order 1: hat functions, the partition of unity behind piecewise linear interpolation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace
from stepgp._array.special import capped, normal_remainder_pdf, ramp_ratio
from stepgp.cells.base import CellFamily, Expectation, Table
from stepgp.cells.grid import Grid, check_grid
from stepgp.cells.narrow import narrow_hats
from stepgp.cells.windows import along_rows, columns, in_windows, largest_of, shared_sizes

_SQRT_2PI = math.sqrt(2.0 * math.pi)
_LOG_SQRT_2PI = math.log(_SQRT_2PI)


@final
@dataclass(frozen=True, eq=False)
class Hat(CellFamily):
    """w_k = E hat_k(f), f ~ N(μ, v), with hats on the distinct nodes of a grid.

    hat_k is 1 at x_k, 0 at its neighbours and linear between; the outer two are constant outside.
    So Σ w_k h_k is the exact Gaussian expectation of the piecewise linear interpolant of h.
    """

    grid: Grid
    _nodes: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_grid(self.grid)
        object.__setattr__(self, "_nodes", np.unique(self.grid.nodes))

    @property
    def nodes(self) -> Floats:
        return self._nodes

    @property
    def span(self) -> tuple[float, float]:
        return float(self.nodes[0]), float(self.nodes[-1])

    def stencil(self) -> tuple[Floats, Floats]:
        return self.nodes[:, None], np.ones(1)

    def refined(self) -> Hat:
        return Hat(self.grid.refined())

    def extended(self, low: float, high: float) -> Hat:
        return Hat(self.grid.extended(low, high))

    @property
    def order(self) -> int:
        return 2

    def _masses(self, mean: Array, var: Array, near: Array | None) -> Array:
        """E hat_k(f) = hat_k(μ) + second divided difference of tail ramps ρ_j.

        ρ_j = E(f − x_j)₊ − (μ − x_j)₊ = √v (φ(t) − t Φ(−t)), t = |μ − x_j|/√v, is the ramp
        reflected to its small side, so a far node is never a difference of large numbers. Hats
        far narrower than √v have a series.
        """
        xp, nodes = namespace(mean), self._nodes_of(mean, near)
        distance, spacing = nodes - mean[:, None], _gaps(nodes)
        # So that distance/√v is a float; that many deviations are as good as infinitely many.
        reach = xp.maximum(xp.abs(distance[:, 0]), xp.abs(distance[:, -1]))
        var = xp.maximum(var, (reach / (0.1 * xp.finfo(mean.dtype).max)) ** 2)
        _, _, ramp, _ = _tail_ramps(nodes, mean, var)
        mass = _second_difference(ramp, spacing) + _at(distance, spacing)
        mass = xp.maximum(mass, xp.zeros_like(mass))
        narrow = narrow_hats(nodes, mean, var)
        return mass if narrow is None else xp.where(narrow.holds, narrow.masses(), mass)

    def _mass_slopes(self, mean: Array, var: Array) -> tuple[Array, Array]:
        """∂E(f − x)₊/∂μ = Φ(z) and ∂/∂v = φ(z)/2√v, z = (μ − x)/√v.

        Φ is a step and its tail beyond, differenced apart to keep the digits of far nodes. Hats
        far narrower than √v have a series.
        """
        xp = namespace(mean)
        tail, density, _, deviation = _tail_ramps(like(self.nodes, mean), mean, var)
        density /= 2.0 * deviation
        spacing = self._spacing(mean)
        below = mean[:, None] >= like(self.nodes, mean)
        step = _second_difference(xp.astype(below, mean.dtype), spacing)
        by_mean, by_var = (
            step + _second_difference(tail, spacing),
            _second_difference(density, spacing),
        )
        narrow = narrow_hats(like(self.nodes, mean), mean, var)
        if narrow is None:
            return by_mean, by_var
        of_mean, of_var = narrow.slopes(var)
        return xp.where(narrow.holds, of_mean, by_mean), xp.where(narrow.holds, of_var, by_var)

    def _log_masses(self, mean: Array, var: Array, near: Array | None) -> Array:
        """log of the masses with the largest of its Gaussian factors taken out.

        Cell k's three ramps share the factor exp(−t²/2) of the one nearest to the mean:
        w_k = exp(−t_near²/2) · Σ_j c_j √v (1 − t_j R(t_j)) exp(−(t_j² − t_near²)/2)/√2π,
        R the Mills ratio, c_j the second divided difference. Narrow hats have a series.
        """
        xp, nodes = namespace(mean), self._nodes_of(mean, near)
        deviation, gap = xp.sqrt(var)[:, None], _gaps(nodes)
        distance = nodes - mean[:, None]
        t = capped(xp.abs(distance) / deviation)
        ramp = deviation * ramp_ratio(t)
        inside = _at(distance, gap)
        left, middle, right = _neighbours(t)
        nearest = xp.minimum(xp.minimum(left, middle), right)
        nearest = xp.where(inside > 0, xp.zeros_like(nearest), nearest)

        def scaled(ramp: Array, t: Array) -> Array:
            return ramp * xp.exp(-0.5 * (t - nearest) * (t + nearest))

        ramp_left, ramp_middle, ramp_right = _neighbours(ramp)
        centre = scaled(ramp_middle, middle)
        one = xp.ones_like(nodes[..., :1])
        mass = (scaled(ramp_right, right) - centre) / xp.concat([gap, one], axis=-1)
        mass += (scaled(ramp_left, left) - centre) / xp.concat([one, gap], axis=-1)
        mass += inside * _SQRT_2PI
        smallest = xp.full_like(mass, xp.finfo(mass.dtype).smallest_normal)
        log = xp.log(xp.maximum(mass, smallest)) - 0.5 * nearest * nearest - _LOG_SQRT_2PI
        narrow = narrow_hats(nodes, mean, var)
        return log if narrow is None else xp.where(narrow.holds, narrow.log_masses(), log)

    def expect(self, values: Array, mean: Array, var: Array) -> Expectation:
        """Σ_k w_k h_k = ĥ(μ) + Σ_j κ_j ρ_j: interpolant, its kinks κ_j, tail ramps ρ_j.

        Only nodes near the mean add to the interpolant at it, so values far away cost no digits.
        """
        xp = namespace(values)
        slopes = _slopes(values, self._spacing(mean))
        kinks = slopes[:, 1:] - slopes[:, :-1]
        nodes = like(self.nodes, mean)

        def window(rows: Array, near: Array, mean: Array, var: Array) -> Expectation:
            segment, anchor, beyond = self._place(mean)
            slope = xp.take(slopes, segment, axis=1)
            here = xp.take(values, anchor, axis=1) + slope * beyond
            return _add_ramps(here, slope, columns(kinks, near), columns(nodes, near), mean, var)

        found = in_windows(self.nodes, mean, var, window, shared_sizes(values))
        return Expectation(found.value.T, found.d_mean.T, found.d_var.T)

    def expect_table(self, table: Table, mean: Array, var: Array) -> Expectation:
        xp = namespace(mean)
        nodes, last = like(self.nodes, mean), len(self.nodes) - 1

        def window(rows: Array, near: Array, mean: Array, var: Array) -> Expectation:
            # One node more on each side gives the slopes on both sides of the near ones.
            start = near[:, :1]
            around = xp.concat([start - 1, near, near[:, -1:] + 1], axis=1)
            at = xp.clip(around, 0, last)
            own, x = table(rows, at), columns(nodes, at)
            rise, run = own[..., 1:] - own[..., :-1], x[:, 1:] - x[:, :-1]
            slopes = xp.where(run > 0, rise / xp.where(run > 0, run, xp.ones_like(run)), 0.0)
            segment, anchor, beyond = self._place(mean)
            # `own` begins with node start − 1, `slopes` with the segment before node `start`.
            slope = along_rows(slopes, segment - start[:, 0])
            here = along_rows(own, anchor - start[:, 0] + 1) + slope * beyond
            kinks = slopes[..., 1:] - slopes[..., :-1]
            return _add_ramps(here, slope, kinks, x[:, 1:-1], mean, var)

        def sizes(rows: Array, at: Array) -> Array:
            return largest_of(table(rows, at[:, None])[..., 0])

        return in_windows(self.nodes, mean, var, window, sizes)

    def _place(self, points: Array) -> tuple[Array, Array, Array]:
        """Each point's segment of the line (0 before the first node), anchor, distance past it."""
        xp = namespace(points)
        nodes = like(self.nodes, points)
        segment = xp.searchsorted(nodes, points, side="right")
        anchor = xp.maximum(segment - 1, xp.zeros_like(segment))
        return segment, anchor, points - xp.take(nodes, anchor)

    def _nodes_of(self, reference: Array, near: Array | None) -> Array:
        """All nodes, (K,), or the near ones of each row, (n, W)."""
        nodes = like(self.nodes, reference)
        return nodes if near is None else columns(nodes, near)

    def _spacing(self, reference: Array) -> Array:
        return _gaps(like(self.nodes, reference))


def _gaps(nodes: Array) -> Array:
    """Differences of the nodes as the rows see them."""
    return nodes[..., 1:] - nodes[..., :-1]


def _at(distance: Array, spacing: Array) -> Array:
    """hat_k(μ) from the signed distances x_k − μ: the smaller of its two sides, in [0, 1]."""
    xp = namespace(distance)
    one = xp.ones_like(distance[:, :1])
    rise = xp.concat([one, -distance[:, :-1] / spacing], axis=1)
    fall = xp.concat([distance[:, 1:] / spacing, one], axis=1)
    return xp.clip(xp.minimum(rise, fall), 0.0, 1.0)


def _add_ramps(
    here: Array, slope: Array, kinks: Array, nodes: Array, mean: Array, var: Array
) -> Expectation:
    """ĥ(μ) + Σ_j κ_j ρ_j with its derivatives slope + Σ_j κ_j (Φ_j − [z_j ≥ 0]), Σ_j κ_j φ_j/2√v.

    `nodes` (n, W) are the near ones of each row, `kinks` (n, W) or (R, n, W) those of its function.
    """
    xp = namespace(mean)
    tail, density, ramp, deviation = _tail_ramps(nodes, mean, var)
    return Expectation(
        xp.vecdot(kinks, ramp) + here,
        xp.vecdot(kinks, tail) + slope,
        xp.vecdot(kinks, density) / (2.0 * deviation[:, 0]),
    )


def _tail_ramps(nodes: Array, mean: Array, var: Array) -> tuple[Array, Array, Array, Array]:
    """Φ(z) − [z ≥ 0], φ(z), ρ = √v (φ(z) − |z| Φ(−|z|)) at every node, and √v as a column.

    Nodes are (K,), or (n, W) for some of each row.
    """
    xp = namespace(mean)
    deviation = xp.sqrt(var)[:, None]
    z = mean[:, None] - nodes
    z /= deviation
    tail, density = normal_remainder_pdf(z)
    z *= tail
    z += density
    z *= deviation
    return tail, density, z, deviation


def _slopes(at_nodes: Array, spacing: Array) -> Array:
    """(a_{k+1} − a_k)/h_k with the zero slopes before the first and after the last node."""
    xp = namespace(at_nodes)
    slope = at_nodes[:, 1:] - at_nodes[:, :-1]
    slope /= spacing
    flat = xp.zeros_like(at_nodes[:, :1])
    return xp.concat([flat, slope, flat], axis=1)


def _second_difference(at_nodes: Array, spacing: Array) -> Array:
    """(a_{k+1} − a_k)/h_k − (a_k − a_{k−1})/h_{k−1}, zero slope outside, along the last axis."""
    slopes = _slopes(at_nodes, spacing)
    return slopes[:, 1:] - slopes[:, :-1]


def _neighbours(at_nodes: Array) -> tuple[Array, Array, Array]:
    """Each node's left neighbour, itself and its right neighbour (itself at the ends)."""
    xp = namespace(at_nodes)
    left = xp.concat([at_nodes[:, :1], at_nodes[:, :-1]], axis=1)
    right = xp.concat([at_nodes[:, 1:], at_nodes[:, -1:]], axis=1)
    return left, at_nodes, right
