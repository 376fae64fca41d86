"""Targets 0, 1, 2, …"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
from scipy import special as scipy_special

from stepgp._array import Array, Floats, namespace
from stepgp._array.special import log_gamma
from stepgp.likelihoods.base import Likelihood
from stepgp.links import Feature, Support

_MOST = 1e15


@final
@dataclass(frozen=True)
class Poisson(Likelihood):
    """Counts at rate e·g: log p = y log(e g) − e g − log Γ(y+1), e the exposure."""

    discrete = True
    support = Support.POSITIVE
    takes_exposure = True
    features = (Feature.LOG, Feature.VALUE)
    targets = "whole numbers 0, 1, 2, …"

    def log_prob(self, y: Array, level: Array) -> Array:
        """y log g is 0 at y = 0 whatever g."""
        xp = namespace(y, level)
        log_level = xp.log(xp.where(y > 0, level, xp.ones_like(level)))
        return y * log_level - level - log_gamma(y + 1.0)

    def mean(self, level: Array) -> Array:
        return level

    def var(self, level: Array) -> Array:
        return level

    def valid_targets(self, y: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
        values = np.asarray(y, dtype=np.float64)
        return np.isfinite(values) & (values >= 0.0) & (values == np.floor(values))

    def statistics(self, y: Array, exposure: Array | None = None) -> Array:
        """(y, −e)."""
        xp = namespace(y)
        return xp.stack([y, -xp.ones_like(y) if exposure is None else -exposure], axis=-1)

    def base(self, y: Array, exposure: Array | None = None) -> Array:
        """y log e − log Γ(y+1)."""
        constant = -log_gamma(y + 1.0)
        return constant if exposure is None else constant + y * namespace(y).log(exposure)

    def cdf(self, y: Floats, level: Floats) -> Floats:
        """Q(⌊y⌋ + 1, g), the regularised upper incomplete gamma function."""
        whole = np.floor(y)
        upper = scipy_special.gammaincc(np.maximum(whole, 0.0) + 1.0, level)
        upper = np.where(np.isposinf(whole), 1.0, np.asarray(upper, dtype=np.float64))
        return np.where(whole < 0.0, 0.0, upper)

    def sample(self, level: Floats, generator: np.random.Generator) -> Floats:
        """Beyond 1e15 by the normal distribution, which NumPy's whole numbers do not reach."""
        draws = generator.poisson(np.minimum(level, _MOST)).astype(np.float64)
        large = level > _MOST
        if large.any():
            rate = level[large]
            noise = generator.standard_normal(rate.shape)
            draws[large] = rate + np.where(np.isinf(rate), 0.0, np.sqrt(rate) * noise)
        return draws
