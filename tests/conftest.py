"""What all tests share: the folder of real data sets, and how hypothesis draws its examples."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Equal examples in every run, so that a failure is one's own; no deadline, as a busy machine is
# slow. Draw new examples with `pytest --hypothesis-profile=default`.
settings.register_profile("stepgp", deadline=None, derandomize=True)
settings.load_profile("stepgp")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--data",
        metavar="FOLDER",
        default=os.environ.get("STEPGP_DATA"),
        help="folder with the paper's data sets as CSV files (default: $STEPGP_DATA)",
    )


@pytest.fixture(scope="session")
def data_folder(request: pytest.FixtureRequest) -> Path:
    """The folder with the paper's data sets; where none is given, its tests are skipped."""
    given: str | None = request.config.getoption("--data")
    if not given:
        pytest.skip("needs the paper's data sets: give their folder by --data or STEPGP_DATA")
    folder = Path(given)
    if not folder.is_dir():
        pytest.fail(f"--data or STEPGP_DATA names {given!r}, which is no folder")
    return folder
