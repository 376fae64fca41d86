"""Together with the rest of scikit-learn."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.inspection import permutation_importance
from sklearn.metrics import make_scorer, mean_poisson_deviance
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stepgp import StepGPClassifier, StepGPRegressor
from stepgp.kernels import RBF, Linear, Matern32
from stepgp.likelihoods import StudentT
from stepgp.links import Probit
from tests.estimators.data import (
    BINARY,
    COUNTS,
    LABELS,
    REAL,
    TARGETS,
    X_NEW,
    N,
    X,
    classifier,
    regressor,
)

EXPOSURE = np.random.default_rng(0).uniform(0.5, 20.0, N)


def test_kind() -> None:
    assert is_classifier(StepGPClassifier())
    assert is_regressor(StepGPRegressor())
    assert not StepGPClassifier().__sklearn_tags__().classifier_tags.multi_class


@pytest.mark.parametrize(
    "model",
    [
        StepGPClassifier(kernel=Matern32() + Linear(), link=Probit(), inducing=X),
        StepGPRegressor(likelihood=StudentT(df=3.0), random_state=None),
    ],
)
def test_clone_and_parameters(model: Any) -> None:
    copied = clone(model)
    assert repr(copied.get_params()) == repr(model.get_params())
    assert not hasattr(copied, "fitted_")
    assert type(model)(**model.get_params()).get_params() == model.get_params()
    assert copied.set_params(n_cells=99, tol=1e-3).get_params()["n_cells"] == 99


def test_repr_shows_what_was_chosen() -> None:
    assert repr(StepGPClassifier()) == "StepGPClassifier()"
    shown = repr(StepGPRegressor(likelihood="poisson", kernel=RBF(), n_cells=64))
    assert shown.startswith("StepGPRegressor(kernel=RBF(lengthscale=auto, variance=1), likelihood=")
    assert "n_cells=64)" in shown and "n_inducing" not in shown
    assert len(repr(StepGPClassifier(inducing=np.zeros((500, 20))))) < 800
    assert repr(StepGPClassifier().fit(X, LABELS)) == "StepGPClassifier()"


@pytest.mark.parametrize("likelihood", TARGETS)
def test_pickle(likelihood: str) -> None:
    model = regressor(likelihood).fit(X, TARGETS[likelihood])
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(
            np.stack(again.predict(X_NEW, return_std=True)),
            np.stack(model.predict(X_NEW, return_std=True)),
        )
        np.testing.assert_array_equal(again.sample_y(X_NEW), model.sample_y(X_NEW))
        assert again.elbo_ == model.elbo_


def test_pickle_of_a_classifier() -> None:
    model = classifier(link="probit", kernel=Matern32()).fit(X, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))
    np.testing.assert_array_equal(again.predict(X_NEW), model.predict(X_NEW))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_grid_search_over_kernel_and_link() -> None:
    grid = {"kernel": [None, Matern32(), Linear()], "link": ["sigmoid", "probit"]}
    search = GridSearchCV(classifier(), grid, cv=2, scoring="neg_log_loss", error_score="raise")
    search.fit(X, LABELS)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict_proba(X).shape == (N, 2)


def test_pipeline_and_cross_validation() -> None:
    pipeline = make_pipeline(StandardScaler(), classifier())
    scores = cross_val_score(pipeline, X, LABELS, cv=3, scoring="roc_auc", error_score="raise")
    assert np.mean(scores) > 0.7
    probability = cross_val_predict(pipeline, X, LABELS, cv=3, method="predict_proba")
    assert probability.shape == (N, 2)
    # What the scaler does, the estimator does too.
    plain = cross_val_predict(classifier(), X, LABELS, cv=3, method="predict_proba")
    np.testing.assert_allclose(probability, plain, atol=1e-6)


def test_one_against_the_rest() -> None:
    three = np.array(["low", "mid", "top"])[np.digitize(REAL, [-0.4, 0.4])]
    model = OneVsRestClassifier(classifier()).fit(X, three)
    np.testing.assert_array_equal(model.classes_, ["low", "mid", "top"])
    assert model.predict_proba(X_NEW).shape == (9, 3)
    assert model.score(X, three) > 0.8


def test_other_wrappers() -> None:
    logged = TransformedTargetRegressor(regressor(), func=np.log, inverse_func=np.exp)
    assert np.all(logged.fit(X, np.exp(REAL)).predict(X_NEW) > 0.0)
    several = MultiOutputRegressor(regressor()).fit(X, np.stack([REAL, -REAL], axis=1))
    np.testing.assert_allclose(several.predict(X_NEW) @ [1.0, 1.0], 0.0, atol=1e-6)
    calibrated = CalibratedClassifierCV(classifier(), cv=2).fit(X, LABELS)
    assert calibrated.predict_proba(X_NEW).shape == (9, 2)
    importance = permutation_importance(regressor().fit(X, REAL), X, REAL, random_state=0)
    assert importance.importances_mean[0] > importance.importances_mean[1]


# --- Metadata routing ---


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_routing_through_a_pipeline() -> None:
    weight = np.arange(1.0, N + 1.0)
    model = regressor("poisson").set_fit_request(sample_weight=True, exposure=True)
    model.set_predict_request(exposure=True)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
    pipeline.fit(X, COUNTS, sample_weight=weight, exposure=EXPOSURE)
    direct = regressor("poisson").fit(
        StandardScaler().fit_transform(X), COUNTS, sample_weight=weight, exposure=EXPOSURE
    )
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(
        pipeline.predict(X, exposure=EXPOSURE), direct.predict(scaled, exposure=EXPOSURE)
    )
    assert not np.allclose(pipeline.predict(X), pipeline.predict(X, exposure=EXPOSURE))


@pytest.mark.usefixtures("routing")
def test_routing_through_cross_validation() -> None:
    inputs = np.linspace(0.0, 6.0, 120)[:, None]
    exposure = np.tile(EXPOSURE, 3)
    counts = np.random.default_rng(1).poisson(exposure * np.exp(np.sin(inputs[:, 0])))
    model = regressor("poisson").set_fit_request(sample_weight=True, exposure=True)
    model.set_score_request(sample_weight=True, exposure=True)
    params = {"sample_weight": np.ones(120), "exposure": exposure}
    folds = KFold(3, shuffle=True, random_state=0)
    found = cross_validate(model, inputs, counts, cv=folds, params=params, error_score="raise")
    assert np.min(found["test_score"]) > 0.6
    scorer = make_scorer(mean_poisson_deviance, greater_is_better=False).set_score_request(
        sample_weight=True
    )
    found = cross_validate(model, inputs, counts, cv=folds, params=params, scoring=scorer)
    assert np.isfinite(found["test_score"]).all()


@pytest.mark.usefixtures("routing")
def test_unrequested_metadata_is_an_error() -> None:
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="exposure"):
        cross_validate(regressor("poisson"), X, COUNTS, cv=2, params={"exposure": EXPOSURE})


@pytest.mark.usefixtures("routing")
def test_requests_of_the_classifier() -> None:
    model = classifier().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    params = {"sample_weight": BINARY + 1.0}
    found = cross_validate(model, X, LABELS, cv=3, params=params, error_score="raise")
    assert np.mean(found["test_score"]) > 0.6
    assert not hasattr(model, "set_predict_request")
