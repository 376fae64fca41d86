"""The M-step around the E-step: L-BFGS on all hyperparameters from accepted state to state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from stepgp._array.linalg import NotPositiveDefinite
from stepgp._array.namespace import Floats
from stepgp.fit.objective import (
    Evaluation,
    Precision,
    State,
    evaluate,
    parameter_bounds,
    parameters_of,
    with_parameters,
)
from stepgp.fit.outcome import Outcome
from stepgp.rows.memory import MemoryRows

_REFUSED = 1e3
"""What the optimiser is told where a model cannot be evaluated: it steps back."""
_FIRST_STEP = 0.25
"""Length of the first step: logarithms of hyperparameters, inputs in units of √D."""
_BROKEN_PROMISE = 5.0
"""A gradient that promised this many times the tolerance, and gave none of it, is too rough."""
_ROUGH, _FINE = 0.01, 0.0005
"""Shares of a change that an E-step may leave out of it; the fine one costs about two passes."""
_OUTCOMES = {0: Outcome.CONVERGED, 1: Outcome.ITERATION_LIMIT}


@dataclass(frozen=True)
class Progress:
    """One accepted iteration, for `history_` and the progress bar."""

    iteration: int
    rows: int
    objective: float
    elbo: float
    evaluations: int
    passes: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Climb:
    """What a run of the optimiser left."""

    evaluation: Evaluation
    outcome: Outcome
    stopped_by_kernel: bool
    """Whether the last evaluations failed because K_zz could not be factorised."""
    history: tuple[Progress, ...]


class _Settled(Exception):
    """No more than the tolerance is to be had: what ends a run."""


@dataclass(frozen=True, eq=False)
class _Trial:
    """A point that the optimiser asked for, seen from the accepted one."""

    evaluation: Evaluation
    promised: float
    """First-order gain: the accepted gradient along the step."""
    gained: float


class _Accepted:
    """The last accepted evaluation and the trials since: commits happen in the callback."""

    def __init__(self, theta: Floats, evaluation: Evaluation) -> None:
        self.theta = theta
        self.evaluation = evaluation
        self.trials: dict[bytes, _Trial] = {}
        self.last: _Trial | None = None
        """The trial that was accepted, or the last one on a line where none was."""
        self.evaluations = 0
        self.passes = 0
        self.refused = 0
        """Failed evaluations since the last accepted one."""

    def add(self, theta: Floats, evaluation: Evaluation) -> None:
        promised = float(self.evaluation.gradient @ (theta - self.theta))
        gained = evaluation.objective - self.evaluation.objective
        self.last = self.trials[theta.tobytes()] = _Trial(evaluation, promised, gained)
        self.evaluations += 1
        self.passes += evaluation.e_step.passes

    def is_settled(self, tolerance: float, patience: int) -> bool:
        """Whether more than `patience` points along one line all gain less than `tolerance`."""
        best = max(trial.gained for trial in self.trials.values())
        return len(self.trials) > patience and best < tolerance

    def is_trusted(self, tolerance: float) -> bool:
        """Whether the last gradient did not promise much more than was to be had."""
        if self.last is None:
            return True
        return self.last.promised <= _BROKEN_PROMISE * max(tolerance, self.last.gained)

    def commit(self, theta: Floats) -> bool:
        found = self.trials.pop(theta.tobytes(), None)
        if found is None:
            return False
        self.theta, self.evaluation = theta.copy(), found.evaluation
        self.trials, self.last, self.refused = {}, found, 0
        return True


def climb(
    rows: MemoryRows,
    start: State,
    *,
    max_iter: int,
    tolerance: float,
    patience: int,
    damped: bool,
    report: Callable[[Progress], None],
) -> Climb:
    """Maximise the objective from `start` with L-BFGS.

    It ends when `patience` iterations in a row, or one point more than that along one line, gain
    less than `tolerance`: one alone may be a poor step.


    Every evaluation starts its E-step from the last accepted state, never from a refused one, so
    the objective is a function of θ as long as no step is accepted. Where a run ends although its
    gradient promised more, the gradient was too rough: a patient climb (2 or more) then makes a
    second run with finer E-steps.
    """
    begun = time.perf_counter()
    precision = Precision(tolerance=0.1 * tolerance, share=_ROUGH)
    first = evaluate(rows, start.model, start, precision, damped=damped, max_passes=40)
    if max_iter == 0:
        return Climb(first, Outcome.CONVERGED, False, ())
    accepted = _Accepted(parameters_of(start.model), first)
    history: list[Progress] = []

    def note() -> None:
        history.append(
            Progress(
                iteration=len(history) + 1,
                rows=len(rows),
                objective=accepted.evaluation.objective,
                elbo=accepted.evaluation.e_step.elbo,
                evaluations=accepted.evaluations,
                passes=accepted.passes,
                seconds=time.perf_counter() - begun,
            )
        )
        report(history[-1])

    outcome = _run(rows, accepted, precision, max_iter, tolerance, patience, note)
    ended = outcome is not Outcome.ITERATION_LIMIT
    if patience > 1 and ended and not accepted.is_trusted(tolerance):
        precision = Precision(tolerance=0.01 * tolerance, share=_FINE)
        state = accepted.evaluation.state
        accepted.evaluation = evaluate(rows, state.model, state, precision, max_passes=40)
        left = max(1, max_iter - len(history))
        outcome = _run(rows, accepted, precision, left, tolerance, 1, note)
    stopped_by_kernel = outcome is Outcome.STALLED and accepted.refused > 0
    return Climb(accepted.evaluation, outcome, stopped_by_kernel, tuple(history))


def _run(
    rows: MemoryRows,
    accepted: _Accepted,
    precision: Precision,
    max_iter: int,
    tolerance: float,
    patience: int,
    note: Callable[[], None],
) -> Outcome:
    """One run of L-BFGS with an empty memory, from and into `accepted`."""
    model = accepted.evaluation.state.model
    accepted.trials, accepted.last, accepted.refused = {}, None, 0
    # L-BFGS takes its first step as long as the gradient: bold enough to learn something from.
    scale = _FIRST_STEP / max(float(np.linalg.norm(accepted.evaluation.gradient)), 1e-8)

    def negative(theta: Floats) -> tuple[float, Floats]:
        if np.array_equal(theta, accepted.theta):
            result = accepted.evaluation
            return -scale * result.objective, -scale * result.gradient
        try:
            result = evaluate(
                rows,
                with_parameters(model, theta),
                accepted.evaluation.state,
                precision,
                reference=accepted.evaluation.e_step.elbo,
            )
        except NotPositiveDefinite:
            accepted.refused += 1
            return scale * _REFUSED, np.zeros_like(theta)
        accepted.add(theta, result)
        if accepted.is_settled(tolerance, patience):
            raise _Settled
        return -scale * result.objective, -scale * result.gradient

    quiet = 0

    def commit(intermediate_result: OptimizeResult) -> None:
        nonlocal quiet
        if not accepted.commit(intermediate_result.x):
            return
        note()
        small = accepted.last is not None and accepted.last.gained < tolerance
        quiet = quiet + 1 if small else 0
        if quiet == patience:
            raise _Settled

    try:
        result = minimize(
            negative,
            accepted.theta,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(*parameter_bounds(model).T),
            callback=commit,
            options={"maxiter": max_iter, "maxcor": 10, "ftol": 0.0, "gtol": 1e-9},
        )
    except _Settled:
        return Outcome.CONVERGED
    return _OUTCOMES.get(int(result.status), Outcome.STALLED)
