"""Who takes part: names of arms, and how each is imported and run.

An arm's libraries are imported by `prepare`, not by this file, so that a process pays for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.clock import Point, Recorder
from benchmarks.tasks import TOLERANCE, Data, Task, tiny


@dataclass(frozen=True)
class Outcome:
    """Points along one training, or one point per fit; `fits` tells the two apart."""

    points: Sequence[Point]
    fits: bool
    note: str = ""


Run = Callable[[Task, Data, float, int], Outcome]
"""(task, data, seconds allowed, threads) → points; the process's first calls are paid before."""


@dataclass(frozen=True)
class Arm:
    """`prepare` imports and returns the run.

    `large`: takes part at N=10⁵. `small_share`: the share of a small task's seconds it gets; less
    than all for those that longer runs showed to be never first there, to keep a run short.
    """

    name: str
    prepare: Callable[[], Run]
    ours: bool = False
    quick: bool = False
    large: bool = True
    small_share: float = 1.0

    def seconds(self, task: Task) -> float:
        return task.seconds * (1.0 if task.large else self.small_share)


def _gpytorch(**recipe: object) -> Callable[[], Run]:
    def prepare() -> Run:
        import torch

        from benchmarks import peers

        chosen = peers.Recipe(**recipe)

        def run(task: Task, data: Data, seconds: float, threads: int) -> Outcome:
            torch.set_num_threads(threads)
            small, rows = tiny(task)
            peers.train(chosen, small, rows, Recorder(small, rows, 0.05))
            recorder = Recorder(task, data, seconds)
            note = ""
            try:
                peers.train(chosen, task, data, recorder)
            except Exception as error:  # a factorisation that fails is a result, not a crash
                note = f"{type(error).__name__}: {str(error)[:120]}"
            return Outcome(recorder.finish(), False, note)

        return run

    return prepare


def _stepgp(*, free: bool, tol: float | None = None) -> Callable[[], Run]:
    def prepare() -> Run:
        from benchmarks import ours

        return ours.prepared(free=free, tol=tol)

    return prepare


def all_arms() -> tuple[Arm, ...]:
    """Ours, then the peers: learning rates are the best of those tried for each (see README)."""
    return (
        Arm("stepgp", _stepgp(free=False), ours=True, quick=True),
        Arm("stepgp_free", _stepgp(free=True), ours=True, quick=True),
        Arm("stepgp_rough", _stepgp(free=True, tol=0.5 * TOLERANCE), ours=True, quick=True),
        Arm("adam_full", _gpytorch(lr=0.1, minibatch=False), quick=True),
        Arm("adam_full_slow", _gpytorch(lr=0.02, minibatch=False), large=False, small_share=0.3),
        Arm("adam_batch", _gpytorch(lr=0.05, minibatch=True), quick=True, small_share=0.3),
        Arm("adam_batch_decay", _gpytorch(lr=0.02, minibatch=True, decay=True), small_share=0.3),
        Arm("ngd_full", _gpytorch(lr=0.1, minibatch=False, natural=True), large=False),
        Arm("ngd_batch", _gpytorch(lr=0.01, minibatch=True, natural=True), small_share=0.3),
    )


def find(name: str) -> Arm:
    for arm in all_arms():
        if arm.name == name:
            return arm
    names = ", ".join(arm.name for arm in all_arms())
    raise ValueError(f"no arm {name!r}; there are: {names}")
