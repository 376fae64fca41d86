"""The climb of one attempt: nested subsets, finer cells, larger jitter where it must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stepgp._array.namespace import to_numpy
from stepgp.cells.base import CellFamily
from stepgp.fit.loop import Climb, Progress, climb
from stepgp.fit.objective import State, with_jitter
from stepgp.fit.options import Options
from stepgp.fit.resolution import COARSEST, Resolution, adapted, hats_over, resolution_of
from stepgp.model.rowpass import Model
from stepgp.model.rules import CellRule, ClosedForm, has_closed_form
from stepgp.rows.memory import MemoryRows

_SUBSETS = (5_000, 25_000)
_ROUGH = 100_000
"""On a subset an iteration must gain what it would on this many rows: less is lost in what the
subset does not know."""
_ROUNDS = 3
_LARGEST_JITTER = 1e-4
_REACH = 8.0
"""Prior deviations that the first, coarse cells span on either side."""
_SAME = 1e-3
"""Where finer cells change the ELBO by less than this many nats a row, θ stays."""


@dataclass(frozen=True, eq=False)
class Summit:
    """Where an attempt ended, with the cells it was seen through (None: closed form)."""

    run: Climb
    cells: CellFamily | None
    resolution: Resolution | None
    history: tuple[Progress, ...]


def climb_in_stages(
    rows: MemoryRows,
    model: Model,
    constant: float,
    options: Options,
    report: Callable[[Progress], None],
) -> Summit:
    """Climb on a few rows, then more, then all, each stage from the state before."""
    cells = _first_cells(model, constant, options)
    state = State.prior(_through(cells, model), jitter=options.jitter, largest=_LARGEST_JITTER)
    sizes = [size for size in _SUBSETS if 2 * size <= len(rows)] + [len(rows)]
    history: list[Progress] = []
    summit: Summit | None = None
    seen = 0.0
    for size in sizes:
        subset = rows.head(size)
        if summit is not None:
            state = summit.run.evaluation.state
            state = replace(state, sites=state.sites.rescaled(subset.total_weight / seen))
        rough = options if size == len(rows) else replace(options, fewest=_ROUGH)
        first = summit is None
        summit = _climb_and_refine(subset, state, cells, rough, report, damped=first)
        cells, seen = summit.cells, subset.total_weight
        history.extend(summit.history)
    assert summit is not None
    return replace(summit, history=tuple(history))


def _climb_and_refine(
    rows: MemoryRows,
    state: State,
    cells: CellFamily | None,
    options: Options,
    report: Callable[[Progress], None],
    *,
    damped: bool,
) -> Summit:
    """Climb; where the cells turn out too coarse or too short, once more on better ones."""
    run = _climb(rows, state, options, report, max_iter=options.max_iter, damped=damped)
    history = list(run.history)
    if cells is None:
        return Summit(run, None, None, tuple(history))
    resolution = _measured(rows, run, cells)
    for _ in range(_ROUNDS):
        finer = None
        if options.cells is None:
            step = run.evaluation.e_step
            finer = adapted(cells, run.evaluation.state.model, step, resolution, options.n_cells)
        if finer is None:
            break
        small = abs(resolution.change) < _SAME
        cells, state = finer, run.evaluation.state
        state = replace(state, model=_through(cells, state.model))
        max_iter = 0 if small else options.max_iter
        run = _climb(rows, state, options, report, max_iter=max_iter, damped=False)
        history.extend(run.history)
        resolution = _measured(rows, run, cells)
    return Summit(run, cells, resolution, tuple(history))


def _climb(
    rows: MemoryRows,
    state: State,
    options: Options,
    report: Callable[[Progress], None],
    *,
    max_iter: int,
    damped: bool,
) -> Climb:
    """A run of the optimiser; with ten times the jitter where K_zz stopped it short."""
    while True:
        run = climb(
            rows,
            state,
            max_iter=max_iter,
            tolerance=options.tolerance * max(1.0, options.fewest / rows.total_weight),
            damped=damped,
            report=report,
        )
        state = run.evaluation.state
        jitter = 10.0 * state.sites.factor.jitter
        if not run.stopped_by_kernel or jitter > _LARGEST_JITTER:
            return run
        state = with_jitter(state, jitter)


def _measured(rows: MemoryRows, run: Climb, cells: CellFamily) -> Resolution:
    return resolution_of(rows, run.evaluation.state.model, cells, run.evaluation.e_step)


def _first_cells(model: Model, constant: float, options: Options) -> CellFamily | None:
    """The cells to start with: given, none where there is a closed form, or a coarse guess."""
    if options.cells is not None:
        return options.cells
    if has_closed_form(model.link, model.likelihood.features):
        return None
    reach = _REACH * float(np.sqrt(np.max(to_numpy(model.kernel.diag(model.inducing)))))
    return hats_over(constant - reach, constant + reach, options.n_cells or COARSEST)


def _through(cells: CellFamily | None, model: Model) -> Model:
    """The model seen through these cells, or in closed form."""
    return replace(model, rule=ClosedForm() if cells is None else CellRule(cells))
