"""Theorem 3: several independent latents, as one sum over all combinations of cells."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from stepgp.cells import Grid, Hat, Indicator, expect_several
from tests.links.helpers import TO_LIBRARY

MEAN = np.array([-1.0, 0.2, 2.0])
CELLS = (
    Indicator(Grid.uniform(-2.0, 2.0, 5)),
    Hat(Grid.uniform(-3.0, 1.0, 7, "midpoint")),
    Indicator(Grid(np.array([0.1, 0.5]))),
)
LEVELS = tuple(np.exp(0.3 * cells.nodes) for cells in CELLS)
MASSES = tuple(cells.masses(MEAN + i, np.full(3, 0.5 + i)) for i, cells in enumerate(CELLS))


def combine(*levels: float) -> float:
    """A function that treats its arguments differently."""
    return sum((1.0 + i) * level**2 for i, level in enumerate(levels)) * math.sin(sum(levels))


def combine_arrays(*levels: np.ndarray) -> np.ndarray:
    total = sum(levels[1:], start=levels[0])
    return sum((1.0 + i) * level**2 for i, level in enumerate(levels)) * np.sin(total)


@pytest.mark.parametrize("library", TO_LIBRARY)
@pytest.mark.parametrize("latents", [1, 2, 3])
def test_equals_nested_sums(latents: int, library: str) -> None:
    levels, masses = LEVELS[:latents], MASSES[:latents]
    expected = []
    for row in range(len(MEAN)):
        total = 0.0
        for cells in itertools.product(*(range(len(level)) for level in levels)):
            weight = math.prod(masses[c][row, k] for c, k in enumerate(cells))
            total += weight * combine(*(float(levels[c][k]) for c, k in enumerate(cells)))
        expected.append(total)
    got = expect_several(combine_arrays, levels, [TO_LIBRARY[library](m) for m in masses])
    assert got.shape == (3,)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_a_product_is_the_product_of_expectations() -> None:
    got = expect_several(lambda a, b, c: a * b * c, LEVELS, MASSES)
    one_by_one = [mass @ level for mass, level in zip(MASSES, LEVELS, strict=True)]
    np.testing.assert_allclose(got, math.prod(one_by_one), rtol=1e-13)


def test_a_function_of_fewer_latents_broadcasts() -> None:
    np.testing.assert_allclose(
        expect_several(lambda a, b: b, LEVELS[:2], MASSES[:2]), MASSES[1] @ LEVELS[1]
    )
    np.testing.assert_allclose(expect_several(lambda a, b: 3.0, LEVELS[:2], MASSES[:2]), 3.0)


def test_the_function_is_called_once() -> None:
    calls = []

    def count(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        calls.append(np.broadcast_shapes(a.shape, b.shape))
        return a + b

    expect_several(count, LEVELS[:2], MASSES[:2])
    assert calls == [(len(LEVELS[0]), len(LEVELS[1]))]


def test_too_many_combinations_are_refused() -> None:
    def equal(cells: int) -> np.ndarray:
        return np.full((1, cells), 1.0 / cells)

    levels = [np.ones(100), np.ones(1000)]
    masses = [equal(100), equal(1000)]
    assert float(expect_several(lambda a, b: a * b, levels, masses)[0]) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"2 latents with \[100, 1001\] cells make 100100 comb"):
        expect_several(lambda a, b: a * b, [np.ones(100), np.ones(1001)], [equal(100), equal(1001)])
