"""Whole fits: what they return, and how they end."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from stepgp._array.linalg import NotPositiveDefinite
from stepgp.fit import Fit, Outcome, fit_rows
from stepgp.fit.journal import Progress
from stepgp.kernels import RBF, Matern32, Positive
from stepgp.likelihoods import Bernoulli, Gaussian
from stepgp.links import Identity, Probit, Sigmoid
from stepgp.model import MixturePredictive, ZeroMean
from stepgp.model.expectation import expect_rows
from stepgp.model.posterior import marginals
from stepgp.model.rules import CellRule, ClosedForm, Quadrature
from stepgp.rows import MemoryRows
from tests.fit.models import MODELS, fitted, problem
from tests.fit.problems import converged, options, prior, prior_state
from tests.model.scenes import inputs


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


def increases(history: tuple[Progress, ...]) -> bool:
    """Whether iterations count up by one, and every other count by something."""
    counts = [(p.evaluations, p.passes, p.seconds) for p in history]
    in_order = [p.iteration for p in history] == list(range(1, len(history) + 1))
    return in_order and bool(np.all(np.diff(counts, axis=0) > 0.0))


def test_history_rises_and_is_reported(done: tuple[str, MemoryRows, Fit]) -> None:
    name, rows, fit = done
    told: list[object] = []
    _, likelihood, link = problem(name)
    again = fit_rows(rows, prior(likelihood, link), options(), told.append)
    assert tuple(told) == again.history
    assert len(fit.history) >= 2
    assert increases(fit.history)
    for progress in fit.history:
        assert progress.rows == len(rows)
        assert progress.passes >= progress.evaluations > progress.iteration
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

    resolution, rule = fit.diagnostics.resolution, fit.model.rule
    if isinstance(rule, ClosedForm):
        assert fit.diagnostics.n_cells is None
        assert abs(value(CellRule(fit.cells)) - value(ClosedForm())) < 1e-3
    if resolution is None:
        assert isinstance(likelihood, Gaussian)
        assert isinstance(link, Identity)
        return
    seen = rule.cells if isinstance(rule, CellRule) else fit.cells
    assert fit.diagnostics.n_cells in (None, seen.n_cells)
    change = value(CellRule(seen.refined())) - value(CellRule(seen))
    assert resolution.change == pytest.approx(change, rel=1e-6, abs=1e-10)
    assert abs(resolution.change) < 1e-4
    assert abs(value(Quadrature(200)) - value(CellRule(seen))) <= resolution.error
    low, high = fit.cells.span
    assert low <= np.min(mean - 6.0 * np.sqrt(var))
    assert high >= np.max(mean + 6.0 * np.sqrt(var))
    half = 0.5 * seen.widths_at(mean)
    assert resolution.narrow == pytest.approx(np.mean(np.sqrt(var) < half), abs=1e-12)


def test_predictions_are_sound(done: tuple[str, MemoryRows, Fit]) -> None:
    """Held-out log-likelihood beats the constant."""
    name, _, fit = done
    fresh, _, link = problem(name, seed=300)
    args = fit.model.kernel, fit.model.mean_function, fit.model.inducing
    mean, var = marginals(fit.q, *args, fresh.X)
    dist = MixturePredictive(fit.model.likelihood, link, fit.cells, mean, var, fresh.exposure)
    assert np.mean(dist.log_prob(fresh.y)) > fit.diagnostics.constant_log_prob - 0.02


def test_q_has_seen_all_rows_even_where_some_were_enough() -> None:
    """One feature and little to learn of it: θ stops at a subset, q(u) and the ELBO do not."""
    rows, likelihood, link = problem("bernoulli-sigmoid", n_rows=20_000)
    chosen = replace(options(8), tolerance=0.01)
    fit = fit_rows(rows, prior(likelihood, link), chosen)
    assert fit.diagnostics.rows == 1_024
    assert {progress.rows for progress in fit.history} == {1_024}
    assert fit.model.inducing.shape == (8, 2)
    again = converged(rows, fit.model, prior_state(fit.model, fit.diagnostics.jitter))
    assert fit.elbo == pytest.approx(again.e_step.elbo / len(rows), abs=1e-4)
    assert fit.q.kl == pytest.approx(again.e_step.q.kl, rel=0.02)


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
    assert fit.diagnostics.restarts == 3
    assert fit.elbo < fit.diagnostics.constant_log_prob


def test_no_posterior_is_a_named_failure() -> None:
    """There is no fit to return: the outcome's message comes with an error."""
    rows, *_ = problem("gaussian")
    message = re.escape(Outcome.NO_POSTERIOR.message)
    with pytest.raises(NotPositiveDefinite, match=message), np.errstate(all="ignore"):
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
    """1,024 of 12,000 rows, 4,096, then all: the end is that of all rows from the start."""
    rows, likelihood, link = problem("poisson-exp", n_rows=12_000)
    fit = fit_rows(rows, prior(likelihood, link, kernel=Matern32()), options(15))
    sizes = [progress.rows for progress in fit.history]
    assert sorted(set(sizes)) == [1_024, 4_096, 12_000]
    assert fit.diagnostics.rows == 12_000
    assert sizes == sorted(sizes)
    assert increases(fit.history)
    again = converged(rows, fit.model)
    assert fit.elbo == pytest.approx(again.e_step.elbo / len(rows), abs=2e-5)
    assert np.linalg.norm(again.gradient) < 0.05
