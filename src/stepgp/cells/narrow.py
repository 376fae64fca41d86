"""Cells much narrower than √v: their masses by a series, where differences lose their digits.

With k the weight function of a cell of width h around x, z = (x − μ)/√v and δ = h/√v,
    w = δ ∫ k(t) φ(z + δt) dt = δ φ(z) Σ_j m_j δʲ φ⁽ʲ⁾(z)/φ(z),  m_j = ∫ k(t) tʲ dt / j!.
Every term is as exact as φ, so √v may be any number of widths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace
from stepgp._array.special import capped, log_normal_cdf, normal_tail

_WIDEST, _STEEPEST = 1.0 / 16.0, 0.6
"""Of δ and |z|δ: there 9 terms are exact to 1e-11, and differences no worse than 1e-11 beyond."""
_TERMS = range(11)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class Narrow:
    """Where the series holds, (n, K), and what it gives there, with Φ beyond the ends."""

    holds: Array
    z: Array
    delta: Array
    """δ, 0 where the series does not hold."""
    moments: list[Floats]
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
                total = total + like(self.moments[j - order], self.z) * now
            before, now = now, tilt * now - float(j) * square * before
        return total

    def _with_ends(self, inner: Array, low: Array, high: Array) -> Array:
        if not self.ends:
            return inner
        return namespace(inner).concat([low, inner[:, 1:-1], high], axis=1)


def narrow_hats(nodes: Floats, mean: Array, var: Array) -> Narrow | None:
    """Hats on these nodes: k(t) = 1 − t on each side, so m_j = (±1)ʲ/(j+2)!."""
    if len(nodes) == 1:
        return None
    left, right = np.append(0.0, np.diff(nodes)), np.append(np.diff(nodes), 0.0)
    widths = np.maximum(left, right)
    left, right = left / widths, right / widths
    moments = [
        (right ** (j + 1) + (-1.0) ** j * left ** (j + 1)) / math.factorial(j + 2) for j in _TERMS
    ]
    return _series(nodes, widths, moments, mean, var, ends=True)


def narrow_steps(edges: Floats, mean: Array, var: Array) -> Narrow | None:
    """Steps between these edges: k = 1 on (−½, ½), so m_j = 2⁻ʲ/(j+1)!, j even."""
    middles = 0.5 * (edges[1:] + edges[:-1])
    moments = [np.array(0.0 if j % 2 else 0.5**j / math.factorial(j + 1)) for j in _TERMS]
    return _series(middles, np.diff(edges), moments, mean, var, ends=False)


def _series(
    points: Floats, widths: Floats, moments: list[Floats], mean: Array, var: Array, *, ends: bool
) -> Narrow | None:
    """None where no row is wide enough for the series."""
    xp = namespace(mean)
    deviation = xp.sqrt(var)[:, None]
    if not len(widths) or np.min(widths) > _WIDEST * float(xp.max(deviation)):
        return None
    z = (like(points, mean) - mean[:, None]) / deviation
    delta = like(widths, mean) / deviation
    holds = (delta <= _WIDEST) & (xp.abs(z) * delta <= _STEEPEST)
    return Narrow(holds, z, xp.where(holds, delta, xp.zeros_like(z)), moments, ends)
