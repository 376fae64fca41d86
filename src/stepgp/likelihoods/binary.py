"""Targets 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from stepgp._array import Array, Floats, namespace
from stepgp.likelihoods.base import Likelihood
from stepgp.links import Feature, Support


@final
@dataclass(frozen=True)
class Bernoulli(Likelihood):
    """P(y = 1 | g) = g: log p = y log g + (1 − y) log(1 − g)."""

    discrete = True
    support = Support.UNIT
    features = (Feature.LOG, Feature.LOG_COMPLEMENT)
    targets = "0 or 1 (StepGPClassifier encodes two labels so)"

    def log_prob(self, y: Array, level: Array) -> Array:
        """The term that y selects, so that the other one may be log 0."""
        xp = namespace(y, level)
        success = y > 0.5
        one, zero = xp.ones_like(level), xp.zeros_like(level)
        return xp.log(xp.where(success, level, one)) + xp.log1p(-xp.where(success, zero, level))

    def mean(self, level: Array) -> Array:
        return level

    def var(self, level: Array) -> Array:
        """g(1 − g)."""
        return level * (1.0 - level)

    def valid_targets(self, y: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
        return (y == 0) | (y == 1)

    def statistics(self, y: Array, exposure: Array | None = None) -> Array:
        """(y, 1 − y)."""
        return namespace(y).stack([y, 1.0 - y], axis=-1)

    def base(self, y: Array, exposure: Array | None = None) -> Array:
        return namespace(y).zeros_like(y)

    def cdf(self, y: Floats, level: Floats) -> Floats:
        return np.where(y < 0.0, 0.0, np.where(y < 1.0, 1.0 - level, 1.0))

    def sample(self, level: Floats, generator: np.random.Generator) -> Floats:
        return (generator.random(level.shape) < level).astype(np.float64)
