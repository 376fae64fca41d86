"""The inverse of a link that knows none of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stepgp._array import Floats

_WIDE = 30.0  # latent values live within a few units of zero; e^±30 covers any rate
_PROBES = 601
_HALVINGS = 60  # 60 / 2⁶⁰ is below the spacing of float64 near 1
_ROUNDING = 1e-12


def monotone_inverse(function: Callable[[Floats], Floats], level: npt.ArrayLike) -> Floats | None:
    """x with function(x) = level, by bisection on ±30; None where the function is not monotone.

    A jump across the level gives the place of the jump; a level beyond the values at ±30 gives
    that end.
    """
    probes = function(np.linspace(-_WIDE, _WIDE, _PROBES))
    rise = probes[-1] - probes[0]
    if rise == 0.0 or not (np.diff(probes) * np.sign(rise) >= -_ROUNDING * abs(rise)).all():
        return None
    shape = np.shape(level)
    target = np.atleast_1d(np.asarray(level, dtype=np.float64))
    low, high = np.full_like(target, -_WIDE), np.full_like(target, _WIDE)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = (function(middle) < target) == (rise > 0.0)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.reshape(0.5 * (low + high), shape)
