"""The same numbers from every array library, in its own arrays and precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepgp._array.namespace import to_numpy
from stepgp.kernels import Kernel
from tests.kernels.cases import CASES, rows

every_kernel = pytest.mark.parametrize("kernel", CASES.values(), ids=CASES.keys())
every_library = pytest.mark.parametrize("library", ["array_api_strict", "torch"])


@every_kernel
@every_library
@pytest.mark.parametrize("same", [False, True], ids=["A-B", "A-is-B"])
def test_same_numbers(kernel: Kernel, library: str, same: bool) -> None:
    xp: Any = pytest.importorskip(library)
    numpy_A = rows(5, 1)
    numpy_B = numpy_A if same else rows(7, 2)
    adjoint = rows(5, 3, len(numpy_B))
    A = xp.asarray(numpy_A)
    B = A if same else xp.asarray(numpy_B)

    K, pullback = kernel.with_pullback(A, B)
    expected, numpy_pullback = kernel.with_pullback(numpy_A, numpy_B)
    assert type(K) is type(A) and K.dtype == A.dtype
    np.testing.assert_allclose(to_numpy(K), expected, rtol=1e-13, atol=1e-14)
    if same:
        np.testing.assert_array_equal(to_numpy(K), to_numpy(K).T)

    gradient = pullback(xp.asarray(adjoint, copy=True))
    numpy_gradient = numpy_pullback(adjoint.copy())
    assert type(gradient.first) is type(A)
    assert isinstance(gradient.params, np.ndarray) and gradient.params.dtype == np.float64
    np.testing.assert_allclose(gradient.params, numpy_gradient.params, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        to_numpy(gradient.first), numpy_gradient.first, rtol=1e-11, atol=1e-12
    )

    assert type(kernel.diag(A)) is type(A)
    np.testing.assert_allclose(to_numpy(kernel.diag(A)), kernel.diag(numpy_A), rtol=1e-14)
    ones = np.arange(5.0)
    np.testing.assert_allclose(
        kernel.diag_pullback(A, xp.asarray(ones)), kernel.diag_pullback(numpy_A, ones), rtol=1e-13
    )


@every_kernel
@pytest.mark.parametrize("library", ["numpy", "array_api_strict", "torch"])
@pytest.mark.parametrize("same", [False, True], ids=["A-B", "A-is-B"])
def test_single_precision(kernel: Kernel, library: str, same: bool) -> None:
    xp: Any = pytest.importorskip(library)
    numpy_A = rows(5, 4)
    numpy_B = numpy_A if same else rows(7, 5)
    A = xp.asarray(numpy_A, dtype=xp.float32)
    B = A if same else xp.asarray(numpy_B, dtype=xp.float32)
    adjoint = rows(5, 6, len(numpy_B))
    K, pullback = kernel.with_pullback(A, B)
    gradient = pullback(xp.asarray(adjoint, dtype=xp.float32))
    assert K.dtype == kernel.diag(A).dtype == gradient.first.dtype == xp.float32
    assert gradient.params.dtype == np.float64
    expected, exact_pullback = kernel.with_pullback(numpy_A, numpy_B)
    exact = exact_pullback(adjoint.copy())
    for got, want in (
        (K, expected),
        (gradient.first, exact.first),
        (gradient.params, exact.params),
    ):
        scale = np.max(np.abs(want), initial=1e-3)
        np.testing.assert_allclose(to_numpy(got), want, rtol=0, atol=2e-5 * scale)


@every_kernel
@every_library
def test_symmetric_to_the_bit(kernel: Kernel, library: str) -> None:
    """At a size where torch's product of a matrix with its own transpose is not."""
    xp: Any = pytest.importorskip(library)
    X = xp.asarray(rows(33, 7))
    K = to_numpy(kernel(X, X))
    np.testing.assert_array_equal(K, K.T)
