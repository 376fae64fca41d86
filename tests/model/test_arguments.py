"""What `expected_log_prob` says about arguments that are no rows of its likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.cells import Grid, Hat
from stepgp.likelihoods import Bernoulli, Poisson
from stepgp.links import Exp, Sigmoid
from stepgp.model import expected_log_prob
from tests.links.helpers import TO_LIBRARY

GRID = Grid.uniform(-2.0, 2.0, 9, "midpoint")


@pytest.mark.parametrize("library", TO_LIBRARY)
def test_lists_and_whole_numbers(library: str) -> None:
    convert, cells = TO_LIBRARY[library], Hat(GRID)
    y, mean, var = np.array([0, 1]), np.array([0.3, -1.0]), np.array([0.5, 2.0])
    expected = expected_log_prob(Bernoulli(), Sigmoid(), cells, y.astype(float), mean, var)
    for targets in (convert(y), [0, 1]):
        got = expected_log_prob(Bernoulli(), Sigmoid(), cells, targets, convert(mean), convert(var))
        np.testing.assert_allclose(to_numpy(got.value), expected.value, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"var": [0.5, 0.0]}, "var must be positive and finite, got 0.0 in row 1"),
        ({"mean": 0.3}, r"y, mean, var, exposure must have one shape .* \(2,\), \(\), \(2,\)"),
        ({"y": [1.0, np.nan]}, "y must be finite, got nan in row 1"),
        ({"y": [1.0, -3.0]}, "Target -3.0 in row 1 has no probability under Poisson"),
        ({"exposure": [0.0, 1.0]}, "exposure must be positive and finite, got 0.0 in row 0"),
    ],
)
def test_wrong_arguments(change: dict[str, Any], message: str) -> None:
    given = {"y": [1.0, 2.0], "mean": [0.0, 0.0], "var": [1.0, 1.0], "exposure": [1.0, 1.0]}
    with pytest.raises(ValueError, match=message):
        expected_log_prob(Poisson(), Exp(), Hat(GRID), **{**given, **change})


def test_a_link_onto_other_levels() -> None:
    with pytest.raises(ValueError, match=r"The link Exp\(\) gives levels in .* Bernoulli"):
        expected_log_prob(Bernoulli(), Exp(), Hat(GRID), [1.0], [0.0], [1.0])
