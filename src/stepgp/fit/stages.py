"""The climb of one attempt: nested subsets, finer cells, larger jitter where it must be."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stepgp._array.namespace import Floats, to_numpy
from stepgp.cells.base import CellFamily
from stepgp.fit.journal import Journal, Progress
from stepgp.fit.loop import Climb, climb
from stepgp.fit.objective import Precision, State, evaluate, moved_to, n_hyperparameters
from stepgp.fit.options import Options
from stepgp.fit.resolution import (
    COARSEST,
    FINEST,
    ROUGHLY,
    Resolution,
    adapted,
    even_hats,
    resolution_of,
)
from stepgp.fit.scale import Start
from stepgp.fit.screen import Opening, as_given, best_first, evaluated, openings
from stepgp.model.inducing import kmeans
from stepgp.model.rowpass import Model
from stepgp.model.rules import CellRule, ClosedForm, check_levels, has_closed_form
from stepgp.rows.memory import MemoryRows

_SUBSETS = (1_024, 4_096, 24_576)
FEW = 1_024
"""Rows that starts are compared on."""
_LARGE = 8_192
"""Rows from which on subsets are climbed first. Fewer are climbed at once: that is quick enough,
and a subset may lead to another summit (banana through ten inducing inputs: .01 nats lower)."""
_ROUGH, _LATE = 2e-4, 1e-4
"""Nats a row that an iteration must gain at least on a subset, where less is lost in what the
subset does not know, and on all rows after subsets, where little is left to gain."""
_IN_PASSING, _FEW_PASSES = Precision(tolerance=1e-3, share=0.0), 3
_ROUNDS = 6
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
    rows: int
    """How many rows the hyperparameters were fitted to."""
    weight: float
    """Total weight of the rows that q(u) has seen."""


@dataclass(frozen=True)
class _Stage:
    """How thorough a climb has to be: on a subset, less so."""

    n_rows: int
    gain: float
    """Nats a row that an iteration must gain to go on, at least."""
    enough: float
    """What finer cells may change, nats a row."""
    patience: int
    """Iterations in a row that must gain less than the tolerance."""
    runs: int
    """Times that the optimiser may start afresh, to see whether it was done."""


def openings_of(
    rows: MemoryRows, model: Model, start: Start, options: Options, journal: Journal
) -> list[Opening]:
    """The starts that the kernel leaves open, with q(u) of few rows, the best for them first."""
    few = rows.head(FEW)
    if len(_plan(len(rows), options.tolerance)) > 1 and len(model.inducing) > 1:
        # Half of them find the lengthscales as well.
        Z, generator = model.inducing, np.random.default_rng(options.seed)
        model = replace(model, inducing=kmeans(Z, np.ones(len(Z)), len(Z) // 2, generator))
    model = _through(_first_cells(model, start, options), model)
    left_open = openings(model.kernel, rows)
    if not left_open:
        return evaluated(few, as_given(model.kernel), model, options, journal)
    return best_first(evaluated(few, left_open, model, options, journal), usual=left_open[0].kernel)


def climb_in_stages(
    rows: MemoryRows,
    state: State,
    inducing: Floats,
    options: Options,
    journal: Journal,
) -> Summit:
    """Climb on a few rows with a few inducing inputs, then on more, then on all.

    Each stage starts from the state before: its sites are moved to the new inducing inputs and
    scaled to the new number of rows. The first has those of few rows. Hyperparameters stay where
    more rows could improve a prediction by no more than the tolerance; q(u) has seen all rows in
    the end.
    """
    first, *later = _plan(len(rows), options.tolerance)
    subset = rows.head(first.n_rows)
    ratio = subset.total_weight / rows.head(FEW).total_weight
    state = replace(state, sites=state.sites.rescaled(ratio))
    cells = state.model.rule.family
    summit = _climb_and_refine(
        subset, state, cells, first, options, journal, max_iter=options.max_iter, damped=True
    )
    state = summit.run.evaluation.state
    for stage in later:
        settled = _yet_to_learn(summit) < options.tolerance
        larger, before = rows.head(stage.n_rows), summit
        ratio = larger.total_weight / subset.total_weight
        subset = larger
        state = replace(state, sites=state.sites.rescaled(ratio))
        if len(state.model.inducing) < len(inducing) and stage.n_rows >= _LARGE:
            state = moved_to(state, inducing=inducing)
        if settled and stage is not later[-1]:
            state = _in_passing(subset, state)
            continue
        max_iter = 0 if settled else options.max_iter
        if settled:  # an E-step leaves a tenth of this
            stage = replace(stage, gain=2.0 * options.tolerance)
        summit = _climb_and_refine(
            subset, state, before.cells, stage, options, journal, max_iter=max_iter, damped=False
        )
        state = summit.run.evaluation.state
        summit = replace(summit, history=before.history + summit.history)
        if settled:
            run = replace(summit.run, outcome=before.run.outcome)
            summit = replace(summit, run=run, rows=before.rows)
    return summit


def _in_passing(rows: MemoryRows, state: State) -> State:
    """q(u) of these rows, roughly: a pass over several times as many is to follow.

    A second pass is made where the first changed much, which is cheaper here than there.
    """
    return evaluate(
        rows, state.model, state, _IN_PASSING, max_passes=_FEW_PASSES, gradient=False
    ).state


def _yet_to_learn(summit: Summit) -> float:
    """What better hyperparameters could add to a prediction, nats a row.

    P of them learnt from N rows cost P/2N on average (Akaike 1973); twice that, to be safe. The
    inducing inputs do not count: they say where q(u) looks, not what the data are like.
    """
    model = summit.run.evaluation.state.model
    return n_hyperparameters(model) / summit.weight


def _plan(n_rows: int, tolerance: float) -> list[_Stage]:
    """Finer cells may change as much as the whole fit may leave, or more where θ is to move yet."""
    if n_rows < _LARGE:
        return [_Stage(n_rows, 0.0, tolerance, patience=2, runs=6)]
    roughly = max(ROUGHLY, tolerance)
    # The first subset finds the hyperparameters from afar; later ones correct them.
    subsets = [
        _Stage(size, _ROUGH, roughly, patience=2 if size == _SUBSETS[0] else 1, runs=1)
        for size in _SUBSETS
        if 2 * size <= n_rows
    ]
    return [*subsets, _Stage(n_rows, _LATE, tolerance, patience=1, runs=1)]


def _climb_and_refine(
    rows: MemoryRows,
    state: State,
    cells: CellFamily | None,
    stage: _Stage,
    options: Options,
    journal: Journal,
    *,
    max_iter: int,
    damped: bool,
) -> Summit:
    """Climb; where the cells turn out too coarse or too short, once more on better ones."""
    run = _climb(rows, state, stage, options, journal, max_iter=max_iter, damped=damped)
    history = list(run.history)
    if cells is None:
        return Summit(run, None, None, tuple(history), len(rows), rows.total_weight)
    resolution = _measured(rows, run, cells)
    for _ in range(_ROUNDS):
        finer = None
        if options.cells is None:
            step = run.evaluation.e_step
            finer = adapted(
                cells,
                run.evaluation.state.model,
                step,
                resolution,
                enough=stage.enough,
                n_cells=options.n_cells,
            )
        if finer is None:
            break
        small = abs(resolution.change) < _SAME
        cells, state = finer, run.evaluation.state
        state = replace(state, model=_through(cells, state.model))
        again, ended = (0, run.outcome) if small else (max_iter, None)
        run = _climb(rows, state, stage, options, journal, max_iter=again, damped=False)
        run = replace(run, outcome=ended or run.outcome)
        history.extend(run.history)
        resolution = _measured(rows, run, cells)
    return Summit(run, cells, resolution, tuple(history), len(rows), rows.total_weight)


def _climb(
    rows: MemoryRows,
    state: State,
    stage: _Stage,
    options: Options,
    journal: Journal,
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
            tolerance=max(stage.gain, options.gain_for(rows.total_weight)),
            damped=damped,
            patience=stage.patience,
            runs=stage.runs,
            journal=journal,
        )
        state = run.evaluation.state
        jitter = 10.0 * state.sites.factor.jitter
        if not run.stopped_by_kernel or jitter > options.largest_jitter:
            return run
        state = moved_to(state, jitter=jitter)


def _measured(rows: MemoryRows, run: Climb, cells: CellFamily) -> Resolution:
    return resolution_of(rows, run.evaluation.state.model, cells, run.evaluation.e_step.q)


def _first_cells(model: Model, start: Start, options: Options) -> CellFamily | None:
    """The cells to start with: given, none where there is a closed form, or a coarse guess."""
    if options.cells is not None:
        return options.cells
    if has_closed_form(model.link, model.likelihood.features):
        return None
    reach = _REACH * float(np.sqrt(np.max(to_numpy(model.kernel.diag(model.inducing)))))
    # Without features the density itself is tabulated, and noise may be much narrower than f.
    usual = COARSEST if model.likelihood.features else 4 * COARSEST
    number = int(np.clip(np.ceil(2.0 * reach / start.width), usual, FINEST))
    return even_hats(start.centre - reach, start.centre + reach, options.n_cells or number)


def _through(cells: CellFamily | None, model: Model) -> Model:
    """The model seen through these cells, or in closed form."""
    if cells is None:
        return replace(model, rule=ClosedForm())
    check_levels(cells, model.link, model.likelihood.features, model.likelihood.support)
    return replace(model, rule=CellRule(cells))
