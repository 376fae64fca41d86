"""Cross-validation as the paper does it: ten folds without shuffling, standardised units."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold

from stepgp._array.namespace import Floats
from stepgp.estimators import StepGPClassifier, StepGPRegressor
from stepgp.paper.data import Dataset
from stepgp.paper.presets import Model

N_FOLDS = 10


@dataclass(frozen=True, eq=False)
class Scores:
    """What a model reached on a data set, fold by fold."""

    log_likelihood: Floats
    """Mean held-out log-likelihood, of standardised targets in regression, (folds,)."""
    metric: Floats
    """F1 of class 1, or the root of the mean squared error of standardised targets, (folds,)."""
    seconds: float
    """All fits and predictions."""


def cross_validate(
    model: Model,
    data: Dataset,
    *,
    n_folds: int = N_FOLDS,
    report: Callable[[int], None] = lambda fold: None,
) -> Scores | None:
    """Scores of the model on the paper's folds, or on the first few of them; None where the paper
    has no such column."""
    make = model.classifier if data.is_classification else model.regressor
    if make is None:
        return None
    scores = list[tuple[float, float]]()
    begun = time.perf_counter()
    for fold, (train, test) in enumerate(KFold(N_FOLDS).split(data.X)):
        if fold == n_folds:
            break
        estimator = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(data.X[train], data.y[train])
        unit = float(np.std(data.y[train]))
        scores.append(estimator_score(estimator, data.X[test], data.y[test], unit))
        report(fold)
    log_likelihood, metric = np.array(scores).T
    return Scores(log_likelihood, metric, time.perf_counter() - begun)


def estimator_score(
    estimator: StepGPClassifier | StepGPRegressor, X: Floats, y: Floats, unit: float
) -> tuple[float, float]:
    """Log-likelihood and F1 of a classifier; those of y/unit and its error of a regressor."""
    if isinstance(estimator, StepGPClassifier):
        log = estimator.predict_log_proba(X)
        own = np.take_along_axis(log, y.astype(int)[:, None], axis=1)
        return float(np.mean(own)), float(f1_score(y, estimator.predict(X)))
    dist = estimator.predict_dist(X)
    error = float(np.sqrt(np.mean((dist.mean() - y) ** 2))) / unit
    return float(np.mean(dist.log_prob(y))) + float(np.log(unit)), error
