"""Cholesky with escalating jitter, and what it says when nothing helps."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp._array.linalg import (
    NotPositiveDefinite,
    cholesky_lower,
    factorise,
    symmetric,
    triangular_inverse,
)


def positive_definite(size: int) -> np.ndarray:
    root = np.random.default_rng(size).normal(size=(size, size + 3))
    return root @ root.T


@pytest.mark.parametrize("size", [1, 2, 30])
def test_factor(size: int) -> None:
    matrix = positive_definite(size)
    factor = factorise(matrix, jitter=1e-10)
    jittered = matrix + 1e-10 * np.mean(np.diag(matrix)) * np.eye(size)
    assert factor.jitter == 1e-10
    np.testing.assert_allclose(factor.lower @ factor.lower.T, jittered, rtol=1e-13)
    np.testing.assert_allclose(factor.inverse @ factor.lower, np.eye(size), atol=1e-12)
    np.testing.assert_array_equal(np.triu(factor.lower, 1), 0.0)
    np.testing.assert_array_equal(np.triu(factor.inverse, 1), 0.0)
    assert factor.log_determinant == pytest.approx(np.linalg.slogdet(jittered)[1], rel=1e-12)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_jitter_escalates_tenfold_and_is_relative(scale: float) -> None:
    matrix = np.ones((5, 5)) - 3e-8 * np.eye(5)  # its smallest eigenvalue is −3e-8
    factor = factorise(scale * matrix, jitter=1e-10)
    assert factor.jitter == pytest.approx(1e-7)
    assert factorise(scale * matrix, jitter=1e-5).jitter == 1e-5


def test_failure_says_what_to_try() -> None:
    indefinite = np.diag([1.0, -1.0, 3.0])
    with pytest.raises(NotPositiveDefinite, match=r"3 inducing inputs .* of 0.001. Try fewer"):
        factorise(indefinite, jitter=1e-10)
    with pytest.raises(NotPositiveDefinite, match="jitter of 0.1"):
        factorise(indefinite, jitter=1e-10, largest=0.1)
    with pytest.raises(NotPositiveDefinite, match="not finite"):
        factorise(np.array([[1.0, np.nan], [np.nan, 1.0]]), jitter=1e-10)


def test_cholesky_of_an_indefinite_matrix_is_none() -> None:
    assert cholesky_lower(np.diag([1.0, -1.0])) is None
    assert cholesky_lower(np.array([[np.nan]])) is None


def test_inverse_of_a_singular_factor_is_an_error() -> None:
    with pytest.raises(NotPositiveDefinite, match="zero on its diagonal"):
        triangular_inverse(np.array([[1.0, 0.0], [2.0, 0.0]]))


def test_symmetric_part() -> None:
    matrix = np.array([[1.0, 2.0], [4.0, 3.0]])
    np.testing.assert_array_equal(symmetric(matrix), [[1.0, 3.0], [3.0, 3.0]])
