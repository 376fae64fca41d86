"""A stopwatch for training loops: takes parameters along the way, scores them off the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.score import Snapshot, scores
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

    Training ends out of time, or when both targets of the task have been reached and half as much
    time again has gone by (so that an arm that would still do better can set the best level).
    """

    task: Task
    data: Data
    seconds: float
    started: float = field(default_factory=time.perf_counter)
    points: list[Point] = field(default_factory=list)
    _next: float = 0.02
    _met_at: float = math.inf
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
        return not last and elapsed < LINGER * self._met_at

    def _judge(self, point: Point) -> None:
        self._score(point)
        elbo_target, reference = self.task.elbo_target, self.task.test_reference
        if elbo_target is not None and point.elbo is not None:
            self._elbo_met |= point.elbo >= elbo_target
        if reference is not None and point.test is not None:
            self._test_met |= point.test >= reference - TOLERANCE
        wanted_elbo, wanted_test = elbo_target is not None, reference is not None
        if (self._elbo_met or not wanted_elbo) and (self._test_met or not wanted_test):
            if wanted_elbo or wanted_test:
                self._met_at = min(self._met_at, point.seconds)

    def _score(self, point: Point) -> None:
        point.elbo, point.test = scores(point.snapshot, self.task.likelihood, self.data)

    def finish(self) -> list[Point]:
        """Scores the last point and, exactly, the neighbourhood where the targets were crossed."""
        if self.points:
            self._score(self.points[-1])
        for level, name in self._levels():
            judged = [p for p in self.points if p.elbo is not None]
            crossed = next((p for p in judged if (getattr(p, name) or -math.inf) >= level), None)
            if crossed is None:
                continue
            index = self.points.index(crossed)
            for point in self.points[max(0, index - JUDGED_EVERY + 1) : index]:
                self._score(point)
        return self.points

    def _levels(self) -> list[tuple[float, str]]:
        levels: list[tuple[float, str]] = []
        if self.task.elbo_target is not None:
            levels.append((self.task.elbo_target, "elbo"))
        if self.task.test_reference is not None:
            levels.append((self.task.test_reference - TOLERANCE, "test"))
        return levels
