"""The M-step around the E-step: L-BFGS on all hyperparameters from accepted state to state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from stepgp._array.linalg import NotPositiveDefinite
from stepgp._array.namespace import Floats
from stepgp.fit.journal import Journal, Progress
from stepgp.fit.objective import (
    Evaluation,
    Precision,
    State,
    conditioned,
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
"""Length of the first step in θ, and the most for that of a later run."""
_ROUGH, _CAREFUL, _FINE = (0.1, 0.01), (0.03, 0.001), (0.003, 0.0001)
"""What an E-step may leave out: shares of the tolerance and of the change since the accepted θ.

Rough ones do where one step more is all that is wanted; where gradients are to be followed to the
end, an error in them looks like a summit, and a pass or two more are cheaper than the lines
searched in vain.
"""
_STEEP, _STUBBORN = 0.01, 3
"""Where a run ends on a slope of that many nats a row, the next has so many times the patience: in
a narrow valley, as beside two inducing inputs that nearly coincide, steps are short at first."""
_OVERTIME = 4
"""So many times the usual number of runs may be made where each ends on a slope."""
_OUTCOMES = {0: Outcome.CONVERGED, 1: Outcome.ITERATION_LIMIT}


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
        self.refused = 0
        """Failed evaluations since the last accepted one."""
        self.width = 0.0
        """Step a unit of gradient that fits the curvature seen last, sᵀy/yᵀy; 0 if none was."""

    def add(self, theta: Floats, evaluation: Evaluation) -> None:
        promised = float(self.evaluation.gradient @ (theta - self.theta))
        gained = evaluation.objective - self.evaluation.objective
        self.trials[theta.tobytes()] = _Trial(evaluation, promised, gained)

    def is_settled(self, tolerance: float, patience: int) -> bool:
        """Whether more than `patience` points along one line all gain less than `tolerance`,
        and the nearest of them was not promised much more either."""
        best = max(trial.gained for trial in self.trials.values())
        nearest = min(trial.promised for trial in self.trials.values())
        return len(self.trials) > patience and best < tolerance and nearest < 2.0 * tolerance

    def commit(self, theta: Floats) -> _Trial | None:
        """Accept a point that was tried; None where it is the accepted one already."""
        found = self.trials.pop(theta.tobytes(), None)
        if found is None:
            return None
        step, bend = theta - self.theta, self.evaluation.gradient - found.evaluation.gradient
        self.width = max(float(step @ bend) / max(float(bend @ bend), 1e-300), 0.0)
        self.theta, self.evaluation = theta.copy(), found.evaluation
        self.forget()
        return found

    @property
    def slope(self) -> float:
        """Length of the gradient, without what points beyond a bound."""
        low, high = parameter_bounds(self.evaluation.state.model).T
        gradient = self.evaluation.gradient
        upwards = np.where(self.theta < high, np.maximum(gradient, 0.0), 0.0)
        downwards = np.where(self.theta > low, np.minimum(gradient, 0.0), 0.0)
        return float(np.linalg.norm(upwards + downwards))

    def forget(self) -> None:
        """Whatever was tried from here."""
        self.trials, self.refused = {}, 0


def climb(
    rows: MemoryRows,
    start: State,
    *,
    max_iter: int,
    tolerance: float,
    patience: int,
    runs: int,
    damped: bool,
    journal: Journal,
) -> Climb:
    """Maximise the objective from `start` with L-BFGS.

    A run ends when `patience` iterations in a row, or one point more than that along one line,
    gain less than `tolerance`: one alone may be a poor step. Of more `runs` than one, each starts
    again with an empty memory and finer E-steps, until one has nothing to add; on a slope with
    more patience, whatever the last one added, and some more often than that.

    Every evaluation starts its E-step from the last accepted state, never from a refused one, so
    the objective is a function of θ as long as no step is accepted.
    """
    precision = _precision(_CAREFUL if patience > 1 else _ROUGH, tolerance)
    first = journal.evaluated(
        evaluate(
            rows,
            start.model,
            start,
            precision,
            damped=damped,
            max_passes=40,
            gradient=max_iter > 0,
        )
    )
    if max_iter == 0:
        return Climb(first, Outcome.CONVERGED, False, ())
    if first.state.model.link.params.size:
        state = conditioned(first)
        first = journal.evaluated(evaluate(rows, state.model, state, precision, max_passes=40))
    accepted = _Accepted(parameters_of(first.state.model), first)
    history: list[Progress] = []

    def run(precision: Precision, max_iter: int, patience: int) -> Outcome:
        return _run(rows, accepted, precision, max_iter, tolerance, patience, journal, history)

    outcome = run(precision, max_iter, patience)
    gained = np.inf
    for number in range(_OVERTIME * (runs - 1)):
        left = max_iter - len(history)
        steep = accepted.slope > _STEEP
        worthwhile = number < runs - 1 and gained >= patience * tolerance
        if left <= 0 or not (steep or worthwhile):
            break
        state, before = conditioned(accepted.evaluation), accepted.evaluation.objective
        precision = _precision(_FINE, tolerance)
        again = evaluate(rows, state.model, state, precision, max_passes=40)
        accepted.evaluation = journal.evaluated(again)
        accepted.theta = parameters_of(state.model)
        outcome = run(precision, left, _STUBBORN * patience if steep else patience)
        gained = accepted.evaluation.objective - before
    stopped_by_kernel = outcome is Outcome.STALLED and accepted.refused > 0
    return Climb(accepted.evaluation, outcome, stopped_by_kernel, tuple(history))


def _precision(shares: tuple[float, float], tolerance: float) -> Precision:
    return Precision(tolerance=shares[0] * tolerance, share=shares[1])


def _run(
    rows: MemoryRows,
    accepted: _Accepted,
    precision: Precision,
    max_iter: int,
    tolerance: float,
    patience: int,
    journal: Journal,
    history: list[Progress],
) -> Outcome:
    """One run of L-BFGS with an empty memory, from and into `accepted`; adds to `history`."""
    model = accepted.evaluation.state.model
    accepted.forget()
    # L-BFGS takes its first step as long as the gradient it is given: where nothing is known of
    # the curvature yet, bold enough to learn something from.
    boldest = _FIRST_STEP / max(float(np.linalg.norm(accepted.evaluation.gradient)), 1e-8)
    scale = min(accepted.width, boldest) if accepted.width else boldest

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
        accepted.add(theta, journal.evaluated(result))
        if accepted.is_settled(tolerance, patience):
            raise _Settled
        return -scale * result.objective, -scale * result.gradient

    quiet = 0

    def commit(intermediate_result: OptimizeResult) -> None:
        nonlocal quiet
        trial = accepted.commit(intermediate_result.x)
        if trial is None:
            return
        history.append(journal.accepted(rows, accepted.evaluation))
        quiet = quiet + 1 if trial.gained < tolerance else 0
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
