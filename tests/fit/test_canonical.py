"""Canonical rows: weights equal repeats, and the order of rows does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from stepgp.fit.canonical import CanonicalRows, canonical

X = np.array([[2.0, 1.0], [1.0, 5.0], [2.0, 1.0], [1.0, 4.0], [2.0, 1.0], [0.0, 9.0]])
Y = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
EXPOSURE = np.array([1.0, 2.0, 3.0, 2.0, 1.0, 1.0])


def assert_same(one: CanonicalRows, other: CanonicalRows) -> None:
    for name in ("X", "y", "weight", "exposure"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        if a is not None:
            np.testing.assert_array_equal(a, b, err_msg=name)


def test_copies_are_merged_and_rows_sorted() -> None:
    rows = canonical(X, Y, None, None)
    np.testing.assert_array_equal(
        rows.X, [[0.0, 9.0], [1.0, 4.0], [1.0, 5.0], [2.0, 1.0], [2.0, 1.0]]
    )
    np.testing.assert_array_equal(rows.y, [1.0, 0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(rows.weight, [1.0, 1.0, 1.0, 1.0, 2.0])
    assert rows.merged == 1
    assert rows.exposure is None


def test_rows_with_another_exposure_stay_apart() -> None:
    rows = canonical(X, Y, None, EXPOSURE)
    assert rows.merged == 0
    assert rows.weight is None
    assert len(rows.y) == 6
    np.testing.assert_array_equal(rows.exposure, [1.0, 2.0, 2.0, 1.0, 1.0, 3.0])


def test_weights_of_copies_add_up() -> None:
    rows = canonical(X, Y, np.array([1.0, 1.0, 2.5, 1.0, 1.0, 1.0]), None)
    np.testing.assert_array_equal(rows.weight, [1.0, 1.0, 1.0, 1.0, 3.5])


def test_zero_weights_are_dropped() -> None:
    weight = np.array([1.0, 0.0, 1.0, 2.0, 0.0, 1.0])
    kept = weight > 0
    assert_same(
        canonical(X, Y, weight, EXPOSURE), canonical(X[kept], Y[kept], weight[kept], EXPOSURE[kept])
    )
    assert not np.any(canonical(X, Y, weight, None).X == 5.0)


def test_weights_of_one_are_none() -> None:
    assert canonical(X, Y, np.ones(6), EXPOSURE).weight is None
    assert canonical(X[:2], Y[:2], None, None).weight is None
    assert canonical(X, Y, np.full(6, 0.5), EXPOSURE).weight is not None
    halves = canonical(X[[0, 0]], Y[[0, 0]], np.full(2, 0.5), None)
    assert halves.weight is None  # two halves are one row


def test_the_input_stays_as_it_is() -> None:
    kept = X.copy(), Y.copy(), EXPOSURE.copy()
    rows = canonical(X, Y, None, EXPOSURE)
    rows.X[:] = rows.y[:] = rows.exposure[:] = -1.0
    for array, before in zip((X, Y, EXPOSURE), kept, strict=True):
        np.testing.assert_array_equal(array, before)


def test_arrays_are_contiguous_floats() -> None:
    rows = canonical(np.asfortranarray(X), Y, None, EXPOSURE)
    for array in (rows.X, rows.y, rows.exposure):
        assert array.flags.c_contiguous
        assert array.dtype == np.float64


tables = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.just(4)),
    elements=st.sampled_from([-1.5, 0.0, 2.0]),
)


@given(table=tables, seed=st.integers(0, 99))
def test_order_does_not_matter(table: np.ndarray, seed: int) -> None:
    X, y, exposure = table[:, :2], table[:, 2], table[:, 3]
    order = np.random.default_rng(seed).permutation(len(table))
    assert_same(
        canonical(X, y, None, exposure), canonical(X[order], y[order], None, exposure[order])
    )


@given(table=tables, seed=st.integers(0, 99))
def test_weights_are_repeats(table: np.ndarray, seed: int) -> None:
    X, y, exposure = table[:, :2], table[:, 2], table[:, 3]
    count = np.random.default_rng(seed).integers(0, 4, len(table))
    if not count.any():
        return
    weighted = canonical(X, y, count.astype(float), exposure)
    many = (np.repeat(a, count, axis=0) for a in (X, y))
    repeated = canonical(*many, None, np.repeat(exposure, count))
    assert_same(weighted, repeated)


@given(table=tables)
def test_nothing_is_lost(table: np.ndarray) -> None:
    rows = canonical(table[:, :2], table[:, 2], None, table[:, 3])
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    assert weight.sum() == len(table)
    assert len(rows.y) + rows.merged == len(table)
    joined = np.column_stack([rows.X, rows.y, rows.exposure])
    assert len(np.unique(joined, axis=0)) == len(joined)
    np.testing.assert_allclose(weight @ joined, table.sum(axis=0))


@pytest.mark.parametrize("with_ties", [False, True])
def test_sorted_whether_or_not_the_first_column_decides(with_ties: bool) -> None:
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(200, 3))
    if with_ties:
        rows[:, 0] = np.round(rows[:, 0])
    got = canonical(rows, np.zeros(200), None, None).X
    np.testing.assert_array_equal(got, rows[np.lexsort(rows.T[::-1])])
