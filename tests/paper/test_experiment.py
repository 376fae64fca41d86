"""Scores of the paper's experiment, against the same done by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold

from stepgp import StepGPClassifier, StepGPRegressor
from stepgp.paper import MODELS, Dataset, cross_validate
from stepgp.paper.presets import Model
from stepgp.paper.published import PUBLISHED
from stepgp.paper.tables import best_published, cell, header, row

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(80, 2))
F = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]
LABELS = Dataset("heart", X, (F + 0.3 * GENERATOR.normal(size=80) > 0.0).astype(float), True)
TARGETS = Dataset("boston", X, 50.0 + 20.0 * F + 3.0 * GENERATOR.normal(size=80), False)


def test_scores_of_a_classifier() -> None:
    model = Model("own", "", lambda: StepGPClassifier(n_inducing=8), None)
    scores = cross_validate(model, LABELS, n_folds=2)
    assert scores is not None
    for fold, (train, test) in enumerate(list(KFold(10).split(X))[:2]):
        fitted = StepGPClassifier(n_inducing=8).fit(X[train], LABELS.y[train])
        ones = fitted.predict_proba(X[test])[:, 1]
        p = np.where(LABELS.y[test] == 1.0, ones, 1.0 - ones)
        assert scores.log_likelihood[fold] == pytest.approx(np.mean(np.log(p)))
        assert scores.metric[fold] == pytest.approx(f1_score(LABELS.y[test], ones > 0.5))
    assert cross_validate(model, TARGETS) is None


def test_scores_of_a_regressor_are_those_of_standardised_targets() -> None:
    """What a model of (y − ȳ)/s by itself would have scored."""
    model = Model("own", "", None, lambda: StepGPRegressor(n_inducing=8))
    seen = list[int]()
    scores = cross_validate(model, TARGETS, n_folds=2, report=seen.append)
    assert scores is not None
    assert seen == [0, 1]
    for fold, (train, test) in enumerate(list(KFold(10).split(X))[:2]):
        shift, unit = TARGETS.y[train].mean(), TARGETS.y[train].std()
        t = (TARGETS.y - shift) / unit
        dist = StepGPRegressor(n_inducing=8).fit(X[train], t[train]).predict_dist(X[test])
        assert scores.log_likelihood[fold] == pytest.approx(dist.log_prob(t[test]).mean(), abs=1e-3)
        error = np.sqrt(np.mean((dist.mean() - t[test]) ** 2))
        assert scores.metric[fold] == pytest.approx(error, abs=1e-3)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_runs(name: str) -> None:
    for data in (LABELS, TARGETS):
        scores = cross_validate(MODELS[name], data, n_folds=1)
        if scores is not None:
            assert np.isfinite([*scores.log_likelihood, *scores.metric]).all()


def test_models_have_the_columns_of_the_paper() -> None:
    for name, model in MODELS.items():
        if name != "stepgp":
            sets = {data for data, column in PUBLISHED if column == name}
            assert ("banana" in sets) == (model.classifier is not None)
            assert ("boston" in sets) == (model.regressor is not None)


def test_tables() -> None:
    scores = cross_validate(MODELS["SFGP"], LABELS, n_folds=3)
    assert scores is not None
    line = row("heart", "SFGP", scores)
    assert f"{scores.log_likelihood.mean():.3f} ± {scores.log_likelihood.std(ddof=1):.3f}" in line
    assert "-0.397 ± 0.083" in line
    assert "0.822 ± 0.075" in line
    assert ("+" in line) == (scores.log_likelihood.mean() > -0.397)
    assert len(line) == len(header().splitlines()[0])
    assert cell(scores).metric == pytest.approx(scores.metric.mean())
    assert best_published("boston") == PUBLISHED["boston", "SFGP-Prior"]
    assert best_published("cancer") == PUBLISHED["cancer", "SFGP-l"]
