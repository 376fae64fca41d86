"""E log p(y | g(f)) through cells, for all likelihoods, links and cells."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.cells import CellFamily, Grid, Hat, Indicator, concave_bound
from stepgp.likelihoods import Bernoulli
from stepgp.links import CLogLog, Link, Probit, Sigmoid
from stepgp.model import expected_log_prob
from tests.links.helpers import TO_LIBRARY, slope
from tests.model.cases import (
    CELLS,
    MEAN,
    PAIRS,
    VAR,
    Cells,
    Pair,
    arrays,
    coarse,
    every_cells,
    every_pair,
)
from tests.model.references import levels_of, log_probs, own_integrals, true_expectation
from tests.subclasses import concrete_subclasses


def test_all_cells_are_listed() -> None:
    assert {type(coarse(cells)) for cells in CELLS.values()} == concrete_subclasses(CellFamily)


def value(pair: Pair, cells: CellFamily, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    return expected_log_prob(
        pair.likelihood, pair.link, cells, pair.targets, mean, var, exposure=pair.exposure
    ).value


@every_cells
def test_value_is_the_integral_of_the_cells_own_function(cells: Cells) -> None:
    family = coarse(cells)
    for pair, reference in zip(PAIRS, own_integrals(family, PAIRS, MEAN, VAR), strict=True):
        got = value(pair, family, MEAN, VAR)
        np.testing.assert_allclose(got, reference, rtol=1e-10, err_msg=str(pair))


@every_pair
def test_derivatives_are_differences(pair: Pair) -> None:
    """In √v·t for the mean and e^t for the variance: every row moves on its own scale."""
    deviation = np.sqrt(VAR)
    for name, cells in CELLS.items():
        family = coarse(cells)
        expected = expected_log_prob(
            pair.likelihood, pair.link, family, pair.targets, MEAN, VAR, exposure=pair.exposure
        )
        mean_slope, var_slope = expected.d_mean * deviation, expected.d_var * VAR
        by_mean = slope(lambda t, c=family: value(pair, c, MEAN + t * deviation, VAR), 0.0)
        by_var = slope(lambda t, c=family: value(pair, c, MEAN, VAR * np.exp(t)), 0.0)
        table = log_probs(pair, levels_of(family, pair), pair.exposure)
        size = 1e-13 * np.max(np.abs(table), axis=1)  # what rounding leaves of a difference
        for got, reference in ((mean_slope, by_mean), (var_slope, by_var)):
            assert np.all(np.abs(got - reference) <= 1e-7 * np.abs(reference) + size), name


@every_pair
@pytest.mark.parametrize("var", [1e-20, 1e-300])
def test_zero_variance_is_log_prob_at_the_level(pair: Pair, var: float) -> None:
    inner = np.array([2, 4, 5, 7, 8, 9])
    for name, cells in CELLS.items():
        family = coarse(cells)
        # Well inside a cell: the node of a hat, the middle of a step.
        mean = family.nodes[inner]
        if isinstance(family, Indicator):
            mean = 0.5 * (family.grid.edges[1:] + family.grid.edges[:-1])[inner - 1]
        rates = 1.0 if pair.exposure is None else pair.exposure
        reference = pair.likelihood.log_prob(pair.targets, rates * levels_of(family, pair)[inner])
        expected = expected_log_prob(
            pair.likelihood,
            pair.link,
            family,
            pair.targets,
            mean,
            np.full(6, var),
            exposure=pair.exposure,
        )
        # A node is a kink of what hats see: it spreads over √v.
        error = np.abs(expected.value - reference)
        assert np.all(error <= 1e-10 * np.abs(reference) + 1e3 * np.sqrt(var)), name
        assert np.isfinite(expected.d_mean).all(), name
        assert np.isfinite(expected.d_var).all(), name


@every_pair
def test_the_true_link_is_as_near_as_a_finer_grid_says(pair: Pair) -> None:
    """Halving the cells changes the value by at least 2/5 of its error: what a fit reports."""
    mean, var = MEAN * 0.7, np.clip(VAR, 0.01, 0.3)
    reference = true_expectation(pair, mean, var, pair.exposure)
    scale = 1.0 + np.abs(reference)
    for name, cells in CELLS.items():
        family = cells(-7.0, 7.0, 128)
        got, finer = value(pair, family, mean, var), value(pair, family.refined(), mean, var)
        error = np.max(np.abs(got - reference) / scale)
        change = np.max(np.abs(finer - got) / scale)
        assert 0.0 < error <= 2.5 * change + 1e-9, name


@pytest.mark.parametrize("y", [0.0, 1.0])
def test_concave_bound_holds_on_every_row(y: float) -> None:
    """0 ≤ E h − E ĥ ≤ the bound, for a Bernoulli likelihood with sigmoid link."""
    pair = Pair(Bernoulli(), Sigmoid(), np.full(6, y))
    for n_cells in (16, 64):
        hat = Hat(Grid.uniform(-6.0, 6.0, n_cells))
        error = true_expectation(pair, MEAN, VAR, None)
        error -= value(pair, hat, MEAN, VAR)
        bound = concave_bound(hat, MEAN, VAR, curvature=0.25, slope=1.0)
        assert np.all(np.abs(error) <= bound)
        inside = (np.abs(MEAN) + 6.0 * np.sqrt(VAR)) < 6.0
        assert np.all(error[inside] >= -1e-12)


@pytest.mark.parametrize("link", [Sigmoid(), Probit(), CLogLog()], ids=str)
def test_certain_and_wrong_costs_its_full_price(link: Link) -> None:
    """No probability is clamped: with cells as far as 30 the loss is that of the link there."""
    reach = 30.0 if not isinstance(link, CLogLog) else 6.0
    cells = Hat(Grid.uniform(-reach, reach, 4001, "midpoint"))
    y = np.array([1.0, 0.0])
    mean = np.array([-0.9, 0.9]) * reach
    var = np.full(2, 1e-3)
    got = expected_log_prob(Bernoulli(), link, cells, y, mean, var)
    pair = Pair(Bernoulli(), link, y)
    reference = true_expectation(pair, mean, var, None)
    np.testing.assert_allclose(got.value, reference, rtol=1e-4)
    assert np.all(got.value < -5.0)


@pytest.mark.parametrize("pair", [p for p in PAIRS if p.exposure is not None], ids=str)
def test_exposure_multiplies_the_level(pair: Pair) -> None:
    family, exposure = coarse(CELLS["hat"]), pair.exposure
    plain = expected_log_prob(pair.likelihood, pair.link, family, pair.targets, MEAN, VAR)
    with_one = expected_log_prob(
        pair.likelihood, pair.link, family, pair.targets, MEAN, VAR, exposure=np.ones(6)
    )
    np.testing.assert_allclose(with_one.value, plain.value, rtol=1e-14)
    masses = family.masses(MEAN, VAR)
    table = log_probs(pair, levels_of(family, pair), exposure)
    np.testing.assert_allclose(
        value(pair, family, MEAN, VAR), np.sum(masses * table, axis=1), rtol=1e-10
    )
    assert not np.allclose(value(pair, family, MEAN, VAR), plain.value)


@pytest.mark.parametrize("library", [name for name in TO_LIBRARY if name != "numpy"])
@every_cells
def test_libraries_agree(cells: Cells, library: str) -> None:
    family, convert = coarse(cells), TO_LIBRARY[library]
    for pair in PAIRS:
        y, mean, var, exposure = arrays(convert, pair.targets, MEAN, VAR, pair.exposure)
        got = expected_log_prob(pair.likelihood, pair.link, family, y, mean, var, exposure=exposure)
        reference = expected_log_prob(
            pair.likelihood, pair.link, family, pair.targets, MEAN, VAR, exposure=pair.exposure
        )
        size = 1e-13 * np.abs(reference.value) / VAR
        for part in ("value", "d_mean", "d_var"):
            array, numpy_array = getattr(got, part), getattr(reference, part)
            assert type(array) is type(mean)
            difference = np.abs(to_numpy(array) - numpy_array)
            assert np.all(difference <= 1e-12 * np.abs(numpy_array) + size), pair
