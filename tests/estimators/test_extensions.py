"""Kernels, links, likelihoods and cells of the user's own choice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from stepgp.cells import Grid, Hat, Indicator
from stepgp.kernels import RBF, ActiveDims, Linear, Matern52, Periodic
from stepgp.likelihoods import Gaussian, Likelihood
from stepgp.links import Affine, CustomLink, Identity, Sigmoid, Support
from stepgp.model import LinearMean, ZeroMean
from tests.estimators.data import BINARY, COUNTS, REAL, X_NEW, N, X, classifier, regressor
from tests.likelihoods.minimal import Exponential

DURATIONS = np.random.default_rng(0).exponential(np.exp(1.0 + np.sin(2.0 * X[:, 0])))


class Laplace(Likelihood):
    """Double-exponential noise: a location–scale family in fixed units."""

    def log_prob(self, y: Any, level: Any) -> Any:
        return -abs(y - level) - math.log(2.0)

    def mean(self, level: Any) -> Any:
        return level

    def var(self, level: Any) -> Any:
        return 0.0 * level + 2.0


def test_own_likelihood() -> None:
    model = regressor(Exponential()).fit(X, DURATIONS)
    mean, std = model.predict(X_NEW, return_std=True)
    assert np.all((mean > 0.0) & (std >= mean))  # an exponential's own spread, and that of levels
    assert np.corrcoef(model.predict(X), np.exp(np.sin(2.0 * X[:, 0])))[0, 1] > 0.5
    dist = model.predict_dist(X_NEW)
    assert np.isfinite(dist.log_prob(1.0)).all()
    step = 0.05
    at = np.arange(0.5 * step, 60.0 * mean[0], step)
    density = np.exp(model.predict_dist(np.repeat(X_NEW[:1], len(at), axis=0)).log_prob(at))
    np.testing.assert_allclose(np.sum(density) * step, 1.0, atol=0.01)
    np.testing.assert_allclose(np.sum(at * density) * step, mean[0], rtol=0.02)


def test_own_likelihood_says_what_is_missing() -> None:
    model = regressor(Exponential()).fit(X, DURATIONS)
    with pytest.raises(NotImplementedError, match=r"Exponential does not define cdf.*define it"):
        model.predict_quantiles(X_NEW)
    with pytest.raises(NotImplementedError, match=r"Exponential does not define sample"):
        model.sample_y(X_NEW)


def test_own_likelihood_on_the_real_line() -> None:
    model = regressor(Laplace()).fit(X, 10.0 * REAL)
    assert model.score(X, 10.0 * REAL) > 0.8
    assert isinstance(model.link_, Identity)  # not told to be a location–scale family


@pytest.mark.parametrize(
    "link",
    [
        lambda f: expit(f),
        lambda f: 0.5 + 0.5 * np.tanh(0.5 * f),
        lambda f: 1.0 / (1.0 + math.exp(-f)),
        CustomLink(expit, Support.UNIT),
    ],
    ids=["expit", "tanh", "of one number", "object"],
)
def test_callable_link(link: Any) -> None:
    found = classifier(link=link).fit(X, BINARY)
    wanted = classifier(link=Sigmoid()).fit(X, BINARY)
    np.testing.assert_allclose(
        found.predict_proba(X_NEW), wanted.predict_proba(X_NEW), rtol=0.0, atol=1e-5
    )


def test_callable_link_for_counts() -> None:
    found = regressor("poisson", link=np.exp, tol=1e-8).fit(X, COUNTS).predict(X_NEW)
    wanted = regressor("poisson", tol=1e-8).fit(X, COUNTS).predict(X_NEW)
    np.testing.assert_allclose(found, wanted, rtol=0.01)


def test_callable_link_for_real_targets() -> None:
    """A kinked link has a closed form nowhere, and no derivative is asked of it."""
    y = np.maximum(REAL, 0.0)
    model = regressor(link=lambda f: np.maximum(f, 0.0)).fit(X, y)
    assert model.score(X, y) > 0.8
    assert np.all(model.predict(X_NEW) >= 0.0)


@pytest.mark.parametrize("family", [Indicator, Hat])
@pytest.mark.parametrize("rule", ["upper", "midpoint", "average"])
def test_fixed_cells(family: Any, rule: Any) -> None:
    cells = family(Grid.uniform(-5.0, 5.0, 100, rule))
    model = classifier(cells=cells).fit(X, BINARY)
    assert model.fitted_.cells is cells
    assert model.diagnostics_.n_cells == cells.n_cells
    wanted = classifier().fit(X, BINARY).predict_proba(X_NEW)
    np.testing.assert_allclose(model.predict_proba(X_NEW), wanted, atol=0.06)


def test_probabilities_come_from_the_given_cells() -> None:
    """Three cells: no probability beyond the levels of the outer two."""
    cells = Indicator(Grid.uniform(-1.0, 1.0, 3, "midpoint"))
    probability = classifier(cells=cells).fit(X, BINARY).predict_proba(X)[:, 1]
    assert np.all((probability > Sigmoid()(np.array(-1.001))) & (probability < 0.7312))


@pytest.mark.parametrize("n_cells", [32, 128])
def test_number_of_cells(n_cells: int) -> None:
    model = classifier(n_cells=n_cells).fit(X, BINARY)
    assert model.fitted_.cells.n_cells in (n_cells - 1, n_cells)


@pytest.mark.parametrize(
    "kernel",
    [
        Matern52(ard=False),
        RBF(ard=True) + Linear(),
        0.5 * Periodic() * RBF(),
        ActiveDims(RBF(), (0,)),
        RBF([1.0, 2.0], variance=2.0),
    ],
    ids=repr,
)
def test_kernels(kernel: Any) -> None:
    model = regressor(kernel=kernel).fit(X, REAL)
    assert model.score(X, REAL) > 0.5
    assert type(model.kernel_) is type(kernel)
    assert not np.array_equal(model.kernel_.params, kernel.for_features(2).params)


@pytest.mark.parametrize("mean", ["zero", "constant", "linear", ZeroMean(), LinearMean()])
def test_mean_functions(mean: Any) -> None:
    assert regressor(mean_function=mean).fit(X, REAL).score(X, REAL) > 0.8


def test_linear_mean_extrapolates() -> None:
    y = 3.0 * X[:, 0] + 1.0
    far = np.array([[30.0, 0.0]])  # 91, and the mean of the targets with a constant mean
    assert regressor(mean_function="linear", tol=1e-8).fit(X, y).predict(far)[0] > 60.0
    assert regressor().fit(X, y).predict(10.0 * far)[0] < 10.0


@pytest.mark.parametrize("inducing", ["kmeans++", "greedy", "first", X[:12], X[:12].tolist()])
def test_inducing(inducing: Any) -> None:
    model = regressor(inducing=inducing).fit(X, REAL)
    assert model.inducing_.shape == (12, 2)
    assert model.score(X, REAL) > 0.8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_first_rows_are_those_of_the_user() -> None:
    """In the order given, without zero weights and repeats; one step hardly moves them."""
    rows, y = np.concatenate([X[:1], X]), np.concatenate([REAL[:1], REAL])
    weight = np.ones(N + 1)
    weight[3] = 0.0
    model = regressor(inducing="first", n_inducing=4, max_iter=1)
    model.fit(rows, y, sample_weight=weight)
    np.testing.assert_allclose(model.inducing_, X[[0, 1, 3, 4]], atol=0.4)


def test_there_are_never_more_inducing_inputs_than_rows() -> None:
    assert regressor(n_inducing=500).fit(X, REAL).inducing_.shape == (N, 2)
    assert regressor(n_inducing="auto").fit(X, REAL).inducing_.shape == (N, 2)


def test_link_in_other_units() -> None:
    """1 + 2 f is as good a link as f: the kernel variance makes up for it."""
    model = regressor(link=Affine(Identity(), 1.0, 2.0)).fit(X, REAL)
    np.testing.assert_allclose(
        model.predict(X_NEW), regressor().fit(X, REAL).predict(X_NEW), atol=0.1
    )
    assert model.link_ == Affine(Identity(), 1.0, 2.0)


def test_one_object_serves_many_fits() -> None:
    kernel, likelihood = RBF(), Gaussian()
    first = regressor(likelihood, kernel=kernel).fit(X, REAL)
    second = regressor(likelihood, kernel=kernel).fit(X[:, :1], 100.0 * REAL)
    assert (kernel, likelihood) == (RBF(), Gaussian())
    assert len(first.kernel_.params) != len(second.kernel_.params)
