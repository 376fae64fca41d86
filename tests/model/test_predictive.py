"""mean, var, log_prob, cdf, quantile and samples of one distribution agree with each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from stepgp._array import Floats
from stepgp.likelihoods import Bernoulli
from stepgp.model import GaussianPredictive, MixturePredictive, Predictive
from tests.model.dists import DISTS, density, discrete, repeated
from tests.subclasses import concrete_subclasses

every_dist = pytest.mark.parametrize("dist", DISTS.values(), ids=DISTS.keys())
LEVELS = [1e-9, 0.003, 0.1, 0.5, 0.77, 0.99, 1.0 - 1e-9]
ROWS = [0, 2, 5]


def test_every_predictive_is_listed() -> None:
    assert concrete_subclasses(Predictive) == {type(dist) for dist in DISTS.values()}
    assert concrete_subclasses(Predictive) == {GaussianPredictive, MixturePredictive}


@every_dist
def test_log_prob_is_normalised(dist: Predictive) -> None:
    for row in ROWS:
        assert density(dist, row).expect(np.ones_like) == pytest.approx(1.0, rel=1e-12)


@every_dist
def test_mean_and_var_are_those_of_the_density(dist: Predictive) -> None:
    mean, var = dist.mean(), dist.var()
    assert mean.shape == var.shape == (6,)
    np.testing.assert_array_equal(dist.std(), np.sqrt(var))
    for row in ROWS:
        p = density(dist, row)
        assert p.expect(lambda y: y) == pytest.approx(mean[row], rel=1e-9, abs=1e-9)
        if np.isfinite(var[row]):
            centre = mean[row]
            got = p.expect(lambda y, c=centre: (y - c) ** 2)
            assert got == pytest.approx(var[row], rel=1e-8)


def test_variances_are_infinite_only_where_they_are() -> None:
    infinite = {name for name, dist in DISTS.items() if not np.isfinite(dist.var()).all()}
    assert infinite == {name for name in DISTS if "df=1.5" in name}
    for dist in DISTS.values():
        assert np.all(dist.var() > 0.0)


@every_dist
def test_cdf_is_the_integral_of_the_density(dist: Predictive) -> None:
    if discrete(dist):
        for row in ROWS:
            p = density(dist, row)
            np.testing.assert_allclose(
                repeated(dist, row, len(p.y)).cdf(p.y), np.cumsum(p.p), atol=1e-12
            )
    else:
        for low, high in ((1e-4, 0.3), (0.3, 0.999)):
            start, end = dist.quantile(low), dist.quantile(high)
            width = end - start

            def integrand(t: float, start: Floats = start, width: Floats = width) -> Floats:
                return width * np.exp(dist.log_prob(start + t * width))

            mass, _ = integrate.quad_vec(integrand, 0.0, 1.0, epsabs=1e-9, norm="max")
            np.testing.assert_allclose(mass, dist.cdf(end) - dist.cdf(start), atol=1e-8)
    np.testing.assert_array_equal(dist.cdf(np.full(6, -np.inf)), np.zeros(6))
    everything = dist.cdf(np.full(6, np.inf))
    np.testing.assert_allclose(everything, np.ones(6), rtol=1e-14)
    assert np.all(everything <= 1.0)  # or else a probit of it is NaN


def test_discrete_cdfs_are_right_continuous_steps() -> None:
    for dist in filter(discrete, DISTS.values()):
        y = np.array([0.0, 1.0, 2.0, 3.0, 0.0, 1.0])
        np.testing.assert_array_equal(dist.cdf(y + 0.999), dist.cdf(y))
        assert np.all(dist.cdf(y - 1e-9) < dist.cdf(y) + (y > 1.0))
        np.testing.assert_array_equal(dist.cdf(-0.1), np.zeros(6))


@every_dist
def test_quantiles_invert_the_cdf(dist: Predictive) -> None:
    quantiles = dist.quantile(LEVELS)
    assert quantiles.shape == (6, len(LEVELS))
    assert np.all(np.diff(quantiles, axis=1) >= 0.0)
    for column, p in zip(quantiles.T, LEVELS, strict=True):
        if discrete(dist):
            np.testing.assert_array_equal(column, np.floor(column))
            assert np.all(column >= 0.0)
            assert np.all(dist.cdf(column) >= p)
            assert np.all(dist.cdf(column - 1.0) < p)
        else:
            np.testing.assert_allclose(dist.cdf(column), p, rtol=1e-9, atol=1e-15)


@every_dist
def test_one_quantile_and_intervals(dist: Predictive) -> None:
    np.testing.assert_array_equal(dist.quantile(0.3), dist.quantile([0.3])[:, 0])
    np.testing.assert_array_equal(dist.quantile([[0.2], [0.3]])[:, 1, 0], dist.quantile(0.3))
    np.testing.assert_allclose(dist.interval(0.8), dist.quantile([0.1, 0.9]), rtol=1e-9, atol=1e-12)


@every_dist
def test_samples_have_the_distribution(dist: Predictive) -> None:
    n = 20_000
    draws = dist.sample(n, 11)
    assert draws.shape == (6, n)
    var = dist.var()
    if np.isfinite(var).all() and "df=2.0" not in repr(dist):
        error = np.sqrt(var / n)
        assert np.all(np.abs(draws.mean(axis=1) - dist.mean()) <= 4.0 * error)
    for p in (0.1, 0.5, 0.9):
        probe = dist.quantile(p)
        share = dist.cdf(probe)
        error = np.sqrt(share * (1.0 - share) / n) + 1e-12
        assert np.all(np.abs((draws <= probe[:, None]).mean(axis=1) - share) <= 4.0 * error)
    # Rows are independent of each other.
    low, high = dist.quantile([0.001, 0.999]).T[:, :, None]
    correlation = np.corrcoef(np.clip(draws, low, high))
    assert np.max(np.abs(correlation - np.eye(6))) < 4.5 / np.sqrt(n)


def test_samples_repeat_with_the_seed() -> None:
    for dist in DISTS.values():
        first = dist.sample(3, 5)
        np.testing.assert_array_equal(first, dist.sample(3, 5))
        generator = np.random.default_rng(5)
        np.testing.assert_array_equal(first, dist.sample(3, generator))
        assert first.shape == (6, 3)
        assert not discrete(dist) or np.all(first == np.floor(first))
    some = DISTS["gaussian"]
    generator = np.random.default_rng(5)
    assert not np.array_equal(some.sample(3, generator), some.sample(3, generator))
    assert not np.array_equal(some.sample(3), some.sample(3))


# ---- arguments


@every_dist
def test_one_target_serves_all_rows(dist: Predictive) -> None:
    np.testing.assert_array_equal(dist.log_prob(1.0), dist.log_prob(np.ones(6)))
    np.testing.assert_array_equal(dist.cdf(1), dist.cdf(np.ones(6)))
    assert len(dist) == 6


SOME = [DISTS["gaussian"], next(d for d in DISTS.values() if not isinstance(d, GaussianPredictive))]


@pytest.mark.parametrize("dist", SOME, ids=lambda d: type(d).__name__)
def test_wrong_arguments(dist: Predictive) -> None:
    for shape in ((5,), (6, 1), (6, 6)):
        with pytest.raises(ValueError, match=r"must be a number or have shape \(6,\), got"):
            dist.log_prob(np.ones(shape))
        with pytest.raises(ValueError, match="must be a number"):
            dist.cdf(np.ones(shape))
    for bad in (0.0, 1.0, -0.1, 1.5, np.nan, [0.5, 1.0]):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            dist.quantile(bad)
    for bad in (0.0, 1.0, -0.5, np.nan):
        with pytest.raises(ValueError, match="coverage must be one number strictly"):
            dist.interval(bad)


def test_probabilities_of_two_classes_sum_to_one() -> None:
    for dist in DISTS.values():
        if isinstance(dist, MixturePredictive) and isinstance(dist.likelihood, Bernoulli):
            total = np.exp(dist.log_prob(0.0)) + np.exp(dist.log_prob(1.0))
            np.testing.assert_allclose(total, 1.0, rtol=1e-13)
            np.testing.assert_allclose(np.exp(dist.log_prob(1.0)), dist.mean(), rtol=1e-12)
