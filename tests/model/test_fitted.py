"""The fitted model: standardised inside, in the user's units outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepgp.cells import Grid, Hat
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Affine, Exp, Identity, Link, Probit, Sigmoid
from stepgp.model import GaussianPredictive, LinearMean, MixturePredictive, expected_log_prob
from stepgp.model.fitted import FittedModel, Standardisation
from stepgp.model.posterior import marginals
from tests.model.scenes import inputs, scene

CELLS = Hat(Grid.uniform(-9.0, 9.0, 200, "midpoint"))
UNITS = Standardisation(np.array([3.0, -1.0]), np.array([2.0, 0.5]))


def fitted(likelihood: Likelihood, link: Link) -> FittedModel:
    made = scene(Bernoulli(), Sigmoid())
    model = made.model
    return FittedModel(
        inputs=UNITS,
        kernel=model.kernel,
        mean_function=model.mean_function,
        inducing=model.inducing,
        q=made.q,
        likelihood=likelihood,
        link=link,
        cells=CELLS,
        cells_grow=False,
    )


X = UNITS.backward(inputs(20, 9))

# ---- standardisation


def test_standardised_columns_have_mean_zero_and_deviation_one() -> None:
    rows = 7.0 + 3.0 * inputs(50, 1)
    units = Standardisation.of(rows, None)
    np.testing.assert_allclose(units.forward(rows).mean(axis=0), 0.0, atol=1e-14)
    np.testing.assert_allclose(units.forward(rows).std(axis=0), 1.0, rtol=1e-14)
    np.testing.assert_allclose(units.backward(units.forward(rows)), rows, rtol=1e-14)


def test_weights_are_repeats() -> None:
    rows = inputs(30, 2)
    count = np.random.default_rng(3).integers(1, 5, 30)
    weighted = Standardisation.of(rows, count.astype(float))
    repeated = Standardisation.of(np.repeat(rows, count, axis=0), None)
    np.testing.assert_allclose(weighted.shift, repeated.shift, rtol=1e-12)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_columns_whose_squares_are_no_floats(scale: float) -> None:
    rows = scale * inputs(40, 4)
    np.testing.assert_allclose(Standardisation.of(rows, None).forward(rows).std(axis=0), 1.0)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.7e8, 1e-300])
def test_constant_columns_are_only_shifted(value: float) -> None:
    """Rounding in their mean must not blow them up to columns of ±1."""
    rows = np.column_stack([np.full(37, value), np.arange(37.0)])
    units = Standardisation.of(rows, np.linspace(0.1, 3.0, 37))
    assert units.scale[0] == 1.0
    assert np.max(np.abs(units.forward(rows)[:, 0])) <= 1e-13 * max(1.0, abs(value))


def test_small_columns_are_not_constant() -> None:
    rows = 1e-100 * inputs(40, 4)
    np.testing.assert_allclose(Standardisation.of(rows, None).forward(rows).std(axis=0), 1.0)


def test_none_is_the_identity() -> None:
    none = Standardisation.none(2)
    np.testing.assert_array_equal(none.forward(X), X)
    np.testing.assert_array_equal(none.backward(X), X)


# ---- latent values


def test_latent_is_the_posterior_at_standardised_inputs() -> None:
    model = fitted(Bernoulli(), Sigmoid())
    mean, var = model.latent(X)
    args = model.q, model.kernel, model.mean_function, model.inducing
    expected_mean, expected_var = marginals(*args, UNITS.forward(X))
    np.testing.assert_array_equal(mean, expected_mean)
    np.testing.assert_array_equal(var, expected_var)


def test_blocks_and_threads_change_nothing() -> None:
    model, many = fitted(Bernoulli(), Sigmoid()), UNITS.backward(inputs(9_000, 5))
    mean, var = model.latent(many)
    other_mean, other_var = model.latent(many, n_jobs=2)
    np.testing.assert_array_equal(mean, other_mean)
    np.testing.assert_array_equal(var, other_var)
    args = model.q, model.kernel, model.mean_function, model.inducing
    whole_mean, whole_var = marginals(*args, UNITS.forward(many))
    np.testing.assert_allclose(mean, whole_mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(var, whole_var, rtol=1e-8)


# ---- predictives


@pytest.mark.parametrize("link", [Identity(), Affine(Identity(), 5.0, 3.0)], ids=str)
def test_gaussian_noise_around_f_predicts_a_gaussian(link: Link) -> None:
    model = fitted(Gaussian(0.4), link)
    dist = model.predictive(X)
    assert isinstance(dist, GaussianPredictive)
    mean, var = model.latent(X)
    shift, scale = (5.0, 3.0) if isinstance(link, Affine) else (0.0, 1.0)
    np.testing.assert_allclose(dist.mean(), shift + scale * mean, rtol=1e-13)
    np.testing.assert_allclose(dist.var(), scale**2 * var + 0.16, rtol=1e-13)
    cells = MixturePredictive(Gaussian(0.4), link, CELLS, mean, var)
    np.testing.assert_allclose(dist.log_prob(4.0), cells.log_prob(4.0), rtol=0.01, atol=0.01)


@pytest.mark.parametrize(
    ("likelihood", "link"),
    [
        (Gaussian(0.4), Exp()),
        (Gaussian(0.4), Affine(Sigmoid(), 0.0, 1.0)),
        (StudentT(0.4, 5.0), Identity()),
        (Bernoulli(), Probit()),
    ],
    ids=str,
)
def test_everything_else_predicts_a_mixture(likelihood: Likelihood, link: Link) -> None:
    model = fitted(likelihood, link)
    dist = model.predictive(X)
    mean, var = model.latent(X)
    assert isinstance(dist, MixturePredictive)
    assert dist.cells is CELLS
    expected = MixturePredictive(likelihood, link, CELLS, mean, var)
    np.testing.assert_array_equal(dist.log_prob(1.0), expected.log_prob(1.0))
    trained = expected_log_prob(likelihood, link, CELLS, np.ones(20), mean, var).value
    assert np.all(dist.log_prob(1.0) >= trained - 1e-12)


FAR = UNITS.backward(np.array([[40.0, -3.0], [-60.0, 2.0], [0.1, 0.2]]))


def test_rows_beyond_the_cells_get_cells_of_their_own() -> None:
    """A linear mean leaves the grid; E e^(μ+v/2) and the variance of a mixture go with it."""
    made = scene(Poisson(), Exp(), mean_function=LinearMean(0.2, np.array([0.15, -0.1])))
    model = replace(
        fitted(Poisson(), Exp()),
        kernel=made.model.kernel,
        mean_function=made.model.mean_function,
        inducing=made.model.inducing,
        q=made.q,
        cells=Hat(Grid.uniform(-4.0, 4.0, 160, "midpoint")),
        cells_grow=True,
    )
    mean, var = model.latent(FAR)
    assert np.min(mean) < -4.0
    assert np.max(mean) > 4.0
    dist = model.predictive(FAR)
    np.testing.assert_allclose(dist.mean(), np.exp(mean + 0.5 * var), rtol=1e-3)
    noise = replace(model, likelihood=StudentT(0.1, 5.0), link=Identity()).predictive(FAR)
    np.testing.assert_allclose(noise.mean(), mean, rtol=1e-9, atol=1e-9)
    # A row sees the same cells whatever the others need, up to the kink where those end.
    alone = [model.predictive(row[None]).mean()[0] for row in FAR]
    np.testing.assert_allclose(alone, dist.mean(), rtol=1e-7)


def test_cells_of_the_users_own_stay_as_they_are() -> None:
    far = fitted(Poisson(), Exp()).predictive(UNITS.backward(np.full((1, 2), 1e3)))
    assert isinstance(far, MixturePredictive)
    assert far.cells is CELLS


def test_exposure_reaches_the_prediction() -> None:
    model, exposure = fitted(Poisson(), Exp()), np.linspace(0.5, 4.0, 20)
    plain, dist = model.predictive(X), model.predictive(X, exposure=exposure)
    np.testing.assert_allclose(dist.mean(), exposure * plain.mean(), rtol=1e-13)
