"""Predictive distributions under test, and integrals over their targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood
from stepgp.links import Affine, CLogLog, Softplus
from stepgp.model import GaussianPredictive, MixturePredictive, Predictive
from tests.model.cases import CELLS, MEAN, PAIRS, VAR, Pair, coarse

_POINTS = np.linspace(-70.0, 70.0, 16_001)


def mixture(pair: Pair, cells: str, *, exposure: bool = True) -> MixturePredictive:
    """Six rows; with exposures where the likelihood takes them."""
    return MixturePredictive(
        pair.likelihood,
        pair.link,
        coarse(CELLS[cells]),
        MEAN,
        VAR,
        pair.exposure if exposure else None,
    )


def can_sum(likelihood: Likelihood) -> bool:
    """Whether it defines a cdf, as a user's own need not."""
    return type(likelihood).cdf is not Likelihood.cdf


# One of each shape: how wide the noise is makes no difference here.
_SHAPES = {(type(p.likelihood), getattr(p.likelihood, "df", None), p.link): p for p in PAIRS}
_DEFAULTS = [p for p in _SHAPES.values() if p.link == p.likelihood.default_link()]
_OTHERS = [
    p
    for p in _SHAPES.values()
    if p.link == Softplus()
    or (p.link == CLogLog() and isinstance(p.likelihood, Bernoulli))
    or (isinstance(p.link, Affine) and isinstance(p.likelihood, Gaussian))
]

DISTS: dict[str, Predictive] = {
    f"{pair} {cells}": mixture(pair, cells)
    for cells, pairs in (
        ("hat", _DEFAULTS),
        ("hat-uneven", _OTHERS),
        ("step-upper", _DEFAULTS),
        ("step-average", _DEFAULTS),
        ("step-midpoint", _DEFAULTS),
        ("step-uneven", _DEFAULTS),
    )
    for pair in pairs
    if can_sum(pair.likelihood)
}
DISTS["gaussian"] = GaussianPredictive(MEAN, np.sqrt(VAR + 0.1))


def discrete(dist: Predictive) -> TypeGuard[MixturePredictive]:
    return isinstance(dist, MixturePredictive) and dist.likelihood.discrete


def repeated(dist: Predictive, row: int, times: int) -> Predictive:
    """One row of a distribution, many times."""
    index = np.full(times, row)
    if isinstance(dist, GaussianPredictive):
        return GaussianPredictive(dist.location[index], dist.scale[index])
    assert isinstance(dist, MixturePredictive)
    return replace(
        dist,
        latent_mean=dist.latent_mean[index],
        latent_var=dist.latent_var[index],
        exposure=None if dist.exposure is None else dist.exposure[index],
    )


@dataclass(frozen=True, eq=False)
class Density:
    """exp(log_prob) of one row on a fine set of targets, with weights that integrate or sum."""

    y: np.ndarray
    p: np.ndarray
    jacobian: np.ndarray
    step: float | None

    def expect(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        """Σ or ∫ function(y) p(y)."""
        terms = function(self.y) * self.p * self.jacobian
        return float(np.sum(terms)) * (self.step or 1.0)


def density(dist: Predictive, row: int) -> Density:
    """On 0, 1 or 0, 1, …, 400, or on y = sinh t: dense in the middle, and 30 decades wide.

    The trapezoidal rule in t is exact to rounding for densities wider than the spacing.
    """
    if discrete(dist):
        y = np.arange(2.0 if isinstance(dist.likelihood, Bernoulli) else 401.0)
        return Density(y, np.exp(repeated(dist, row, len(y)).log_prob(y)), np.ones(len(y)), None)
    y = np.sinh(_POINTS)
    p = np.exp(repeated(dist, row, len(y)).log_prob(y))
    return Density(y, p, np.cosh(_POINTS), float(_POINTS[1] - _POINTS[0]))
