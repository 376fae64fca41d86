"""What a likelihood asks of a level, and where levels live."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum

from stepgp._array import Array

_STEP = 1e-3


class Support(Enum):
    """An open interval of levels: the values of a link, the parameter space of a likelihood."""

    REAL = (-math.inf, math.inf)
    POSITIVE = (0.0, math.inf)
    UNIT = (0.0, 1.0)

    @property
    def low(self) -> float:
        return self.value[0]

    @property
    def high(self) -> float:
        return self.value[1]

    def contains(self, other: Support) -> bool:
        """Whether every level of `other` is a level of this support."""
        return self.low <= other.low and other.high <= self.high

    def slope(self, function: Callable[[Array], Array], level: Array) -> Array:
        """∂ function(level)/∂ level: central differences of u, extrapolated once.

        u is the level, log level or its log-odds: steps in it stay inside the support.
        """

        def central(step: float) -> Array:
            return (function(self._moved(level, step)) - function(self._moved(level, -step))) / (
                2.0 * step
            )

        by_u = (4.0 * central(0.5 * _STEP) - central(_STEP)) / 3.0
        match self:
            case Support.REAL:
                return by_u
            case Support.POSITIVE:
                return by_u / level
            case Support.UNIT:
                return by_u / (level * (1.0 - level))

    def _moved(self, level: Array, step: float) -> Array:
        match self:
            case Support.REAL:
                return level + step
            case Support.POSITIVE:
                return level * math.exp(step)
            case Support.UNIT:
                odds = level / (1.0 - level) * math.exp(step)
                return odds / (1.0 + odds)

    def __str__(self) -> str:
        return f"({self.low:g}, {self.high:g})".replace("inf", "∞")


class Feature(Enum):
    """A function of the level g in the split log p(y | g) = base(y) + Σ_r T_r(y) · feature_r(g).

    A link computes each one straight from the latent value, so that log g keeps its digits where
    g itself has rounded to 0 or 1.
    """

    VALUE = "g"
    SQUARE = "g²"
    LOG = "log g"
    LOG_COMPLEMENT = "log(1 − g)"

    @property
    def is_log(self) -> bool:
        """Whether it keeps digits that the level itself has lost."""
        return self in (Feature.LOG, Feature.LOG_COMPLEMENT)

    @property
    def domain(self) -> Support:
        """The levels where the feature is finite."""
        match self:
            case Feature.LOG:
                return Support.POSITIVE
            case Feature.LOG_COMPLEMENT:
                return Support.UNIT
            case Feature.VALUE | Feature.SQUARE:
                return Support.REAL
