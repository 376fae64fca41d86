"""Grids: rules, constructors, refinement, and the errors of what is none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

from stepgp._array import to_numpy
from stepgp.cells import Grid
from stepgp.cells.grid import marginal_range
from tests.links.helpers import TO_LIBRARY

EDGES = np.array([-2.0, -0.5, 0.0, 3.0])


def test_nodes_of_the_rules() -> None:
    # The paper: x_k = u_k, and l_K for the last cell.
    np.testing.assert_array_equal(Grid(EDGES).nodes, [-2.0, -0.5, 0.0, 3.0, 3.0])
    middle = [-2.0, -1.25, -0.25, 1.5, 3.0]
    np.testing.assert_array_equal(Grid(EDGES, "midpoint").nodes, middle)
    np.testing.assert_allclose(Grid(EDGES, "average").nodes, middle, rtol=1e-15)


def test_average_rule_is_the_average_over_the_cell() -> None:
    points, weights = Grid(EDGES, "average").stencil()

    def quintic(f: np.ndarray) -> np.ndarray:
        return 1.0 + f - 2.0 * f**2 + 0.3 * f**3 + 0.1 * f**4 - 0.2 * f**5

    levels = quintic(points) @ weights
    inner = [integrate.quad(quintic, low, high)[0] / (high - low) for low, high in pairwise(EDGES)]
    np.testing.assert_allclose(levels[1:-1], inner, rtol=1e-12)
    np.testing.assert_allclose(levels[[0, -1]], quintic(EDGES[[0, -1]]), rtol=1e-14)


def test_uniform() -> None:
    grid = Grid.uniform(-5.0, 5.0, 100)
    assert grid.n_cells == 100
    assert grid.rule == "upper"
    np.testing.assert_allclose(grid.edges, np.linspace(-5.0, 5.0, 99))


@pytest.mark.parametrize("library", TO_LIBRARY)
def test_covering_contains_every_row(library: str) -> None:
    mean, var = np.array([-1.0, 0.5, 2.0]), np.array([4.0, 1e-4, 0.25])
    convert = TO_LIBRARY[library]
    grid = Grid.covering(convert(mean), convert(var), 12)
    assert (grid.edges[0], grid.edges[-1]) == pytest.approx((-13.0, 11.0), rel=1e-15)
    assert (grid.n_cells, grid.rule) == (12, "midpoint")
    narrow = Grid.covering(convert(mean), convert(var), 12, deviations=1.0, rule="upper")
    assert (narrow.edges[0], narrow.edges[-1]) == pytest.approx((-3.0, 2.5), rel=1e-15)
    assert narrow.rule == "upper"
    assert marginal_range(convert(mean), convert(var), deviations=1.0) == (-3.0, 2.5)


@pytest.mark.parametrize("library", TO_LIBRARY)
def test_quantiles_hold_equal_shares(library: str) -> None:
    values = np.random.default_rng(0).exponential(size=10_001)
    grid = Grid.quantiles(TO_LIBRARY[library](values), 11)
    assert grid.n_cells == 11
    counts, _ = np.histogram(values, grid.edges)
    np.testing.assert_allclose(counts, 10_000 / 9, atol=1.5)
    assert (grid.edges[0], grid.edges[-1]) == (values.min(), values.max())


def test_quantiles_merge_ties() -> None:
    grid = Grid.quantiles(np.array([0.0] * 50 + [1.0] * 50 + [5.0]), 20)
    assert set(grid.edges) == {0.0, 1.0, 5.0}


@pytest.mark.parametrize("rule", ["upper", "midpoint", "average"])
def test_refined_cuts_every_bounded_cell_in_two(rule: str) -> None:
    finer = Grid(EDGES, rule).refined()  # type: ignore[arg-type]
    np.testing.assert_array_equal(finer.edges, [-2.0, -1.25, -0.5, -0.25, 0.0, 1.5, 3.0])
    assert finer.rule == rule


def test_edges_become_numpy_doubles() -> None:
    assert Grid([1, 2, 5]).edges.dtype == np.float64  # type: ignore[arg-type]
    assert to_numpy(Grid([1, 2, 5]).edges).tolist() == [1.0, 2.0, 5.0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], r"non-empty list of finite numbers, got shape \(0,\)"),
        ([[0.0, 1.0]], r"got shape \(1, 2\)"),
        (3.0, r"got shape \(\)"),
        ([0.0, np.nan], "finite numbers"),
        ([0.0, np.inf], "finite numbers"),
        ([0.0, 0.0, 1.0], "increase strictly; sort them and drop repeated"),
        ([1.0, 0.0], "increase strictly"),
    ],
)
def test_edges_are_checked(edges: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Grid(np.array(edges))


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match=r"rule must be one of .*'midpoint'.* got 'lower'"):
        Grid(EDGES, "lower")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_cells must be at least 3, got 2"):
        Grid.uniform(0.0, 1.0, 2)
    with pytest.raises(ValueError, match="n_cells must be at least 3, got 2"):
        Grid.quantiles(np.arange(9.0), 2)
    for low, high in ((1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(ValueError, match=f"low must be below high .* got {low} and {high}"):
            Grid.uniform(low, high, 5)


@pytest.mark.parametrize("rule", ["upper", "midpoint", "average"])
def test_extended_adds_cells_of_the_same_width(rule: str) -> None:
    grid = Grid.uniform(-1.0, 2.0, 31, rule)  # type: ignore[arg-type]
    far = grid.extended(-7.35, 40.0)
    assert far.edges[0] <= -7.35 < far.edges[1]
    assert far.edges[-2] < 40.0 <= far.edges[-1]
    np.testing.assert_allclose(np.diff(far.edges), np.diff(grid.edges)[0], rtol=1e-12)
    assert far.rule == rule
    # What one range asks for stands where it stands for another.
    near = grid.extended(-3.0, 5.0)
    shared = np.isin(far.edges, near.edges)
    np.testing.assert_array_equal(far.edges[shared], near.edges)
    assert grid.extended(-1.0, 2.0) is grid
    assert Grid(np.array([0.4])).extended(-3.0, 3.0).n_cells == 2  # one edge has no width


def test_extended_reaches_anywhere_with_few_cells() -> None:
    grid = Grid.uniform(0.0, 1.0, 101).extended(-1e12, 1e300)
    assert grid.edges[0] <= -1e12
    assert grid.edges[-1] >= 1e300
    assert grid.n_cells < 80_000
    assert np.all(np.diff(grid.edges) > 0.0)
    # However far out, a cell is no wider than 1 % of its distance.
    ends = np.maximum(np.abs(grid.edges[1:]), np.abs(grid.edges[:-1]))
    assert np.all(np.diff(grid.edges) <= 0.0101 * (1.0 + ends))
