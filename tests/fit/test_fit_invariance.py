"""What a fit does not depend on: threads, repeats for weights, order, array library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepgp.fit.canonical import canonical
from stepgp.fit.objective import parameters_of
from stepgp.rows import MemoryRows
from tests.fit.models import every_model, fitted, problem, some_models
from tests.links.helpers import TO_LIBRARY
from tests.model.cases import arrays


@some_models
def test_the_same_bits_again(name: str) -> None:
    one, two = fitted(name), fitted(name)
    assert one.objective == two.objective
    np.testing.assert_array_equal(parameters_of(one.model), parameters_of(two.model))
    np.testing.assert_array_equal(one.q.weights, two.q.weights)


@some_models
def test_threads_change_no_bit(name: str) -> None:
    rows, *_ = problem(name)
    one, two = (fitted(name, replace(rows, block=32, n_jobs=n)) for n in (1, 2))
    assert one.objective == two.objective
    np.testing.assert_array_equal(parameters_of(one.model), parameters_of(two.model))


@every_model
def test_integer_weights_are_repeats(name: str) -> None:
    """Through canonical rows; to the bit."""
    rows, *_ = problem(name, n_rows=60)
    count = np.random.default_rng(3).integers(0, 4, len(rows))
    exposure = rows.exposure
    weighted = canonical(rows.X, rows.y, count.astype(float), exposure)
    repeated = canonical(
        np.repeat(rows.X, count, axis=0),
        np.repeat(rows.y, count),
        None,
        None if exposure is None else np.repeat(exposure, count),
    )
    one, two = (
        fitted(name, MemoryRows(r.X, r.y, r.weight, r.exposure)) for r in (weighted, repeated)
    )
    assert one.objective == pytest.approx(two.objective, rel=1e-8)
    np.testing.assert_allclose(parameters_of(one.model), parameters_of(two.model), rtol=1e-8)


@pytest.mark.parametrize("name", ["bernoulli-sigmoid", "gaussian"])
def test_weights_without_canonical_rows(name: str) -> None:
    """Merged or not, and whatever the order: one maximum, as far as the tolerance tells.

    Rounding differs, so do the iterates, and each fit stops where a tenth of the tolerance is not
    to be had any more: with the default of 1e-4 the two ends are up to 8e-4 apart.
    """
    rows, *_ = problem(name, n_rows=60)
    count = np.random.default_rng(3).integers(1, 4, len(rows))
    index = np.random.default_rng(4).permutation(np.repeat(np.arange(60), count))
    Z = rows.X[:12].copy()
    weighted = fitted(name, replace(rows, weight=count.astype(float)), inducing=Z, tolerance=1e-6)
    copies = MemoryRows(rows.X[index], rows.y[index])
    repeated = fitted(name, copies, inducing=Z, tolerance=1e-6)
    assert weighted.objective == pytest.approx(repeated.objective, abs=2e-6)


@pytest.mark.parametrize("library", [name for name in TO_LIBRARY if name != "numpy"])
@some_models
def test_every_library(name: str, library: str) -> None:
    """A whole fit on rows of another library: rounding differs, the end hardly."""
    rows, *_ = problem(name)
    X, y, exposure = arrays(TO_LIBRARY[library], rows.X, rows.y, rows.exposure)
    got = fitted(name, MemoryRows(X, y, None, exposure))
    expected = fitted(name)
    assert got.objective == pytest.approx(expected.objective, abs=1e-4)
    assert isinstance(got.model.inducing, np.ndarray)
