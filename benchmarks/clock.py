"""A stopwatch for training loops: takes parameters along the way, scores them off the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.score import Snapshot, scores, test_score
from benchmarks.tasks import TOLERANCE, Data, Task

SPACING = 1.05
JUDGED_EVERY = 5
LINGER = 1.5


@dataclass
class Point:
    """Parameters after `steps` steps and `seconds` of training, and their scores once known."""

    seconds: float
    steps: int
    snapshot: Snapshot
    elbo: float | None = None
    test: float | None = None


@dataclass
class Recorder:
    """Snapshots at times spaced by 5 %; every fifth is scored at once, the clock stopped meanwhile.

    Training ends out of time, or when the task's targets have been reached. With rows held out it
    then goes on for half as long again: who would still do better can set the best level.
    """

    task: Task
    data: Data
    seconds: float
    started: float = field(default_factory=time.perf_counter)
    points: list[Point] = field(default_factory=list)
    _next: float = 0.02
    _until: float = math.inf
    _elbo_met: bool = False
    _test_met: bool = False

    def more(self, steps: int, take: Callable[[], Snapshot]) -> bool:
        """Called after every step; False ends the training."""
        elapsed = time.perf_counter() - self.started
        last = elapsed > self.seconds
        if elapsed >= self._next or last:
            paused = time.perf_counter()
            self.points.append(Point(elapsed, steps, take()))
            if len(self.points) % JUDGED_EVERY == 0:
                self._judge(self.points[-1])
            self._next = elapsed * SPACING
            self.started += time.perf_counter() - paused
        return not last and elapsed < self._until

    def _judge(self, point: Point) -> None:
        self._score(point)
        elbo_target, reference = self.task.elbo_target, self.task.test_reference
        if elbo_target is not None and point.elbo is not None:
            self._elbo_met |= point.elbo >= elbo_target
        if reference is not None and point.test is not None:
            self._test_met |= point.test >= reference - TOLERANCE
        wanted = [
            met
            for level, met in ((elbo_target, self._elbo_met), (reference, self._test_met))
            if level is not None
        ]
        if wanted and all(wanted):
            more = 1.0 if reference is None else LINGER
            self._until = min(self._until, more * point.seconds)

    def _score(self, point: Point) -> None:
        point.elbo, point.test = scores(point.snapshot, self.task.likelihood, self.data)

    def finish(self) -> list[Point]:
        """Scores what is needed to tell when each target was crossed to within one snapshot."""
        if not self.points:
            return []
        self._score(self.points[-1])
        target, reference = self.task.elbo_target, self.task.test_reference
        if target is not None:
            crossed = self._first(lambda p: p.elbo, target)
            for point in self.points[max(0, crossed - JUDGED_EVERY + 1) : crossed]:
                self._score(point)
        if reference is not None:  # the level that counts is known only when everybody has run
            near = self._first(lambda p: p.test, reference - 3.0 * TOLERANCE)
            for point in self.points[max(0, near - JUDGED_EVERY + 1) :]:
                point.test = test_score(point.snapshot, self.task.likelihood, self.data)
        return self.points

    def _first(self, value: Callable[[Point], float | None], level: float) -> int:
        """Index of the first judged point at the level; past the end if there is none."""
        for index, point in enumerate(self.points):
            got = value(point)
            if got is not None and got >= level:
                return index
        return len(self.points) + JUDGED_EVERY
