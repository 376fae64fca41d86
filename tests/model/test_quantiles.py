"""Quantiles of mixtures at extreme levels, far targets and huge counts: the search always ends."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.cells import Grid, Hat
from stepgp.likelihoods import Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Exp, Identity
from stepgp.model import GaussianPredictive, MixturePredictive
from tests.model.cases import CELLS, coarse

FINE = Hat(Grid.uniform(-16.0, 16.0, 4_000, "midpoint"))


def test_extreme_levels_end() -> None:
    """The largest level below one is beyond what rounded masses add up to."""
    last = float(np.nextafter(1.0, 0.0))
    mean, var = np.linspace(-3.0, 1.5, 200), np.linspace(0.01, 3.0, 200)
    counts = MixturePredictive(Poisson(), Exp(), coarse(CELLS["hat"]), mean, var)
    assert np.min(counts.cdf(np.inf)) < last
    quantile = counts.quantile(last)
    assert np.isfinite(quantile).all()
    assert np.all(quantile >= counts.quantile(0.999999))
    assert np.all(counts.quantile(1e-300) == 0.0)


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize(
    "likelihood", [Gaussian(0.4), StudentT(0.5, 3.0), StudentT(0.5, 2.1)], ids=str
)
def test_extreme_levels_of_real_targets(likelihood: Likelihood, cells: str) -> None:
    """Down to a level of 10⁻³⁰⁰ the cdf gives it back, up to the last below one it ends."""
    mean, var = np.linspace(-3.0, 1.5, 20), np.linspace(0.01, 3.0, 20)
    dist = MixturePredictive(likelihood, Identity(), coarse(CELLS[cells]), mean, var)
    levels = [1e-300, 1e-100, 1e-16, 1e-6, 0.5, 1.0 - 1e-6, float(np.nextafter(1.0, 0.0))]
    quantiles = dist.quantile(levels)
    assert np.isfinite(quantiles).all()
    assert np.all(np.diff(quantiles, axis=1) > 0.0)
    for column, level in enumerate(levels[:-1]):
        np.testing.assert_allclose(dist.cdf(quantiles[:, column]), level, rtol=1e-6)


def test_extreme_levels_in_closed_form() -> None:
    dist = GaussianPredictive(np.array([-2.0, 1e6]), np.array([0.5, 1e-3]))
    levels = [1e-300, 1e-16, 0.5, float(np.nextafter(1.0, 0.0))]
    quantiles = dist.quantile(levels)
    assert np.isfinite(quantiles).all()
    for column, level in enumerate(levels):
        np.testing.assert_allclose(dist.cdf(quantiles[:, column])[0], level, rtol=1e-11)


@pytest.mark.parametrize("rate", [1e12, 1e17, 1e300])
def test_quantiles_of_huge_counts_end(rate: float) -> None:
    """Where whole numbers are no longer next to each other."""
    cells = Hat(Grid.uniform(-4.0, 4.0, 30, "midpoint"))
    dist = MixturePredictive(Poisson(), Exp(), cells, np.zeros(2), np.ones(2), np.full(2, rate))
    quantile = dist.quantile(0.7)
    assert np.all(dist.cdf(quantile) >= 0.7)
    assert np.all(dist.cdf(quantile * (1.0 - 1e-6)) < 0.7)
    draws = dist.sample(5_000, 1)
    assert np.mean(draws[0] <= quantile[0]) == pytest.approx(0.7, abs=0.03)


def test_rates_beyond_all_floats() -> None:
    cells = Hat(Grid.uniform(-800.0, 800.0, 400, "midpoint"))
    dist = MixturePredictive(Poisson(), Exp(), cells, np.array([780.0, 0.0]), np.ones(2))
    with np.errstate(over="ignore"):
        assert dist.mean()[0] == dist.quantile(0.5)[0] == dist.sample(1, 0)[0, 0] == np.inf
        assert dist.cdf(1e300)[0] == 0.0
        assert np.isfinite(dist.mean()[1])
        assert not np.isnan(dist.log_prob(3.0)).any()
        assert not np.isnan(dist.var()).any()


def test_quantiles_of_far_targets() -> None:
    """The search starts wide of the answer and has to grow its bracket."""
    dist = MixturePredictive(StudentT(1.0, 1.2), Identity(), FINE, np.zeros(1), np.ones(1))
    quantile = dist.quantile([1e-8, 1.0 - 1e-8])[0]
    np.testing.assert_allclose(dist.cdf(quantile[:1]), 1e-8, rtol=1e-8)
    assert quantile[0] < -1e6
    assert quantile[1] > 1e6
    big = MixturePredictive(
        Poisson(), Exp(), coarse(CELLS["hat"]), np.zeros(1), np.ones(1), np.array([1e9])
    )
    q = big.quantile(0.5)
    assert big.cdf(q)[0] >= 0.5 > big.cdf(q - 1.0)[0]
