"""Rows that cannot be fitted or predicted: what was got, what was expected, what to do."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepgp import StepGPClassifier, StepGPRegressor
from tests.estimators.data import BINARY, COUNTS, LABELS, REAL, N, X, classifier, regressor


def but(array: Any, value: Any, row: int = 3) -> Any:
    """The array with another value in one row."""
    changed = np.array(array)
    changed[row] = value
    return changed


INPUTS: dict[str, tuple[Any, str]] = {
    "nan": (but(X, np.nan), "Input X contains NaN"),
    "inf": (but(X, np.inf), "Input X contains infinity"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "one dimension": (X[:, 0], "Expected 2D array, got 1D array"),
    "three dimensions": (X[:, :, None], "dim 3"),
    "complex": (X + 1j, "Complex data not supported"),
    "objects": (but(X.astype(object), "red"), "could not convert string to float: 'red'"),
    "text": (but(X.astype("<U32"), "red"), "could not convert string to float"),
    "too large": (but(X, -1.7e308), "contains -1.7e.308 in column 0; expected .* Divide"),
    "fewer rows": (X[1:], r"inconsistent numbers of samples: \[39, 40\]"),
}
# A prediction may look as far as it likes.
FOR_FITS = {"fewer rows", "too large"}

LABEL: dict[str, tuple[Any, str]] = {
    "one class": (np.full(N, "yes"), "2 classes, got 1 class only: 'yes'"),
    "three classes": (but(LABELS, "??"), "got 3 classes.*OneVsRestClassifier"),
    "continuous": (REAL, "Unknown label type: continuous"),
    "nan": (but(BINARY, np.nan), "y contains NaN"),
    "nan among strings": (but(LABELS.astype(object), np.nan), "contains NaN"),
    "none": (but(LABELS.astype(object), None), "None in row 3.*Drop"),
    "objects": (BINARY.astype(object), r"Unknown label type: objects .*y.astype\(str\)"),
    "bytes": (LABELS.astype("S3"), "[Bb]ytes"),
    "inf": (but(BINARY, np.inf), "y contains infinity"),
    "complex": (BINARY + 1j, "Complex data not supported"),
    "two columns": (np.stack([BINARY, BINARY], axis=1), r"1d array, got .*\(40, 2\)"),
    "missing": (None, "requires y"),
}

TARGET: dict[str, tuple[str, Any, str]] = {
    "all nan": ("gaussian", np.full(N, np.nan), "NaN in every row"),
    "inf": ("gaussian", but(REAL, -np.inf), "infinity.* in row 3"),
    "strings": ("gaussian", LABELS, "numbers, got type <U3.*StepGPClassifier"),
    "numbers as strings": ("gaussian", REAL.astype(str), "numbers, got type <U"),
    "strings as objects": ("gaussian", but(REAL.astype(object), "1.5"), "numbers, got strings"),
    "lists as objects": ("gaussian", but(REAL.astype(object), {}), "y must hold numbers: float"),
    "dates": ("gaussian", np.full(N, np.datetime64("2020-01-01")), "numbers, got type datetime64"),
    "complex": ("gaussian", REAL + 1j, "Complex data not supported"),
    "two columns": ("gaussian", np.stack([REAL, REAL], axis=1), r"1d array, got .*\(40, 2\)"),
    "one number": ("gaussian", 3.0, "1d array"),
    "squares overflow": ("gaussian", 1e200 * REAL, r"deviation of 6.71e\+199; .*y / 7e\+199"),
    "heavy tails too": ("student_t", 1e200 * REAL, r"deviation of 5.89e\+199; .*y / 6e\+199"),
    "squares vanish": ("gaussian", 1e-200 * REAL, "deviation of 6.71e-201; .*y / 7e-201"),
    "subnormal": ("student_t", 1e-310 * REAL, "deviation of 5.89e-311; .*y / 6e-311"),
    "missing": ("gaussian", None, "requires y"),
    "negative count": ("poisson", but(COUNTS, -1.0), "-1.0 in row 3 .*whole numbers"),
    "half a count": ("poisson", but(COUNTS, 0.5), "0.5 in row 3 .*whole numbers"),
    "count after nan": ("poisson", but(but(COUNTS, 0.5), np.nan, 1), "0.5 in row 3 "),
    "not binary": ("bernoulli", but(BINARY, 2.0), "2.0 in row 3 .*0 or 1"),
}

WEIGHTS: dict[str, tuple[Any, str]] = {
    "negative": (but(np.ones(N), -1.0), "Negative values.*-1.0 in row 3.*use 0"),
    "nan": (but(np.ones(N), np.nan), "finite, got nan in row 3"),
    "inf": (but(np.ones(N), np.inf), "finite, got inf in row 3"),
    "all zero": (np.zeros(N), "zero in every row"),
    "too large": (np.full(N, 1e305), r"adds up to 4e\+306; expected .*divide them by their mean"),
    "sum overflows": (np.full(N, 1e308), "adds up to inf; expected .*divide"),
    "too small": (np.full(N, 1e-310), "adds up to 4e-309; expected .*divide"),
    "zero": (0.0, "zero in every row"),
    "too few": (np.ones(N - 1), r"each of the 40 rows, got sample_weight.shape == \(39,\)"),
    "two columns": (np.ones((N, 2)), r"got sample_weight.shape == \(40, 2\)"),
    "name": ("balanced", "one number for each of the 40 rows, got an array of type <U8"),
    "objects": (but(np.ones(N, dtype=object), "a"), "one number for each .*'a'"),
    "complex": (np.ones(N) + 1j, "got an array of type complex128"),
}

EXPOSURES: dict[str, tuple[Any, str]] = {
    "zero": (but(np.ones(N), 0.0), "positive, got 0.0 in row 3. Drop"),
    "negative": (but(np.ones(N), -2.0), "positive, got -2.0 in row 3"),
    "nan": (but(np.ones(N), np.nan), "finite, got nan in row 3"),
    "too few": (np.ones(N - 1), r"each of the 40 rows, got exposure.shape == \(39,\)"),
    "two columns": (np.ones((N, 2)), r"got exposure.shape == \(40, 2\)"),
    "text": (np.full(N, "a"), "got an array of type <U1"),
}


@pytest.mark.parametrize(("inputs", "message"), INPUTS.values(), ids=INPUTS.keys())
@pytest.mark.parametrize("kind", [StepGPClassifier, StepGPRegressor])
def test_inputs(kind: Callable[[], Any], inputs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind().fit(inputs, BINARY)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [case for name, case in INPUTS.items() if name not in FOR_FITS],
    ids=[name for name in INPUTS if name not in FOR_FITS],
)
def test_inputs_to_predict(inputs: Any, message: str) -> None:
    model = _fitted()
    for method in (model.predict, model.predict_dist, model.latent, model.sample_y):
        with pytest.raises(ValueError, match=message):
            method(inputs)


@pytest.mark.parametrize(("y", "message"), LABEL.values(), ids=LABEL.keys())
def test_labels(y: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        classifier().fit(X, y)


def test_class_without_weight() -> None:
    with pytest.raises(ValueError, match="'yes' .rows of zero weight do not count"):
        classifier().fit(X, LABELS, sample_weight=BINARY)


@pytest.mark.parametrize(("likelihood", "y", "message"), TARGET.values(), ids=TARGET.keys())
def test_targets(likelihood: str, y: Any, message: str) -> None:
    with warnings.catch_warnings(), pytest.raises(ValueError, match=message):
        warnings.simplefilter("ignore", UserWarning)  # missing targets are left out
        regressor(likelihood).fit(X, y)


def test_missing_targets_are_not_blamed() -> None:
    """The row that is named is the first impossible one, and only those are counted."""
    y = np.full(N, -1.0)
    y[0] = np.nan
    with warnings.catch_warnings(), pytest.raises(ValueError, match=r"-1.0 in row 1 .*39 of 40"):
        warnings.simplefilter("ignore", UserWarning)
        regressor("poisson").fit(X, y)


@pytest.mark.parametrize(("weight", "message"), WEIGHTS.values(), ids=WEIGHTS.keys())
@pytest.mark.parametrize("kind", [StepGPClassifier, StepGPRegressor])
def test_weights(kind: Callable[[], Any], weight: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind().fit(X, BINARY, sample_weight=weight)


def test_known_targets_without_weight() -> None:
    weight = np.zeros(N)
    weight[3] = 1.0
    with pytest.raises(ValueError, match="zero in every row whose target is not NaN"):
        regressor().fit(X, but(REAL, np.nan), sample_weight=weight)


@pytest.mark.parametrize(("exposure", "message"), EXPOSURES.values(), ids=EXPOSURES.keys())
def test_exposures(exposure: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regressor("poisson").fit(X, COUNTS, exposure=exposure)
    model = regressor("poisson", max_iter=1)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(X, COUNTS)
    with pytest.raises(ValueError, match=message):
        model.predict(X, exposure=exposure)


@pytest.mark.parametrize("likelihood", ["gaussian", "student_t", "bernoulli"])
def test_exposure_where_there_is_no_rate(likelihood: str) -> None:
    with pytest.raises(ValueError, match="exposure multiplies rates.*leave exposure out"):
        regressor(likelihood).fit(X, BINARY, exposure=np.ones(N))
    with pytest.raises(ValueError, match="Gaussian has none"):
        _fitted().predict(X, exposure=2.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.predict_quantiles(X, [0.5, 1.0]), "strictly between 0 and 1"),
        (lambda m: m.predict_quantiles(X, np.nan), "strictly between 0 and 1"),
        (lambda m: m.predict_quantiles(X, None), "levels must be numbers strictly .* got None"),
        (lambda m: m.predict_quantiles(X, "median"), "levels must be numbers .*'median'"),
        (lambda m: m.predict_quantiles(X, [0.5, None]), r"levels must be numbers .*\[0.5, None\]"),
        (lambda m: m.predict_quantiles(X, 1j), "levels must be numbers .*1j"),
        (lambda m: m.predict_quantiles(X, []), r"levels must be numbers .*\[\]"),
        (lambda m: m.predict_interval(X, 1.0), "coverage must be one number strictly between"),
        (lambda m: m.predict_interval(X, 90), "coverage must be one number .*got 90"),
        (lambda m: m.predict_interval(X, None), "coverage must be one number .*got None"),
        (lambda m: m.predict_interval(X, "all"), "coverage must be one number .*'all'"),
        (lambda m: m.predict_interval(X, [0.5, 0.9]), r"coverage must be one number .*\[0.5"),
        (lambda m: m.predict(X, return_std="no"), "return_std must be True or False, got 'no'"),
        (lambda m: m.predict(X, return_std=None), "return_std must be True or False, got None"),
        (lambda m: m.sample_y(X, 0), "n_samples must be an integer of at least 1, got 0"),
        (lambda m: m.sample_y(X, 1.5), "n_samples must be an integer"),
        (lambda m: m.sample_y(X, random_state="seed"), "random_state must be an integer"),
        (
            lambda m: m.predict_dist(X).log_prob(np.zeros(3)),
            r"got float64 of shape \(3,\)",
        ),
        (lambda m: m.predict_dist(X).log_prob(None), r"number or have shape \(40,\), got None"),
        (lambda m: m.predict_dist(X).cdf("a"), "number or have shape .* got 'a'"),
        (lambda m: m.predict_dist(X).cdf(LABELS), r"got <U3 of shape \(40,\)"),
        (lambda m: m.predict(X[:, :1]), "1 features, but StepGPRegressor is expecting 2"),
    ],
)
def test_calls(call: Callable[[StepGPRegressor], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(_fitted())


def test_inputs_too_large_to_leave_as_they_are() -> None:
    with pytest.raises(ValueError, match=r"in column 0; expected numbers between -1e\+50 and"):
        regressor(standardize=False).fit(but(X, 1e200), REAL)


def _fitted() -> StepGPRegressor:
    return regressor().fit(X, REAL)
