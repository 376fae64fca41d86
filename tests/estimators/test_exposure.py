"""Counts with exposure: rates per unit of time at risk."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stepgp import StepGPRegressor
from tests.estimators.data import COUNTS, N, X, regressor

_RNG = np.random.default_rng(5)
TIME = np.sort(_RNG.uniform(0.0, 6.0, 400))[:, None]
RATE = np.exp(0.5 + np.sin(TIME[:, 0]))
EXPOSURE = _RNG.uniform(0.2, 20.0, 400)
EVENTS = _RNG.poisson(RATE * EXPOSURE)


@pytest.fixture(scope="module")
def model() -> StepGPRegressor:
    return StepGPRegressor(likelihood="poisson", n_inducing=20).fit(TIME, EVENTS, exposure=EXPOSURE)


def test_rates_are_recovered(model: StepGPRegressor) -> None:
    np.testing.assert_allclose(model.predict(TIME), RATE, rtol=0.15)


def test_without_exposure_they_are_not() -> None:
    wrong = StepGPRegressor(likelihood="poisson", n_inducing=20).fit(TIME, EVENTS).predict(TIME)
    assert np.min(wrong / RATE) > 2.0


def test_exposure_multiplies_the_mean(model: StepGPRegressor) -> None:
    rate = model.predict(TIME)
    np.testing.assert_allclose(model.predict(TIME, exposure=EXPOSURE), EXPOSURE * rate, rtol=1e-12)
    np.testing.assert_allclose(model.predict(TIME, exposure=2.0), 2.0 * rate, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(TIME, exposure=np.ones(400)), rate)


def test_variance_is_that_of_a_mixture_of_counts(model: StepGPRegressor) -> None:
    """Var y = e E g + e² Var g."""
    mean, var = model.predict_dist(TIME).mean(), model.predict_dist(TIME).var()
    at = model.predict_dist(TIME, exposure=EXPOSURE).var()
    np.testing.assert_allclose(at, EXPOSURE * mean + EXPOSURE**2 * (var - mean), rtol=1e-9)


def test_density_quantiles_and_draws_are_at_the_exposure(model: StepGPRegressor) -> None:
    dist = model.predict_dist(TIME, exposure=EXPOSURE)
    expected = EXPOSURE * RATE
    # The posterior is narrow, so what it predicts is close to counts at the true rate.
    wanted = stats.poisson(expected).logpmf(EVENTS)
    assert abs(np.mean(dist.log_prob(EVENTS) - wanted)) < 0.1
    low, high = model.predict_interval(TIME, exposure=EXPOSURE).T
    assert 0.85 < np.mean((low <= EVENTS) & (high >= EVENTS)) < 0.99
    middle = model.predict_quantiles(TIME, 0.5, exposure=EXPOSURE)
    assert np.all((low <= middle) & (middle <= high))
    draws = model.sample_y(TIME, 200, exposure=EXPOSURE)
    np.testing.assert_allclose(draws.mean(), expected.mean(), rtol=0.05)


def test_score_takes_exposure(model: StepGPRegressor) -> None:
    assert model.score(TIME, EVENTS, exposure=EXPOSURE) > 0.8
    assert model.score(TIME, EVENTS) < 0.0


def test_halving_exposure_doubles_the_rates() -> None:
    whole = regressor("poisson").fit(X, COUNTS, exposure=np.full(N, 2.0))
    half = regressor("poisson").fit(X, COUNTS, exposure=1.0)
    np.testing.assert_allclose(half.predict(X), 2.0 * whole.predict(X), rtol=2e-3)
    np.testing.assert_array_equal(half.predict(X), regressor("poisson").fit(X, COUNTS).predict(X))


def test_pooled_rows_say_the_same() -> None:
    """Two counts at one place and their sum over both exposures carry the same information.

    Equal up to where the two fits stop.
    """
    apart = regressor("poisson").fit(
        np.concatenate([X, X]), np.concatenate([COUNTS, COUNTS + 1.0]), exposure=1.0
    )
    together = regressor("poisson").fit(X, 2.0 * COUNTS + 1.0, exposure=2.0)
    np.testing.assert_allclose(apart.predict(X), together.predict(X), rtol=0.05)


@pytest.mark.parametrize("link", ["exp", "softplus"])
@pytest.mark.parametrize("unit", [1e-300, 1e-150, 1e-16, 1e16, 1e150, 1e300])
def test_exposures_in_any_unit_or_a_clear_error(unit: float, link: str) -> None:
    """Rates of 1e150 are no sum of numbers of order one: softplus has no room for them."""
    chosen = regressor("poisson", link=link)
    exposure = np.full(N, unit)
    if link == "softplus" and unit < 1e-20:
        with pytest.raises(ValueError, match="Give exposures in a smaller unit"):
            chosen.fit(X, COUNTS, exposure=exposure)
        return
    usual = regressor("poisson", link="exp").fit(X, COUNTS).predict(X)
    rates = chosen.fit(X, COUNTS, exposure=exposure).predict(X, exposure=unit)
    if link == "exp":  # nothing but the level of f depends on the unit
        np.testing.assert_allclose(rates, usual, rtol=0.02)
    assert np.corrcoef(rates, usual)[0, 1] > 0.9


def test_exposures_over_sixteen_decades() -> None:
    generator = np.random.default_rng(0)
    exposure = 10.0 ** generator.uniform(-8.0, 8.0, N)
    rate = np.exp(np.sin(X[:, 0]))
    model = regressor("poisson").fit(X, generator.poisson(rate * exposure), exposure=exposure)
    assert model.diagnostics_.outcome.is_sound
    assert np.corrcoef(model.predict(X), rate)[0, 1] > 0.95
