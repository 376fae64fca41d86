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
    history: tuple[Progress, ...]


class _Accepted:
    """The last accepted evaluation and those since, keyed by θ: commits happen in the callback."""

    def __init__(self, theta: Floats, evaluation: Evaluation) -> None:
        self.theta = theta
        self.evaluation = evaluation
        self.tried: dict[bytes, Evaluation] = {}
        self.evaluations = 0
        self.passes = 0

    def commit(self, theta: Floats) -> bool:
        found = self.tried.pop(theta.tobytes(), None)
        if found is None:
            return False
        self.theta, self.evaluation, self.tried = theta.copy(), found, {}
        return True


def climb(
    rows: MemoryRows,
    start: State,
    *,
    jitter: float,
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
        jitter=jitter,
        tolerance=_PRECISION * tolerance,
        damped=damped,
        max_passes=40,
    )
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
                jitter=jitter,
                tolerance=_PRECISION * tolerance,
                reference=accepted.evaluation.e_step.elbo,
            )
        except NotPositiveDefinite:
            return _REFUSED, np.zeros_like(theta)
        accepted.passes += result.e_step.passes
        accepted.tried[theta.tobytes()] = result
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

    result = minimize(
        negative,
        accepted.theta,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(*parameter_bounds(start.model).T),
        callback=commit,
        options={"maxiter": max_iter, "maxcor": 10, "ftol": tolerance, "gtol": 1e-7},
    )
    outcomes = {0: Outcome.CONVERGED, 1: Outcome.ITERATION_LIMIT}
    outcome = outcomes.get(int(result.status), Outcome.STALLED)
    return Climb(accepted.evaluation, outcome, tuple(history))
