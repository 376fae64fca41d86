"""Masses on the cells near each row only, and which cells those are."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp._array import Array, to_numpy
from stepgp.cells import CellFamily, Grid, Hat, Indicator
from stepgp.cells.windows import near_cells
from tests.links.helpers import TO_LIBRARY

EDGES = np.sort(np.random.default_rng(1).uniform(-6.0, 6.0, 40))
FAMILIES: dict[str, CellFamily] = {
    "hat": Hat(Grid(EDGES)),
    "step": Indicator(Grid(EDGES)),
    "step-midpoint": Indicator(Grid(EDGES, "midpoint")),
}
MEAN = np.array([-7.0, -1.0, 0.3, 2.0, 9.0])
VAR = np.array([0.5, 1e-4, 0.3, 40.0, 2.0])
NEAR = np.array([0, 5, 11, 20, 28])[:, None] + np.arange(12)
each_family = pytest.mark.parametrize("cells", FAMILIES.values(), ids=FAMILIES.keys())


def part(cells: CellFamily, near: np.ndarray) -> CellFamily:
    """The family of these cells alone: the outer two hold all beyond."""
    if isinstance(cells, Hat):
        return Hat(Grid(cells.nodes[near]))
    assert isinstance(cells, Indicator)
    return Indicator(Grid(EDGES[near[:-1]], cells.grid.rule))


@each_family
def test_masses_are_those_of_the_near_cells_alone(cells: CellFamily) -> None:
    masses, logs = cells.masses(MEAN, VAR, NEAR), cells.log_masses(MEAN, VAR, NEAR)
    np.testing.assert_allclose(masses.sum(axis=1), 1.0, rtol=1e-14)
    for row, near in enumerate(NEAR):
        alone = part(cells, near)
        one = MEAN[row : row + 1], VAR[row : row + 1]
        np.testing.assert_allclose(masses[row], alone.masses(*one)[0], rtol=1e-12)
        np.testing.assert_allclose(logs[row], alone.log_masses(*one)[0], rtol=1e-10, atol=1e-12)


@each_family
@pytest.mark.parametrize("library", TO_LIBRARY)
def test_every_library(cells: CellFamily, library: str) -> None:
    convert = TO_LIBRARY[library]
    mean, var = convert(MEAN), convert(VAR)
    groups = near_cells(cells.nodes, mean, var, lambda cells, reach: reach < 0.0)
    for rows, near in groups:
        got = to_numpy(cells.masses(convert(MEAN[rows]), convert(VAR[rows]), near))
        full = cells.masses(MEAN[rows], VAR[rows])
        index = to_numpy(near).astype(int)
        np.testing.assert_allclose(got, np.take_along_axis(full, index, 1), atol=1e-14)


def test_near_is_nine_deviations_and_more_where_it_weighs() -> None:
    nodes = np.linspace(-100.0, 100.0, 4_001)
    mean, var = np.linspace(-20.0, 20.0, 50), np.geomspace(1e-4, 4.0, 50)

    def seen(weighs: object) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.empty(50), np.empty(50)
        for rows, near in near_cells(nodes, mean, var, weighs):
            np.testing.assert_array_equal(np.diff(near, axis=1), 1)
            low[rows], high[rows] = nodes[near[:, 0]], nodes[near[:, -1]]
        return low, high

    low, high = seen(lambda cells, reach: reach < 0.0)
    assert np.all(low <= mean - 9.0 * np.sqrt(var))
    assert np.all(high >= mean + 9.0 * np.sqrt(var))
    assert np.max(high - low) < 100.0

    def up_to_thirty(cells: Array, reach: Array) -> Array:
        return reach < 30.0

    low, high = seen(up_to_thirty)
    assert np.all(low <= np.maximum(mean - 30.0 * np.sqrt(var), -100.0))
    assert np.all(high >= np.minimum(mean + 30.0 * np.sqrt(var), 100.0))
