"""Weights count rows, and the order of rows does not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepgp import StepGPRegressor
from stepgp.kernels import RBF, Positive
from stepgp.likelihoods import Gaussian
from tests.estimators.data import BINARY, LABELS, REAL, TARGETS, X_NEW, N, X, classifier, regressor

WEIGHT = np.random.default_rng(1).integers(0, 4, N)
MODELS = {
    "classifier": (lambda: classifier(), LABELS),
    **{name: (lambda name=name: regressor(name), y) for name, y in TARGETS.items()},
}
EVERY_MODEL = pytest.mark.parametrize(("make", "y"), MODELS.values(), ids=MODELS.keys())


def outputs(model: Any) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return model.predict_log_proba(X_NEW)
    return np.stack(model.predict(X_NEW, return_std=True), axis=1)


@EVERY_MODEL
def test_weight_is_repetition(make: Any, y: Any) -> None:
    repeated = np.repeat(np.arange(N), WEIGHT)
    weighted = make().fit(X, y, sample_weight=WEIGHT)
    plain = make().fit(X[repeated], y[repeated])
    np.testing.assert_allclose(outputs(weighted), outputs(plain), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(weighted.elbo_, plain.elbo_, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_automatic_number_of_inducing_inputs_counts_distinct_rows() -> None:
    """10,001 rows of weight 2, and as many of weight 0, are 10,001 rows like their repeats."""
    few = np.linspace(0.0, 1.0, 10_001)[:, None]
    twice = np.concatenate([few, few])
    weight = np.repeat([2.0, 0.0], 10_001)
    models = [
        StepGPRegressor(max_iter=1, tol=0.1).fit(rows, np.sin(9.0 * rows[:, 0]), sample_weight=w)
        for rows, w in ((twice, weight), (twice, None))
    ]
    assert [len(model.inducing_) for model in models] == [100, 100]
    np.testing.assert_array_equal(models[0].inducing_, models[1].inducing_)


@EVERY_MODEL
def test_zero_weight_is_no_row(make: Any, y: Any) -> None:
    kept = WEIGHT > 0
    weighted = make().fit(X, y, sample_weight=kept)
    plain = make().fit(X[kept], y[kept])
    np.testing.assert_array_equal(outputs(weighted), outputs(plain))


@EVERY_MODEL
def test_order_of_rows(make: Any, y: Any) -> None:
    order = np.random.default_rng(2).permutation(N)
    straight = make().fit(X, y, sample_weight=WEIGHT)
    shuffled = make().fit(X[order], y[order], sample_weight=WEIGHT[order])
    np.testing.assert_array_equal(outputs(shuffled), outputs(straight))


@EVERY_MODEL
def test_unit_weights_are_none(make: Any, y: Any) -> None:
    wanted = outputs(make().fit(X, y))
    for weight in (np.ones(N), 1, [1] * N):
        np.testing.assert_array_equal(outputs(make().fit(X, y, sample_weight=weight)), wanted)


def test_scale_of_weights_is_the_amount_of_data() -> None:
    """A hundred times the weight is a hundred times the rows, and the posterior is that sure."""
    one = Positive(1.0, fixed=True)
    light, heavy = (
        regressor(Gaussian(scale=0.5), kernel=RBF(one, one), n_inducing=N).fit(
            X, TARGETS["gaussian"], sample_weight=weight
        )
        for weight in (1.0, 100.0)
    )
    assert np.mean(heavy.latent(X)[1]) < 0.05 * np.mean(light.latent(X)[1])
    sure = classifier(max_iter=400).fit(X, BINARY, sample_weight=100.0)
    assert np.min(sure.predict_proba(X).max(axis=1)) > np.min(
        classifier().fit(X, BINARY).predict_proba(X).max(axis=1)
    )


def test_weight_pulls() -> None:
    weight = np.where(BINARY > 0, 10.0, 1.0)
    pulled = classifier().fit(X, BINARY, sample_weight=weight).predict_proba(X)[:, 1]
    plain = classifier().fit(X, BINARY).predict_proba(X)[:, 1]
    np.testing.assert_allclose(np.mean(plain), np.mean(BINARY), atol=0.03)
    np.testing.assert_allclose(
        np.average(pulled, weights=weight), np.average(BINARY, weights=weight), atol=0.03
    )


def test_score_takes_weights() -> None:
    model = classifier().fit(X, BINARY)
    wrong = model.predict(X) != BINARY
    assert wrong.any()
    assert model.score(X, BINARY, sample_weight=~wrong) == 1.0
    real = regressor().fit(X, REAL)
    kept = np.arange(N) < 30
    alone = real.score(X[kept], REAL[kept])
    assert real.score(X, REAL, sample_weight=kept) == pytest.approx(alone, rel=1e-14)
