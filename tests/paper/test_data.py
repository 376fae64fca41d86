"""The paper's files: how their rows become numbers, and what is said where they are not there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stepgp.paper import NAMES, load

FILES = {
    "banana.csv": "At1,At2,Class\n1.5,-0.25,-1\n0.5,2,1\n",
    "heart.csv": "63,1,2,0\n67,?,4,2\n50,0,3,3\n",
    "diabetes.csv": "Age,Gender,Polyuria,class\n40,Male,No,Positive\n58,Female,Yes,Negative\n",
    "cancer.csv": "842302,M,17.5,10.25\n842517,B,20.5,17.75\n",
    "boston_housing.csv": "crim,zn,medv\n0.5,18,24\n0.25,0,21.5\n",
    "concrete.csv": "No,Cement,SLUMP,Strength\n1,273,23,35\n2,163,0,41\n",
    "winequality-red.csv": '"fixed acidity";"quality"\n7.5;5\n8;6\n',
    "winequality-white.csv": '"fixed acidity";"quality"\n7;6\n\n6.5;7\n',
}
WANTED = {
    "banana": ([[1.5, -0.25], [0.5, 2.0]], [0, 1]),
    "heart": ([[63, 1, 2], [50, 0, 3]], [0, 1]),
    "diabetes": ([[40, 1, 0], [58, 0, 1]], [1, 0]),
    "cancer": ([[17.5, 10.25], [20.5, 17.75]], [1, 0]),
    "boston": ([[0.5, 18], [0.25, 0]], [24, 21.5]),
    "concrete": ([[273, 23], [163, 0]], [35, 41]),
    "winered": ([[7.5], [8.0]], [5, 6]),
    "winewhite": ([[7.0], [6.5]], [6, 7]),
}
SIZES = {
    "banana": (5300, 2),
    "heart": (297, 13),
    "diabetes": (520, 16),
    "cancer": (569, 30),
    "boston": (506, 13),
    "concrete": (103, 9),
    "winered": (1599, 11),
    "winewhite": (4898, 11),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_rows_become_numbers(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = WANTED[name]
    monkeypatch.setenv("STEPGP_DATA", str(folder))
    for found in (load(name), load(name, folder)):
        np.testing.assert_array_equal(found.X, X)
        np.testing.assert_array_equal(found.y, y)
        assert found.is_classification is (name in NAMES[:4])


@pytest.mark.parametrize("name", NAMES)
def test_the_real_files(name: str, data_folder: Path) -> None:
    data = load(name, data_folder)
    assert data.X.shape == SIZES[name]
    assert np.isfinite(data.X).all()
    if data.is_classification:
        assert set(data.y.tolist()) == {0.0, 1.0}


def test_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEPGP_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="give the folder with the paper's CSV files"):
        load("banana")
    with pytest.raises(FileNotFoundError, match=r"banana\.csv is missing"):
        load("banana", tmp_path)
    with pytest.raises(ValueError, match="Unknown data set 'iris'; expected one of banana"):
        load("iris", tmp_path)
