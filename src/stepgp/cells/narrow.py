"""Cells much narrower than √v: their masses by a series, where differences lose their digits.

With k the weight function of a cell of width h around x, z = (x − μ)/√v and δ = h/√v,
    w = δ ∫ k(t) φ(z + δt) dt = δ φ(z) Σ_j m_j δʲ φ⁽ʲ⁾(z)/φ(z),  m_j = ∫ k(t) tʲ dt / j!.
Every term is as exact as φ, so √v may be any number of widths.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from stepgp._array.namespace import Array, namespace
from stepgp._array.special import capped, log_normal_cdf, normal_tail

_NARROW = 1.0 / 128.0
"""Rows none of whose δ is below have no need of the series: differences are exact to 1e-11."""
_WIDEST, _STEEPEST = 1.0 / 16.0, 0.6
"""Of δ and |z|δ in the others: there 11 terms are exact to 1e-12, and differences beyond that leave
the sum of a row's masses exact to 1e-14, although only some of its cells are differences."""
_TERMS = range(11)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class Narrow:
    """Where the series holds, (n, K), and what it gives there, with Φ beyond the ends."""

    holds: Array
    z: Array
    delta: Array
    """δ, 0 where the series does not hold."""
    moments: list[Array]
    """m_j"""
    ends: bool
    """Whether the first and the last cell go on to ∓∞."""

    def masses(self) -> Array:
        xp = namespace(self.z)
        tail, density = normal_tail(xp.abs(self.z))
        mass = density * self.delta * self._sum(0)
        below = xp.where(self.z[:, :1] < 0, tail[:, :1], 1.0 - tail[:, :1])
        above = xp.where(self.z[:, -1:] > 0, tail[:, -1:], 1.0 - tail[:, -1:])
        return self._with_ends(mass, mass[:, :1] + below, mass[:, -1:] + above)

    def log_masses(self) -> Array:
        xp, z = namespace(self.z), capped(self.z)
        log_density = -0.5 * z * z - _HALF_LOG_2PI
        share = xp.where(self.holds, self.delta * self._sum(0), xp.ones_like(z))
        below, above = log_normal_cdf(z[:, :1]), log_normal_cdf(-z[:, -1:])
        # log(Φ + φ·share) = log Φ + log(1 + share·φ/Φ), where φ/Φ is never large.
        low = below + xp.log1p(share[:, :1] * xp.exp(log_density[:, :1] - below))
        high = above + xp.log1p(share[:, -1:] * xp.exp(log_density[:, -1:] - above))
        return self._with_ends(log_density + xp.log(share), low, high)

    def slopes(self, var: Array) -> tuple[Array, Array]:
        """∂w/∂μ = −w′/√v and ∂w/∂v = w″/2v, primes with respect to z."""
        xp = namespace(self.z)
        _, density = normal_tail(xp.abs(self.z))
        first = density * self._sum(1)
        first = self._with_ends(
            first, first[:, :1] + density[:, :1], first[:, -1:] - density[:, -1:]
        )
        bend = self.z * density
        delta = xp.where(self.holds, self.delta, xp.ones_like(self.z))
        second = density * self._sum(2) / delta
        second = self._with_ends(second, second[:, :1] - bend[:, :1], second[:, -1:] + bend[:, -1:])
        return -first / xp.sqrt(var)[:, None], second / (2.0 * var[:, None])

    def _sum(self, order: int) -> Array:
        """Σ_j m_j d_{j+order}, d_j = δʲ φ⁽ʲ⁾(z)/φ(z) = (−δ)ʲ He_j(z).

        d_{j+1} = −zδ d_j − j δ² d_{j−1}.
        """
        xp = namespace(self.z)
        nothing = xp.zeros_like(self.z)
        tilt, square = -xp.where(self.holds, self.z, nothing) * self.delta, self.delta**2
        total, before, now = nothing, nothing, xp.ones_like(self.z)
        for j in range(len(self.moments) + order):
            if j >= order:
                total = total + self.moments[j - order] * now
            before, now = now, tilt * now - float(j) * square * before
        return total

    def _with_ends(self, inner: Array, low: Array, high: Array) -> Array:
        if not self.ends:
            return inner
        return namespace(inner).concat([low, inner[:, 1:-1], high], axis=1)


def narrow_hats(nodes: Array, mean: Array, var: Array) -> Narrow | None:
    """Hats on nodes (K,), or (n, W) of each row's own: k(t) = 1 − t on each side, so
    m_j = (±1)ʲ/(j+2)!."""
    if nodes.shape[-1] == 1:
        return None
    xp, gaps = namespace(mean), nodes[..., 1:] - nodes[..., :-1]
    nothing = xp.zeros_like(nodes[..., :1])
    left, right = xp.concat([nothing, gaps], axis=-1), xp.concat([gaps, nothing], axis=-1)
    widths = xp.maximum(left, right)

    def moment(j: int) -> Array:
        sides = (right / widths) ** (j + 1) + (-1.0) ** j * (left / widths) ** (j + 1)
        return sides / math.factorial(j + 2)

    return _series(nodes, widths, moment, mean, var, ends=True)


def narrow_steps(edges: Array, mean: Array, var: Array) -> Narrow | None:
    """Steps between edges (K−1,) or (n, W−1): k = 1 on (−½, ½), so m_j = 2⁻ʲ/(j+1)!, j even."""
    low, high = edges[..., :-1], edges[..., 1:]
    one = namespace(mean).ones_like(low)

    def moment(j: int) -> Array:
        return (0.0 if j % 2 else 0.5**j / math.factorial(j + 1)) * one

    return _series(0.5 * (low + high), high - low, moment, mean, var, ends=False)


def _series(
    points: Array,
    widths: Array,
    moment: Callable[[int], Array],
    mean: Array,
    var: Array,
    *,
    ends: bool,
) -> Narrow | None:
    """None where no row is wide enough for the series."""
    xp = namespace(mean)
    deviation = xp.sqrt(var)[:, None]
    if not widths.shape[-1]:
        return None
    narrowest = float(xp.min(widths)) / _NARROW
    if narrowest > float(xp.max(deviation)):
        return None
    z = (points - mean[:, None]) / deviation
    delta = widths / deviation
    holds = (delta <= _WIDEST) & (xp.abs(z) * delta <= _STEEPEST) & (deviation >= narrowest)
    moments = [moment(j) for j in _TERMS]
    return Narrow(holds, z, xp.where(holds, delta, xp.zeros_like(z)), moments, ends)
