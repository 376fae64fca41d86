"""Checks of what is to be learnt: labels of two classes, or numbers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from stepgp._array.namespace import Floats
from stepgp.likelihoods import Likelihood


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Validated rows: inputs, targets, and weights and exposures where there are any."""

    X: Floats
    y: Floats
    weight: Floats | None = None
    exposure: Floats | None = None

    def where(self, kept: npt.NDArray[np.bool_]) -> TrainingData:
        """Some of the rows."""
        return TrainingData(
            self.X[kept],
            self.y[kept],
            None if self.weight is None else self.weight[kept],
            None if self.exposure is None else self.exposure[kept],
        )

    def counted(self) -> TrainingData:
        """The rows whose weight is not zero."""
        return self if self.weight is None else self.where(self.weight > 0)


def two_classes(y: npt.NDArray[Any], weight: Floats | None) -> tuple[npt.NDArray[Any], Floats]:
    """The two labels in sorted order, and 0.0 or 1.0 for every row."""
    if y.dtype.kind == "O":
        unknown = np.flatnonzero([label is None for label in y])
        if unknown.size:
            raise ValueError(
                f"Input y contains None in row {unknown[0]}: labels must be known. Drop such rows."
            )
        if not all(isinstance(label, str) for label in y):
            raise ValueError(
                f"Unknown label type: objects such as {y[0]!r}. Convert the labels to one type, "
                "for example with y.astype(str) or y.astype(int)."
            )
    check_classification_targets(y)
    classes, coded = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"got {len(classes)} classes. Fit one against the rest with "
            "sklearn.multiclass.OneVsRestClassifier."
        )
    present = np.unique(coded if weight is None else coded[weight > 0])
    if len(present) < 2:
        raise ValueError(
            f"Expected rows of 2 classes, got 1 class only: {classes.tolist()[present[0]]!r}"
            f"{'' if weight is None else ' (rows of zero weight do not count)'}."
        )
    return classes, coded.astype(np.float64)


def numeric_targets(y: Any, n_rows: int) -> Floats:
    """Targets as floats (n,); NaN may stay, infinity may not."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    column = column_or_1d(y, warn=True)
    if column.shape != (n_rows,):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[n_rows, len(column)]}."
        )
    # NumPy would read "1.5" and dates as numbers.
    text = column.dtype.kind == "O" and any(isinstance(value, str) for value in column)
    if column.dtype.kind not in "biufO" or text:
        raise ValueError(
            f"y must hold numbers, got {'strings' if text else f'type {column.dtype}'}. "
            "Convert them, or use StepGPClassifier for labels."
        )
    try:
        targets = column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}.") from error
    if np.isinf(targets).any():
        row = int(np.flatnonzero(np.isinf(targets))[0])
        raise ValueError(
            f"Input y contains infinity or a value too large, in row {row}. "
            "Correct it, or use NaN for a target that is missing."
        )
    return targets


def check_support(likelihood: Likelihood, y: Floats) -> None:
    """Raise where a target that is not NaN has no probability, naming its row."""
    likelihood.check_targets(y, missing=np.isnan(y))


def without_missing(data: TrainingData, *, stacklevel: int) -> TrainingData:
    """The rows whose target is known; a warning says how many are not."""
    known = ~np.isnan(data.y)
    if known.all():
        return data
    if not known.any():
        raise ValueError("Input y contains NaN in every row: there is nothing to fit.")
    left = data.where(known)
    if left.weight is not None and not np.any(left.weight > 0):
        raise ValueError(
            "sample_weight is zero in every row whose target is not NaN: there is nothing to fit."
        )
    warnings.warn(
        f"{int(np.sum(~known))} of {len(known)} rows have no target (NaN in y) and are left out "
        "of the fit.",
        UserWarning,
        stacklevel=stacklevel + 1,
    )
    return left
