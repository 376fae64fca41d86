"""The data sets everybody is timed on, and the fixed levels everybody has to reach."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Data:
    """Rows to fit, and rows held out (none for the tasks that fit a data set in full)."""

    X: Floats
    y: Floats
    X_test: Floats
    y_test: Floats


@dataclass(frozen=True)
class Task:
    """One data set, what is fitted to it, and what counts as reached.

    `elbo_target` is a level of the full-data ELBO in nats; `test_reference` a mean held-out
    log-likelihood: a peer trains on until it is within `TOLERANCE` of it (or out of time), so that
    the best level reached by anyone can be found in one run. `seconds` is the most that a peer
    may train, `decay_epochs` the horizon of those whose learning rate decays.
    """

    name: str
    likelihood: str
    n_inducing: int
    batch_size: int
    decay_epochs: int
    seconds: float
    load: Callable[[Path | None], Data]
    elbo_target: float | None = None
    test_reference: float | None = None
    large: bool = False
    quick: bool = True


TOLERANCE = 0.005


def _standardised(X: Floats, y: Floats, X_test: Floats, y_test: Floats) -> Data:
    mean, sd = X.mean(0), X.std(0)
    sd = np.where(sd == 0, 1.0, sd)
    return Data((X - mean) / sd, y, (X_test - mean) / sd, y_test)


def _split(X: Floats, y: Floats, n_test: int) -> Data:
    """The last `n_test` rows of one fixed permutation are held out; none for `n_test=0`."""
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) - n_test], order[len(y) - n_test :]
    return _standardised(X[train], y[train], X[test], y[test])


def _rows(folder: Path | None, name: str) -> list[list[str]]:
    folder = folder or Path(os.environ.get("STEPGP_DATA", ""))
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} not found; give the folder with the paper's data by --data or STEPGP_DATA"
        )
    with path.open(newline="") as file:
        return [row for row in csv.reader(file) if row]


def _banana(n_test: int) -> Callable[[Path | None], Data]:
    def load(folder: Path | None) -> Data:
        table = np.array(_rows(folder, "banana.csv")[1:], dtype=np.float64)
        return _split(table[:, :2], (table[:, 2] > 0).astype(np.float64), n_test)

    return load


def _cancer(n_test: int) -> Callable[[Path | None], Data]:
    def load(folder: Path | None) -> Data:
        rows = _rows(folder, "cancer.csv")
        X = np.array([row[2:] for row in rows], dtype=np.float64)
        y = np.array([row[1] == "M" for row in rows], dtype=np.float64)
        return _split(X, y, n_test)

    return load


def binary_latent(X: Floats) -> Floats:
    """f(x) = 2 sin(1.5 x₁) + x₂x₃ + 1.5 cos(x₄ + x₅) − ½x₆ (x₇ and x₈ carry nothing)."""
    wave = 2.0 * np.sin(1.5 * X[:, 0]) + 1.5 * np.cos(X[:, 3] + X[:, 4])
    return wave + X[:, 1] * X[:, 2] - 0.5 * X[:, 5]


def poisson_latent(X: Floats) -> Floats:
    """log rate: f(x) = ½ + sin(1.5 x₁) + .8 cos(x₂ + x₃) − .3 x₄."""
    return 0.5 + np.sin(1.5 * X[:, 0]) + 0.8 * np.cos(X[:, 1] + X[:, 2]) - 0.3 * X[:, 3]


def _synthetic(likelihood: str, n_train: int) -> Callable[[Path | None], Data]:
    def load(folder: Path | None) -> Data:
        rng = np.random.default_rng(7)
        n = n_train + 10_000
        if likelihood == "bernoulli":
            X = rng.standard_normal((n, 8))
            y = (rng.random(n) < 1.0 / (1.0 + np.exp(-binary_latent(X)))).astype(np.float64)
        else:
            X = rng.standard_normal((n, 4))
            y = rng.poisson(np.exp(poisson_latent(X))).astype(np.float64)
        return _standardised(X[:n_train], y[:n_train], X[n_train:], y[n_train:])

    return load


def all_tasks() -> tuple[Task, ...]:
    """The tasks of a full run, in the order they run."""
    return (
        Task("banana", "bernoulli", 100, 1024, 300, 75.0, _banana(0), elbo_target=-1182.0),
        Task(
            "banana_split",
            "bernoulli",
            100,
            1024,
            100,
            15.0,
            _banana(1_060),
            test_reference=-0.2100,
            quick=False,
        ),
        Task("cancer", "bernoulli", 100, 256, 500, 100.0, _cancer(0), elbo_target=-49.0),
        Task(
            "cancer_split",
            "bernoulli",
            100,
            256,
            200,
            15.0,
            _cancer(171),
            test_reference=-0.0830,
            quick=False,
        ),
        Task(
            "binary",
            "bernoulli",
            200,
            1024,
            8,
            30.0,
            _synthetic("bernoulli", 100_000),
            elbo_target=-45_600.0,
            test_reference=-0.4452,
            large=True,
        ),
        Task(
            "poisson",
            "poisson",
            100,
            1024,
            10,
            25.0,
            _synthetic("poisson", 100_000),
            elbo_target=-175_520.0,
            test_reference=-1.7548,
            large=True,
        ),
    )


def find(name: str) -> Task:
    for task in all_tasks():
        if task.name == name:
            return task
    names = ", ".join(task.name for task in all_tasks())
    raise ValueError(f"no task {name!r}; there are: {names}")


def tiny(task: Task) -> tuple[Task, Data]:
    """A fit of a few rows of the same shape, to pay for first calls before the clock starts."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = (X[:, 0] + rng.standard_normal(40) > 0).astype(np.float64)
    return replace(task, n_inducing=5, batch_size=20), Data(X, y, X[:0], y[:0])
