"""Time to quality, stepgp against GPyTorch: `python -m benchmarks.fit_time --data FOLDER`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import check, report
from benchmarks.arms import Arm, all_arms
from benchmarks.tasks import TOLERANCE, Task, all_tasks, find

QUICK_SECONDS = 6.0


def _child(task: Task, arm: Arm, options: argparse.Namespace) -> report.Result:
    """One fresh process; every library's thread pool gets the same size."""
    threads = str(options.threads)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, threads)}
    command = [sys.executable, "-m", "benchmarks.child", task.name, arm.name, "--threads", threads]
    if options.data is not None:
        command += ["--data", str(options.data)]
    if options.quick:
        command += ["--seconds", str(QUICK_SECONDS)]
    spawned = time.time()
    command += ["--spawned", repr(spawned)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        failure = done.stderr.strip().splitlines()[-1:] or ["no message"]
        result: report.Result = {"task": task.name, "arm": arm.name, "startup": 0.0}
        result |= {"fits": arm.ours, "note": f"failed: {failure[0]}", "points": []}
    else:
        result = json.loads(done.stdout.strip().splitlines()[-1])
    elapsed = time.time() - spawned
    print(f"  {task.name:13} {arm.name:18} {elapsed:6.1f} s  {result['note']}", flush=True)
    return result


def _to_repeat(latest: Sequence[tuple[Arm, report.Result]], task: Task) -> list[Arm]:
    """Ours, and of the peers those within twice the time of the fastest to some target."""
    levels = {
        "elbo": task.elbo_target,
        "test": None if task.test_reference is None else task.test_reference - TOLERANCE,
    }
    chosen = {arm.name for arm, _ in latest if arm.ours}
    for name, level in levels.items():
        if level is None:
            continue
        times = {
            arm.name: seconds
            for arm, result in latest
            if not arm.ours
            and (seconds := report.crossing(result["points"], name, level)) is not None
        }
        chosen |= {arm for arm, seconds in times.items() if seconds <= 2.0 * min(times.values())}
    return [arm for arm, _ in latest if arm.name in chosen]


def _run(options: argparse.Namespace) -> list[report.Result]:
    """Arms alternate within a task; only the fastest peers are repeated."""
    results: list[report.Result] = []
    for name in options.tasks:
        task = find(name)
        arms = [a for a in all_arms() if (a.quick or not options.quick) and _takes_part(a, task)]
        for _ in range(options.repeats):
            latest = [(arm, _child(task, arm, options)) for arm in arms]
            results += [result for _, result in latest]
            arms = _to_repeat(latest, task)
    return results


def _takes_part(arm: Arm, task: Task) -> bool:
    return arm.large or not task.large


def _environment(options: argparse.Namespace) -> dict[str, Any]:
    packages: dict[str, str] = {}
    for package in ("stepgp", "gpytorch", "torch", "numpy", "scipy", "scikit-learn"):
        try:
            packages[package] = version(package)
        except PackageNotFoundError:
            packages[package] = "not installed"
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "threads": options.threads,
        "load": os.getloadavg()[0],
        "packages": packages,
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of banana.csv and cancer.csv")
    parser.add_argument("--tasks", nargs="+", default=[t.name for t in all_tasks()])
    parser.add_argument("--quick", action="store_true", help="fewer arms, one repeat, short caps")
    parser.add_argument("--repeats", type=int, default=2, help="processes per arm and task")
    parser.add_argument("--threads", type=int, default=2, help="of every library, in every arm")
    parser.add_argument("--json", type=Path, help="write everything here")
    options = parser.parse_args()
    if options.quick:
        options.repeats = 1
        quick = {task.name for task in all_tasks() if task.quick}
        options.tasks = [name for name in options.tasks if name in quick]
    return options


def _with_data(options: argparse.Namespace) -> list[str]:
    """The tasks whose data are there; each of the others is named once."""
    found: list[str] = []
    for name in options.tasks:
        try:
            find(name).load(options.data)
        except FileNotFoundError as error:
            print(f"left out: {error}")
        else:
            found.append(name)
    return found


def main() -> None:
    options = _arguments()
    options.tasks = _with_data(options)
    print(f"judge against brute force: {check.against_brute_force():.1e} relative")
    try:
        print(f"judge against GPyTorch's own ELBO: {check.against_gpytorch():.1e} relative")
    except ImportError as error:
        raise SystemExit(f"{error}: pip install -r benchmarks/requirements.txt") from error
    busy = os.getloadavg()[0]
    if busy > 0.5:
        print(f"load {busy:.1f} before the first arm: waiting threads distort times, peers' most")
    begun = time.time()
    results = _run(options)
    print(report.text(results))
    print(f"\n{time.time() - begun:.0f} s in all, {options.threads} threads each")
    if options.json is not None:
        summary = {
            task: {
                "rows": [vars(row) for row in report.rows(results, task)],
                "ratios": report.ratios(report.rows(results, task)),
            }
            for task in dict.fromkeys(r["task"] for r in results)
        }
        document = {"environment": _environment(options), "summary": summary, "results": results}
        options.json.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
