"""The demo as `make demo` runs it: a table beside the paper's, and a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepgp import demo


@pytest.mark.slow
def test_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    demo.main()
    lines = capsys.readouterr().out.splitlines()
    rows = {line[:18].strip(): line.split()[-6:] for line in lines if "±" in line}
    assert set(rows) == {*demo.PAPER, "stepgp, defaults"}
    log_likelihood, f1 = float(rows["stepgp, defaults"][0]), float(rows["stepgp, defaults"][3])
    assert log_likelihood > -0.085  # the best column of the paper
    assert f1 > 0.96
    assert (tmp_path / demo.PICTURE).stat().st_size > 10_000
