"""From every arm's points to times, ratios and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.arms import find as find_arm
from benchmarks.tasks import TOLERANCE, find

Result = dict[str, Any]
DEFAULT = "stepgp"
"""Our arm without any choice made."""


@dataclass(frozen=True)
class Row:
    """One arm on one task: medians over its processes; None where a target was not reached."""

    task: str
    arm: str
    ours: bool
    best_elbo: float
    best_test: float | None
    warm_elbo: float | None
    warm_test: float | None
    whole_elbo: float | None
    whole_test: float | None
    spent: float
    note: str


def crossing(points: Sequence[dict[str, Any]], name: str, level: float) -> float | None:
    """Seconds at which a training first reached the level.

    Between the last point below and the first at it, the time is interpolated linearly in the
    score.
    """
    before: dict[str, Any] | None = None
    for point in points:
        value = point[name]
        if value is None:
            continue
        if value >= level:
            if before is None or not math.isfinite(before[name]):
                return float(point["seconds"])
            share = (level - before[name]) / (value - before[name])
            return float(before["seconds"] + share * (point["seconds"] - before["seconds"]))
        before = point
    return None


def _times(result: Result, name: str, level: float | None) -> tuple[float | None, float | None]:
    """(warm, whole process) seconds to the level.

    A fit counts as a whole: our first fit in a process is the cold one. A peer's whole process is
    its start-up plus its warm time; its first-call costs are left out, in its favour.
    """
    if level is None:
        return None, None
    points = result["points"]
    if result["fits"]:
        if not points or (points[0][name] if points[0][name] is not None else -math.inf) < level:
            return None, None
        warm = median(p["seconds"] for p in points[1:])
        return warm, result["startup"] + points[0]["seconds"]
    warm = crossing(points, name, level)
    return warm, None if warm is None else result["startup"] + warm


def _median(values: Sequence[float | None]) -> float | None:
    """The median if every process reached the level; a single miss is a miss."""
    if not values or any(v is None for v in values):
        return None
    return median(v for v in values if v is not None)


def test_level(results: Sequence[Result], task: str) -> float | None:
    """Within TOLERANCE of the best held-out log-likelihood reached by anyone in this run."""
    values = [p["test"] for r in results if r["task"] == task for p in r["points"]]
    known = [v for v in values if v is not None and math.isfinite(v)]
    return max(known) - TOLERANCE if known else None


def rows(results: Sequence[Result], task: str) -> list[Row]:
    """One row per arm that ran, ours first."""
    level = test_level(results, task)
    target = find(task).elbo_target
    table: list[Row] = []
    for arm in dict.fromkeys(r["arm"] for r in results if r["task"] == task):
        own = [r for r in results if r["task"] == task and r["arm"] == arm]
        elbo = [_times(r, "elbo", target) for r in own]
        test = [_times(r, "test", level) for r in own]
        elbos = [p["elbo"] for r in own for p in r["points"] if p["elbo"] is not None]
        tests = [p["test"] for r in own for p in r["points"] if p["test"] is not None]
        table.append(
            Row(
                task=task,
                arm=arm,
                ours=find_arm(arm).ours,
                best_elbo=max(elbos, default=-math.inf),
                best_test=max(tests, default=None),
                warm_elbo=_median([e[0] for e in elbo]),
                warm_test=_median([t[0] for t in test]),
                whole_elbo=_median([e[1] for e in elbo]),
                whole_test=_median([t[1] for t in test]),
                spent=max((p["seconds"] for r in own for p in r["points"]), default=0.0),
                note="; ".join(dict.fromkeys(r["note"] for r in own if r["note"])),
            )
        )
    return table


def ratios(
    table: Sequence[Row], *, only: str | None = None
) -> dict[str, tuple[float, bool] | None]:
    """Best peer's time over that of our best arm, or of `only` one, per clock; (value, exact).

    Where no peer reached the level in its time, the longest time spent is a lower bound. None
    where we missed the level, or nobody has one.
    """
    found: dict[str, tuple[float, bool] | None] = {}
    for name in ("warm_elbo", "warm_test", "whole_elbo", "whole_test"):
        own = [r for r in table if r.ours and only in (None, r.arm)]
        ours = [t for r in own if (t := getattr(r, name)) is not None]
        theirs = [t for r in table if not r.ours and (t := getattr(r, name)) is not None]
        spent = [r.spent for r in table if not r.ours]
        if not ours or not spent:
            found[name] = None
        elif theirs:
            found[name] = (min(theirs) / min(ours), True)
        else:
            found[name] = (max(spent) / min(ours), False)
    return found


def _number(value: float | None, form: str = ".2f", missing: str = "—") -> str:
    return missing if value is None or not math.isfinite(value) else format(value, form)


def text(results: Sequence[Result]) -> str:
    """The table that is printed."""
    lines: list[str] = []
    for task in dict.fromkeys(r["task"] for r in results):
        table, level, target = (
            rows(results, task),
            test_level(results, task),
            find(task).elbo_target,
        )
        lines.append("")
        lines.append(
            f"{task}: ELBO target {_number(target, '.1f')}, held-out level {_number(level, '.4f')}"
        )
        lines.append(
            f"  {'arm':18}{'ELBO':>11}{'held-out':>10}{'warm (a)':>10}{'warm (b)':>10}"
            f"{'whole (a)':>11}{'whole (b)':>11}{'trained':>9}"
        )
        for r in table:
            lines.append(
                f"  {r.arm:18}{_number(r.best_elbo, '.1f'):>11}{_number(r.best_test, '.4f'):>10}"
                f"{_number(r.warm_elbo):>10}{_number(r.warm_test):>10}"
                f"{_number(r.whole_elbo):>11}{_number(r.whole_test):>11}{r.spent:>9.1f}"
                f"  {r.note}"
            )
        lines.append(f"  best peer / best of ours: {_said(ratios(table))}")
        lines.append(f"  best peer / our defaults: {_said(ratios(table, only=DEFAULT))}")
    return "\n".join(lines)


def _said(found: dict[str, tuple[float, bool] | None]) -> str:
    parts = [
        f"{name} {'' if exact else '> '}{value:.1f}×"
        for name, ratio in found.items()
        if ratio is not None
        for value, exact in [ratio]
    ]
    return ", ".join(parts) or "level not reached"
