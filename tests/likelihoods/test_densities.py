"""Densities, moments, cdf and draws of all likelihoods against SciPy, in all array libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

from stepgp._array import to_numpy
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from tests.likelihoods.cases import CASES, Case
from tests.links.helpers import TO_LIBRARY
from tests.subclasses import concrete_subclasses

EACH = pytest.mark.parametrize("case", CASES, ids=str)
EACH_LIBRARY = pytest.mark.parametrize("library", TO_LIBRARY)


def test_every_likelihood_is_listed() -> None:
    assert concrete_subclasses(Likelihood) == {type(case.likelihood) for case in CASES}


@EACH
def test_log_prob_equals_scipy(case: Case) -> None:
    y = case.targets[:, None]
    reference = case.log_prob(y, case.levels)
    shared = case.likelihood.log_prob(y, case.levels)
    assert shared.shape == (case.targets.size, case.levels.size)
    np.testing.assert_allclose(shared, reference, rtol=1e-12, atol=1e-12)
    levels = np.tile(case.levels, (case.targets.size, 1))
    np.testing.assert_array_equal(case.likelihood.log_prob(y, levels), shared)


@EACH
def test_probabilities_sum_to_one(case: Case) -> None:
    for level in case.levels:
        at = np.array([level])

        def density(y: float, at: np.ndarray = at) -> float:
            return math.exp(case.likelihood.log_prob(np.array([y]), at)[0])

        if case.likelihood.discrete:
            values = [
                float(k) for k in range(2 if isinstance(case.likelihood, Bernoulli) else 1200)
            ]
            total = math.fsum(map(density, values))
        else:
            low, _ = integrate.quad(density, -math.inf, level, epsabs=1e-12)
            high, _ = integrate.quad(density, level, math.inf, epsabs=1e-12)
            total = low + high
        assert total == pytest.approx(1.0, abs=1e-10)


@EACH
def test_moments_equal_scipy(case: Case) -> None:
    frozen = case.reference(case.levels)
    mean, var = case.likelihood.mean(case.levels), case.likelihood.var(case.levels)
    assert mean.shape == var.shape == case.levels.shape
    np.testing.assert_allclose(mean, frozen.mean(), rtol=1e-13)
    np.testing.assert_allclose(var, frozen.var(), rtol=1e-13)


@EACH
def test_cdf_equals_scipy(case: Case) -> None:
    ends = [-math.inf, -1.0, 0.5, 1.0, math.inf]
    y = np.sort(np.concatenate([case.targets, ends]))[:, None]
    got = case.likelihood.cdf(y, case.levels)
    np.testing.assert_allclose(got, case.reference(case.levels).cdf(y), rtol=1e-11, atol=1e-300)
    assert (got[0] == 0.0).all()
    assert (got[-1] == 1.0).all()
    assert (np.diff(got, axis=0) >= 0.0).all()


@EACH
def test_samples_have_the_distribution(case: Case) -> None:
    n = 100_000
    generator = np.random.default_rng(7)
    levels = np.tile(case.levels[1:4], (n, 1))
    draws = case.likelihood.sample(levels, generator)
    assert draws.shape == levels.shape
    assert draws.dtype == np.float64
    assert not np.array_equal(draws, case.likelihood.sample(levels, generator))
    frozen = case.reference(case.levels[1:4])
    kurtosis = np.nan_to_num(frozen.stats("k"), nan=math.inf)
    if np.isfinite(kurtosis).all():
        error = np.sqrt(frozen.var() / n)
        assert (np.abs(draws.mean(0) - frozen.mean()) < 4.0 * error).all()
        # The second term is that of the mean, all there is for a fair coin.
        error = frozen.var() * (np.sqrt((kurtosis + 2.0) / n) + 4.0 / n)
        assert (np.abs(draws.var(0) - frozen.var()) < 4.0 * error).all()
    for probe in (-1.5, 0.0, 1.0, 9.0):  # heavy tails have no variance, but every one has a cdf
        share = frozen.cdf(probe)
        error = 4.0 * np.sqrt(share * (1.0 - share) / n) + 1e-12
        assert (np.abs((draws <= probe).mean(0) - share) <= error).all()


def test_draws_repeat_with_the_generator() -> None:
    levels = np.full((3, 2), 0.5)
    for case in CASES:
        first, second = (case.likelihood.sample(levels, np.random.default_rng(3)) for _ in range(2))
        np.testing.assert_array_equal(first, second)


@EACH_LIBRARY
@EACH
def test_libraries_agree(case: Case, library: str) -> None:
    y, level = case.targets[:, None], case.levels
    row = TO_LIBRARY[library](case.targets)
    column, levels = TO_LIBRARY[library](y), TO_LIBRARY[library](level)
    model = case.likelihood
    pairs = [
        (model.log_prob(column, levels), model.log_prob(y, level)),
        (model.mean(levels), model.mean(level)),
        (model.var(levels), model.var(level)),
        (model.log_prob_gradient(column, levels), model.log_prob_gradient(y, level)),
    ]
    if model.features:
        pairs += [
            (model.statistics(row), model.statistics(case.targets)),
            (model.base(row), model.base(case.targets)),
            *zip(
                model.statistics_gradient(row), model.statistics_gradient(case.targets), strict=True
            ),
        ]
    for got, reference in pairs:
        assert type(got) is type(levels)
        np.testing.assert_allclose(to_numpy(got), reference, rtol=1e-12, atol=1e-12)


@EACH_LIBRARY
@EACH
def test_float32_stays_float32(case: Case, library: str) -> None:
    y = TO_LIBRARY[library](case.targets.astype(np.float32))
    levels = TO_LIBRARY[library](case.levels.astype(np.float32))
    model = case.likelihood
    results = [model.log_prob(y[:, None], levels), model.var(levels)]
    results += [model.statistics(y), model.base(y)] if model.features else []
    for result in results:
        assert "float32" in str(result.dtype)
    np.testing.assert_allclose(
        to_numpy(results[0]),
        case.log_prob(case.targets[:, None], case.levels),
        rtol=2e-4,
        atol=1e-5,
    )


def test_edges_of_the_support() -> None:
    """A certain level gives certainty, not NaN."""
    y, level = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    np.testing.assert_array_equal(Bernoulli().log_prob(y, level), [0.0, 0.0])
    assert Poisson().log_prob(np.zeros(1), np.zeros(1))[0] == 0.0
    assert Poisson().cdf(np.zeros(1), np.zeros(1))[0] == 1.0


def test_outliers_are_never_cheap() -> None:
    """No floor below the density: its logarithm keeps falling as far as float64 goes."""
    far, level = np.array([1e100]), np.zeros(1)
    assert Gaussian(1.0).log_prob(far, level)[0] == pytest.approx(-0.5e200, rel=1e-12)
    got = StudentT(1.0, 3.0).log_prob(np.array([1e4, 1e8, 1e12, 1e200, -1e300]), level)
    reference = math.log(6.0 * math.sqrt(3.0) / math.pi) - 4.0 * np.log(
        [1e4, 1e8, 1e12, 1e200, 1e300]
    )
    np.testing.assert_allclose(got, reference, rtol=1e-8)
    np.testing.assert_allclose(got[1:], reference[1:], rtol=1e-14)
    assert Bernoulli().log_prob(np.ones(1), np.array([1e-300]))[0] == pytest.approx(
        -300.0 * math.log(10.0)
    )
    assert Poisson().log_prob(np.array([3.0]), np.array([1e-200]))[0] == pytest.approx(
        -600.0 * math.log(10.0) - math.log(6.0)
    )


def test_infinite_variance_is_not_nan() -> None:
    for df in (1.05, 1.5, 2.0):
        assert np.isposinf(StudentT(1.0, df).var(np.zeros(3))).all()
    assert StudentT(1.0, 2.5).var(np.zeros(1))[0] == pytest.approx(5.0)
