"""What the predictions of a fitted estimator promise."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from stepgp import StepGPRegressor
from stepgp.cells import Grid, Hat, Indicator
from stepgp.estimators.defaults import number_of_threads
from stepgp.kernels import Linear
from tests.estimators.data import (
    BINARY,
    LABELS,
    REAL,
    TARGETS,
    X_NEW,
    X,
    classifier,
    regressor,
)

FAR = np.array([[1e6, -1e6], [1e3, 0.0], [0.0, 0.0]])
LIKELIHOODS = pytest.mark.parametrize("likelihood", TARGETS)


@pytest.mark.parametrize("link", ["sigmoid", "probit", "cloglog"])
@pytest.mark.parametrize("cells", [None, Indicator(Grid.uniform(-5.0, 5.0, 60, "average"))])
def test_probabilities(link: str, cells: Any) -> None:
    model = classifier(link=link, cells=cells).fit(X, BINARY)
    for inputs in (X, X_NEW, FAR):
        probability, log = model.predict_proba(inputs), model.predict_log_proba(inputs)
        assert probability.shape == (len(inputs), 2)
        assert np.all(probability > 0.0)
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(np.exp(log), probability, rtol=1e-12)
    np.testing.assert_array_equal(
        model.predict(X_NEW), model.classes_[model.predict_proba(X_NEW).argmax(axis=1)]
    )


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_log_probability_of_what_never_happens(sign: float) -> None:
    """A linear mean goes on for ever; its probabilities underflow, their logarithms do not."""
    model = classifier(kernel=Linear(), mean_function="linear").fit(X, X[:, 0] > 0.0)
    log = model.predict_log_proba(sign * np.array([[1e3, 0.0], [1e9, 0.0]]))
    assert np.isfinite(log).all()
    assert np.all(log <= 0.0)
    np.testing.assert_allclose(np.exp(log).sum(axis=1), 1.0, rtol=0.0, atol=1e-12)


def test_probabilities_where_the_latent_variance_is_huge() -> None:
    cells = Hat(Grid.uniform(-5.0, 5.0, 200, "midpoint"))
    model = classifier(kernel=Linear(), cells=cells).fit(X, BINARY)
    far = np.array([[1e9, 1e9], [-1e9, 1e9]])
    assert np.min(model.latent(far)[1]) > 1e12
    np.testing.assert_allclose(model.predict_proba(far).sum(axis=1), 1.0, rtol=0.0, atol=1e-12)


@LIKELIHOODS
def test_far_away_is_the_prior(likelihood: str) -> None:
    dist = regressor(likelihood).fit(X, TARGETS[likelihood]).predict_dist(FAR[:1])
    for value in (dist.mean(), dist.std(), dist.log_prob(1.0), dist.cdf(0.0), dist.interval()):
        assert np.isfinite(value).all()


@LIKELIHOODS
def test_shapes(likelihood: str) -> None:
    model = regressor(likelihood).fit(X, TARGETS[likelihood])
    n = len(X_NEW)
    assert model.predict(X_NEW).shape == (n,)
    assert [part.shape for part in model.predict(X_NEW, return_std=True)] == [(n,), (n,)]
    assert model.predict_quantiles(X_NEW).shape == (n, 3)
    assert model.predict_quantiles(X_NEW, 0.5).shape == (n,)
    assert model.predict_interval(X_NEW).shape == (n, 2)
    assert model.sample_y(X_NEW).shape == (n, 1)
    assert model.sample_y(X_NEW, 5).shape == (n, 5)
    assert [part.shape for part in model.latent(X_NEW)] == [(n,), (n,)]
    assert len(model.predict_dist(X_NEW)) == n
    assert model.predict(X_NEW[:1]).shape == (1,)


@LIKELIHOODS
def test_methods_agree_with_the_distribution(likelihood: str) -> None:
    model = regressor(likelihood).fit(X, TARGETS[likelihood])
    dist = model.predict_dist(X_NEW)
    mean, std = model.predict(X_NEW, return_std=True)
    np.testing.assert_array_equal(mean, dist.mean())
    np.testing.assert_array_equal(std, dist.std())
    np.testing.assert_array_equal(model.predict_interval(X_NEW, 0.5), dist.interval(0.5))
    np.testing.assert_array_equal(model.predict_quantiles(X_NEW, [0.2]), dist.quantile([0.2]))
    low, middle, high = model.predict_quantiles(X_NEW).T
    assert np.all((low <= middle) & (middle <= high))
    draws = model.sample_y(X_NEW, 4000)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=np.max(6.0 * std / np.sqrt(4000)))


def test_samples_are_seeded() -> None:
    model = regressor().fit(X, REAL)
    first = model.sample_y(X_NEW, 3, random_state=1)
    np.testing.assert_array_equal(model.sample_y(X_NEW, 3, random_state=1), first)
    assert np.all(model.sample_y(X_NEW, 3, random_state=2) != first)
    state = np.random.RandomState(0)
    assert np.all(model.sample_y(X_NEW, 3, state) != model.sample_y(X_NEW, 3, state))
    assert np.all(model.sample_y(X_NEW, 3, None) != model.sample_y(X_NEW, 3, None))


def test_intervals_cover() -> None:
    inputs = np.linspace(0.0, 6.0, 300)[:, None]
    y = np.sin(inputs[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=300)
    low, high = regressor().fit(inputs[::2], y[::2]).predict_interval(inputs[1::2], 0.9).T
    assert 0.83 < np.mean((low < y[1::2]) & (y[1::2] < high)) < 0.97


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "latent"])
def test_unfitted_classifier(method: str) -> None:
    with pytest.raises(NotFittedError, match="StepGPClassifier instance is not fitted"):
        getattr(classifier(), method)(X)


@pytest.mark.parametrize(
    "method",
    ["predict", "predict_dist", "predict_quantiles", "predict_interval", "sample_y", "latent"],
)
def test_unfitted_regressor(method: str) -> None:
    with pytest.raises(NotFittedError, match="StepGPRegressor instance is not fitted"):
        getattr(regressor(), method)(X)


@pytest.fixture(scope="module")
def many_rows() -> tuple[np.ndarray, np.ndarray]:
    """More than two blocks of 4,096."""
    inputs = np.random.default_rng(0).normal(size=(9_000, 2))
    return inputs, np.sin(3.0 * inputs[:, 0]) + inputs[:, 1] > 0.0


def test_number_of_threads_does_not_matter(many_rows: tuple[np.ndarray, np.ndarray]) -> None:
    inputs, labels = many_rows
    found = []
    for n_jobs in (1, 2, -1):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = classifier(n_jobs=n_jobs, max_iter=2, n_cells=32).fit(inputs, labels)
        found.append((model.elbo_, model.inducing_, model.predict_log_proba(inputs)))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [number_of_threads(n, 100) for n in (None, 1, 3, 20, -1, -3, -20)] == [
        8, 1, 3, 20, 8, 6, 1
    ]  # fmt: skip
    assert [number_of_threads(n, 2) for n in (None, 1, 20, -1)] == [2, 1, 2, 2]
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert [number_of_threads(n, 100) for n in (None, 3, -1)] == [2, 3, 8]


@pytest.mark.parametrize("random_state", [0, 3, np.int64(3)])
def test_seed_fixes_the_fit(random_state: int) -> None:
    first, second = (classifier(random_state=random_state).fit(X, BINARY) for _ in range(2))
    np.testing.assert_array_equal(first.predict_log_proba(X), second.predict_log_proba(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_generators_seed_a_fit() -> None:
    for random_state in (None, np.random.RandomState(0), np.random.default_rng(0)):
        starts = []
        for _ in range(2):
            model = regressor(random_state=random_state, n_inducing=5, max_iter=1)
            starts.append(model.fit(X, REAL).inducing_)
        assert not np.array_equal(*starts)


def test_tolerance_is_when_to_stop() -> None:
    loose, tight = (classifier(tol=tol).fit(X, BINARY) for tol in (1e-3, 1e-9))
    assert tight.n_iter_ > loose.n_iter_
    assert tight.history_[-1].objective > loose.history_[-1].objective


def test_refit_forgets() -> None:
    model = regressor().fit(X, REAL)
    again = model.fit(X[:, :1], REAL)
    assert again is model
    assert model.n_features_in_ == 1
    np.testing.assert_array_equal(
        model.predict(X[:, :1]), regressor().fit(X[:, :1], REAL).predict(X[:, :1])
    )


def test_warning_names_the_users_line() -> None:
    with pytest.warns(ConvergenceWarning, match="raise max_iter") as caught:
        regressor(max_iter=1).fit(X, REAL)
    assert [warning.filename for warning in caught] == [__file__]


def test_verbose_writes_to_stderr_only(capfd: pytest.CaptureFixture[str]) -> None:
    classifier(verbose=0).fit(X, LABELS)
    assert capfd.readouterr() == ("", "")
    classifier(verbose=1).fit(X, LABELS)
    out, err = capfd.readouterr()
    assert out == ""
    assert "objective" in err


def test_quantiles_where_the_mean_is_infinite() -> None:
    """Rates of e^(±2000): they follow the cdf, whatever the moments are."""
    x = np.linspace(-1.0, 1.0, 60)[:, None]
    counts = np.random.default_rng(0).poisson(np.exp(x[:, 0]))
    model = StepGPRegressor(likelihood="poisson", kernel=Linear()).fit(x, counts)
    dist = model.predict_dist([[-2_000.0]])
    assert dist.cdf(3)[0] > 0.999
    np.testing.assert_array_equal(dist.quantile([0.05, 0.5, 0.95]), 0.0)


@pytest.mark.parametrize("n_rows", [5, 30, 300])
def test_counts_that_are_all_zero(n_rows: int) -> None:
    """No event in n rows: a rate below one in n, but none that is certain to be nothing."""
    x = np.arange(n_rows)[:, None]
    model = StepGPRegressor(likelihood="poisson").fit(x, np.zeros(n_rows))
    rate = model.predict(x)
    assert np.all((0.02 / n_rows < rate) & (rate < 1.0 / n_rows))
    assert np.all(model.predict_interval(x, 0.95, exposure=30.0 * n_rows)[:, 1] > 1.0)


@pytest.mark.parametrize("outlier", [1e3, 1e5, 1e8, 1e12])
def test_one_outlier_of_any_size(outlier: float) -> None:
    """Heavy-tailed targets are standardised by what outliers do not move."""
    x = np.linspace(-1.0, 1.0, 300)[:, None]
    truth = np.sin(3.0 * x[:, 0])
    y = truth + 0.1 * np.random.default_rng(0).normal(size=300)
    y[-1] = outlier
    model = StepGPRegressor(likelihood="student_t").fit(x, y)
    np.testing.assert_allclose(model.predict(x)[:-5], truth[:-5], atol=0.1)
    assert 0.05 < model.likelihood_.value("scale") < 0.12


def test_repr_says_what_a_distribution_can_do() -> None:
    x = np.linspace(-1.0, 1.0, 30)[:, None]
    dist = StepGPRegressor(likelihood="poisson").fit(x, np.ones(30)).predict_dist(x)
    assert repr(dist).startswith("<MixturePredictive of 30 rows: mean, var")
