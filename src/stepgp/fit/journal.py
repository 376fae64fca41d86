"""What a fit has done so far, over all its climbs: for `history_` and the progress bar."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from stepgp.fit.objective import Evaluation
from stepgp.rows.memory import MemoryRows


@dataclass(frozen=True)
class Progress:
    """One accepted iteration. All counts are those of the whole fit up to there."""

    iteration: int
    rows: int
    """How many rows it looked at."""
    objective: float
    elbo: float
    """The ELBO of these rows, nats."""
    evaluations: int
    """Of the objective, failed ones left out."""
    passes: int
    """Over the rows, whatever their number."""
    seconds: float


class Journal:
    """Counts evaluations, passes and iterations from the beginning of a fit to its end."""

    def __init__(self, report: Callable[[Progress], None]) -> None:
        self._report = report
        self._begun = time.perf_counter()
        self._iterations = self._evaluations = self._passes = 0

    def evaluated(self, evaluation: Evaluation) -> Evaluation:
        """Count an evaluation, and hand it on."""
        self._evaluations += 1
        self._passes += evaluation.e_step.passes
        return evaluation

    def accepted(self, rows: MemoryRows, evaluation: Evaluation) -> Progress:
        """Count an accepted iteration, and tell whoever wants to know."""
        self._iterations += 1
        progress = Progress(
            iteration=self._iterations,
            rows=len(rows),
            objective=evaluation.objective,
            elbo=evaluation.e_step.elbo,
            evaluations=self._evaluations,
            passes=self._passes,
            seconds=time.perf_counter() - self._begun,
        )
        self._report(progress)
        return progress
