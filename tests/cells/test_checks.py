"""What public functions say about arguments that are no rows, no cells, no numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.cells import Grid, Hat, Indicator, cells_for, concave_bound, exp_error, lipschitz_bound
from tests.cells.cases import FAMILIES
from tests.links.helpers import TO_LIBRARY

GRID = Grid.uniform(-2.0, 2.0, 9, "midpoint")
METHODS = ["masses", "log_masses", "mass_slopes"]
every_method = pytest.mark.parametrize("method", METHODS)
every_family = pytest.mark.parametrize("family", FAMILIES)
every_library = pytest.mark.parametrize("library", TO_LIBRARY)


@every_family
@every_method
@pytest.mark.parametrize(
    ("mean", "var", "message"),
    [
        ([0.0, 1.0], [1.0, 0.0], r"var must be positive and finite, got 0.0 in row 1: correct"),
        ([0.0, 1.0], [-1.0, 1.0], r"var must be positive and finite, got -1.0 in row 0"),
        ([0.0, 1.0], [np.nan, 1.0], r"var must be positive and finite, got nan in row 0"),
        ([0.0, np.inf], [1.0, 1.0], r"mean must be finite, got inf in row 1"),
        ([0.0, 1.0], [1.0], r"one shape \(n,\), a value for each row, got shapes \(2,\), \(1,\)"),
        ([[0.0]], [[1.0]], r"got shapes \(1, 1\), \(1, 1\). Write np.array"),
        ([1j], [1.0], r"mean must hold real numbers, got .*complex128: convert it"),
    ],
)
@every_library
def test_rows(family: type, method: str, mean: Any, var: Any, message: str, library: str) -> None:
    convert = TO_LIBRARY[library]
    with pytest.raises(ValueError, match=message):
        getattr(family(GRID), method)(convert(np.array(mean)), convert(np.array(var)))


@every_family
@every_method
def test_numbers_and_objects(family: type, method: str) -> None:
    with pytest.raises(ValueError, match=r"got shapes \(\), \(\). Write np.array\(\[value\]\)"):
        getattr(family(GRID), method)(0.0, 1.0)
    with pytest.raises(ValueError, match="mean must hold real numbers, got object"):
        getattr(family(GRID), method)([None], [1.0])
    with pytest.raises(ValueError, match="mean must hold real numbers, got <U1"):
        getattr(family(GRID), method)(["a"], [1.0])


@every_family
@every_library
def test_lists_and_whole_numbers(family: type, library: str) -> None:
    cells, convert = family(GRID), TO_LIBRARY[library]
    expected = cells.masses(np.array([0.0, 1.0]), np.array([1.0, 4.0]))
    whole = convert(np.array([0, 1])), convert(np.array([1, 4]))
    for mean, var in (
        ([0, 1], [1, 4]),
        whole,
        (convert(np.array([0.0, 1.0])), [1.0, 4.0]),
        (convert(np.array([0.0, 1.0], dtype=np.float32)), whole[1]),
    ):
        np.testing.assert_allclose(to_numpy(cells.masses(mean, var)), expected, rtol=1e-5)
    single = cells.masses(convert(np.array([0.0], dtype=np.float32)), convert(np.array([1])))
    assert "float32" in str(single.dtype)


def bound_of_hats(grid: Grid, mean: Any, var: Any) -> Any:
    return concave_bound(Hat(grid), mean, var, curvature=1.0, slope=1.0)


@pytest.mark.parametrize("bound", [lipschitz_bound, exp_error, bound_of_hats])
def test_bounds(bound: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match="mean must be finite, got nan in row 0"):
        bound(GRID, np.nan, 1.0)
    with pytest.raises(ValueError, match="var must be positive and finite, got inf in row 0"):
        bound(GRID, 0.0, np.inf)
    with pytest.raises(ValueError, match="mean must hold real numbers, got complex128"):
        bound(GRID, 1j, 1.0)


def test_grids_for_rows() -> None:
    with pytest.raises(ValueError, match="var must be positive and finite, got 0.0 in row 0"):
        cells_for(1e-3, 0.0, 0.0)
    with pytest.raises(ValueError, match="mean must be finite, got nan in row 1"):
        Grid.covering(np.array([0.0, np.nan]), np.ones(2), 9)


@pytest.mark.parametrize("family", [Hat, Indicator])
@pytest.mark.parametrize("grid", [5, [0.0, 1.0], np.zeros(3), None])
def test_cells_are_made_of_a_grid(family: type, grid: Any) -> None:
    with pytest.raises(TypeError, match=r"Cells are made of a Grid, got .*: write Grid.uniform"):
        family(grid)
