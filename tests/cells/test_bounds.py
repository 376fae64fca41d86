"""Theorems 1 and 2 and the bound of hats against quadrature; the grid for a tolerance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepgp.cells import Grid, Hat, cells_for, concave_bound, exp_error, lipschitz_bound
from tests.cells.closeness import assert_within
from tests.cells.quadrature import expectation
from tests.cells.shapes import Function

RULES = ["upper", "midpoint", "average"]
every_rule = pytest.mark.parametrize("rule", RULES)
some_gaps = st.lists(st.floats(0.05, 4.0), min_size=1, max_size=8)
some_mean = st.floats(-6.0, 6.0)
some_deviation = st.floats(0.02, 5.0)


def sigmoid(f: float) -> float:
    return 0.5 * (1.0 + math.tanh(0.5 * f))


def grid_of(gaps: Sequence[float], rule: str) -> Grid:
    return Grid(np.cumsum([-4.0, *gaps]), rule)  # type: ignore[arg-type]


def squared_error(
    link: Function, grid: Grid, mean: float, var: float, *, right: float = 12.0
) -> float:
    """E(g(f) − ĝ(f))² with ĝ the step function of the levels Σ_p weight_p g(point_kp)."""
    points, weights = grid.stencil()
    levels = np.vectorize(link)(points) @ weights

    def square(f: float) -> float:
        return (link(f) - float(levels[np.searchsorted(grid.edges, f, side="right")])) ** 2

    return expectation(square, mean, var, grid.edges.tolist(), reach=(-12.0, right))


@pytest.mark.parametrize(
    ("n_edges", "bound", "error"), [(5, 0.0458, 0.0232), (11, 0.0090, 0.0041), (41, 0.0023, 0.0003)]
)
def test_theorem_1_gives_the_numbers_of_erratum_1(n_edges: int, bound: float, error: float) -> None:
    grid = Grid.uniform(-3.0, 3.0, n_edges + 1, "upper")
    assert float(lipschitz_bound(grid, 0.3, 1.5**2, 0.25)) == pytest.approx(bound, abs=5e-5)
    assert squared_error(sigmoid, grid, 0.3, 1.5**2) == pytest.approx(error, abs=5e-5)


def test_a_fixed_range_leaves_a_floor() -> None:
    """Erratum 2: the bound goes to 0 with K only if the range grows too."""
    fixed = [float(lipschitz_bound(Grid.uniform(-3.0, 3.0, k), 0.3, 1.5**2)) for k in (1000, 4000)]
    assert fixed[1] > 0.9 * fixed[0] > 0.01
    assert float(lipschitz_bound(Grid.uniform(-12.0, 12.0, 4000), 0.3, 1.5**2)) < 1e-4


LIPSCHITZ: dict[str, tuple[Callable[[float, float], float], float]] = {
    "sigmoid": (lambda f, c: sigmoid(f - c), 0.25),
    "softplus": (lambda f, c: float(np.logaddexp(0.0, 2.0 * (f - c))), 2.0),
    "wave": (lambda f, c: math.sin(3.0 * f + c) / 3.0, 1.0),
    "bend": (lambda f, c: math.hypot(f - c, 0.3), 1.0),
    "line": (lambda f, c: -1.5 * f + c, 1.5),
}


@pytest.mark.parametrize("name", LIPSCHITZ)
@given(
    gaps=some_gaps,
    rule=st.sampled_from(RULES),
    mean=some_mean,
    deviation=some_deviation,
    centre=st.floats(-3.0, 3.0),
)
@settings(max_examples=25)
def test_theorem_1_bounds(
    name: str, gaps: list[float], rule: str, mean: float, deviation: float, centre: float
) -> None:
    function, lipschitz = LIPSCHITZ[name]
    grid = grid_of(gaps, rule)
    error = squared_error(lambda f: function(f, centre), grid, mean, deviation**2)
    bound = float(lipschitz_bound(grid, mean, deviation**2, lipschitz))
    assert error <= bound * (1.0 + 1e-9) + 1e-14


@given(
    gaps=some_gaps,
    rule=st.sampled_from(["upper", "midpoint"]),
    mean=some_mean,
    deviation=some_deviation,
    lipschitz=st.floats(0.1, 10.0),
)
@settings(max_examples=40)
def test_theorem_1_is_attained_by_a_line(
    gaps: list[float], rule: str, mean: float, deviation: float, lipschitz: float
) -> None:
    grid = grid_of(gaps, rule)
    error = squared_error(lambda f: lipschitz * f, grid, mean, deviation**2)
    bound = float(lipschitz_bound(grid, mean, deviation**2, lipschitz))
    assert bound == pytest.approx(error, rel=1e-9, abs=1e-13)


@given(gaps=some_gaps, rule=st.sampled_from(RULES), mean=some_mean, deviation=st.floats(0.02, 1.5))
@settings(max_examples=60)
def test_theorem_2_equals_quadrature(
    gaps: list[float], rule: str, mean: float, deviation: float
) -> None:
    grid = grid_of(gaps, rule)
    right = 12.0 + 2.0 * deviation  # e²ᶠ moves the density by 2σ²
    error = squared_error(math.exp, grid, mean, deviation**2, right=right)
    # Three terms of the size of the second moment are taken from each other.
    size = math.exp(2.0 * (mean + deviation**2)) + math.exp(2.0 * grid.edges[0])
    got = float(exp_error(grid, mean, deviation**2))
    assert got == pytest.approx(error, rel=1e-9, abs=1e-13 * size)


@pytest.mark.parametrize("function", [lipschitz_bound, exp_error])
def test_bounds_broadcast_rows(function: Callable[..., np.ndarray]) -> None:
    grid = Grid.uniform(-2.0, 2.0, 9)
    mean, var = np.linspace(-1.0, 1.0, 5), np.array([0.1, 1.0])
    together = function(grid, mean[:, None], var)
    assert together.shape == (5, 2)
    one_by_one = [[float(function(grid, m, v)) for v in var] for m in mean]
    np.testing.assert_allclose(together, one_by_one, rtol=1e-13)
    np.testing.assert_allclose(function(grid, mean, 0.1), together[:, 0], rtol=1e-13)


def log_sigmoid(f: float) -> float:
    return -float(np.logaddexp(0.0, -f))


def hat_error(h: Function, hat: Hat, mean: float, var: float) -> float:
    """E h(f) − E ĥ(f), ĥ the interpolant of h: the mean of the difference itself."""
    values = np.array([h(x) for x in hat.nodes])

    def gap(f: float) -> float:
        return h(f) - float(np.interp(f, hat.nodes, values))

    return expectation(gap, mean, var, hat.nodes.tolist())


@given(gaps=some_gaps, mean=some_mean, deviation=some_deviation)
@settings(max_examples=80)
def test_concave_bound_bounds_log_sigmoid(gaps: list[float], mean: float, deviation: float) -> None:
    hat = Hat(grid_of(gaps, "midpoint"))
    error = hat_error(log_sigmoid, hat, mean, deviation**2)
    bound = float(concave_bound(hat, mean, deviation**2, curvature=0.25, slope=1.0))
    assert abs(error) <= bound * (1.0 + 1e-9) + 1e-14
    if hat.nodes[0] < mean - 12.0 * deviation and mean + 12.0 * deviation < hat.nodes[-1]:
        assert error >= 0.0  # concave: its interpolant lies below


def test_concave_bound_is_an_eighth_where_the_error_is_a_twelfth() -> None:
    """h = −f²/2 has curvature 1 everywhere, and lies above its interpolant by Δ²/12 on average."""
    hat = Hat(Grid.uniform(-20.0, 20.0, 101))
    error = hat_error(lambda f: -0.5 * f * f, hat, 0.3, 4.0)
    bound = concave_bound(hat, np.array([0.3]), 4.0, curvature=1.0, slope=1.0)
    assert error == pytest.approx(hat.finest_width**2 / 12.0, rel=1e-6)
    np.testing.assert_allclose(bound, hat.finest_width**2 / 8.0, rtol=1e-6)


@given(gaps=some_gaps, mean=some_mean, deviation=some_deviation)
@settings(max_examples=40)
def test_concave_bound_beyond_the_span_is_the_mean_distance(
    gaps: list[float], mean: float, deviation: float
) -> None:
    """h = 2|f − its nearest point of the span| has no curvature and slope 2."""
    hat = Hat(grid_of(gaps, "upper"))
    low, high = hat.span
    error = hat_error(lambda f: 2.0 * abs(f - min(max(f, low), high)), hat, mean, deviation**2)
    bound = float(concave_bound(hat, mean, deviation**2, curvature=1e-300, slope=2.0))
    assert bound == pytest.approx(error, rel=1e-9, abs=1e-15)


@every_rule
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-5])
def test_cells_for_is_the_coarsest_that_will_do(tolerance: float, rule: str) -> None:
    mean, var = np.array([-2.0, 0.0, 0.5, 3.0]), np.array([0.3, 1.0, 0.04, 2.0])
    grid = cells_for(tolerance, mean, var, lipschitz=0.25, rule=rule)  # type: ignore[arg-type]
    assert grid.rule == rule
    assert np.max(lipschitz_bound(grid, mean, var, 0.25)) <= tolerance
    errors = [squared_error(sigmoid, grid, *row) for row in zip(mean, var, strict=True)]
    assert max(errors) <= tolerance
    assert math.log2(grid.n_cells).is_integer()
    if grid.n_cells > 8:
        for deviations in (4.0, 6.0, 8.0, 12.0):
            half = Grid.covering(
                mean, var, grid.n_cells // 2, deviations=deviations, rule=grid.rule
            )
            assert np.max(lipschitz_bound(half, mean, var, 0.25)) > tolerance


def test_cells_for_grows_with_the_tolerance() -> None:
    counts = [cells_for(tolerance, 0.0, 1.0).n_cells for tolerance in (1e-2, 1e-4, 1e-6)]
    assert counts[0] >= 8
    # The error is that of h²/12: a hundredth of it needs ten times the cells, or 8 or 16 as 2ᵏ.
    assert 8 * counts[0] <= counts[1] <= 32 * counts[0]
    assert 8 * counts[1] <= counts[2] <= 32 * counts[1]


def test_cells_for_gives_up_with_advice() -> None:
    with pytest.raises(ValueError, match=r"up to 64 cells .* under 1e-09: ask for a larger"):
        cells_for(1e-9, 0.0, 1.0, largest=64)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_constants_are_checked(bad: float) -> None:
    grid = Grid.uniform(-1.0, 1.0, 5)
    with pytest.raises(ValueError, match=f"lipschitz must be positive and finite, got {bad}"):
        lipschitz_bound(grid, 0.0, 1.0, bad)
    with pytest.raises(ValueError, match="tolerance must be positive"):
        cells_for(bad, 0.0, 1.0)
    with pytest.raises(ValueError, match="curvature must be positive"):
        concave_bound(Hat(grid), 0.0, 1.0, curvature=bad, slope=1.0)
    with pytest.raises(ValueError, match="slope must be positive"):
        concave_bound(Hat(grid), 0.0, 1.0, curvature=1.0, slope=bad)


@pytest.mark.parametrize("var", [0.0, -1.0])
def test_variances_are_checked(var: float) -> None:
    grid = Grid.uniform(-1.0, 1.0, 5)
    message = f"var must be positive and finite, got {var} in row"
    for function in (lipschitz_bound, exp_error):
        with pytest.raises(ValueError, match=message):
            function(grid, [0.0, 1.0], [1.0, var])
    with pytest.raises(ValueError, match=message):
        concave_bound(Hat(grid), 0.0, var, curvature=1.0, slope=1.0)


def test_bounds_of_far_rows_do_not_underflow_to_less_than_nothing() -> None:
    grid = Grid.uniform(-1.0, 1.0, 50, "midpoint")
    mean = np.linspace(-1.0, 1.0, 101)
    for var in (1e-12, 1e-6, 1.0):
        assert (lipschitz_bound(grid, mean, var) >= 0.0).all()
        assert (exp_error(grid, mean, var) >= 0.0).all()
    assert_within(lipschitz_bound(grid, grid.nodes[5:8], 1e-12), 1e-12, 1e-14)
