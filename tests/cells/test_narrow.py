"""Masses where √v is many times the span: their sum, their digits, their logs, their slopes."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any, cast

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.cells import CellFamily, Grid, Hat, Indicator
from tests._array.exact import CONTEXT
from tests.cells import exact
from tests.cells.cases import FAMILIES, every_case, middle_and_half, rows
from tests.cells.closeness import assert_within
from tests.links.helpers import TO_LIBRARY

SCALES = [3.0, 60.0, 1e3, 1e6, 1e8, 1e10, 1e12, 1e15]


@every_case
def test_masses_sum_to_one(cells: CellFamily) -> None:
    mean, var = rows(cells, 3000, deviations=(1.0, 1e15), beyond=3.0)
    masses = cells.masses(mean, var)
    np.testing.assert_allclose(masses.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        np.exp(cells.log_masses(mean, var)).sum(axis=1), 1.0, rtol=0, atol=3e-13
    )


@every_case
@pytest.mark.parametrize("scale", SCALES)
def test_masses_keep_their_digits(cells: CellFamily, scale: float) -> None:
    """Also some deviations away from the mean."""
    middle, half = middle_and_half(cells)
    away = np.array([0.0, 0.3, -1.0, 4.0, -8.0])
    var = np.full(len(away), (scale * half) ** 2)
    mean = middle + 0.2 * half + away * scale * half
    reference = exact.mass_rows(cells, mean, var)
    np.testing.assert_allclose(cells.masses(mean, var), reference, rtol=1e-10, atol=0)
    np.testing.assert_allclose(
        cells.log_masses(mean, var), exact.log_mass_rows(cells, mean, var), rtol=0, atol=1e-9
    )


def exact_slopes(cells: CellFamily, mean: float, var: float) -> np.ndarray:
    """∂w/∂μ·√v and ∂w/∂v·v by central differences of 60 digits, (2, K)."""
    with localcontext(CONTEXT):
        mu, v, step = Decimal(mean), Decimal(var), Decimal("1e-12")
        pairs = (
            ((mu + step * v.sqrt(), v), (mu - step * v.sqrt(), v)),
            ((mu, v * (1 + step)), (mu, v * (1 - step))),
        )
        found = [[cast("Any", exact.masses)(cells, *row) for row in pair] for pair in pairs]
        return np.array(
            [
                [float((a - b) / (2 * step)) for a, b in zip(up, down, strict=True)]
                for up, down in found
            ]
        )


@every_case
@pytest.mark.parametrize("scale", [3.0, 60.0, 1e6, 1e12])
def test_slopes_keep_their_digits(cells: CellFamily, scale: float) -> None:
    middle, half = middle_and_half(cells)
    mean = middle + half * np.array([0.2, 0.7 * scale, -3.0 * scale])
    var = np.full(len(mean), (scale * half) ** 2)
    by_mean, by_var = cells.mass_slopes(mean, var)
    for row, at in enumerate(zip(mean.tolist(), var.tolist(), strict=True)):
        reference = exact_slopes(cells, *at)
        # A slope that passes through 0 between two cells is small beside their masses.
        size = 1e-9 * np.abs(reference) + 1e-12 * exact.mass_rows(cells, mean, var)[row]
        assert_within(by_mean[row] * np.sqrt(var[row]), reference[0], size[0])
        assert_within(by_var[row] * var[row], reference[1], size[1])


@every_case
@pytest.mark.parametrize("deviations", [-200.0, -45.0, 45.0, 200.0])
def test_logs_of_narrow_cells_far_away(cells: CellFamily, deviations: float) -> None:
    """Masses of 1e-9000: cells on both sides of where the series ends."""
    middle, half = middle_and_half(cells)
    var = half**2 * np.array([10.0, 1e3, 1e5, 1e8, 1e13, 1e18])
    mean = middle + deviations * np.sqrt(var)
    np.testing.assert_allclose(
        cells.log_masses(mean, var),
        exact.log_mass_rows(cells, mean, var),
        rtol=1e-12,
        atol=1e-8,
    )


@pytest.mark.parametrize("library", TO_LIBRARY)
@pytest.mark.parametrize("family", FAMILIES)
def test_cells_that_grow(family: type, library: str) -> None:
    """Narrow and wide ones side by side."""
    cells = family(Grid.uniform(-1.0, 1.0, 50, "midpoint").extended(-1e9, 1e9))
    mean = np.array([0.0, 3e7, -2e6, 0.4])
    var = np.array([1e8, 1e6, 10.0, 1.0]) ** 2
    reference = exact.mass_rows(cells, mean[:1], var[:1])
    convert = TO_LIBRARY[library]
    masses = to_numpy(cells.masses(convert(mean), convert(var)))
    np.testing.assert_allclose(masses[:1], reference, rtol=1e-9, atol=0)
    np.testing.assert_allclose(masses.sum(axis=1), 1.0, rtol=0, atol=2e-14)


@pytest.mark.parametrize("family", [Hat, Indicator])
def test_any_finite_mean_and_variance(family: type) -> None:
    cells = family(Grid.uniform(-1.0, 1.0, 9, "midpoint"))
    mean, var = (a.ravel() for a in np.meshgrid([0.3, 1e9, 1e160, -1e300], [1e-300, 1e-9, 1e300]))
    masses, logs = cells.masses(mean, var), cells.log_masses(mean, var)
    np.testing.assert_allclose(masses.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    assert not np.isnan(logs).any()
    np.testing.assert_allclose(np.exp(logs), masses, rtol=1e-9, atol=1e-300)
