"""Checks of per-row weights and exposures."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepgp._array.namespace import Floats
from stepgp.likelihoods import Likelihood

_MOST = 1e100
"""Rows that weights may stand for: sums of products with them must be numbers."""


def checked_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Weights as floats (n,), or None; negative, non-finite or all-zero ones raise, and sums
    beyond all numbers of rows."""
    if sample_weight is None:
        return None
    weight = _column("sample_weight", sample_weight, n_rows)
    if np.any(weight < 0):
        row = int(np.flatnonzero(weight < 0)[0])
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: {weight[row]} in row {row}. "
            "Weights count rows: use 0 to leave one out."
        )
    if not np.any(weight > 0):
        raise ValueError(
            "sample_weight is zero in every row: there is nothing to fit. "
            "Give a positive weight to the rows that count."
        )
    with np.errstate(over="ignore"):
        total = float(np.sum(weight))
    if not 1.0 / _MOST <= total <= _MOST:
        raise ValueError(
            f"sample_weight adds up to {total:.3g}; expected between {1.0 / _MOST:g} and "
            f"{_MOST:g}. Weights count rows: divide them by their mean to count each row once."
        )
    return weight


def checked_exposure(exposure: Any, n_rows: int, likelihood: Likelihood) -> Floats | None:
    """Exposures as positive floats (n,), or None; a likelihood that takes none raises."""
    if exposure is None:
        return None
    if not likelihood.takes_exposure:
        raise ValueError(
            "exposure multiplies rates, such as those of Poisson counts, but "
            f"{type(likelihood).__name__} has none: leave exposure out, or choose another "
            "likelihood."
        )
    column = _column("exposure", exposure, n_rows)
    if np.any(column <= 0):
        row = int(np.flatnonzero(column <= 0)[0])
        raise ValueError(
            f"exposure must be positive, got {column[row]} in row {row}. "
            "Drop rows that were never exposed."
        )
    return column


def _column(name: str, values: Any, n_rows: int) -> Floats:
    """One finite number for each row, (n,); a single number stands for all."""
    expected = f"{name} must hold one number for each of the {n_rows} rows"
    given = np.asarray(values)
    if given.dtype.kind not in "biufO":
        raise ValueError(f"{expected}, got an array of type {given.dtype}.")
    try:
        column = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{expected}, got {error}.") from error
    if column.ndim == 0:
        column = np.full(n_rows, float(column))
    if column.shape != (n_rows,):
        raise ValueError(f"{expected}, got {name}.shape == {column.shape}.")
    if not np.isfinite(column).all():
        row = int(np.flatnonzero(~np.isfinite(column))[0])
        raise ValueError(f"{name} must be finite, got {column[row]} in row {row}.")
    return column
