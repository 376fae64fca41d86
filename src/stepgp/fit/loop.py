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
    State,
    evaluate,
    parameter_bounds,
    parameters_of,
    with_parameters,
)
from stepgp.fit.outcome import Outcome
from stepgp.rows.memory import MemoryRows

_PRECISION = 0.1
"""The E-step must be this much finer than the gain at which the M-step stops."""
_REFUSED = 1e3
"""What the optimiser is told where a model cannot be evaluated: it steps back."""
_LINE = 3
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
    """A line search that finds no more than the tolerance: what ends the run."""


class _Accepted:
    """The last accepted evaluation and those since, keyed by θ: commits happen in the callback."""

    def __init__(self, theta: Floats, evaluation: Evaluation) -> None:
        self.theta = theta
        self.evaluation = evaluation
        self.tried: dict[bytes, Evaluation] = {}
        self.evaluations = 0
        self.passes = 0
        self.refused = 0
        """Failed evaluations since."""

    def is_settled(self, tolerance: float) -> bool:
        """Whether a few points along one line all gain less than `tolerance`."""
        best = max(tried.objective for tried in self.tried.values())
        return len(self.tried) >= _LINE and best < self.evaluation.objective + tolerance

    def commit(self, theta: Floats) -> bool:
        found = self.tried.pop(theta.tobytes(), None)
        if found is None:
            return False
        self.theta, self.evaluation, self.tried = theta.copy(), found, {}
        self.refused = 0
        return True


def climb(
    rows: MemoryRows,
    start: State,
    *,
    max_iter: int,
    tolerance: float,
    damped: bool,
    report: Callable[[Progress], None],
) -> Climb:
    """Maximise the objective from `start` with L-BFGS.

    Every evaluation starts its E-step from the last accepted state, never from a refused one, so
    the objective is a function of θ as long as no step is accepted.
    """
    begun = time.perf_counter()
    first = evaluate(
        rows,
        start.model,
        start,
        tolerance=_PRECISION * tolerance,
        damped=damped,
        max_passes=40,
    )
    if max_iter == 0:
        return Climb(first, Outcome.CONVERGED, False, ())
    accepted = _Accepted(parameters_of(start.model), first)
    history: list[Progress] = []

    def negative(theta: Floats) -> tuple[float, Floats]:
        if np.array_equal(theta, accepted.theta):
            return -accepted.evaluation.objective, -accepted.evaluation.gradient
        accepted.evaluations += 1
        try:
            result = evaluate(
                rows,
                with_parameters(start.model, theta),
                accepted.evaluation.state,
                tolerance=_PRECISION * tolerance,
                reference=accepted.evaluation.e_step.elbo,
            )
        except NotPositiveDefinite:
            accepted.refused += 1
            return _REFUSED, np.zeros_like(theta)
        accepted.passes += result.e_step.passes
        accepted.tried[theta.tobytes()] = result
        if accepted.is_settled(tolerance):
            raise _Settled
        return -result.objective, -result.gradient

    def commit(intermediate_result: OptimizeResult) -> None:
        if accepted.commit(intermediate_result.x):
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

    outcome = Outcome.CONVERGED
    try:
        result = minimize(
            negative,
            accepted.theta,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(*parameter_bounds(start.model).T),
            callback=commit,
            options={"maxiter": max_iter, "maxcor": 10, "ftol": tolerance, "gtol": 1e-7},
        )
        outcome = _OUTCOMES.get(int(result.status), Outcome.STALLED)
    except _Settled:
        pass
    stopped_by_kernel = outcome is Outcome.STALLED and accepted.refused > 0
    return Climb(accepted.evaluation, outcome, stopped_by_kernel, tuple(history))
