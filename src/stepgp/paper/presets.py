"""The models of the tables: as the paper sets them, and our one default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgp.cells import Grid, Indicator
from stepgp.estimators import StepGPClassifier, StepGPRegressor
from stepgp.kernels import RBF, Kernel, Positive
from stepgp.links import Identity, Link, Ridge, Sigmoid

_CLASSIFICATION = Indicator(Grid.uniform(-5.0, 5.0, 100))
_REGRESSION = Indicator(Grid.uniform(-3.0, 3.0, 20))
_INDUCING = 10
_MILD = 0.1
"""λ of the ridge that holds levels where few rows are: converged free ones over-fit."""


@dataclass(frozen=True)
class Model:
    """A column of the tables: how to make its estimators, None where the paper has none."""

    name: str
    about: str
    classifier: Callable[[], StepGPClassifier] | None
    regressor: Callable[[], StepGPRegressor] | None


def _kernel() -> Kernel:
    """Squared exponential with one lengthscale; the paper has no priors."""
    return RBF(Positive(prior=None), Positive(prior=None), ard=False)


def _levels(cells: Indicator, reference: Link) -> Ridge:
    """A level for each cell, started at the reference and held to it by a mild ridge."""
    return Ridge(reference=reference, knots=np.unique(cells.nodes), strength=_MILD)


def _options(link: Link, cells: Indicator) -> dict[str, Any]:
    """What the paper's models have in common."""
    return {
        "link": link,
        "kernel": _kernel(),
        "cells": cells,
        "n_inducing": _INDUCING,
        "inducing": "first",
        "mean_function": "zero",
    }


def _classifier(link: Link) -> StepGPClassifier:
    return StepGPClassifier(**_options(link, _CLASSIFICATION))


def _regressor(link: Link) -> StepGPRegressor:
    return StepGPRegressor(**_options(link, _REGRESSION))


MODELS = {
    model.name: model
    for model in (
        Model(
            "SFGP",
            "steps of the sigmoid, 10 inducing inputs",
            lambda: _classifier(Sigmoid()),
            None,
        ),
        Model(
            "SFGP-l",
            "levels learnt, a mild ridge towards the reference",
            lambda: _classifier(_levels(_CLASSIFICATION, Sigmoid())),
            lambda: _regressor(_levels(_REGRESSION, Identity())),
        ),
        Model(
            "stepgp", "our defaults, the same for every data set", StepGPClassifier, StepGPRegressor
        ),
    )
}
