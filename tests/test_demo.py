"""The demo as `make demo` runs it: a table beside the paper's, and a picture."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stepgp import demo

MOST_SECONDS = 10.0
"""What `make demo` may take after set-up, of the processor: others may be busy on it too."""


@pytest.mark.slow
def test_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    begun = time.process_time()
    demo.main()
    assert time.process_time() - begun < MOST_SECONDS
    lines = capsys.readouterr().out.splitlines()
    rows = {line[:18].strip(): line.split()[-6:] for line in lines if "±" in line}
    assert set(rows) == {*demo.PAPER, "stepgp, defaults"}
    log_likelihood, f1 = float(rows["stepgp, defaults"][0]), float(rows["stepgp, defaults"][3])
    assert log_likelihood > -0.085  # the best column of the paper
    assert f1 > 0.96
    assert (tmp_path / demo.PICTURE).stat().st_size > 10_000
