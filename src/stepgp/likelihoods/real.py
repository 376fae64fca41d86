"""Real targets around the level: Gaussian and Student-t noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self, final

import numpy as np
from scipy import special as scipy_special

from stepgp._array import Array, Floats, namespace
from stepgp._array.special import digamma
from stepgp.likelihoods.moments import robust_sd, weighted_median, weighted_sd
from stepgp.likelihoods.parametric import Parametric, Positive
from stepgp.links import Feature

# The noise of standardised targets; the optimiser works in these units only.
_SCALE = Positive("scale", typical=0.3, spread=1.5, low=1e-4, high=1e2)
# The mean does not exist at one degree of freedom; beyond 1,000 the noise is Gaussian.
_DF = Positive("df", typical=4.0, spread=1.0, low=1.05, high=1e3, above=1.0)
_NOISE_SHARE = 0.5  # how much of the spread of the targets to call noise at the start


@final
@dataclass(frozen=True)
class Gaussian(Parametric):
    """N(y | g, σ²), σ = `scale`: log p = −½((y − g)/σ)² − log σ − ½ log 2π."""

    parameters: ClassVar[tuple[Positive, ...]] = (_SCALE,)
    location_scale = True
    features = (Feature.VALUE, Feature.SQUARE)

    scale: float | None = None

    def log_prob(self, y: Array, level: Array) -> Array:
        z = (y - level) / self.value("scale")
        return -0.5 * z * z - self._log_constant()

    def mean(self, level: Array) -> Array:
        return level

    def var(self, level: Array) -> Array:
        return namespace(level).full_like(level, self.value("scale") ** 2)

    def statistics(self, y: Array, exposure: Array | None = None) -> Array:
        """(y/σ², −1/(2σ²))."""
        xp = namespace(y)
        precision = self.value("scale") ** -2
        return xp.stack([y * precision, xp.full_like(y, -0.5 * precision)], axis=-1)

    def base(self, y: Array, exposure: Array | None = None) -> Array:
        """−y²/(2σ²) − log σ − ½ log 2π."""
        z = y / self.value("scale")
        return -0.5 * z * z - self._log_constant()

    def log_prob_gradient(self, y: Array, level: Array) -> Array:
        """∂/∂ log σ = ((y − g)/σ)² − 1."""
        z = (y - level) / self.value("scale")
        return self._stack_learnt({"scale": z * z - 1.0}, z)

    def statistics_gradient(self, y: Array, exposure: Array | None = None) -> tuple[Array, Array]:
        """∂T/∂ log σ = −2T and ∂base/∂ log σ = (y/σ)² − 1."""
        statistics = self.statistics(y)
        z = y / self.value("scale")
        return (
            self._stack_learnt({"scale": -2.0 * statistics}, statistics),
            self._stack_learnt({"scale": z * z - 1.0}, z),
        )

    def initial(self, y: Floats, weight: Floats | None = None) -> Self:
        """σ = half the standard deviation of the targets, where it was left open."""
        spread = weighted_sd(y, weight)
        if self.scale is not None or spread == 0.0:
            return self
        return replace(self, scale=_NOISE_SHARE * spread)

    def rescaled(self, shift: float, scale: float) -> Self:
        return replace(self, scale=scale * self.value("scale"))

    @property
    def gaussian_noise(self) -> float:
        return self.value("scale") ** 2

    def cdf(self, y: Floats, level: Floats) -> Floats:
        z = (y - level) / self.value("scale")
        return np.asarray(scipy_special.ndtr(z), dtype=np.float64)

    def sample(self, level: Floats, generator: np.random.Generator) -> Floats:
        return level + self.value("scale") * generator.standard_normal(level.shape)

    def _log_constant(self) -> float:
        return math.log(self.value("scale")) + 0.5 * math.log(2.0 * math.pi)


@final
@dataclass(frozen=True)
class StudentT(Parametric):
    """Student-t noise with ν = `df` > 1 degrees of freedom and scale σ = `scale`.

    log p = −log B(½, ν/2) − ½ log ν − log σ − ½(ν+1) log(1 + z²/ν), z = (y − g)/σ. The variance
    σ²ν/(ν − 2) is infinite for ν ≤ 2.
    """

    parameters: ClassVar[tuple[Positive, ...]] = (_SCALE, _DF)
    location_scale = True

    scale: float | None = None
    df: float | None = None

    def log_prob(self, y: Array, level: Array) -> Array:
        df, scale = self.value("df"), self.value("scale")
        constant = -float(scipy_special.betaln(0.5, 0.5 * df)) - 0.5 * math.log(df)
        distance = (y - level) / (scale * math.sqrt(df))
        return constant - math.log(scale) - 0.5 * (df + 1.0) * _log1p_square(distance)

    def mean(self, level: Array) -> Array:
        return level

    def var(self, level: Array) -> Array:
        df, scale = self.value("df"), self.value("scale")
        return namespace(level).full_like(
            level, scale**2 * df / (df - 2.0) if df > 2.0 else math.inf
        )

    def level_slope(self, y: Array, level: Array) -> Array:
        """(ν + 1)(y − g)/(νσ² + (y − g)²)."""
        df, scale = self.value("df"), self.value("scale")
        z = (y - level) / (scale * math.sqrt(df))
        capped = namespace(z).clip(z, min=-_FAR, max=_FAR)
        return (df + 1.0) * capped / (1.0 + capped * capped) / (scale * math.sqrt(df))

    def log_prob_gradient(self, y: Array, level: Array) -> Array:
        """With s = z²/(ν + z²): ∂/∂ log σ = (ν+1)s − 1, and

        ∂/∂ log ν = ½ν[ψ(½(ν+1)) − ψ(½ν) − 1/ν − log(1 + z²/ν) + (ν+1)s/ν].
        """
        df = self.value("df")
        distance = (y - level) / (self.value("scale") * math.sqrt(df))
        capped = namespace(distance).clip(distance, min=-_FAR, max=_FAR)
        share = capped * capped / (1.0 + capped * capped)
        low, high = digamma(np.array([0.5 * df, 0.5 * (df + 1.0)]))
        constant = float(high - low)
        by_df = 0.5 * df * (constant - _log1p_square(distance)) - 0.5 + 0.5 * (df + 1.0) * share
        return self._stack_learnt({"scale": (df + 1.0) * share - 1.0, "df": by_df}, distance)

    def initial(self, y: Floats, weight: Floats | None = None) -> Self:
        """σ = half a standard deviation that outliers do not move, where it was left open."""
        spread = robust_sd(y, weight)
        if self.scale is not None or spread == 0.0:
            return self
        return replace(self, scale=_NOISE_SHARE * spread)

    def location_and_scale(self, y: Floats, weight: Floats | None) -> tuple[float, float]:
        """Median and a deviation that outliers do not move."""
        return weighted_median(y, weight), robust_sd(y, weight)

    def rescaled(self, shift: float, scale: float) -> Self:
        return replace(self, scale=scale * self.value("scale"))

    def cdf(self, y: Floats, level: Floats) -> Floats:
        z = (y - level) / self.value("scale")
        return np.asarray(scipy_special.stdtr(self.value("df"), z), dtype=np.float64)

    def sample(self, level: Floats, generator: np.random.Generator) -> Floats:
        draws = generator.standard_t(self.value("df"), size=level.shape)
        return level + self.value("scale") * draws


_FAR = 1e9  # beyond it log(1 + t²) = 2 log t and t²/(1 + t²) = 1, while t² would overflow


def _log1p_square(t: Array) -> Array:
    """log(1 + t²) at any t."""
    xp = namespace(t)
    t = xp.abs(t)
    near = xp.clip(t, max=_FAR)
    return xp.where(t > _FAR, 2.0 * xp.log(xp.clip(t, min=_FAR)), xp.log1p(near * near))
