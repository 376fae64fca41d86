"""A whole fit: start, nested subsets, resolution of the cells, restart, outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from stepgp._array.linalg import NotPositiveDefinite, factorise
from stepgp._array.namespace import Floats, to_numpy
from stepgp.cells.base import CellFamily
from stepgp.fit.loop import Climb, Progress, climb
from stepgp.fit.objective import State
from stepgp.fit.outcome import Outcome
from stepgp.fit.resolution import (
    COARSEST,
    Resolution,
    adapted,
    hats_over,
    predictive_cells,
    resolution_of,
)
from stepgp.fit.start import best_constant
from stepgp.kernels import Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.inducing import InducingMethod, choose_inducing
from stepgp.model.means import MeanFunction
from stepgp.model.posterior import Posterior
from stepgp.model.rowpass import Model
from stepgp.model.rules import CellRule, ClosedForm, has_closed_form
from stepgp.rows.memory import MemoryRows

_SUBSETS = (5_000, 25_000)
_ROUNDS = 3
_LARGEST_JITTER = 1e-4
_REACH = 8.0
"""Prior deviations that the first, coarse cells span on either side."""
_SLACK = 1e-3
"""A fit may end this many nats a row below the best constant: priors cost something."""


@dataclass(frozen=True)
class Options:
    """How to fit, where the model leaves a choice."""

    n_inducing: int
    inducing: InducingMethod | Floats = "kmeans++"
    cells: CellFamily | None = None
    """Fixed cells; None adapts hats to the data."""
    n_cells: int | None = None
    """A fixed number of hats; None refines until the ELBO settles."""
    max_iter: int = 200
    tolerance: float = 1e-6
    """Stop when an iteration gains less than this many nats a row …"""
    tolerance_nats: float = 0.01
    """… or less than this in all: nobody could tell the models apart."""
    jitter: float = 1e-8
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What a user may want to know about how the fit went."""

    outcome: Outcome
    jitter: float
    n_cells: int | None
    """Cells of the training objective; None where it is in closed form."""
    resolution: Resolution | None
    constant_log_prob: float
    """Log-likelihood per unit of weight of the best model that ignores X."""
    restarts: int


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model with its posterior."""

    model: Model
    q: Posterior
    elbo: float
    """Nats per unit of weight."""
    objective: float
    lowest: float
    highest: float
    """The stretch of the line that the rows' latent marginals see."""
    cells: CellFamily
    """What predictions are mixtures over."""
    history: tuple[Progress, ...]
    diagnostics: Diagnostics


@dataclass(frozen=True)
class Prior:
    """What a user chooses: the prior of f and the likelihood of y given f."""

    kernel: Kernel
    mean_function: MeanFunction
    likelihood: Likelihood
    link: Link


def fit_rows(
    rows: MemoryRows,
    prior: Prior,
    options: Options,
    report: Callable[[Progress], None] = lambda progress: None,
) -> Fit:
    """Fit all hyperparameters and q(u) to the rows; BLAS keeps to one thread meanwhile.

    A fit that ends below the best constant starts once more, from other inducing inputs and
    shorter lengthscales.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        constant = best_constant(rows, prior.likelihood, prior.link)
        fits: list[Fit] = []
        for attempt in range(2):
            model = _first_model(rows, prior, constant[0], options, attempt)
            try:
                fits.append(_climb_in_stages(rows, model, constant, options, report))
            except NotPositiveDefinite:
                continue
            if fits[-1].elbo >= constant[1] - _SLACK:
                return replace(
                    fits[-1], diagnostics=replace(fits[-1].diagnostics, restarts=attempt)
                )
    if not fits:
        raise NotPositiveDefinite(f"The fit failed: {Outcome.NO_POSTERIOR.message}")
    best = max(fits, key=lambda fit: fit.objective)
    outcome = Outcome.WORSE_THAN_CONSTANT
    return replace(best, diagnostics=replace(best.diagnostics, outcome=outcome, restarts=1))


def _first_model(
    rows: MemoryRows, prior: Prior, constant: float, options: Options, attempt: int
) -> Model:
    """The model at its starting parameters; its cells, if it needs any, come later."""
    kernel = prior.kernel
    if attempt:
        lowest, _ = kernel.bounds.T
        kernel = kernel.with_params(np.maximum(kernel.params - attempt, lowest))
    inducing = options.inducing
    if isinstance(inducing, str):
        inducing = choose_inducing(
            to_numpy(rows.X),
            None if rows.weight is None else to_numpy(rows.weight),
            options.n_inducing,
            method=inducing,
            kernel=kernel,
            generator=np.random.default_rng(options.seed + attempt),
        )
    mean_function = prior.mean_function.shifted(constant)
    return Model(kernel, mean_function, prior.likelihood, prior.link, ClosedForm(), inducing)


def _first_cells(model: Model, constant: float, options: Options) -> CellFamily | None:
    """The cells to start with: given, none where there is a closed form, or a coarse guess."""
    if options.cells is not None:
        return options.cells
    if has_closed_form(model.link, model.likelihood.features):
        return None
    deviation = float(np.sqrt(np.max(to_numpy(model.kernel.diag(model.inducing)))))
    reach = _REACH * deviation
    return hats_over(constant - reach, constant + reach, options.n_cells or COARSEST)


def _climb_in_stages(
    rows: MemoryRows,
    model: Model,
    constant: tuple[float, float],
    options: Options,
    report: Callable[[Progress], None],
) -> Fit:
    """Nested subsets of the rows, each from the state before; cells refined along the way."""
    cells = _first_cells(model, constant[0], options)
    model = _through(cells, model)
    jitter = _smallest_jitter(model, options.jitter)
    state: State = State.prior(model, jitter=jitter)
    sizes = [size for size in _SUBSETS if 2 * size <= len(rows)] + [len(rows)]
    history: list[Progress] = []
    run: Climb | None = None
    resolution: Resolution | None = None
    seen = 0.0
    for size in sizes:
        subset = rows.head(size)
        if run is not None:
            state = replace(state, sites=state.sites.rescaled(subset.total_weight / seen))
        seen = subset.total_weight
        for _ in range(_ROUNDS):
            run = climb(
                subset,
                state,
                jitter=jitter,
                max_iter=options.max_iter,
                tolerance=max(options.tolerance, options.tolerance_nats / seen),
                damped=not history,
                report=report,
            )
            state = run.evaluation.state
            history.extend(run.history)
            if cells is None:
                break
            resolution = resolution_of(subset, state.model, cells, run.evaluation.e_step)
            if options.cells is not None:
                break
            finer = adapted(cells, state.model, run.evaluation.e_step, resolution, options.n_cells)
            if finer is None:
                break
            cells = finer
            state = replace(state, model=_through(cells, state.model))
    assert run is not None
    step = run.evaluation.e_step
    return Fit(
        model=state.model,
        q=step.q,
        elbo=step.elbo / seen,
        objective=run.evaluation.objective,
        lowest=step.rows.lowest,
        highest=step.rows.highest,
        cells=cells or predictive_cells(state.model, step),
        history=tuple(history),
        diagnostics=Diagnostics(
            outcome=run.outcome,
            jitter=jitter,
            n_cells=None if cells is None else cells.n_cells,
            resolution=resolution,
            constant_log_prob=constant[1],
            restarts=0,
        ),
    )


def _through(cells: CellFamily | None, model: Model) -> Model:
    """The model seen through these cells, or in closed form."""
    return replace(model, rule=ClosedForm() if cells is None else CellRule(cells))


def _smallest_jitter(model: Model, jitter: float) -> float:
    """The first of jitter, 10·jitter, … with which the inducing inputs' kernel factorises."""
    return factorise(
        model.kernel(model.inducing, model.inducing), jitter=jitter, largest=_LARGEST_JITTER
    ).jitter
