"""What holds for every kernel."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from stepgp.kernels import Kernel
from stepgp.kernels.parametrised import Parametrised
from tests.kernels.cases import CASES, N_FEATURES, UNRESOLVED, rows
from tests.kernels.differences import assert_gradient, richardson
from tests.subclasses import concrete_subclasses

every_kernel = pytest.mark.parametrize("kernel", CASES.values(), ids=CASES.keys())
every_start = pytest.mark.parametrize("kernel", UNRESOLVED.values(), ids=UNRESOLVED.keys())


def classes_in(kernel: Parametrised) -> set[type]:
    parts = getattr(kernel, "parts", ())
    return {type(kernel)}.union(*(classes_in(part) for part in parts))


def test_no_kernel_is_missing() -> None:
    listed = set().union(*(classes_in(kernel) for kernel in CASES.values()))
    assert concrete_subclasses(Kernel) <= listed, "add the new kernel to tests/kernels/cases.py"


def test_every_kernel_is_public() -> None:
    import stepgp.kernels

    assert {cls.__name__ for cls in concrete_subclasses(Kernel)} <= set(stepgp.kernels.__all__)


@pytest.mark.parametrize(
    "cls", sorted(concrete_subclasses(Parametrised), key=lambda cls: cls.__name__)
)
def test_concrete_classes_are_final(cls: type) -> None:
    assert cls.__subclasses__() == [] and getattr(cls, "__final__", False)


# ---- values


@every_kernel
def test_symmetric_to_the_bit_and_psd(kernel: Kernel) -> None:
    X = np.concatenate([rows(12, 1), rows(12, 1)[:2]])  # with repeated rows
    K = kernel(X, X)
    np.testing.assert_array_equal(K, K.T)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] >= -1e-13 * eigenvalues[-1]


@every_kernel
def test_diag_is_the_diagonal(kernel: Kernel) -> None:
    X = rows(9, 2)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X, X)), rtol=4e-15)


@every_kernel
def test_same_object_and_equal_copy_agree(kernel: Kernel) -> None:
    X = rows(15, 3)
    np.testing.assert_allclose(kernel(X, X.copy()), kernel(X, X), rtol=1e-13, atol=1e-14)


@every_kernel
def test_arguments_swap(kernel: Kernel) -> None:
    A, B = rows(4, 4), rows(7, 5)
    np.testing.assert_allclose(kernel(A, B), kernel(B, A).T, rtol=1e-13, atol=1e-14)


@every_kernel
def test_inputs_stay_as_they_are(kernel: Kernel) -> None:
    A, B, adjoint = rows(4, 4), rows(7, 5), rows(4, 6, 7)
    before = A.copy(), B.copy()
    _, pullback = kernel.with_pullback(A, B)
    pullback(adjoint)
    np.testing.assert_array_equal(A, before[0])
    np.testing.assert_array_equal(B, before[1])


# ---- gradients


@every_kernel
@pytest.mark.parametrize("same", [False, True], ids=["A-B", "A-is-B"])
def test_pullback_is_the_gradient(kernel: Kernel, same: bool) -> None:
    A = rows(5, 7)
    B = A if same else rows(6, 8)
    adjoint = rows(5, 9, len(B))  # no symmetry in it
    K, pullback = kernel.with_pullback(A, B)
    np.testing.assert_array_equal(K, kernel(A, B))
    gradient = pullback(adjoint.copy())

    def of_params(params: np.ndarray) -> float:
        return float(np.sum(adjoint * kernel.with_params(params)(A, B)))

    def of_first(first: np.ndarray) -> float:
        return float(np.sum(adjoint * kernel(first, first if same else B)))

    assert_gradient(gradient.params, richardson(of_params, kernel.params))
    assert_gradient(gradient.first, richardson(of_first, A))


@every_kernel
def test_first_doubles_by_symmetry(kernel: Kernel) -> None:
    A, adjoint = rows(5, 10), rows(5, 11, 5)
    adjoint += adjoint.T
    np.fill_diagonal(adjoint, 0.0)  # copies are no kink of Matern12 only off the diagonal
    within = kernel.with_pullback(A, A)[1](adjoint.copy())
    between = kernel.with_pullback(A, A.copy())[1](adjoint.copy())
    np.testing.assert_allclose(within.first, 2 * between.first, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(within.params, between.params, rtol=1e-10, atol=1e-12)


@every_kernel
@pytest.mark.parametrize("same", [False, True], ids=["A-B", "A-is-B"])
def test_pullback_may_be_called_again(kernel: Kernel, same: bool) -> None:
    A = rows(4, 12)
    B = A if same else rows(5, 13)
    adjoint = rows(4, 14, len(B))
    K, pullback = kernel.with_pullback(A, B)
    before = K.copy()
    one, two = pullback(adjoint.copy()), pullback(adjoint.copy())
    np.testing.assert_array_equal(K, before)
    np.testing.assert_array_equal(one.params, two.params)
    np.testing.assert_array_equal(one.first, two.first)


@every_kernel
def test_diag_pullback_is_the_gradient(kernel: Kernel) -> None:
    X = rows(6, 15)
    adjoint = np.random.default_rng(16).normal(size=6)
    kept = adjoint.copy()

    def of_params(params: np.ndarray) -> float:
        return float(adjoint @ kernel.with_params(params).diag(X))

    assert_gradient(kernel.diag_pullback(X, adjoint), richardson(of_params, kernel.params))
    np.testing.assert_array_equal(adjoint, kept)


@every_kernel
def test_coincident_rows_have_finite_gradients(kernel: Kernel) -> None:
    A = rows(4, 17)
    B = np.concatenate([A[1:], A[:1] + 1e-300, A[:2]])
    for other in (A, B):
        gradient = kernel.with_pullback(A, other)[1](np.ones((4, len(other))))
        assert np.all(np.isfinite(gradient.params)) and np.all(np.isfinite(gradient.first))
        assert np.max(np.abs(gradient.first)) < 1e3


# ---- parameters and priors


@every_kernel
def test_prior_gradient(kernel: Kernel) -> None:
    def of_params(params: np.ndarray) -> float:
        return kernel.with_params(params).log_prior()

    assert_gradient(kernel.log_prior_gradient(), richardson(of_params, kernel.params), 1e-9)


@every_kernel
def test_params_round_trip(kernel: Kernel) -> None:
    params = kernel.params + np.linspace(-1, 1, len(kernel.params))
    moved = kernel.with_params(params)
    np.testing.assert_array_equal(moved.params, params)
    assert moved.with_params(kernel.params) == kernel
    if len(params):
        assert moved != kernel
    assert kernel.params.dtype == np.float64


@every_kernel
def test_names_and_bounds_belong_to_params(kernel: Kernel) -> None:
    assert len(kernel.param_names) == len(set(kernel.param_names)) == len(kernel.params)
    assert kernel.bounds.shape == (len(kernel.params), 2)
    assert np.all(kernel.bounds[:, 0] < kernel.params)
    assert np.all(kernel.params < kernel.bounds[:, 1])
    np.testing.assert_array_equal(kernel.with_params(kernel.params + 1).bounds, kernel.bounds)


@every_start
def test_for_features_is_idempotent(kernel: Kernel) -> None:
    resolved = kernel.for_features(N_FEATURES)
    assert resolved.for_features(N_FEATURES) == resolved
    moved = resolved.with_params(resolved.params + 0.1)
    assert moved.for_features(N_FEATURES) == moved
    A, B = rows(3, 18), rows(4, 19)
    np.testing.assert_array_equal(kernel(A, B), resolved(A, B))  # resolved on the fly


@every_kernel
def test_wrong_number_of_parameters(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="expected"):
        kernel.with_params(np.zeros(len(kernel.params) + 1))


@every_kernel
def test_copies(kernel: Kernel) -> None:
    for other in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert other == kernel and hash(other) == hash(kernel)
    assert repr(kernel).startswith(type(kernel).__name__)
