"""Where the marginals of the rows lie."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest

from stepgp.model.marginals import Spread
from tests.links.helpers import TO_LIBRARY
from tests.model.cases import arrays

GENERATOR = np.random.default_rng(1)
MEAN = GENERATOR.normal(size=40)
VAR = GENERATOR.uniform(0.01, 2.0, 40)
WEIGHT = GENERATOR.integers(1, 4, 40).astype(float)


def test_sums() -> None:
    got = Spread.of(MEAN, VAR, WEIGHT)
    deviation = np.sqrt(VAR)
    assert got.lowest == np.min(MEAN - 6.0 * deviation)
    assert got.highest == np.max(MEAN + 6.0 * deviation)
    assert got.weight == np.sum(WEIGHT)
    assert got.total == pytest.approx(WEIGHT @ MEAN)
    assert got.square == pytest.approx(WEIGHT @ (MEAN**2 + VAR))


def test_spreads_of_parts_add_up() -> None:
    whole = Spread.of(MEAN, VAR, WEIGHT)
    parts = [Spread.of(MEAN[r], VAR[r], WEIGHT[r]) for r in (slice(13), slice(13, None))]
    assert astuple(parts[0] + parts[1]) == pytest.approx(astuple(whole), rel=1e-12)
    assert astuple(parts[1] + parts[0]) == pytest.approx(astuple(whole), rel=1e-12)


def test_the_core_is_that_of_the_mixture_of_all_marginals() -> None:
    draws = np.repeat(MEAN, 1_000) + np.sqrt(np.repeat(VAR, 1_000)) * GENERATOR.normal(size=40_000)
    low, high = Spread.of(MEAN, VAR, np.ones(40)).core(1.5)
    assert 0.5 * (low + high) == pytest.approx(draws.mean(), abs=0.03)
    assert (high - low) / 3.0 == pytest.approx(draws.std(), rel=0.02)


def test_the_core_stays_within_what_rows_see() -> None:
    spread = Spread.of(MEAN, VAR, WEIGHT)
    assert spread.core(1e6) == (spread.lowest, spread.highest)
    one = Spread.of(np.full(3, 1e8), np.full(3, 1e-8), np.ones(3))
    low, high = one.core(4.0)
    assert one.lowest <= low <= high <= one.highest


@pytest.mark.parametrize("library", TO_LIBRARY)
def test_every_library(library: str) -> None:
    got = Spread.of(*arrays(TO_LIBRARY[library], MEAN, VAR, WEIGHT))
    expected = Spread.of(MEAN, VAR, WEIGHT)
    assert astuple(got) == pytest.approx(astuple(expected), rel=1e-12)
    assert all(isinstance(value, float) for value in astuple(got))
