"""What a user chooses of a fit is what it does."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.cells import Grid, Hat, Indicator
from stepgp.fit import fit_rows
from stepgp.likelihoods import Gaussian
from stepgp.links import Exp, Identity
from stepgp.model import ConstantMean, LinearMean, ZeroMean
from stepgp.model.posterior import marginals
from stepgp.model.rules import CellRule
from stepgp.rows import MemoryRows
from tests.fit.models import fitted, problem
from tests.fit.problems import options, prior
from tests.likelihoods.minimal import Exponential
from tests.model.scenes import inputs


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
