"""Where the latent marginals of the rows lie: all that the choice of cells needs to know."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stepgp._array.namespace import Array, namespace


@dataclass(frozen=True)
class Spread:
    """Sums over rows of their marginals N(μ, v); spreads of disjoint rows add up."""

    lowest: float
    """min of μ − 6√v: with `highest`, the stretch of the line that any row sees."""
    highest: float
    weight: float
    total: float
    """Σ w μ"""
    square: float
    """Σ w (μ² + v)"""

    @classmethod
    def of(cls, mean: Array, var: Array, weight: Array) -> Spread:
        xp = namespace(mean)
        deviation = xp.sqrt(var)
        return cls(
            lowest=float(xp.min(mean - 6.0 * deviation)),
            highest=float(xp.max(mean + 6.0 * deviation)),
            weight=float(xp.sum(weight)),
            total=float(xp.sum(weight * mean)),
            square=float(xp.sum(weight * (mean * mean + var))),
        )

    def __add__(self, other: Spread) -> Spread:
        return Spread(
            min(self.lowest, other.lowest),
            max(self.highest, other.highest),
            self.weight + other.weight,
            self.total + other.total,
            self.square + other.square,
        )

    def core(self, deviations: float) -> tuple[float, float]:
        """Mean ± `deviations` of the mixture of all marginals, within the stretch they see."""
        mean = self.total / self.weight
        reach = deviations * math.sqrt(max(self.square / self.weight - mean * mean, 0.0))
        return max(self.lowest, mean - reach), min(self.highest, mean + reach)
