"""Levels of a learnt link one by one: free, or drawn to a constant or to the reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from stepgp._array import Floats, to_numpy
from stepgp.links.whitened import Whitened

_STEP = 1e-4
_HELD = 1e-2
"""Prior precision of free levels in latent units: nothing to any data, but where there are none."""


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Free(Whitened):
    """As good as no prior, d ~ N(0, 10²): for many rows and few knots."""

    def log_prior(self) -> float:
        return -0.5 * _HELD * float(self.deviations @ self.deviations) if self.params.size else 0.0

    def log_prior_gradient(self) -> Floats:
        return self._pull_deviations(-_HELD * self.deviations) if self.params.size else self.params

    def precision(self) -> Floats:
        return _HELD * np.eye(len(self._placed_knots))


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Ridge(Whitened):
    """log prior −λ Σ_j (g_j − c)², or towards the reference without c (paper, eqs. elboreg)."""

    strength: float = 1.0
    """λ, in the unit of squared levels."""
    constant: float | None = None
    """c; None: the reference's own levels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.strength) and self.strength > 0.0):
            raise ValueError(f"strength must be a positive number, got {self.strength!r}.")

    def log_prior(self) -> float:
        return -self.strength * float(np.sum(self._missed() ** 2))

    def log_prior_gradient(self) -> Floats:
        if not self.params.size:
            return self.params
        return self._pull_deviations(-2.0 * self.strength * self._missed() * self._slope())

    def precision(self) -> Floats:
        """2λ g′², where the levels are near what they are drawn to."""
        return np.diag(2.0 * self.strength * self._slope() ** 2)

    def _missed(self) -> Floats:
        if self.knots is None:
            return np.zeros(0)
        wanted = to_numpy(self._known(self.knots)) if self.constant is None else self.constant
        return self.levels - wanted

    def _slope(self) -> Floats:
        """dg_j/dd_j."""
        eta = self._placed_knots + self.deviations
        rise = to_numpy(self._known(eta + _STEP)) - to_numpy(self._known(eta - _STEP))
        return rise / (2.0 * _STEP)
