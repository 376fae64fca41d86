"""scikit-learn's own checks of an estimator, all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from stepgp import StepGPClassifier, StepGPRegressor


# Some checks fit noise, and a warning may say so.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        StepGPClassifier(),
        StepGPRegressor(),
        # The checks fit targets of few distinct values, where the noise of a Student-t goes to
        # zero and cells are refined to the utmost.
        StepGPRegressor(likelihood="student_t", n_cells=64),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
