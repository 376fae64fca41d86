"""The command line, as a user types it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepgp.cli import main


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty rows under the name of one of the paper's files."""
    table = np.random.default_rng(0).normal(size=(40, 3))
    table[:, 2] = np.where(table[:, 0] + 0.3 * table[:, 2] > 0.0, 1.0, -1.0)
    lines = ["At1,At2,Class", *(",".join(map(str, row)) for row in table.tolist())]
    (tmp_path / "banana.csv").write_text("\n".join(lines))
    return tmp_path


def test_paper(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["paper", "--data", str(folder), "--sets", "banana", "--quick"])
    printed = capsys.readouterr().out
    assert status == 0
    assert [line.split()[1] for line in printed.splitlines() if "banana" in line] == [
        "SFGP",
        "SFGP-l",
        "stepgp",
    ]


def test_missing_data_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["paper", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith("stepgp: ")
    assert "banana.csv is missing" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "COMMAND"),
        (["paper", "--model", "GP"], "invalid choice: 'GP'"),
        (["paper", "--sets", "iris"], "invalid choice: 'iris'"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert expected in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["paper", "--help"])
    assert stop.value.code == 0
    assert "Example: stepgp paper --data FOLDER" in capsys.readouterr().out
