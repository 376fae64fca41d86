"""Totals over rows are the adjoint of expectations."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.cells import CellFamily
from stepgp.cells.totals import totals
from tests.cells.cases import every_case, rows
from tests.links.helpers import TO_LIBRARY


@pytest.mark.parametrize("spread", [(1e-7, 1e-6), (0.05, 0.2), (2.0, 8.0), (1e-7, 10.0)], ids=str)
@every_case
def test_totals_are_masses_times_amounts(cells: CellFamily, spread: tuple[float, float]) -> None:
    mean, var = rows(cells, 700, deviations=spread)
    amounts = np.random.default_rng(3).normal(size=(2, len(mean)))
    found = totals(cells, mean, var, lambda rows, near: amounts[:, rows, None])
    wanted = amounts @ cells.masses(mean, var)
    assert found.shape == (2, cells.n_cells)
    np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(amounts).sum())
    np.testing.assert_allclose(found.sum(axis=1), amounts.sum(axis=1), rtol=1e-9)


@every_case
def test_totals_are_the_adjoint_of_expect(cells: CellFamily) -> None:
    """Σ_i a_i E h(f_i) = Σ_k h_k Σ_i a_i w_ik."""
    mean, var = rows(cells, 200, deviations=(0.05, 2.0))
    generator = np.random.default_rng(4)
    values, amounts = generator.normal(size=(3, cells.n_cells)), generator.normal(size=200)
    expected = amounts @ cells.expect(values, mean, var).value
    found = values @ totals(cells, mean, var, lambda rows, near: amounts[None, rows, None])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@every_case
def test_amounts_of_each_cell(cells: CellFamily) -> None:
    """Cells that are asked for are those whose masses the amounts are multiplied by."""
    mean, var = rows(cells, 200, deviations=(0.05, 2.0))
    table = np.random.default_rng(5).normal(size=(200, cells.n_cells))
    found = totals(cells, mean, var, lambda rows, near: table[rows[:, None], near][None])
    wanted = np.sum(table * cells.masses(mean, var), axis=0)
    np.testing.assert_allclose(found[0], wanted, atol=1e-11)


@pytest.mark.parametrize("library", TO_LIBRARY)
@every_case
def test_every_library(cells: CellFamily, library: str) -> None:
    mean, var = rows(cells, 60, deviations=(0.05, 2.0))
    convert = TO_LIBRARY[library]
    weight = np.linspace(0.5, 2.0, 60)

    def amounts(rows: object, near: object) -> object:
        return convert(weight[np.asarray(rows)])[None, :, None]

    found = totals(cells, convert(mean), convert(var), amounts)
    np.testing.assert_allclose(found[0], weight @ cells.masses(mean, var), atol=1e-11)
