"""The named links. Each logarithm is written in x, so both tails keep their relative digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
from scipy import special as scipy_special

from stepgp._array import Array, Floats, namespace
from stepgp._array.special import (
    log1mexp,
    log_normal_cdf,
    log_sigmoid,
    normal_cdf_pdf,
    softplus,
)
from stepgp.cells.base import Expectation
from stepgp.links.base import Link
from stepgp.links.feature import Feature, Support

# Left of −30, with t = eˣ < 1e-13, both log(1 − e⁻ᵗ) and log log1p(t) are x − t/2 + O(t²) exactly
# in float64. The closed forms would lose t to underflow there.
_LEFT = -30.0
# Right of 10, e^(−eˣ) = 0 in float64: larger x change nothing and would overflow eˣ.
_SATURATED = 10.0
# Elsewhere eˣ and x² may pass the largest float: infinite is then what they are.
_overflows = np.errstate(over="ignore")


@final
@dataclass(frozen=True)
class Identity(Link):
    """g(x) = x."""

    support = Support.REAL
    lipschitz = 1.0
    standard = True

    def __call__(self, x: Array) -> Array:
        return x

    def inverse(self, level: npt.ArrayLike) -> Floats:
        return np.asarray(level, dtype=np.float64)

    def image(self, mean: Floats, var: Floats) -> tuple[Floats, Floats]:
        return mean, var

    @_overflows
    def expected(self, feature: Feature, mean: Array, var: Array) -> Expectation | None:
        """E f = μ and E f² = μ² + v."""
        xp = namespace(mean, var)
        one = xp.ones_like(mean)
        match feature:
            case Feature.VALUE:
                return Expectation(mean, one, xp.zeros_like(mean))
            case Feature.SQUARE:
                return Expectation(mean * mean + var, 2.0 * mean, one)
            case _:
                return None


@final
@dataclass(frozen=True)
class Sigmoid(Link):
    """g(x) = 1/(1 + e⁻ˣ); |g′| ≤ 1/4."""

    support = Support.UNIT
    lipschitz = 0.25

    def __call__(self, x: Array) -> Array:
        xp = namespace(x)
        decay = xp.exp(-xp.abs(x))
        return xp.where(x < 0, decay, xp.ones_like(decay)) / (1.0 + decay)

    def log(self, x: Array) -> Array:
        return log_sigmoid(x)

    def log_complement(self, x: Array) -> Array:
        return log_sigmoid(-x)

    def inverse(self, level: npt.ArrayLike) -> Floats:
        """log(g/(1 − g))."""
        return np.asarray(scipy_special.logit(np.asarray(level)), dtype=np.float64)


@final
@dataclass(frozen=True)
class Probit(Link):
    """g(x) = Φ(x); |g′| ≤ 1/√(2π)."""

    support = Support.UNIT
    lipschitz = 1.0 / math.sqrt(2.0 * math.pi)

    def __call__(self, x: Array) -> Array:
        return normal_cdf_pdf(x)[0]

    def log(self, x: Array) -> Array:
        return log_normal_cdf(x)

    def log_complement(self, x: Array) -> Array:
        return log_normal_cdf(-x)

    def inverse(self, level: npt.ArrayLike) -> Floats:
        return np.asarray(scipy_special.ndtri(np.asarray(level)), dtype=np.float64)

    def expected(self, feature: Feature, mean: Array, var: Array) -> Expectation | None:
        """E Φ(f) = Φ(z), z = μ/√(1+v); d/dμ = φ(z)/√(1+v), d/dv = −½ z φ(z)/(1+v)."""
        if feature is not Feature.VALUE:
            return None
        spread = 1.0 + var
        root = namespace(mean, var).sqrt(spread)
        z = mean / root
        value, density = normal_cdf_pdf(z)
        return Expectation(value, density / root, -0.5 * z * density / spread)


@final
@dataclass(frozen=True)
class CLogLog(Link):
    """g(x) = 1 − exp(−eˣ), the chance of at least one event at rate eˣ; |g′| ≤ 1/e."""

    support = Support.UNIT
    lipschitz = math.exp(-1.0)

    def __call__(self, x: Array) -> Array:
        xp = namespace(x)
        return -xp.expm1(-xp.exp(xp.clip(x, max=_SATURATED)))

    def log(self, x: Array) -> Array:
        """log(1 − e⁻ᵗ), t = eˣ."""
        xp = namespace(x)
        left = xp.clip(x, max=_LEFT)
        right = xp.exp(xp.clip(x, min=_LEFT, max=_SATURATED))
        return xp.where(x < _LEFT, left - 0.5 * xp.exp(left), log1mexp(right))

    @_overflows
    def log_complement(self, x: Array) -> Array:
        return -namespace(x).exp(x)

    def inverse(self, level: npt.ArrayLike) -> Floats:
        """log(−log(1 − g))."""
        return np.log(-np.log1p(-np.asarray(level, dtype=np.float64)))


@final
@dataclass(frozen=True)
class Exp(Link):
    """g(x) = eˣ."""

    support = Support.POSITIVE

    @_overflows
    def __call__(self, x: Array) -> Array:
        return namespace(x).exp(x)

    def log(self, x: Array) -> Array:
        return x

    def inverse(self, level: npt.ArrayLike) -> Floats:
        return np.log(np.asarray(level, dtype=np.float64))

    @_overflows
    def expected(self, feature: Feature, mean: Array, var: Array) -> Expectation | None:
        """E e^f = e^(μ+v/2), E e^(2f) = e^(2μ+2v), E f = μ."""
        xp = namespace(mean, var)
        match feature:
            case Feature.VALUE:
                value = xp.exp(mean + 0.5 * var)
                return Expectation(value, value, 0.5 * value)
            case Feature.SQUARE:
                value = xp.exp(2.0 * (mean + var))
                return Expectation(value, 2.0 * value, 2.0 * value)
            case Feature.LOG:
                return Expectation(mean, xp.ones_like(mean), xp.zeros_like(mean))
            case Feature.LOG_COMPLEMENT:
                return None


@final
@dataclass(frozen=True)
class Softplus(Link):
    """g(x) = log(1 + eˣ); |g′| ≤ 1."""

    support = Support.POSITIVE
    lipschitz = 1.0

    def __call__(self, x: Array) -> Array:
        return softplus(x)

    def log(self, x: Array) -> Array:
        """log log1p(t), t = eˣ."""
        xp = namespace(x)
        left = xp.clip(x, max=_LEFT)
        right = xp.log(softplus(xp.clip(x, min=_LEFT)))
        return xp.where(x < _LEFT, left - 0.5 * xp.exp(left), right)

    def inverse(self, level: npt.ArrayLike) -> Floats:
        """log(e^g − 1) = g + log(1 − e⁻ᵍ)."""
        target = np.asarray(level, dtype=np.float64)
        return target + log1mexp(target)
