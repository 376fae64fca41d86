"""A whole fit: a start, a climb, a second start where the first ends badly, an outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from stepgp._array.blockwise import blockwise
from stepgp._array.linalg import NotPositiveDefinite
from stepgp._array.namespace import Floats, to_numpy
from stepgp.cells.base import CellFamily
from stepgp.fit.information import informed
from stepgp.fit.journal import Journal, Progress
from stepgp.fit.objective import presses_a_bound
from stepgp.fit.options import Options, Prior
from stepgp.fit.outcome import Outcome
from stepgp.fit.resolution import (
    Resolution,
    predictive_cells,
    refined_for_predictions,
    resolution_of,
)
from stepgp.fit.scale import Start, start_of
from stepgp.fit.screen import Opening, misses_something
from stepgp.fit.stages import FEW, Summit, climb_in_stages, openings_of
from stepgp.fit.start import Constant, best_constant
from stepgp.model.fitted import predicts_gaussian
from stepgp.model.inducing import choose_inducing
from stepgp.model.posterior import Posterior
from stepgp.model.rowpass import Model
from stepgp.model.rules import ClosedForm
from stepgp.rows.memory import MemoryRows

_SLACK, _PRICE = 1e-3, 5.0
"""A fit may end this many nats a row, and this many in all, below the best constant: q(u) has
its price. One that is not at least that price above it has found next to nothing."""
_REACH = 5.0
"""Knots of a learnt link reach that many spreads of the latent values to either side."""
_PRESSES = 0.01
"""Nats a row that a parameter at a bound would gain by going on as far as its unit, to first
order."""
_AS_FINE = 1.001
"""Cells of a prediction are as fine as those of the fit within rounding."""
_HIDDEN = 0.01
"""Nats a row that cells may hide in a sound fit: a hundredth of the noise's deviation."""


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What a user may want to know about how the fit went."""

    outcome: Outcome
    rows: int
    """Distinct rows that the hyperparameters were fitted to: fewer than there are where these were
    enough for `tol`. The posterior has seen all."""
    jitter: float
    n_cells: int | None
    """Cells of the training objective; None where it is in closed form."""
    resolution: Resolution | None
    """How fine the cells are, of the training objective or, where that is in closed form, of the
    predictions; None where those need no cells either."""
    constant_log_prob: float
    """Log-likelihood per unit of weight of the best model that ignores X."""
    restarts: int
    """Further starts that were made because the first found next to nothing."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model with its posterior."""

    model: Model
    q: Posterior
    elbo: float
    """Nats per unit of weight."""
    objective: float
    cells: CellFamily
    """What predictions are mixtures over."""
    history: tuple[Progress, ...]
    """Of the start that was kept; its counts include an earlier one."""
    diagnostics: Diagnostics


def fit_rows(
    rows: MemoryRows,
    prior: Prior,
    options: Options,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Fit:
    """Fit all hyperparameters and q(u) to the rows; BLAS keeps to one thread meanwhile.

    It starts from the lengthscales that explain few rows best. A fit that is hardly better than
    the best constant starts again from those that come next, one whose residuals still vary with an
    input from those that the targets suggest, until one is better or none is left; the best counts.
    It has failed where that is below the constant by more than q(u) must cost.
    """
    journal = Journal(report)
    with blockwise():
        constant = best_constant(rows, prior.likelihood, prior.link)
        start = start_of(rows, prior.likelihood, prior.link, constant.level)
        model = _first_model(rows, prior, start, options)
        fits, restarts, lost, missing = list[Fit](), 0, True, True
        for opening in openings_of(rows, model, start, options, journal):
            if fits and not (lost or (missing and opening.suggested)):
                continue
            restarts += bool(fits)
            if fits and lost and not _leads_on(rows, opening, model.inducing, options, journal):
                continue
            fit = _fit_from(rows, opening, model.inducing, constant, options, journal)
            if fit is not None:
                fits.append(fit)
                lost = _lead(fit, constant, rows.total_weight) < _PRICE and lost
                missing = misses_something(rows, fit.model, fit.q)
                if not (lost or missing):
                    break
    if not fits:
        raise NotPositiveDefinite(f"The fit failed: {Outcome.NO_POSTERIOR.message}")
    best = max(fits, key=lambda fit: fit.objective)
    outcome = best.diagnostics.outcome
    allowed = _SLACK * rows.total_weight + _PRICE
    # The constant comes for free, q(u) is learnt. By Laplace's method ½ log|B| is what a model
    # with this kernel pays for that, were its mean the constant: much where the data leave little
    # doubt on f, as huge exposures do.
    paid = 0.5 * best.q.log_det_precision
    if _lead(best, constant, rows.total_weight) + allowed + paid < 0.0:
        outcome = Outcome.WORSE_THAN_CONSTANT
    found = replace(best.diagnostics, outcome=outcome, restarts=restarts)
    return replace(best, diagnostics=found)


def _leads_on(
    rows: MemoryRows, opening: Opening, inducing: Floats, options: Options, journal: Journal
) -> bool:
    """Whether a further start finds something in few of the rows, where all of them cost more."""
    few = rows.head(FEW)
    if len(rows) < 2 * FEW:
        return True
    constant = best_constant(few, opening.state.model.likelihood, opening.state.model.link)
    fit = _fit_from(few, opening, inducing, constant, options, journal)
    return fit is not None and _lead(fit, constant, few.total_weight) >= _PRICE


def _fit_from(
    rows: MemoryRows,
    opening: Opening,
    inducing: Floats,
    constant: Constant,
    options: Options,
    journal: Journal,
) -> Fit | None:
    """The fit that a start leads to; None where there is no posterior."""
    try:
        summit = climb_in_stages(rows, opening.state, inducing, options, journal)
    except NotPositiveDefinite:
        return None
    return _fit_of(summit, rows, options, constant.log_prob)


def _lead(fit: Fit, constant: Constant, weight: float) -> float:
    """Nats by which a fit is better than the best constant.

    Like with like: both with the prior of the likelihood's parameters.
    """
    reached = weight * fit.elbo + fit.model.likelihood.log_prior()
    return reached - constant.log_joint(weight)


def _first_model(rows: MemoryRows, prior: Prior, start: Start, options: Options) -> Model:
    """The model at its starting parameters; its cells, if it needs any, come later."""
    kernel = prior.kernel.amplified(start.spread**2)
    inducing = options.inducing
    if isinstance(inducing, str):
        inducing = choose_inducing(
            to_numpy(rows.X),
            None if rows.weight is None else to_numpy(rows.weight),
            options.n_inducing,
            method=inducing,
            kernel=kernel,
            generator=np.random.default_rng(options.seed),
        )
    mean_function = prior.mean_function.shifted(start.centre, start.spread)
    link = prior.link.placed(start.centre, _REACH * max(start.spread, 1.0))
    return Model(kernel, mean_function, prior.likelihood, link, ClosedForm(), inducing)


def _fit_of(
    summit: Summit,
    rows: MemoryRows,
    options: Options,
    constant_log_prob: float,
) -> Fit:
    step, model = summit.run.evaluation.e_step, summit.run.evaluation.state.model
    cells, resolution = _cells_of(summit, rows, options)
    return Fit(
        model=informed(model, step.q, rows),
        q=step.q,
        elbo=step.elbo / summit.weight,
        objective=summit.run.evaluation.objective,
        cells=cells,
        history=summit.history,
        diagnostics=Diagnostics(
            outcome=_outcome(summit, resolution, options),
            rows=summit.rows,
            jitter=step.q.factor.jitter,
            n_cells=None if summit.cells is None else summit.cells.n_cells,
            resolution=resolution,
            constant_log_prob=constant_log_prob,
            restarts=0,
        ),
    )


def _cells_of(
    summit: Summit, rows: MemoryRows, options: Options
) -> tuple[CellFamily, Resolution | None]:
    """What predictions are mixtures over, and how fine the cells of the fit are, or else these."""
    step, model = summit.run.evaluation.e_step, summit.run.evaluation.state.model
    trained, resolution = summit.cells, summit.resolution
    given = options.cells or (None if options.n_cells is None else trained)
    cells = given or predictive_cells(model, step, trained)
    if predicts_gaussian(model.likelihood, model.link):
        return cells, resolution
    if given is not None:
        return cells, resolution or resolution_of(rows, model, cells, step.q)
    if trained is not None and cells.finest_width <= _AS_FINE * trained.finest_width:
        return cells, resolution
    cells, own = refined_for_predictions(rows, model, step.q, cells)
    return cells, resolution or own


def _outcome(summit: Summit, resolution: Resolution | None, options: Options) -> Outcome:
    """How the climb ended, unless its end is no summit, or one of too coarse a model.

    Cells that were given are the model: they are reported, not judged.
    """
    found = summit.run.outcome
    if found.is_sound and presses_a_bound(summit.run.evaluation, at_least=_PRESSES):
        return Outcome.AT_A_BOUND
    if found.is_sound and options.cells is None and resolution is not None:
        return Outcome.CELLS_TOO_COARSE if abs(resolution.change) > _HIDDEN else found
    return found
