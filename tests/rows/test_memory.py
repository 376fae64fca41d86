"""Rows in memory: blocks, the sum in a fixed tree, the same bits from any number of threads."""

from __future__ import annotations

import time
from dataclasses import astuple, replace

import numpy as np
import pytest

from stepgp.likelihoods import Bernoulli, Gaussian, Poisson, StudentT
from stepgp.links import Exp, Identity, Sigmoid
from stepgp.model.rowpass import RowBlock, RowSums, row_pass
from stepgp.model.rules import ClosedForm
from stepgp.rows import MemoryRows
from stepgp.rows.memory import BLOCK, tree_sum
from tests.links.helpers import TO_LIBRARY
from tests.model.cases import arrays
from tests.model.scenes import Scene, scene

N = 203
SCENES: dict[str, Scene] = {
    "bernoulli": scene(Bernoulli(), Sigmoid(), n_rows=N, weights=True),
    "poisson": scene(Poisson(), Exp(), n_rows=N),
    "gaussian": scene(Gaussian(), Identity(), rule=ClosedForm(), n_rows=N),
    "student": scene(StudentT(), Identity(), n_rows=N, weights=True),
}
every_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())


def rows_of(scene: Scene, **options: int) -> MemoryRows:
    block = scene.block
    return MemoryRows(block.X, block.y, block.weight, block.exposure, **options)


def sums_of(scene: Scene, rows: MemoryRows) -> RowSums:
    return rows.reduce(lambda block: row_pass(scene.model, scene.q, block, gradient=True))


def numbers(sums: RowSums) -> list[np.ndarray]:
    gradient = sums.gradient
    assert gradient is not None
    return [
        np.array([sums.value, *astuple(sums.spread)]),
        sums.sites.linear,
        sums.sites.quadratic,
        gradient.kernel,
        gradient.mean_function,
        gradient.likelihood,
        gradient.inducing,
    ]


# ---- the same sums, however they are made


@every_scene
def test_threads_change_no_bit(scene: Scene) -> None:
    one = sums_of(scene, rows_of(scene, block=16))
    for n_jobs in (2, 3):
        other = sums_of(scene, rows_of(scene, block=16, n_jobs=n_jobs))
        for a, b in zip(numbers(one), numbers(other), strict=True):
            np.testing.assert_array_equal(a, b)


def test_slow_blocks_do_not_change_the_order() -> None:
    """Threads that end in another order than they began."""
    made = SCENES["bernoulli"]

    def uneven(block: RowBlock) -> RowSums:
        time.sleep(0.02 if block.X[0, 0] > 0 else 0.0)
        return row_pass(made.model, made.q, block, gradient=True)

    one = sums_of(made, rows_of(made, block=16))
    other = rows_of(made, block=16, n_jobs=4).reduce(uneven)
    for a, b in zip(numbers(one), numbers(other), strict=True):
        np.testing.assert_array_equal(a, b)


@every_scene
@pytest.mark.parametrize("block", [1, 7, 64, N, BLOCK])
def test_the_size_of_blocks_changes_rounding_only(scene: Scene, block: int) -> None:
    one, other = (
        sums_of(scene, rows_of(scene, block=16)),
        sums_of(scene, rows_of(scene, block=block)),
    )
    for a, b in zip(numbers(one), numbers(other), strict=True):
        scale = np.max(np.abs(b), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11 * scale)


@pytest.mark.parametrize("library", TO_LIBRARY)
@every_scene
def test_every_library(scene: Scene, library: str) -> None:
    block = scene.block
    columns = arrays(TO_LIBRARY[library], block.X, block.y, block.weight, block.exposure)
    rows = MemoryRows(*columns, block=16, n_jobs=2)
    assert rows.total_weight == pytest.approx(rows_of(scene).total_weight, rel=1e-15)
    assert isinstance(rows.total_weight, float)
    expected = numbers(sums_of(scene, rows_of(scene, block=16)))
    for a, b in zip(numbers(sums_of(scene, rows)), expected, strict=True):
        scale = np.max(np.abs(b), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11 * scale)


def test_a_failure_in_a_thread_is_raised() -> None:
    def broken(block: RowBlock) -> RowSums:
        raise ArithmeticError("broken block")

    for n_jobs in (1, 2):
        with pytest.raises(ArithmeticError, match="broken block"):
            rows_of(SCENES["poisson"], block=16, n_jobs=n_jobs).reduce(broken)


# ---- blocks


def test_blocks_are_consecutive_rows() -> None:
    made = SCENES["student"]
    assert made.block.exposure is None
    rows = replace(rows_of(made, block=50), exposure=np.arange(1.0, N + 1.0))
    blocks = list(rows.blocks())
    assert [len(block.y) for block in blocks] == [50, 50, 50, 50, 3]
    for name in ("X", "y", "weight", "exposure"):
        joined = np.concatenate([getattr(block, name) for block in blocks])
        np.testing.assert_array_equal(joined, getattr(rows, name))


def test_what_is_not_given_stays_none() -> None:
    made = SCENES["gaussian"]
    for block in rows_of(made, block=50).blocks():
        assert block.weight is None
        assert block.exposure is None
    assert rows_of(made).head(5).weight is None


def test_length_and_weight() -> None:
    made = SCENES["student"]
    rows = rows_of(made)
    assert len(rows) == N
    assert rows.total_weight == np.sum(made.block.weight)
    assert rows_of(SCENES["gaussian"]).total_weight == float(N)


def test_head() -> None:
    made = SCENES["student"]
    rows = rows_of(made, block=16, n_jobs=2)
    head = rows.head(40)
    assert (len(head), head.block, head.n_jobs) == (40, 16, 2)
    np.testing.assert_array_equal(head.X, made.block.X[:40])
    np.testing.assert_array_equal(head.weight, made.block.weight[:40])
    assert len(rows.head(10 * N)) == N


# ---- the tree


class Name:
    """A term that remembers how it was added."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: Name) -> Name:
        return Name(f"({self.text}{other.text})")


@pytest.mark.parametrize(
    ("n_terms", "shape"),
    [
        (1, "a"),
        (2, "(ab)"),
        (3, "((ab)c)"),
        (4, "((ab)(cd))"),
        (5, "(((ab)(cd))e)"),
        (6, "(((ab)(cd))(ef))"),
        (7, "(((ab)(cd))((ef)g))"),
        (8, "(((ab)(cd))((ef)(gh)))"),
    ],
)
def test_the_tree_depends_on_the_number_of_terms_only(n_terms: int, shape: str) -> None:
    terms = map(Name, "abcdefgh"[:n_terms])
    assert tree_sum(terms).text == shape  # type: ignore[arg-type, attr-defined]


def test_the_tree_rounds_less_than_a_chain() -> None:
    values = np.full(4096, np.float32(0.1))
    total = tree_sum(values)  # type: ignore[arg-type]
    chain = np.float32(0.0)
    for value in values:
        chain += value
    assert abs(float(total) - 409.6) < 0.02 * abs(float(chain) - 409.6) + 1e-4


def test_no_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="no rows"):
        tree_sum([])
    empty = MemoryRows(np.zeros((0, 2)), np.zeros(0))
    with pytest.raises(ValueError, match="no rows"):
        empty.reduce(lambda block: pytest.fail("no block to see"))
