"""What goes in and what comes out is in the user's units."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from stepgp import StepGPRegressor
from stepgp.kernels import RBF
from stepgp.likelihoods import Gaussian, StudentT
from tests.estimators.data import REAL, X_NEW, X, classifier, regressor

SCALE, SHIFT = 250.0, -3e4
FAMILIES = pytest.mark.parametrize("likelihood", ["gaussian", "student_t"])
Q = [0.01, 0.3, 0.5, 0.9]
LEVELS = np.array([-1.0, 0.0, 0.2])


def both(likelihood: str, **options: object) -> tuple[StepGPRegressor, StepGPRegressor]:
    """The same fit in two units."""
    plain = regressor(likelihood, **options).fit(X, REAL)
    return plain, regressor(likelihood, **options).fit(X, SHIFT + SCALE * REAL)


@FAMILIES
def test_predictions_move_with_the_units(likelihood: str) -> None:
    plain, scaled = both(likelihood)
    here, there = plain.predict_dist(X_NEW), scaled.predict_dist(X_NEW)
    np.testing.assert_allclose(there.mean(), SHIFT + SCALE * here.mean(), rtol=1e-8)
    np.testing.assert_allclose(there.std(), SCALE * here.std(), rtol=1e-5)
    np.testing.assert_allclose(there.quantile(Q), SHIFT + SCALE * here.quantile(Q), rtol=1e-8)
    np.testing.assert_allclose(there.interval(0.8), SHIFT + SCALE * here.interval(0.8), rtol=1e-8)
    y = REAL[:9]
    np.testing.assert_allclose(
        there.log_prob(SHIFT + SCALE * y), here.log_prob(y) - np.log(SCALE), rtol=1e-5
    )
    np.testing.assert_allclose(there.cdf(SHIFT + SCALE * y), here.cdf(y), rtol=1e-5)


@FAMILIES
def test_fitted_attributes_move_with_the_units(likelihood: str) -> None:
    plain, scaled = both(likelihood)
    np.testing.assert_allclose(scaled.elbo_, plain.elbo_ - np.log(SCALE), rtol=1e-8)
    np.testing.assert_allclose(
        scaled.elbo_ - scaled.diagnostics_.constant_log_prob,
        plain.elbo_ - plain.diagnostics_.constant_log_prob,
        atol=1e-5,
    )
    np.testing.assert_allclose(
        scaled.link_(LEVELS), SHIFT + SCALE * plain.link_(LEVELS), rtol=1e-10
    )
    np.testing.assert_allclose(
        scaled.likelihood_.value("scale"), SCALE * plain.likelihood_.value("scale"), rtol=1e-5
    )
    np.testing.assert_allclose(scaled.kernel_.params, plain.kernel_.params, atol=1e-5)
    np.testing.assert_allclose(scaled.inducing_, plain.inducing_, atol=1e-5)


@FAMILIES
def test_elbo_is_a_bound_in_these_units(likelihood: str) -> None:
    """E log p(y) under q, minus a divergence, in nats a row: below the predictive density."""
    model = both(likelihood)[1]
    density = model.predict_dist(X).log_prob(SHIFT + SCALE * REAL)
    assert np.mean(density) - 1.0 < model.elbo_ < np.mean(density)
    assert model.elbo_ > model.diagnostics_.constant_log_prob


@FAMILIES
@pytest.mark.parametrize("link", ["exp", "softplus"])
def test_other_links_give_levels_in_the_users_units(likelihood: str, link: str) -> None:
    model = regressor(likelihood, link=link).fit(X, np.exp(REAL))
    mean, var = model.latent(X_NEW)
    levels = model.link_(mean[:, None] + np.sqrt(var)[:, None] * LEVELS)
    low, high = model.predict_quantiles(X_NEW, [0.001, 0.999]).T
    assert np.all((levels > 0.0) & (levels > low[:, None]) & (levels < high[:, None]))
    assert model.score(X, np.exp(REAL)) > 0.7


@FAMILIES
def test_exp_link_takes_large_targets(likelihood: str) -> None:
    """Noise parameters are bounded in standardised units only."""
    plain = regressor(likelihood, link="exp").fit(X, np.exp(REAL))
    large = regressor(likelihood, link="exp").fit(X, 1e6 * np.exp(REAL))
    np.testing.assert_allclose(large.predict(X) / 1e6, plain.predict(X), rtol=0.1)
    assert large.score(X, 1e6 * np.exp(REAL)) > 0.8


# With so little noise every inducing input matters: the fit goes on for longer than it may.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("link", ["auto", "exp"])
def test_given_noise_is_in_the_users_units(link: str) -> None:
    y = 1e3 * np.exp(REAL)
    model = regressor(Gaussian(scale=50.0), link=link).fit(X, y)
    np.testing.assert_allclose(model.likelihood_.value("scale"), 50.0, rtol=1e-12)
    assert np.min(model.predict(X, return_std=True)[1]) > 50.0
    tail = regressor(StudentT(scale=50.0, df=3.0), link=link).fit(X, y)
    np.testing.assert_allclose(tail.likelihood_.value("scale"), 50.0, rtol=1e-12)
    np.testing.assert_allclose(tail.likelihood_.value("df"), 3.0, rtol=1e-12)


def test_given_noise_can_be_a_start() -> None:
    start = Gaussian(scale=100.0, learn=("scale",))
    found = regressor(start).fit(X, 1e3 * REAL).likelihood_.value("scale")
    wanted = regressor().fit(X, 1e3 * REAL).likelihood_.value("scale")
    np.testing.assert_allclose(found, wanted, rtol=0.05)


def test_inducing_inputs_are_in_the_units_of_the_inputs() -> None:
    inputs = 1e3 + 50.0 * X
    model = regressor().fit(inputs, REAL)
    assert np.all(np.abs(model.inducing_.mean(axis=0) - 1e3) < 50.0)
    given = inputs[:7]
    with pytest.warns(UserWarning, match="max_iter"):
        model = regressor(inducing=given, n_inducing="auto", max_iter=1).fit(inputs, REAL)
    assert np.max(np.abs(model.inducing_ - given)) < 50.0


def test_without_standardisation_lengthscales_are_in_the_units_of_the_inputs() -> None:
    kernel = RBF(ard=True)
    wanted = regressor(kernel=kernel, standardize=True).fit(X, REAL)
    standardised = (X - X.mean(axis=0)) / X.std(axis=0)
    found = regressor(kernel=kernel, standardize=False).fit(standardised, REAL)
    np.testing.assert_allclose(
        found.predict((X_NEW - X.mean(axis=0)) / X.std(axis=0)), wanted.predict(X_NEW), atol=1e-6
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        raw = regressor(kernel=kernel, standardize=False).fit(1e3 * X, REAL)
    # Lengthscales start at order one and stay there: nothing is seen between rows 1,000 apart.
    assert np.std(raw.predict(1e3 * X_NEW)) < 0.1 * np.std(wanted.predict(X_NEW))


def test_standardisation_is_weighted() -> None:
    weight = np.where(X[:, 0] > 0, 1000.0, 1.0)
    shift = classifier().fit(X, X[:, 1] > 0, sample_weight=weight).fitted_.inputs.shift
    np.testing.assert_allclose(shift, np.average(X, axis=0, weights=weight), rtol=1e-12)
