"""One arm on one task in a process of its own; prints its result as one line of JSON."""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("task")
    parser.add_argument("arm")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--spawned", type=float, required=True)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")

    from benchmarks.arms import find as find_arm

    arm = find_arm(options.arm)
    run = arm.prepare()
    # From the parent's call to all libraries loaded; data and judging are on nobody's clock.
    startup = time.time() - options.spawned

    from benchmarks.tasks import find as find_task

    task = find_task(options.task)
    data = task.load(options.data)
    seconds = min(arm.seconds(task), options.seconds or float("inf"))
    outcome = run(task, data, seconds, options.threads)
    points: list[dict[str, Any]] = [
        {"seconds": p.seconds, "steps": p.steps, "elbo": p.elbo, "test": p.test}
        for p in outcome.points
        if p.elbo is not None or p.test is not None
    ]
    print(
        json.dumps(
            {
                "task": options.task,
                "arm": options.arm,
                "startup": startup,
                "fits": outcome.fits,
                "note": outcome.note,
                "points": points,
            }
        )
    )


if __name__ == "__main__":
    main()
