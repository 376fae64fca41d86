"""The same numbers from every array library, in its own arrays and precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.cells import CellFamily, Hat
from tests.cells import exact
from tests.cells.cases import every_case, every_tailed, middle_and_half, rows, tables, tails
from tests.cells.closeness import assert_within
from tests.links.helpers import TO_LIBRARY

every_library = pytest.mark.parametrize("library", TO_LIBRARY)


def everything(cells: CellFamily, values: Any, own: Any, mean: Any, var: Any) -> dict[str, Any]:
    """All arrays that a family makes of rows."""
    by_mean, by_var = cells.mass_slopes(mean, var)
    shared, rowwise = cells.expect(values, mean, var), cells.expect_rowwise(own, mean, var)
    return {
        "masses": cells.masses(mean, var),
        "by_mean": by_mean,
        "by_var": by_var,
        "log_masses": cells.log_masses(mean, var),
        **{f"expect.{part}": getattr(shared, part) for part in ("value", "d_mean", "d_var")},
        **{f"rowwise.{part}": getattr(rowwise, part) for part in ("value", "d_mean", "d_var")},
    }


def arguments(cells: CellFamily, n_rows: int, deviations: tuple[float, float]) -> list[np.ndarray]:
    mean, var = rows(cells, n_rows, deviations=deviations)
    values = tables(cells)
    return [values, values[np.arange(n_rows) % len(values)], mean, var]


@every_library
@every_case
def test_same_numbers(cells: CellFamily, library: str) -> None:
    given = arguments(cells, 600, (1e-3, 2.0))
    before = [a.copy() for a in given]
    reference = everything(cells, *given)
    converted = [TO_LIBRARY[library](a.copy()) for a in given]
    for name, got in everything(cells, *converted).items():
        assert type(got) is type(converted[0]), name
        assert got.dtype == converted[0].dtype, name
        size = np.max(np.abs(reference[name]), axis=-1, keepdims=True) + 1e-3
        assert_within(to_numpy(got), reference[name], 1e-11 * size, name)
    for array, original in zip([*given, *converted], before * 2, strict=True):
        np.testing.assert_array_equal(to_numpy(array), original)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@every_library
@every_tailed
def test_both_tails_keep_their_digits(cells: CellFamily, library: str, side: float) -> None:
    """Masses and slopes to nine digits of their own, down to 10⁻²⁹⁰."""
    mean, var = tails(cells, side)
    given = [TO_LIBRARY[library](a) for a in (mean, var)]
    found = [cells.masses(*given), *cells.mass_slopes(*given)]
    references = [exact.mass_rows(cells, mean, var), *exact.slope_rows(cells, mean, var)]
    for got, reference, unit in zip(found, references, (1.0, np.sqrt(var), var), strict=True):
        normal = np.abs(reference.T * unit).T > 1e-290
        assert np.min(np.abs(reference.T * unit).T[normal]) < 1e-280
        np.testing.assert_allclose(to_numpy(got)[normal], reference[normal], rtol=1e-9, atol=0)


@every_library
@every_case
def test_single_precision(cells: CellFamily, library: str) -> None:
    """Half the bits: finite log-masses far out, and seven digits less four for narrow cells."""
    given = [a.astype(np.float32) for a in arguments(cells, 600, (0.1, 1.0))]
    _, half = middle_and_half(cells)
    reference = everything(cells, *[a.astype(np.float64) for a in given])
    converted = [TO_LIBRARY[library](a) for a in given]
    units = {"by_mean": half, "d_mean": half, "by_var": half**2, "d_var": half**2}
    for name, got in everything(cells, *converted).items():
        assert got.dtype == converted[0].dtype, name
        assert np.isfinite(to_numpy(got)).all(), name
        if name == "log_masses":
            seen = reference["masses"] > 1e-3
            assert_within(to_numpy(got)[seen], reference[name][seen], 0.05, name)
        else:
            unit = units.get(name.split(".")[-1], 1.0)
            size = np.max(np.abs(reference[name] * unit)) + 1.0
            assert_within(to_numpy(got) * unit, reference[name] * unit, 2e-4 * size, name)


@every_library
@every_case
def test_single_precision_without_variance(cells: CellFamily, library: str) -> None:
    """Means on knots as float32 rounds them, with deviations that it cannot resolve."""
    convert = TO_LIBRARY[library]
    knots = cells.nodes.astype(np.float32)
    for last in range(1, min(len(knots), 12) + 1):
        mean, var = convert(knots[:last]), convert(np.full(last, 1e-24, dtype=np.float32))
        shared, own = (np.ones((n, cells.n_cells), dtype=np.float32) for n in (2, last))
        for expected in (
            cells.expect(convert(shared), mean, var),
            cells.expect_rowwise(convert(own), mean, var),
        ):
            np.testing.assert_array_equal(to_numpy(expected.value), 1.0)
            np.testing.assert_array_equal(to_numpy(expected.d_mean), 0.0)
        masses = to_numpy(cells.masses(mean, var))
        np.testing.assert_allclose(masses.sum(axis=1), 1.0, atol=1e-6)


@every_library
@every_case
def test_rows_beyond_all_knots(cells: CellFamily, library: str) -> None:
    """All of them on one side, so that no knot is within reach."""
    convert = TO_LIBRARY[library]
    middle, half = middle_and_half(cells)
    values = np.arange(1.0, cells.n_cells + 1.0)
    for side, level in ((-2.0, values[0]), (2.0, values[-1])):
        mean = convert(np.full(3, middle + side * half))
        var = convert(np.full(3, (1e-3 * half) ** 2))
        for expected in (
            cells.expect(convert(values[None, :]), mean, var),
            cells.expect_rowwise(convert(np.tile(values, (3, 1))), mean, var),
        ):
            np.testing.assert_array_equal(to_numpy(expected.value).ravel(), level)
            np.testing.assert_array_equal(to_numpy(expected.d_mean), 0.0)
            np.testing.assert_array_equal(to_numpy(expected.d_var), 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_library
@every_case
def test_log_masses_are_finite_where_digits_run_out(
    cells: CellFamily, library: str, dtype: type
) -> None:
    mean, var = rows(cells, 100, deviations=(1e2, 1e5 if dtype is np.float32 else 1e10))
    convert = TO_LIBRARY[library]
    got = cells.log_masses(convert(mean.astype(dtype)), convert(var.astype(dtype)))
    assert not np.isnan(to_numpy(got)).any()
    if type(cells) is Hat:
        assert np.isfinite(to_numpy(got)).all()
