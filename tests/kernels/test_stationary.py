"""Distances near and far, and the limits that tie the kernels together."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.kernels import RBF, Kernel, Matern12, Matern32, Matern52, Periodic, RationalQuadratic
from tests.kernels.cases import rows

FAMILIES = [RBF, Matern12, Matern32, Matern52, RationalQuadratic, Periodic]
every_family = pytest.mark.parametrize("kernel", [f() for f in FAMILIES], ids=lambda k: repr(k)[:9])


@every_family
def test_far_from_the_origin(kernel: Kernel) -> None:
    """Years or coordinates as inputs lose no digits to their mean."""
    A, B = rows(6, 1).round(6), rows(7, 2).round(6)
    far_A, far_B = A + 4096.0, B + 4096.0
    kept_A, kept_B = far_A - 4096.0, far_B - 4096.0
    np.testing.assert_allclose(kernel(far_A, far_B), kernel(kept_A, kept_B), rtol=1e-11)
    np.testing.assert_allclose(kernel(far_A, far_A), kernel(kept_A, kept_A), rtol=1e-11)


@every_family
def test_equal_rows_of_different_arrays(kernel: Kernel) -> None:
    """Also where a square root turns a rounding error of 1e-16 into one of 1e-8."""
    for n_features in (1, 3, 30):
        X = 3.0 * rows(40, 3, n_features)
        resolved = kernel.for_features(n_features)
        np.testing.assert_allclose(np.diag(resolved(X, X[:20])), resolved.diag(X[:20]), rtol=1e-12)


@every_family
def test_nearby_rows_of_one_array_keep_their_distance(kernel: Kernel) -> None:
    """Distances that a matrix product cannot resolve: 1e-7 apart, 1000 from the origin."""
    near = 2.0**-24 * np.array([[0.0], [1.0], [3.0]])
    adjoint = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]])
    X = near + 1000.0
    K, pullback = kernel.with_pullback(X, X)
    expected, near_pullback = kernel.with_pullback(near, near)
    np.testing.assert_allclose(K, expected, rtol=1e-15)
    first, near_first = pullback(adjoint.copy()).first, near_pullback(adjoint.copy()).first
    assert np.all(np.abs(near_first) > 0)
    np.testing.assert_allclose(first, near_first, rtol=1e-6)


@every_family
def test_distant_rows_underflow_quietly(kernel: Kernel) -> None:
    A, B = np.array([[0.0], [1.0]]), np.array([[1e5], [-1e7]])
    K, pullback = kernel.with_pullback(A, B)
    gradient = pullback(np.ones((2, 2)))
    for array in (K, gradient.params, gradient.first):
        assert np.all(np.isfinite(array))


def test_matern12_has_no_gradient_at_its_kink() -> None:
    X = np.ones((3, 2))
    for other in (X, X.copy()):
        gradient = Matern12(ard=False).with_pullback(X, other)[1](np.ones((3, 3)))
        np.testing.assert_array_equal(gradient.first, 0.0)
        np.testing.assert_array_equal(gradient.params, [0.0, 9.0])


def test_rational_quadratic_tends_to_rbf() -> None:
    A, B = rows(4, 4), rows(5, 5)
    np.testing.assert_allclose(RationalQuadratic(alpha=1e8)(A, B), RBF()(A, B), rtol=1e-6)


def test_periodic_repeats() -> None:
    A, B = rows(4, 6), rows(5, 7)
    kernel = Periodic(period=[1.0, 2.0, 4.0])
    turns = np.array([3.0, -2.0, 8.0])
    np.testing.assert_allclose(kernel(A + turns, B), kernel(A, B), rtol=1e-12)
    assert np.max(np.abs(kernel(A + 0.5, B) - kernel(A, B))) > 0.1
