"""The eight data sets of the paper, from a folder of their CSV files."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stepgp._array.namespace import Floats


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs (n, D) and targets (n,): 0 and 1 where it is one of classification."""

    name: str
    X: Floats
    y: Floats
    is_classification: bool


@dataclass(frozen=True)
class _Source:
    """A CSV file, and how its rows become numbers."""

    file: str
    is_classification: bool
    read: Callable[[list[list[str]]], tuple[Floats, Floats]]
    delimiter: str = ","


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """A data set by name, from `folder` or the one that STEPGP_DATA names."""
    if name not in _SOURCES:
        raise ValueError(f"Unknown data set {name!r}; expected one of {', '.join(NAMES)}.")
    source = _SOURCES[name]
    given = folder or os.environ.get("STEPGP_DATA")
    if not given:
        raise FileNotFoundError(
            f"The data set {name!r} is read from {source.file}: give the folder with the paper's "
            "CSV files by --data FOLDER, or by the environment variable STEPGP_DATA."
        )
    path = Path(given) / source.file
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing; the data set {name!r} is read from it.")
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file, delimiter=source.delimiter) if row]
    X, y = source.read(rows)
    return Dataset(name, X, y, source.is_classification)


def _numbers(rows: list[list[str]]) -> Floats:
    return np.array(rows, dtype=np.float64)


def _banana(rows: list[list[str]]) -> tuple[Floats, Floats]:
    """At1, At2, Class in −1 and 1."""
    table = _numbers(rows[1:])
    return table[:, :2], (table[:, 2] > 0).astype(np.float64)


def _heart(rows: list[list[str]]) -> tuple[Floats, Floats]:
    """No header; rows with ? are dropped; class 0 against the rest."""
    table = _numbers([row for row in rows if "?" not in row])
    return table[:, :-1], (table[:, -1] != 0).astype(np.float64)


def _diabetes(rows: list[list[str]]) -> tuple[Floats, Floats]:
    """Age, Gender, 14 columns of Yes and No, class."""
    body = rows[1:]
    age = np.array([[float(row[0])] for row in body])
    answers = np.array([[word in ("Yes", "Male") for word in row[1:-1]] for row in body])
    positive = np.array([row[-1] == "Positive" for row in body])
    return np.column_stack([age, answers]).astype(np.float64), positive.astype(np.float64)


def _cancer(rows: list[list[str]]) -> tuple[Floats, Floats]:
    """id, diagnosis, 30 features; no header."""
    malignant = np.array([row[1] == "M" for row in rows])
    return _numbers([row[2:] for row in rows]), malignant.astype(np.float64)


def _boston(rows: list[list[str]]) -> tuple[Floats, Floats]:
    table = _numbers(rows[1:])
    return table[:, :-1], table[:, -1]


def _concrete(rows: list[list[str]]) -> tuple[Floats, Floats]:
    """No, then SLUMP and FLOW among the inputs, as the author has them."""
    table = _numbers(rows[1:])
    return table[:, 1:-1], table[:, -1]


_SOURCES = {
    "banana": _Source("banana.csv", True, _banana),
    "heart": _Source("heart.csv", True, _heart),
    "diabetes": _Source("diabetes.csv", True, _diabetes),
    "cancer": _Source("cancer.csv", True, _cancer),
    "boston": _Source("boston_housing.csv", False, _boston),
    "concrete": _Source("concrete.csv", False, _concrete),
    "winered": _Source("winequality-red.csv", False, _boston, ";"),
    "winewhite": _Source("winequality-white.csv", False, _boston, ";"),
}
NAMES = tuple(_SOURCES)
