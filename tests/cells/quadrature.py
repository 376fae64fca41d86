"""Adaptive quadrature against a normal density, split where a function jumps or bends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise

from scipy import integrate


def expectation(
    function: Callable[[float], float],
    mean: float,
    var: float,
    knots: Iterable[float] = (),
    *,
    reach: tuple[float, float] = (-12.0, 12.0),
) -> float:
    """E function(f), f ~ N(mean, var), over mean + √var·reach."""
    deviation = math.sqrt(var)
    low, high = (mean + deviation * z for z in reach)
    middle = [mean + deviation * z for z in (-6.0, -3.0, -1.5, 0.0, 1.5, 3.0, 6.0)]
    ends = sorted({low, high, *(x for x in [*knots, *middle] if low < x < high)})

    def integrand(f: float) -> float:
        z = (f - mean) / deviation
        return function(f) * math.exp(-0.5 * z * z)

    parts = (
        integrate.quad(integrand, a, b, epsabs=0.0, epsrel=1e-11, limit=200)[0]
        for a, b in pairwise(ends)
    )
    return math.fsum(parts) / (deviation * math.sqrt(2.0 * math.pi))
