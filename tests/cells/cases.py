"""Every family of cells on every kind of grid, for the conformance tests."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.cells import CellFamily, Grid, Hat, Indicator

FAMILIES = (Indicator, Hat)
GRIDS = {
    "upper": Grid.uniform(-3.0, 3.0, 12),
    "midpoint": Grid.uniform(-1.0, 7.0, 32, "midpoint"),
    "average": Grid.uniform(-9.0, 2.0, 9, "average"),
    "uneven": Grid(np.array([-2.5, -1.1, -1.0, 0.2, 0.25, 3.0, 12.0]), "midpoint"),
    "fine": Grid.uniform(-10.0, 10.0, 128, "midpoint"),
    "tiny": Grid.uniform(-2e-7, 3e-7, 7, "midpoint"),
    "one-edge": Grid(np.array([0.4])),
}
CASES: dict[str, CellFamily] = {
    f"{family.__name__}-{name}": family(grid) for family in FAMILIES for name, grid in GRIDS.items()
}
TAILED = {
    name: CASES[name]
    for name in (
        f"{family.__name__}-{grid}"
        for family in FAMILIES
        for grid in ("upper", "midpoint", "average", "fine", "tiny")
    )
}
"""Those whose span is so long, in cells, that its far end has masses of 10⁻²⁸⁰."""
every_case = pytest.mark.parametrize("cells", CASES.values(), ids=CASES.keys())
every_tailed = pytest.mark.parametrize("cells", TAILED.values(), ids=TAILED.keys())


def middle_and_half(cells: CellFamily) -> tuple[float, float]:
    """The middle of the cells' span and half its length (1 where it is a point)."""
    low, high = cells.span
    return 0.5 * (low + high), 0.5 * (high - low) or 1.0


def rows(
    cells: CellFamily,
    n_rows: int,
    *,
    deviations: tuple[float, float],
    beyond: float = 1.4,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Means within and `beyond` the span, √var log-uniform between multiples of half the span."""
    generator = np.random.default_rng(seed)
    middle, half = middle_and_half(cells)
    mean = middle + beyond * half * generator.uniform(-1.0, 1.0, n_rows)
    low, high = np.log(deviations)
    return mean, (half * np.exp(generator.uniform(low, high, n_rows))) ** 2


def tails(cells: CellFamily, side: float) -> tuple[np.ndarray, np.ndarray]:
    """Means near one end, so that the other end is 35 to 42 deviations away."""
    middle, half = middle_and_half(cells)
    var = (1.97 * half / np.linspace(35.0, 42.0, 8)) ** 2
    return np.full(len(var), middle + side * 0.97 * half), var


def tables(cells: CellFamily) -> np.ndarray:
    """Values on the cells, (R, K): both steep sides, a log-probability, waves, noise, nothing."""
    x = np.linspace(-1.0, 1.0, cells.n_cells)
    noise = np.random.default_rng(1).normal(size=len(x))
    log_sigmoid = -np.logaddexp(0.0, -8.0 * x)
    return np.stack(
        [np.exp(4 * x), np.exp(-4 * x), log_sigmoid, np.sin(9 * x), noise, np.ones_like(x)]
    )
