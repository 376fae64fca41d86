"""What "auto" and None stand for, and the checks of parameters that users choose."""

from __future__ import annotations

import os
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.fit.run import Options
from stepgp.kernels import RBF, Kernel
from stepgp.model.fitted import Standardisation
from stepgp.model.inducing import InducingMethod

_FEW_ROWS = 20_000


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


def number_of_inducing(n_inducing: int | str, n_rows: int) -> int:
    """At most one inducing input a row; "auto" is 100, or 200 from 20,000 rows on."""
    if n_inducing == "auto":
        return min(n_rows, 100 if n_rows < _FEW_ROWS else 200)
    return min(n_rows, _whole("n_inducing", n_inducing, at_least=1, auto=True))


def number_of_threads(n_jobs: int | None, n_blocks: int) -> int:
    """Threads over blocks of rows: None and −1 take every core, −2 all but one."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: give a number of threads, -1 or None.")
    wanted = available or 1
    if n_jobs is not None:
        wanted = n_jobs if n_jobs > 0 else max(1, wanted + 1 + n_jobs)
    return max(1, min(wanted, n_blocks))


def inducing_inputs(
    inducing: InducingMethod | npt.ArrayLike, inputs: Standardisation, n_features: int
) -> InducingMethod | Floats:
    """The name of a method, or the user's own inducing inputs, standardised like the rest."""
    if isinstance(inducing, str):
        if inducing not in get_args(InducingMethod):
            raise ValueError(
                f"inducing must be one of {get_args(InducingMethod)} or an array, got {inducing!r}."
            )
        return cast(InducingMethod, inducing)
    given = np.asarray(inducing, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != n_features or not np.isfinite(given).all():
        raise ValueError(
            f"inducing must be a finite array of shape (M, {n_features}), got {given.shape}."
        )
    return inputs.forward(given)


def options_for(
    *,
    n_inducing: int,
    inducing: InducingMethod | Floats,
    n_cells: int | str,
    cells: CellFamily | None,
    max_iter: int,
    tolerance: float,
    seed: int,
) -> Options:
    """The options of a fit, checked."""
    if n_cells != "auto":
        _whole("n_cells", n_cells, at_least=3, auto=True)
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise ValueError(f"tol must be a positive number, got {tolerance!r}.")
    return Options(
        n_inducing=n_inducing,
        inducing=inducing,
        n_cells=None if isinstance(n_cells, str) else n_cells,
        cells=cells,
        max_iter=_whole("max_iter", max_iter, at_least=1),
        tolerance=tolerance,
        seed=seed,
    )


def _whole(name: str, value: int | str, *, at_least: int, auto: bool = False) -> int:
    if isinstance(value, bool | str) or int(value) != value or value < at_least:
        choice = ' or "auto"' if auto else ""
        raise ValueError(
            f"{name} must be a whole number of at least {at_least}{choice}, got {value!r}."
        )
    return int(value)
