"""Small data sets, one for each kind of target."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepgp import StepGPClassifier, StepGPRegressor
from stepgp._array import Floats

N = 40
_RNG = np.random.default_rng(7)

X: Floats = _RNG.normal(size=(N, 2))
SIGNAL: Floats = np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1]
REAL: Floats = SIGNAL + 0.2 * _RNG.normal(size=N)
COUNTS: Floats = _RNG.poisson(np.exp(1.0 + SIGNAL)).astype(np.float64)
BINARY: Floats = (SIGNAL + 0.5 * _RNG.normal(size=N) > 0.0).astype(np.float64)
LABELS = np.where(BINARY > 0, "yes", "no")
X_NEW: Floats = _RNG.normal(size=(9, 2))

TARGETS = {"gaussian": REAL, "student_t": REAL, "poisson": COUNTS, "bernoulli": BINARY}


def regressor(likelihood: str = "gaussian", **options: Any) -> StepGPRegressor:
    """A regressor with few inducing inputs, so that fits take little time."""
    return StepGPRegressor(likelihood=likelihood, **{"n_inducing": 12, **options})


def classifier(**options: Any) -> StepGPClassifier:
    return StepGPClassifier(**{"n_inducing": 12, **options})
