"""What `import stepgp` loads, and how long it takes, each time in a process of its own."""

from __future__ import annotations

import subprocess
import sys

OPTIONAL = ("torch", "matplotlib", "dask", "pyarrow", "pandas", "polars")

# What an estimator cannot do without, and its users have loaded anyway.
SCIKIT_LEARN = "import sklearn.base, sklearn.utils.multiclass, sklearn.utils.validation"


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def seconds(statement: str) -> float:
    """How long the statement takes in a fresh process that has loaded scikit-learn's base."""
    clock = "import time; start = time.perf_counter()"
    return float(run(f"{SCIKIT_LEARN}; {clock}; {statement}; print(time.perf_counter() - start)"))


def test_import_loads_no_optional_package() -> None:
    # scikit-learn itself loads pandas where it is installed.
    present = f"[m for m in {OPTIONAL} if m in sys.modules]"
    loaded = run(f"{SCIKIT_LEARN}, sys; b = {present}; import stepgp; print(b == {present})")
    assert loaded.strip() == "True"


def test_import_is_quick() -> None:
    # Other work on the machine only ever delays: the best of several is what the import takes.
    assert min(seconds("import stepgp") for _ in range(5)) < 0.35


def test_slow_import_is_seen() -> None:
    assert seconds("time.sleep(0.4)") > 0.35
