"""Masses, their logs and slopes, for every family on every kind of grid."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.cells import CellFamily, Grid, Hat, Indicator
from tests.cells import exact
from tests.cells.cases import (
    CASES,
    FAMILIES,
    every_case,
    every_tailed,
    middle_and_half,
    rows,
    tails,
)
from tests.cells.closeness import assert_within
from tests.cells.quadrature import expectation
from tests.cells.shapes import SHAPES, shape
from tests.links.helpers import slope
from tests.subclasses import concrete_subclasses


def test_every_family_is_listed() -> None:
    assert concrete_subclasses(CellFamily) == set(FAMILIES) == set(SHAPES)
    assert {type(cells) for cells in CASES.values()} == set(FAMILIES)


@every_case
def test_masses_are_a_partition_of_one(cells: CellFamily) -> None:
    mean, var = rows(cells, 2000, deviations=(1e-8, 1e4), beyond=3.0)
    mean[: cells.n_cells] = cells.nodes
    masses = cells.masses(mean, var)
    assert masses.shape == (len(mean), cells.n_cells)
    assert (masses >= 0.0).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1.0, rtol=0, atol=1e-14)


@every_case
def test_masses_are_never_negative(cells: CellFamily) -> None:
    """Even where √v is so large that a cell's probability is less than rounding."""
    mean, var = rows(cells, 2000, deviations=(1e4, 1e17), beyond=3.0)
    assert (cells.masses(mean, var) >= 0.0).all()


@every_case
def test_masses_are_exact(cells: CellFamily) -> None:
    mean, var = rows(cells, 10, deviations=(1e-3, 2.0))
    reference = exact.mass_rows(cells, mean, var)
    normal = reference > 1e-290
    masses = cells.masses(mean, var)
    np.testing.assert_allclose(masses[normal], reference[normal], rtol=1e-9, atol=0)
    assert (masses[~normal] < 2e-290).all()


@pytest.mark.parametrize("side", [-1.0, 1.0])
@every_tailed
def test_both_tails_keep_their_digits(cells: CellFamily, side: float) -> None:
    mean, var = tails(cells, side)
    reference = exact.mass_rows(cells, mean, var)
    normal = reference > 1e-290
    assert np.min(reference[normal]) < 1e-280
    masses = cells.masses(mean, var)
    np.testing.assert_allclose(masses[normal], reference[normal], rtol=1e-11, atol=0)


@every_case
@pytest.mark.parametrize("deviations", [-400.0, -40.0, -3.0, 0.0, 0.7, 40.0, 400.0])
def test_log_masses_are_exact(cells: CellFamily, deviations: float) -> None:
    """A mean outside the span by many deviations: finite where the masses are 0."""
    middle, half = middle_and_half(cells)
    var = np.array([half**2, (0.3 * half) ** 2, (4.0 * half) ** 2])
    mean = middle + np.sign(deviations) * half + deviations * np.sqrt(var)
    log_masses = cells.log_masses(mean, var)
    assert np.isfinite(log_masses).all()
    reference = exact.log_mass_rows(cells, mean, var)
    # An error of log w is a relative one of w: that of φ(z), which is z² times that of z.
    np.testing.assert_allclose(log_masses, reference, rtol=1e-13, atol=2e-10)


@every_case
def test_log_masses_are_logs_of_masses(cells: CellFamily) -> None:
    mean, var = rows(cells, 500, deviations=(1e-3, 30.0))
    masses, log_masses = cells.masses(mean, var), cells.log_masses(mean, var)
    normal = masses > 1e-290
    np.testing.assert_allclose(log_masses[normal], np.log(masses[normal]), rtol=0, atol=1e-8)
    assert (log_masses[~normal] < -667.0).all()
    assert (log_masses <= 1e-15).all()


@every_case
def test_slopes_equal_differences(cells: CellFamily) -> None:
    mean, var = rows(cells, 200, deviations=(0.02, 2.0))
    deviation = np.sqrt(var)
    by_mean, by_var = cells.mass_slopes(mean, var)
    for got, reference in (
        (by_mean * deviation[:, None], slope(lambda t: cells.masses(mean + t * deviation, var), 0)),
        (by_var * var[:, None], slope(lambda t: cells.masses(mean, var * (1.0 + t)), 0)),
    ):
        largest = np.max(np.abs(reference), axis=1, keepdims=True)
        assert_within(got, reference, 1e-7 * largest + 1e-12)


@every_case
def test_slopes_are_exact(cells: CellFamily) -> None:
    """Each to nine digits of its own, however small beside the others of its row."""
    blocks = [rows(cells, 10, deviations=(1e-3, 2.0)), tails(cells, -1.0), tails(cells, 1.0)]
    mean, var = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    pairs = zip(cells.mass_slopes(mean, var), exact.slope_rows(cells, mean, var), strict=True)
    for (got, reference), unit in zip(pairs, (np.sqrt(var), var), strict=True):
        normal = np.abs(reference) * unit[:, None] > 1e-290
        np.testing.assert_allclose(got[normal], reference[normal], rtol=1e-9, atol=0)
        assert np.max(np.abs((got * unit[:, None])[~normal]), initial=0.0) < 2e-290


@every_case
def test_slopes_sum_to_zero(cells: CellFamily) -> None:
    mean, var = rows(cells, 500, deviations=(1e-4, 1e3))
    for slopes, unit in zip(cells.mass_slopes(mean, var), (np.sqrt(var), var), strict=True):
        total, size = np.sum(slopes, axis=1) * unit, np.sum(np.abs(slopes), axis=1) * unit
        assert_within(total, 0.0, 1e-11 * (1.0 + size))


@every_case
def test_without_variance_a_mass_is_its_weight_at_the_mean(cells: CellFamily) -> None:
    middle, half = middle_and_half(cells)
    mean = middle + half * np.array([-1.7, -0.83, -0.21, 0.013, 0.47, 0.91, 1.2])
    masses = cells.masses(mean, np.full(len(mean), (1e-12 * half) ** 2))
    for k, values in enumerate(np.eye(cells.n_cells)):
        weight = shape(cells).function(cells, values)
        np.testing.assert_allclose(masses[:, k], [weight(f) for f in mean], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("power", [1, 2])
def test_moments_of_hat_masses(power: int) -> None:
    """Σ w_k x_kᵖ is the moment of the interpolant of fᵖ, that is of f itself for p = 1."""
    cells = Hat(Grid.uniform(-2.0, 3.0, 9))
    mean, var = rows(cells, 6, deviations=(0.05, 1.0))
    got = cells.masses(mean, var) @ cells.nodes**power
    for row, (mu, v) in enumerate(zip(mean.tolist(), var.tolist(), strict=True)):
        interpolant = shape(cells).function(cells, cells.nodes**power)
        reference = expectation(interpolant, mu, v, cells.nodes)
        assert got[row] == pytest.approx(reference, rel=1e-10, abs=1e-13)
        if power == 1:
            inside = expectation(lambda f: min(max(f, -2.0), 3.0), mu, v, (-2.0, 3.0))
            assert got[row] == pytest.approx(inside, rel=1e-10, abs=1e-13)


def test_second_moment_of_hats_is_too_large_by_the_cells() -> None:
    """On equal cells Δ ≪ √v the interpolant of f² adds Δ²/6 to v."""
    cells = Hat(Grid.uniform(-10.0, 10.0, 201))
    mean, var = np.array([0.3, -0.4]), np.array([1.0, 0.5])
    masses = cells.masses(mean, var)
    second = masses @ cells.nodes**2 - (masses @ cells.nodes) ** 2
    np.testing.assert_allclose(second, var + cells.finest_width**2 / 6.0, rtol=1e-12)


def test_nodes_span_and_width() -> None:
    grid = Grid(np.array([-1.0, 0.0, 4.0]), "midpoint")
    for cells in (Indicator(grid), Hat(grid)):
        np.testing.assert_array_equal(cells.nodes, [-1.0, -0.5, 2.0, 4.0])
        assert cells.n_cells == 4
        assert cells.span == (-1.0, 4.0)
        assert cells.finest_width == 2.5  # .5 and 2 are half cells at the ends
    np.testing.assert_array_equal(Indicator(Grid(grid.edges)).nodes, [-1.0, 0.0, 4.0, 4.0])
    np.testing.assert_array_equal(Hat(Grid(grid.edges)).nodes, grid.edges)  # each node once
    assert Hat(Grid(np.array([0.4]))).finest_width == np.inf


def test_width_at_a_point() -> None:
    hat = Hat(Grid(np.array([-1.0, 0.0, 4.0, 5.0])))
    points = np.array([-9.0, -0.5, 1.0, 4.5, 70.0])
    np.testing.assert_array_equal(hat.widths_at(points), [1.0, 1.0, 4.0, 1.0, 1.0])
    np.testing.assert_array_equal(Hat(Grid(np.array([0.4]))).widths_at(points), np.zeros(5))


@every_case
def test_stencil_stands_for_the_nodes(cells: CellFamily) -> None:
    points, weights = cells.stencil()
    assert points.shape == (cells.n_cells, len(weights))
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_allclose(points @ weights, cells.nodes, rtol=1e-15, atol=1e-22)


@every_case
def test_refined_halves_the_cells_on_the_same_span(cells: CellFamily) -> None:
    finer = cells.refined()
    assert type(finer) is type(cells)
    np.testing.assert_allclose(finer.span, cells.span, rtol=1e-15)
    if cells.n_cells > 2:
        assert 2 * cells.n_cells - 2 <= finer.n_cells <= 2 * cells.n_cells
        assert np.max(np.diff(finer.nodes)) < 0.8 * np.max(np.diff(cells.nodes))
