"""From the parameters that users choose to what a fit needs: "auto", None, names, objects."""

from __future__ import annotations

import os
from typing import Any, cast, get_args

import numpy as np

from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.estimators.checks import checked_integer, is_integer
from stepgp.kernels import RBF, Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Link, resolve
from stepgp.model.inducing import InducingMethod
from stepgp.model.means import MeanFunction, resolve_mean

_FEW_ROWS = 20_000
_FEWEST, _MOST = 3, 10_000
"""Cells: beyond some hundred they change nothing but the time."""
_SEEDS = 2**31 - 1


def checked_kernel(kernel: Any) -> Kernel:
    """A kernel; None is a squared exponential with lengthscales shrunk towards one."""
    if kernel is None:
        return RBF()
    if not isinstance(kernel, Kernel):
        raise TypeError(
            "kernel must be a kernel of stepgp.kernels, such as RBF() or Matern32(), or None, "
            f"got {kernel!r}."
        )
    return kernel


def checked_link(link: Any, likelihood: Likelihood) -> Link:
    """A link whose levels the likelihood takes; "auto" is the usual one for it."""
    if isinstance(link, str) and link == "auto":
        return likelihood.default_link()
    resolved = resolve(link, support=likelihood.support).completed(likelihood.default_link())
    likelihood.check_link(resolved)
    return resolved


def checked_mean(mean_function: Any) -> MeanFunction:
    """A mean function by name or as an object."""
    if not isinstance(mean_function, str | MeanFunction):
        raise TypeError(
            'mean_function must be "zero", "constant", "linear" or a MeanFunction of '
            f"stepgp.model, got {mean_function!r}."
        )
    return resolve_mean(mean_function)


def number_of_inducing(n_inducing: Any, n_rows: int) -> int:
    """At most one inducing input a row; "auto" is 100, or 200 from 20,000 rows on."""
    if isinstance(n_inducing, str) and n_inducing == "auto":
        return min(n_rows, 100 if n_rows < _FEW_ROWS else 200)
    wanted = checked_integer("n_inducing", n_inducing, at_least=1, otherwise=' or "auto"')
    return min(n_rows, wanted)


def inducing_inputs(inducing: Any, n_inducing: Any, n_features: int) -> InducingMethod | Floats:
    """The name of a method, or the user's own inducing inputs."""
    methods = get_args(InducingMethod)
    expected = f"inducing must be one of {methods} or a finite array of shape (M, {n_features})"
    if isinstance(inducing, str):
        if inducing not in methods:
            raise ValueError(f"{expected}, got {inducing!r}.")
        return cast(InducingMethod, inducing)
    try:
        given = np.asarray(inducing, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{expected}, got {inducing!r}.") from error
    if given.ndim != 2 or given.shape[1] != n_features or not len(given):
        raise ValueError(f"{expected}, got shape {given.shape}.")
    if not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given).all(axis=1))[0])
        raise ValueError(f"{expected}, got {given[row]} in row {row}.")
    if not isinstance(n_inducing, str) and n_inducing != len(given):
        raise ValueError(
            f'n_inducing is {n_inducing}, but inducing has {len(given)} rows: leave it at "auto".'
        )
    return given


def checked_cells(cells: Any, n_cells: Any) -> tuple[CellFamily | None, int | None]:
    """Fixed cells or None, and a fixed number of adapted ones or None."""
    automatic = isinstance(n_cells, str) and n_cells == "auto"
    number = None
    if not automatic:
        number = checked_integer(
            "n_cells", n_cells, at_least=_FEWEST, at_most=_MOST, otherwise=' or "auto"'
        )
    if cells is None:
        return None, number
    if not isinstance(cells, CellFamily):
        raise TypeError(
            "cells must be cells of stepgp.cells, such as Hat(grid) or Indicator(grid), or None "
            f"for hats that adapt to the data, got {cells!r}."
        )
    if number is not None:
        raise ValueError(
            f"Got n_cells={number} and cells: their number is fixed by cells. "
            'Leave one of them at its default, n_cells="auto" or cells=None.'
        )
    return cells, None


def number_of_threads(n_jobs: Any, n_blocks: int) -> int:
    """Threads over blocks of rows: −1 takes every core, −2 all but one, …

    None is every core too, or what OMP_NUM_THREADS allows, which process pools set for their
    workers: a parallel search then does not start cores² threads.
    """
    affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if affinity else os.cpu_count() or 1
    if n_jobs is None:
        allowed = os.environ.get("OMP_NUM_THREADS", "")
        return max(1, min(cores, int(allowed) if allowed.isdecimal() else cores, n_blocks))
    if not is_integer(n_jobs) or n_jobs == 0:
        raise ValueError(
            "n_jobs must be a positive number of threads, -1 for all cores or None, "
            f"got {n_jobs!r}."
        )
    wanted = int(n_jobs) if n_jobs > 0 else cores + 1 + int(n_jobs)
    return max(1, min(wanted, n_blocks))


def seed_of(random_state: Any) -> int:
    """An integer as it is; None is a fresh one; a generator gives its next one."""
    if random_state is None:
        return int(np.random.default_rng().integers(_SEEDS))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_SEEDS))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(_SEEDS))
    return checked_integer(
        "random_state", random_state, at_least=0, otherwise=", a NumPy generator or None"
    )
