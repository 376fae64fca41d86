"""Order 1: hat functions, the partition of unity behind piecewise linear interpolation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace
from stepgp._array.special import normal_cdf_pdf, normal_tail, ramp_ratio
from stepgp.cells.base import CellFamily, Expectation
from stepgp.cells.grid import Grid
from stepgp.cells.windows import in_windows

_SQRT_2PI = float(np.sqrt(2.0 * np.pi))


@final
@dataclass(frozen=True, eq=False)
class Hat(CellFamily):
    """w_k = E hat_k(f), f ~ N(μ, v), with hats on the distinct nodes of a grid.

    hat_k is 1 at x_k, 0 at its neighbours and linear between; the outer two are constant outside.
    So Σ w_k h_k is the exact Gaussian expectation of the piecewise linear interpolant of h.
    """

    grid: Grid

    @property
    def nodes(self) -> Floats:
        return np.unique(self.grid.nodes)

    @property
    def span(self) -> tuple[float, float]:
        return float(self.nodes[0]), float(self.nodes[-1])

    def stencil(self) -> tuple[Floats, Floats]:
        return self.nodes[:, None], np.ones(1)

    def refined(self) -> Hat:
        return Hat(self.grid.refined())

    def masses(self, mean: Array, var: Array) -> Array:
        """E hat_k(f) = hat_k(μ) + second divided difference of tail ramps ρ_j.

        ρ_j = E(f − x_j)₊ − (μ − x_j)₊ = √v (φ(t) − t Φ(−t)), t = |μ − x_j|/√v, is the ramp
        reflected to its small side, so a far node is never a difference of large numbers.
        """
        xp = namespace(mean)
        deviation = xp.sqrt(var)[:, None]
        distance = like(self.nodes, mean) - mean[:, None]
        t = xp.abs(distance) / deviation
        tail, density = normal_tail(t)
        tail *= t
        density -= tail
        density *= deviation
        mass = _second_difference(density, self._spacing(mean)) + self._at(distance)
        return xp.maximum(mass, xp.zeros_like(mass))

    def mass_slopes(self, mean: Array, var: Array) -> tuple[Array, Array]:
        """∂E(f − x)₊/∂μ = Φ(z) and ∂/∂v = φ(z)/2√v, z = (μ − x)/√v."""
        cdf, density, _, deviation = _ramps(self.nodes, mean, var)
        spacing = self._spacing(mean)
        density /= 2.0 * deviation
        return _second_difference(cdf, spacing), _second_difference(density, spacing)

    def log_masses(self, mean: Array, var: Array) -> Array:
        """log of the masses with the largest of its Gaussian factors taken out.

        Cell k's three ramps share the factor exp(−t²/2) of the one nearest to the mean:
        w_k = exp(−t_near²/2) · Σ_j c_j √v (1 − t_j R(t_j)) exp(−(t_j² − t_near²)/2)/√2π,
        R the Mills ratio, c_j the second divided difference.
        """
        xp = namespace(mean)
        deviation = xp.sqrt(var)[:, None]
        distance = like(self.nodes, mean) - mean[:, None]
        t = xp.abs(distance) / deviation
        ramp = deviation * ramp_ratio(t)
        inside = self._at(distance)
        left, middle, right = _neighbours(t)
        nearest = xp.minimum(xp.minimum(left, middle), right)
        nearest = xp.where(inside > 0, xp.zeros_like(nearest), nearest)

        def scaled(ramp: Array, t: Array) -> Array:
            return ramp * xp.exp(-0.5 * (t - nearest) * (t + nearest))

        ramp_left, ramp_middle, ramp_right = _neighbours(ramp)
        centre = scaled(ramp_middle, middle)
        gap = self._spacing(mean)
        one = xp.ones_like(gap[:1])
        mass = (scaled(ramp_right, right) - centre) / xp.concat([gap, one])
        mass += (scaled(ramp_left, left) - centre) / xp.concat([one, gap])
        mass += inside * _SQRT_2PI
        smallest = xp.asarray(np.finfo(np.float64).tiny, dtype=mass.dtype)
        return xp.log(xp.maximum(mass, smallest)) - 0.5 * nearest * nearest - np.log(_SQRT_2PI)

    def expect(self, values: Array, mean: Array, var: Array) -> Expectation:
        """Σ_k w_k h_k = h_1 + Σ_j κ_j E(f − x_j)₊ with κ_j the kink of the interpolant at x_j.

        A knot far on the left adds κ_j (μ − x_j), one far on the right nothing.
        """
        nodes = self.nodes
        kinks = _second_difference(values, self._spacing(mean))

        def window(near: slice, rows: Array, mean: Array, var: Array) -> Expectation:
            xp = namespace(mean)
            slope = xp.sum(kinks[:, : near.start], axis=1)
            offset = values[:, 0] - kinks[:, : near.start] @ like(nodes[: near.start], mean)
            local = kinks[:, near].T
            cdf, density, ramp, deviation = _ramps(nodes[near], mean, var)
            return Expectation(
                ramp @ local + (offset + mean[:, None] * slope),
                cdf @ local + slope,
                (density @ local) / (2.0 * deviation),
            )

        return in_windows(nodes, mean, var, window)

    def expect_rowwise(self, values: Array, mean: Array, var: Array) -> Expectation:
        nodes = self.nodes
        kinks = _second_difference(values, self._spacing(mean))

        def window(near: slice, rows: Array, mean: Array, var: Array) -> Expectation:
            xp = namespace(mean)
            own = xp.take(kinks, rows, axis=0)
            slope = xp.sum(own[:, : near.start], axis=1)
            offset = xp.take(values[:, 0], rows) - own[:, : near.start] @ like(
                nodes[: near.start], mean
            )
            local = own[:, near]
            cdf, density, ramp, deviation = _ramps(nodes[near], mean, var)
            return Expectation(
                xp.sum(ramp * local, axis=1) + (offset + mean * slope),
                xp.sum(cdf * local, axis=1) + slope,
                xp.sum(density * local, axis=1) / (2.0 * deviation[:, 0]),
            )

        return in_windows(nodes, mean, var, window)

    def _spacing(self, reference: Array) -> Array:
        return like(np.diff(self.nodes), reference)

    def _at(self, distance: Array) -> Array:
        """hat_k(μ) from the signed distances x_k − μ: the smaller of its two sides, in [0, 1]."""
        xp = namespace(distance)
        spacing = self._spacing(distance)
        one = xp.ones_like(distance[:, :1])
        rise = xp.concat([one, -distance[:, :-1] / spacing], axis=1)
        fall = xp.concat([distance[:, 1:] / spacing, one], axis=1)
        return xp.clip(xp.minimum(rise, fall), 0.0, 1.0)


def _ramps(nodes: Floats, mean: Array, var: Array) -> tuple[Array, Array, Array, Array]:
    """Φ(z), φ(z), E(f − x)₊ = √v (φ(z) + z Φ(z)) at every node, and √v as a column."""
    xp = namespace(mean)
    deviation = xp.sqrt(var)[:, None]
    z = mean[:, None] - like(nodes, mean)
    z /= deviation
    cdf, density = normal_cdf_pdf(z)
    z *= cdf
    z += density
    z *= deviation
    return cdf, density, z, deviation


def _second_difference(at_nodes: Array, spacing: Array) -> Array:
    """(a_{k+1} − a_k)/h_k − (a_k − a_{k−1})/h_{k−1}, zero slope outside, along the last axis."""
    xp = namespace(at_nodes)
    slope = at_nodes[:, 1:] - at_nodes[:, :-1]
    slope /= spacing
    flat = xp.zeros_like(at_nodes[:, :1])
    slope = xp.concat([flat, slope, flat], axis=1)
    return slope[:, 1:] - slope[:, :-1]


def _neighbours(at_nodes: Array) -> tuple[Array, Array, Array]:
    """Each node's left neighbour, itself and its right neighbour (itself at the ends)."""
    xp = namespace(at_nodes)
    left = xp.concat([at_nodes[:, :1], at_nodes[:, :-1]], axis=1)
    right = xp.concat([at_nodes[:, 1:], at_nodes[:, -1:]], axis=1)
    return left, at_nodes, right
