"""Whole fits: what they return, what they do not depend on, and how they end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepgp._array.linalg import NotPositiveDefinite
from stepgp.cells import Grid, Hat, Indicator
from stepgp.fit import Fit, Outcome, fit_rows
from stepgp.fit.canonical import canonical
from stepgp.fit.objective import parameters_of
from stepgp.kernels import RBF, Matern32, Positive
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import CLogLog, Exp, Identity, Link, Probit, Sigmoid, Softplus
from stepgp.model import ConstantMean, LinearMean, MixturePredictive, ZeroMean
from stepgp.model.expectation import expect_rows
from stepgp.model.posterior import marginals
from stepgp.model.rules import CellRule, ClosedForm, Quadrature
from stepgp.rows import MemoryRows
from tests.fit.problems import converged, drawn, options, prior, prior_state
from tests.likelihoods.minimal import Exponential
from tests.links.helpers import TO_LIBRARY
from tests.model.cases import arrays
from tests.model.scenes import inputs

MODELS: dict[str, tuple[Likelihood, Link]] = {
    "bernoulli-sigmoid": (Bernoulli(), Sigmoid()),
    "bernoulli-cloglog": (Bernoulli(), CLogLog()),
    "poisson-exp": (Poisson(), Exp()),
    "poisson-softplus": (Poisson(), Softplus()),
    "gaussian": (Gaussian(), Identity()),
    "gaussian-softplus": (Gaussian(), Softplus()),
    "student": (StudentT(), Identity()),
}
every_model = pytest.mark.parametrize("name", MODELS)
some_models = pytest.mark.parametrize("name", ["bernoulli-sigmoid", "poisson-exp", "student"])


def problem(name: str, **given: int) -> tuple[MemoryRows, Likelihood, Link]:
    likelihood, link = MODELS[name]
    return drawn(likelihood, link, exposure=likelihood.takes_exposure, **given), likelihood, link


def fitted(name: str, rows: MemoryRows | None = None, **given: object) -> Fit:
    own, likelihood, link = problem(name)
    return fit_rows(rows or own, prior(likelihood, link), options(**given))


@pytest.fixture(scope="module", params=MODELS)
def done(request: pytest.FixtureRequest) -> tuple[str, MemoryRows, Fit]:
    rows, *_ = problem(request.param)
    return request.param, rows, fitted(request.param)


# ---- what a fit returns


def test_numbers_belong_to_the_model(done: tuple[str, MemoryRows, Fit]) -> None:
    """The ELBO and the objective are those of model and q, evaluated anew."""
    _, rows, fit = done
    again = converged(rows, fit.model, prior_state(fit.model, fit.diagnostics.jitter))
    assert fit.elbo == pytest.approx(again.e_step.elbo / len(rows), abs=2e-5)
    assert fit.objective == pytest.approx(again.objective, abs=2e-5)
    X = inputs(20, 50)
    args = fit.model.kernel, fit.model.mean_function, fit.model.inducing, X
    mean, var = marginals(fit.q, *args)
    expected_mean, expected_var = marginals(again.e_step.q, *args)
    np.testing.assert_allclose(mean, expected_mean, atol=0.05)
    np.testing.assert_allclose(var, expected_var, rtol=0.1, atol=1e-3)


def test_better_than_a_constant(done: tuple[str, MemoryRows, Fit]) -> None:
    _, _, fit = done
    assert fit.elbo > fit.diagnostics.constant_log_prob + 0.01
    assert fit.diagnostics.outcome.is_sound
    assert fit.diagnostics.restarts == 0


def test_the_objective_is_at_a_maximum(done: tuple[str, MemoryRows, Fit]) -> None:
    """No small step in any direction gains more than the tolerance promises."""
    _, rows, fit = done
    at = converged(rows, fit.model, prior_state(fit.model, fit.diagnostics.jitter))
    assert np.linalg.norm(at.gradient) < 0.05
    assert at.objective >= fit.objective - 1e-6


def test_history_rises_and_is_reported(done: tuple[str, MemoryRows, Fit]) -> None:
    name, rows, fit = done
    told: list[object] = []
    _, likelihood, link = problem(name)
    again = fit_rows(rows, prior(likelihood, link), options(), told.append)
    assert tuple(told) == again.history
    assert len(fit.history) >= 2
    for progress in fit.history:
        assert progress.rows == len(rows)
        assert progress.iteration >= 1
        assert progress.evaluations >= 1
        assert progress.passes >= progress.evaluations
        assert progress.seconds >= 0.0
    if fit.diagnostics.n_cells is None:  # else finer cells change the objective on the way
        assert np.all(np.diff([p.objective for p in fit.history]) >= -1e-9)


def test_the_cells_are_fine_enough(done: tuple[str, MemoryRows, Fit]) -> None:
    """A finer grid changes the ELBO as little as reported; the true link not much more."""
    _, rows, fit = done
    likelihood, link = fit.model.likelihood, fit.model.link
    args = fit.model.kernel, fit.model.mean_function, fit.model.inducing
    mean, var = marginals(fit.q, *args, rows.X)

    def value(rule: CellRule | Quadrature | ClosedForm) -> float:
        expected = expect_rows(likelihood, link, rule, rows.y, rows.exposure, mean, var)
        return float(np.mean(expected.value))

    resolution = fit.diagnostics.resolution
    if resolution is None:
        assert isinstance(fit.model.rule, ClosedForm)
        assert fit.diagnostics.n_cells is None
        assert abs(value(CellRule(fit.cells)) - value(ClosedForm())) < 1e-3
        return
    assert isinstance(fit.model.rule, CellRule)
    assert fit.model.rule.cells is fit.cells
    assert fit.diagnostics.n_cells == fit.cells.n_cells
    change = value(CellRule(fit.cells.refined())) - value(CellRule(fit.cells))
    assert resolution.change == pytest.approx(change, rel=1e-6, abs=1e-10)
    assert abs(resolution.change) < 1e-4
    error = value(Quadrature(200)) - value(CellRule(fit.cells))
    assert abs(error) < 2.5 * abs(resolution.change) + 1e-6
    low, high = fit.cells.span
    assert low <= np.min(mean - 6.0 * np.sqrt(var))
    assert high >= np.max(mean + 6.0 * np.sqrt(var))
    half = 0.5 * fit.cells.cell_width
    assert resolution.narrow == pytest.approx(np.mean(np.sqrt(var) < half), abs=1e-12)


def test_predictions_are_sound(done: tuple[str, MemoryRows, Fit]) -> None:
    """Held-out log-likelihood beats the constant."""
    name, _, fit = done
    fresh, _, link = problem(name, seed=300)
    args = fit.model.kernel, fit.model.mean_function, fit.model.inducing
    mean, var = marginals(fit.q, *args, fresh.X)
    dist = MixturePredictive(fit.model.likelihood, link, fit.cells, mean, var, fresh.exposure)
    assert np.mean(dist.log_prob(fresh.y)) > fit.diagnostics.constant_log_prob - 0.02


# ---- what it does not depend on


@some_models
def test_the_same_bits_again(name: str) -> None:
    one, two = fitted(name), fitted(name)
    assert one.objective == two.objective
    np.testing.assert_array_equal(parameters_of(one.model), parameters_of(two.model))
    np.testing.assert_array_equal(one.q.weights, two.q.weights)


@some_models
def test_threads_change_no_bit(name: str) -> None:
    rows, *_ = problem(name)
    one, two = (fitted(name, replace(rows, block=32, n_jobs=n)) for n in (1, 2))
    assert one.objective == two.objective
    np.testing.assert_array_equal(parameters_of(one.model), parameters_of(two.model))


@every_model
def test_integer_weights_are_repeats(name: str) -> None:
    """Through canonical rows; to the bit."""
    rows, *_ = problem(name, n_rows=60)
    count = np.random.default_rng(3).integers(0, 4, len(rows))
    exposure = rows.exposure
    weighted = canonical(rows.X, rows.y, count.astype(float), exposure)
    repeated = canonical(
        np.repeat(rows.X, count, axis=0),
        np.repeat(rows.y, count),
        None,
        None if exposure is None else np.repeat(exposure, count),
    )
    one, two = (
        fitted(name, MemoryRows(r.X, r.y, r.weight, r.exposure)) for r in (weighted, repeated)
    )
    assert one.objective == pytest.approx(two.objective, rel=1e-8)
    np.testing.assert_allclose(parameters_of(one.model), parameters_of(two.model), rtol=1e-8)


@pytest.mark.parametrize("name", ["bernoulli-sigmoid", "gaussian"])
def test_weights_without_canonical_rows(name: str) -> None:
    """Merged or not, and whatever the order: one maximum."""
    rows, *_ = problem(name, n_rows=60)
    count = np.random.default_rng(3).integers(1, 4, len(rows))
    index = np.random.default_rng(4).permutation(np.repeat(np.arange(60), count))
    Z = rows.X[:12].copy()
    weighted = fitted(name, replace(rows, weight=count.astype(float)), inducing=Z)
    repeated = fitted(name, MemoryRows(rows.X[index], rows.y[index]), inducing=Z)
    assert weighted.objective == pytest.approx(repeated.objective, abs=1e-3)


@pytest.mark.parametrize("library", [name for name in TO_LIBRARY if name != "numpy"])
@some_models
def test_every_library(name: str, library: str) -> None:
    """A whole fit on rows of another library: rounding differs, the end hardly."""
    rows, *_ = problem(name)
    X, y, exposure = arrays(TO_LIBRARY[library], rows.X, rows.y, rows.exposure)
    got = fitted(name, MemoryRows(X, y, None, exposure))
    expected = fitted(name)
    assert got.objective == pytest.approx(expected.objective, abs=1e-4)
    assert isinstance(got.model.inducing, np.ndarray)


# ---- choices


@pytest.mark.parametrize(
    "cells",
    [Indicator(Grid.uniform(-6, 6, 60)), Hat(Grid.uniform(-6, 6, 60, "midpoint"))],
    ids=["step", "hat"],
)
def test_given_cells_are_kept(cells: Indicator | Hat) -> None:
    fit = fitted("bernoulli-sigmoid", cells=cells)
    assert fit.cells is cells
    assert fit.diagnostics.n_cells == 60
    assert fit.diagnostics.resolution is not None
    assert isinstance(fit.model.rule, CellRule)
    assert fit.model.rule.cells is cells
    closed = fitted("poisson-exp", cells=cells)
    assert closed.cells is cells
    assert isinstance(closed.model.rule, CellRule)


def test_a_given_number_of_cells_is_kept() -> None:
    fit = fitted("bernoulli-sigmoid", n_cells=40)
    assert fit.cells.n_cells == fit.diagnostics.n_cells == 40


@pytest.mark.parametrize("method", ["kmeans++", "greedy", "first"])
def test_inducing_inputs(method: str) -> None:
    fit = fitted("bernoulli-sigmoid", inducing=method)
    assert fit.model.inducing.shape == (12, 2)
    assert fit.elbo > fit.diagnostics.constant_log_prob


def test_given_inducing_inputs_are_a_start_and_stay_as_they_are() -> None:
    Z = inputs(6, 8)
    kept = Z.copy()
    fit = fitted("bernoulli-sigmoid", inducing=Z)
    np.testing.assert_array_equal(Z, kept)
    assert fit.model.inducing.shape == (6, 2)
    assert not np.array_equal(fit.model.inducing, Z)


def test_another_seed_is_another_start() -> None:
    one, two = fitted("bernoulli-sigmoid"), fitted("bernoulli-sigmoid", seed=1)
    assert not np.array_equal(one.model.inducing, two.model.inducing)
    assert one.elbo == pytest.approx(two.elbo, abs=0.02)


@pytest.mark.parametrize(
    "mean", [ZeroMean(), ConstantMean(), LinearMean()], ids=lambda m: type(m).__name__
)
def test_mean_functions(mean: ZeroMean | ConstantMean | LinearMean) -> None:
    rows, likelihood, link = problem("poisson-exp")
    fit = fit_rows(rows, prior(likelihood, link, mean_function=mean), options())
    assert type(fit.model.mean_function) is type(mean)
    assert fit.elbo > fit.diagnostics.constant_log_prob
    assert len(fit.model.mean_function.params) == {"Z": 0, "C": 1, "L": 3}[type(mean).__name__[0]]


def test_a_plane_is_found_by_a_linear_mean() -> None:
    X = inputs(300, 1)
    y = 1.0 + X @ np.array([2.0, -1.0]) + 0.1 * np.random.default_rng(2).normal(size=300)
    chosen = prior(Gaussian(), Identity(), mean_function=LinearMean())
    fit = fit_rows(MemoryRows(X, y), chosen, options())
    far = 20.0 * np.eye(2)
    mean, _ = marginals(fit.q, fit.model.kernel, fit.model.mean_function, fit.model.inducing, far)
    np.testing.assert_allclose(mean, 1.0 + far @ np.array([2.0, -1.0]), rtol=0.1)


def test_likelihoods_with_only_what_is_compulsory() -> None:
    X = inputs(150, 3)
    rate = np.exp(np.sin(2.0 * X[:, 0]))
    y = rate * np.random.default_rng(4).exponential(size=150)
    fit = fit_rows(MemoryRows(X, y), prior(Exponential(), Exp()), options())
    assert fit.elbo > fit.diagnostics.constant_log_prob
    assert fit.diagnostics.outcome.is_sound


def test_fixed_parameters_stay() -> None:
    rows, _, link = problem("gaussian")
    fit = fit_rows(rows, prior(Gaussian(0.7), link), options())
    assert fit.model.likelihood == Gaussian(0.7)
    learnt = fitted("gaussian").model.likelihood.value("scale")
    assert learnt != pytest.approx(0.3, rel=1e-3)  # the start


# ---- how it ends


def test_the_limit_on_iterations_is_reported() -> None:
    fit = fitted("bernoulli-sigmoid", max_iter=2)
    assert fit.diagnostics.outcome is Outcome.ITERATION_LIMIT
    assert not fit.diagnostics.outcome.is_sound
    assert fit.elbo > fit.diagnostics.constant_log_prob - 0.05


def test_inputs_without_information_end_near_the_constant() -> None:
    """Labels are coins: nothing to find, and no fit far below the constant."""
    rows = MemoryRows(inputs(200, 1), np.random.default_rng(2).integers(0, 2, 200).astype(float))
    fit = fit_rows(rows, prior(Bernoulli(), Sigmoid()), options())
    assert abs(fit.elbo - fit.diagnostics.constant_log_prob) < 0.03


def test_worse_than_a_constant_is_said() -> None:
    """A zero mean and a tiny fixed variance cannot say that nine of ten are ones."""
    rows = MemoryRows(inputs(200, 1), (np.arange(200) % 10 > 0).astype(float))
    kernel = RBF(variance=Positive(1e-4, fixed=True))
    chosen = prior(Bernoulli(), Sigmoid(), kernel=kernel, mean_function=ZeroMean())
    fit = fit_rows(rows, chosen, options())
    assert fit.diagnostics.outcome is Outcome.WORSE_THAN_CONSTANT
    assert fit.diagnostics.restarts == 1
    assert fit.elbo < fit.diagnostics.constant_log_prob


def test_no_posterior_is_a_named_failure() -> None:
    rows, *_ = problem("gaussian")
    with pytest.raises(NotPositiveDefinite, match="no stable posterior"), np.errstate(all="ignore"):
        fitted("gaussian", replace(rows, y=np.full(len(rows), np.nan)))


def test_coincident_inducing_inputs_raise_the_jitter() -> None:
    """Copies among Z: the fit goes on with a larger jitter, and says which."""
    rows, *_ = problem("bernoulli-sigmoid")
    Z = np.repeat(rows.X[:5], 4, axis=0)
    fit = fitted("bernoulli-sigmoid", inducing=Z, jitter=1e-18)
    assert fit.diagnostics.jitter > 1e-17
    assert fit.elbo > fit.diagnostics.constant_log_prob
    assert fitted("bernoulli-sigmoid").diagnostics.jitter == pytest.approx(1e-8)


def test_one_row_and_one_class() -> None:
    one = MemoryRows(np.zeros((1, 2)), np.ones(1))
    fit = fit_rows(one, prior(Bernoulli(), Probit()), options(1))
    assert np.isfinite(fit.elbo)
    same = MemoryRows(inputs(50, 1), np.ones(50))
    fit = fit_rows(same, prior(Bernoulli(), Sigmoid()), options())
    assert -0.2 < fit.elbo <= 0.0


# ---- many rows


def test_nested_subsets() -> None:
    """12,000 rows: first 5,000 of them, then all; the end is that of all rows from the start."""
    rows, likelihood, link = problem("poisson-exp", n_rows=12_000)
    fit = fit_rows(rows, prior(likelihood, link, kernel=Matern32()), options(15))
    sizes = [progress.rows for progress in fit.history]
    assert sorted(set(sizes)) == [5_000, 12_000]
    assert sizes == sorted(sizes)
    again = converged(rows, fit.model)
    assert fit.elbo == pytest.approx(again.e_step.elbo / len(rows), abs=2e-5)
    assert np.linalg.norm(again.gradient) < 0.05
