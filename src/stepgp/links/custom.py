"""Any Python callable as a link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from stepgp._array import Array, Floats, like, to_numpy
from stepgp.links.base import Link
from stepgp.links.feature import Support


@final
@dataclass(frozen=True)
class CustomLink(Link):
    """g(x) = function(x), elementwise, with levels in `support`.

    The function gets a NumPy array whichever library holds x, so one NumPy function serves
    rows on a GPU too; a function of one number (`math.tanh`, an `if`) is applied element by
    element. log g and log(1 − g) are taken of the rounded level: where g comes within 1e-16 of
    the edge of its support, subclass `Link` and override `log` and `log_complement` instead.
    """

    function: Callable[[Any], Any]
    support: Support = Support.REAL
    lipschitz: float | None = None

    def __call__(self, x: Array) -> Array:
        at = to_numpy(x)
        levels = _apply(self.function, at)
        # Closed at both ends: a steep function may round to the edge of its support.
        outside = ~((levels >= self.support.low) & (levels <= self.support.high))
        if outside.any():
            first = tuple(np.argwhere(outside)[0])
            raise ValueError(
                f"The link function gives {levels[first]:g} at {at[first]:g}, but its levels must "
                f"lie in {self.support}. Correct the function or name another support: "
                "CustomLink(function, support)."
            )
        return like(levels, x)


def _apply(function: Callable[[Any], Any], at: Floats) -> Floats:
    """function(at), element by element where it does not take arrays."""
    try:
        levels = np.asarray(function(at), dtype=np.float64)
    except (TypeError, ValueError):
        # An error that has another cause than the array comes back from the loop.
        flat = [float(function(float(value))) for value in at.ravel()]
        return np.asarray(flat, dtype=np.float64).reshape(at.shape)
    if levels.shape != at.shape:
        raise ValueError(
            f"The link function returned shape {levels.shape} for an input of shape {at.shape}. "
            "A link is elementwise: return one level for each latent value."
        )
    return levels
