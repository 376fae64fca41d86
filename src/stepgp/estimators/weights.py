"""Checks of per-row weights and exposures."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepgp._array.namespace import Floats


def checked_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Weights as floats (n,), or None; negative, non-finite or all-zero ones raise."""
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
        raise ValueError("sample_weight is 0 in every row: there is nothing to fit.")
    return weight


def checked_exposure(exposure: Any, n_rows: int, *, taken: bool, name: str) -> Floats | None:
    """Exposures as positive floats (n,), or None; a likelihood that takes none raises."""
    if exposure is None:
        return None
    if not taken:
        raise ValueError(f"exposure is for rates such as Poisson counts; {name} takes none.")
    column = _column("exposure", exposure, n_rows)
    if np.any(column <= 0):
        row = int(np.flatnonzero(column <= 0)[0])
        raise ValueError(
            f"exposure must be positive, got {column[row]} in row {row}. "
            "Drop rows that were never exposed."
        )
    return column


def _column(name: str, values: Any, n_rows: int) -> Floats:
    column = np.asarray(values, dtype=np.float64)
    if column.ndim == 0:
        column = np.full(n_rows, float(column))
    if column.shape != (n_rows,):
        raise ValueError(
            f"{name}.shape == {column.shape}, expected ({n_rows},): one number for each row."
        )
    if not np.isfinite(column).all():
        row = int(np.flatnonzero(~np.isfinite(column))[0])
        raise ValueError(f"{name} must be finite, got {column[row]} in row {row}.")
    return column
