"""Expectations against the masses, adaptive quadrature of the function itself, and autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepgp.cells import CellFamily, Expectation, Grid
from tests.cells.cases import FAMILIES, every_case, middle_and_half, rows, tables
from tests.cells.closeness import assert_within
from tests.cells.quadrature import expectation
from tests.cells.shapes import Function, shape

# Of √var, in half spans: nothing, cells, everything, from nothing to everything in one block.
SPREADS = {"tiny": (1e-7, 1e-6), "cells": (0.05, 0.2), "huge": (2.0, 8.0), "mixed": (1e-7, 10.0)}
every_spread = pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())


def by_masses(
    cells: CellFamily, values: np.ndarray, mean: np.ndarray, var: np.ndarray
) -> tuple[Expectation, Expectation]:
    """masses @ values with its slopes, and the error allowed to each: 1e-10 of its terms.

    Knots beyond reach are left out, whose density is 2e-13: it weighs in derivatives of size 0.
    """
    masses, (by_mean, by_var) = cells.masses(mean, var), cells.mass_slopes(mean, var)
    sizes, largest = np.abs(values).T, 1e-12 * np.max(np.abs(values), axis=1)
    return (
        Expectation(masses @ values.T, by_mean @ values.T, by_var @ values.T),
        Expectation(
            1e-10 * (masses @ sizes),
            1e-10 * (np.abs(by_mean) @ sizes) + largest / np.sqrt(var)[:, None],
            1e-10 * (np.abs(by_var) @ sizes) + 10.0 * largest / var[:, None],
        ),
    )


@every_spread
@every_case
def test_expect_is_masses_times_values(cells: CellFamily, spread: tuple[float, float]) -> None:
    """Thousands of rows in any order, so that they meet in many windows; means on the knots."""
    mean, var = rows(cells, 3000, deviations=spread)
    knots = shape(cells).knots(cells)
    mean[100 : 100 + len(knots)] = knots
    values = tables(cells)
    reference, allowed = by_masses(cells, values, mean, var)
    expected = cells.expect(values, mean, var)
    for part in ("value", "d_mean", "d_var"):
        got = getattr(expected, part)
        assert got.shape == (len(mean), len(values))
        assert_within(got, getattr(reference, part), getattr(allowed, part), part)


@every_spread
@every_case
def test_expect_rowwise_is_expect_with_each_rows_table(
    cells: CellFamily, spread: tuple[float, float]
) -> None:
    mean, var = rows(cells, 3000, deviations=spread, seed=1)
    knots = shape(cells).knots(cells)
    mean[100 : 100 + len(knots)] = knots
    values = tables(cells)
    table = np.random.default_rng(2).integers(0, len(values), len(mean))
    reference, allowed = by_masses(cells, values, mean, var)
    expected = cells.expect_rowwise(values[table], mean, var)
    for part in ("value", "d_mean", "d_var"):
        got, at = getattr(expected, part), (np.arange(len(mean)), table)
        assert got.shape == mean.shape
        assert_within(got, getattr(reference, part)[at], getattr(allowed, part)[at], part)


def by_quadrature(
    h: Function, knots: np.ndarray, mean: float, var: float
) -> tuple[float, float, float]:
    """E h, and by the derivatives of the density E h (f − μ)/v and E h ((f − μ)²/v − 1)/2v."""
    return (
        expectation(h, mean, var, knots),
        expectation(lambda f: h(f) * (f - mean) / var, mean, var, knots),
        expectation(lambda f: h(f) * ((f - mean) ** 2 / var - 1) / (2 * var), mean, var, knots),
    )


@every_case
def test_expect_equals_quadrature(cells: CellFamily) -> None:
    mean, var = rows(cells, 4, deviations=(0.02, 2.0), beyond=1.1, seed=3)
    mean, var = np.append(mean, mean[:2]), np.append(var, var[:2] * np.array([1e-10, 1e4]))
    values = np.random.default_rng(4).normal(size=cells.n_cells)
    h, knots = shape(cells).function(cells, values), shape(cells).knots(cells)
    reference = np.array([by_quadrature(h, knots, *row) for row in zip(mean, var, strict=True)])
    shared = cells.expect(values[None, :], mean, var)
    own = cells.expect_rowwise(np.tile(values, (len(mean), 1)), mean, var)
    for expected in (shared, own):
        assert_within(expected.value.ravel(), reference[:, 0], 1e-10)
        assert_within(expected.d_mean.ravel(), reference[:, 1], 1e-10 / np.sqrt(var))
        assert_within(expected.d_var.ravel(), reference[:, 2], 1e-10 / var)


@every_case
def test_derivatives_equal_autograd(cells: CellFamily) -> None:
    torch: Any = pytest.importorskip("torch")
    mean, var = rows(cells, 40, deviations=(0.05, 3.0), seed=5)
    values = np.random.default_rng(6).normal(size=cells.n_cells)
    mean_tensor = torch.tensor(mean, requires_grad=True)
    var_tensor = torch.tensor(var, requires_grad=True)
    total = shape(cells).torch_expectation(
        torch,
        torch.tensor(shape(cells).knots(cells)),
        torch.tensor(values),
        mean_tensor,
        var_tensor,
    )
    total.sum().backward()
    expected = cells.expect(values[None, :], mean, var)
    deviation = np.sqrt(var)
    assert_within(expected.value[:, 0], total.detach().numpy(), 1e-12)
    if mean_tensor.grad is not None:  # one node: constant
        assert_within(expected.d_mean[:, 0], mean_tensor.grad.numpy(), 1e-10 / deviation)
        assert_within(expected.d_var[:, 0], var_tensor.grad.numpy(), 1e-10 / var)


@every_case
def test_without_variance_it_is_the_function_at_the_mean(cells: CellFamily) -> None:
    middle, half = middle_and_half(cells)
    mean = middle + half * np.array([0.91, -1.7, -0.83, 0.47, -0.21, 0.013, 1.2])
    values = np.random.default_rng(7).normal(size=cells.n_cells)
    h = shape(cells).function(cells, values)
    level = np.array([h(f) for f in mean])
    slope = np.array([h(f + 1e-6 * half) - h(f - 1e-6 * half) for f in mean]) / (2e-6 * half)
    for deviation in (1e-12, 1e-40, 1e-100):
        var = np.full(len(mean), (deviation * half) ** 2)
        for expected in (
            cells.expect(values[None, :], mean, var),
            cells.expect_rowwise(np.tile(values, (len(mean), 1)), mean, var),
        ):
            assert_within(expected.value.ravel(), level, 1e-10)
            assert_within(expected.d_mean.ravel(), slope, 1e-8 / half)


@every_case
@pytest.mark.parametrize("deviation", [1e-9, 1e-40])
@pytest.mark.parametrize("beyond", [2.0, 0.9])
def test_without_variance_a_knot_is_seen_from_both_sides(
    cells: CellFamily, deviation: float, beyond: float
) -> None:
    """The mean of the limits from the left and right, in level and slope, amid other rows."""
    middle, half = middle_and_half(cells)
    knots = shape(cells).knots(cells)
    mean = np.concatenate([knots, middle + half * np.linspace(-beyond, beyond, 9)])
    var = np.full(len(mean), (deviation * half) ** 2)
    values = np.random.default_rng(8).normal(size=cells.n_cells)
    h, step = shape(cells).function(cells, values), 1e-6 * half
    level = [0.5 * (h(x - 1e-5 * step) + h(x + 1e-5 * step)) for x in knots]
    for expected in (
        cells.expect(values[None, :], mean, var),
        cells.expect_rowwise(np.tile(values, (len(mean), 1)), mean, var),
    ):
        assert_within(expected.value.ravel()[: len(knots)], level, 1e-6)
        if not shape(cells).jumps:
            slope = [(h(x + step) - h(x - step)) / (2.0 * step) for x in knots]
            assert_within(expected.d_mean.ravel()[: len(knots)], slope, 1e-5 / half)


def test_values_far_away_cost_no_digits() -> None:
    """Beside values of 1e17 an expectation of 1e-17 keeps its digits."""
    grid = Grid.uniform(-40.0, 40.0, 256, "midpoint")
    mean = np.linspace(-39.0, 39.0, 1000)
    var = np.full(len(mean), 0.3)
    for family in FAMILIES:
        cells = family(grid)
        for sign in (-1.0, 1.0):
            values = np.exp(sign * cells.nodes)[None, :]
            expected = cells.expect(values, mean, var)
            reference, _ = by_masses(cells, values, mean, var)
            np.testing.assert_allclose(expected.value, reference.value, rtol=1e-11)
            np.testing.assert_allclose(expected.d_mean, reference.d_mean, rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES)
def test_functions_that_are_almost_nothing_near_the_mean(family: type) -> None:
    """Exact to 1e-11 in their own unit, which is little of a log-probability of −1e-8."""
    cells = family(Grid.uniform(-60.0, 60.0, 1000, "midpoint"))
    generator = np.random.default_rng(9)
    mean = np.append(generator.uniform(-50.0, 50.0, 2000), 20.0)
    var = np.append(generator.uniform(0.05, 3.0, 2000) ** 2, 4.0)
    values = np.stack(
        [
            -np.logaddexp(0.0, -cells.nodes),
            np.minimum(cells.nodes**2, 49.0),
            49.0 * np.sign(cells.nodes),
            49.0 * np.sin(3.0 * cells.nodes),
        ]
    )
    for table in (values, 1e3 * values):
        reference = cells.masses(mean, var) @ table.T
        rounding = 1e-14 * np.max(np.abs(table), axis=1)
        allowed = 1e-11 + 1e-10 * np.abs(reference) + rounding
        assert_within(cells.expect(table, mean, var).value, reference, allowed)
        for row, one in enumerate(table):
            own = cells.expect_rowwise(np.tile(one, (len(mean), 1)), mean, var).value
            assert_within(own, reference[:, row], allowed[:, row])
    almost_sure = cells.expect(values[:1], mean[-1:], var[-1:]).value[0, 0]
    assert almost_sure == pytest.approx(-np.exp(-18.0), rel=0.02, abs=0.0)


@pytest.mark.parametrize("deviation", [1.0, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_that_outgrow_a_normal_tail(family: type, deviation: float) -> None:
    """eᶠ peaks √v deviations away from the mean, e²ᶠ twice as far: windows widen."""
    cells = family(Grid.uniform(-60.0, 60.0, 500, "midpoint"))
    mean = np.linspace(-8.0, 8.0, 700)
    var = np.full(len(mean), deviation**2)
    values = np.stack([np.exp(cells.nodes), -np.exp(-cells.nodes), np.exp(2.0 * cells.nodes)])
    if deviation > 2.0:
        values = values[:2]
    reference, _ = by_masses(cells, values, mean, var)
    shared = cells.expect(values, mean, var)
    own = cells.expect_rowwise(np.tile(values[0], (len(mean), 1)), mean, var)
    for part in ("value", "d_mean", "d_var"):
        wanted = getattr(reference, part)
        np.testing.assert_allclose(getattr(shared, part), wanted, rtol=1e-10)
        np.testing.assert_allclose(getattr(own, part), wanted[:, 0], rtol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
@given(
    jumps=st.lists(st.floats(0.0, 10.0), min_size=2, max_size=12),
    gaps=st.lists(st.floats(0.01, 5.0), min_size=13, max_size=13),
    deviation=st.floats(1e-3, 30.0),
    centre=st.floats(-20.0, 20.0),
)
@settings(max_examples=60)
def test_monotone_functions_have_monotone_expectations(
    family: type, jumps: list[float], gaps: list[float], deviation: float, centre: float
) -> None:
    levels = np.cumsum([0.0, *jumps])
    cells = family(Grid(np.cumsum(gaps)[: len(levels)] - 10.0))
    levels = levels[: cells.n_cells]
    levels = np.append(levels, np.full(cells.n_cells - len(levels), levels[-1]))
    mean = centre + deviation * np.linspace(-4.0, 4.0, 41)
    var = np.full(len(mean), deviation**2)
    rounding = 1e-14 * (1.0 + levels[-1])
    for expected in (
        cells.expect(levels[None, :], mean, var),
        cells.expect_rowwise(np.tile(levels, (len(mean), 1)), mean, var),
    ):
        value = expected.value.ravel()
        assert (np.diff(value) >= -rounding * cells.n_cells).all()
        assert (expected.d_mean >= -rounding / deviation).all()
        assert (value >= -rounding).all()
        assert (value <= levels[-1] + rounding).all()
