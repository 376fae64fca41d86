"""Sums, products and the choice of features."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.kernels import (
    RBF,
    ActiveDims,
    Ard,
    Constant,
    Kernel,
    Linear,
    LogNormal,
    Matern32,
    Periodic,
    Polynomial,
    Positive,
    Product,
    Sum,
)
from tests.kernels.cases import rows

A, B = rows(4, 1), rows(5, 2)


@pytest.mark.parametrize("same", [False, True], ids=["A-B", "A-is-B"])
def test_values(same: bool) -> None:
    other = A if same else B
    rbf, linear = RBF()(A, other), Linear()(A, other)
    np.testing.assert_allclose((RBF() + Linear())(A, other), rbf + linear, rtol=1e-15)
    np.testing.assert_allclose((RBF() * Linear())(A, other), rbf * linear, rtol=1e-15)
    np.testing.assert_allclose((RBF() + 2.0)(A, other), rbf + 2, rtol=1e-15)
    np.testing.assert_allclose((2.0 * RBF() * 3)(A, other), 6 * rbf, rtol=1e-15)


def test_flattened() -> None:
    a, b, c = RBF(), Linear(), Matern32()
    assert (a + b) + c == a + (b + c) == Sum((a, b, c)) == Sum((Sum((a, b)), c))
    assert (a * b) * c == a * (b * c) == Product((a, b, c)) == Product((a, Product((b, c))))
    assert (a + b) * c == Product((Sum((a, b)), c))
    assert a * b + c == Sum((Product((a, b)), c))


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)])
def test_numbers_on_either_side(number: float) -> None:
    assert number + RBF() == Sum((Constant(2.0), RBF()))
    assert RBF() + number == Sum((RBF(), Constant(2.0)))
    assert number * RBF() == Product((Constant(2.0), RBF()))
    assert RBF() * number == Product((RBF(), Constant(2.0)))


def test_names_say_whose_parameter() -> None:
    kernel = (RBF(ard=False) + Linear() * 2.0).for_features(3)
    assert kernel.param_names == (
        "RBF0.log_lengthscale",
        "RBF0.log_variance",
        "Product1.Linear0.log_variance",
        "Product1.Constant1.log_variance",
    )


def test_parameters_reach_their_kernel() -> None:
    kernel = (RBF(ard=False) + Linear()).for_features(3)
    moved = kernel.with_params(np.log([3.0, 5.0, 7.0]))
    expected = RBF(3.0, 5.0, ard=False)(A, B) + Linear(7.0)(A, B)
    np.testing.assert_allclose(moved(A, B), expected, rtol=1e-13)


def test_prior_adds_up() -> None:
    one, two = RBF().for_features(3), Linear().for_features(3)
    for kernel in (one + two, one * two):
        assert kernel.log_prior() == pytest.approx(one.log_prior() + two.log_prior())


@pytest.mark.parametrize("same", [False, True], ids=["A-B", "A-is-B"])
def test_active_dims_sees_only_its_features(same: bool) -> None:
    kernel = ActiveDims(RBF(1.5), (2, 0))
    other = A if same else B
    columns = A[:, [2, 0]]
    other_columns = columns if same else B[:, [2, 0]]
    np.testing.assert_array_equal(kernel(A, other), RBF(1.5)(columns, other_columns))
    first = kernel.with_pullback(A, other)[1](np.ones((4, len(other)))).first
    np.testing.assert_array_equal(first[:, 1], 0.0)
    assert np.all(np.abs(first[:, [0, 2]]) > 1e-8)


def test_one_kernel_per_group_of_features() -> None:
    kernel: Kernel = ActiveDims(RBF(), (0,)) * ActiveDims(Matern32(), (1, 2))
    expected = RBF()(A[:, :1], B[:, :1]) * Matern32()(A[:, 1:], B[:, 1:])
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-14)


DEFAULTS = [
    RBF(),
    Periodic(),
    Linear(ard=True),
    Polynomial(3),
    Constant(),
    Matern32() + Linear() + Constant(),
    2.0 * RBF() * Matern32(),
    ActiveDims(RBF() + Linear(), (1,)),
]


@pytest.mark.parametrize("kernel", DEFAULTS, ids=repr)
def test_amplified_is_the_kernel_of_a_larger_function(kernel: Kernel) -> None:
    """factor·k with the same prior density and room on either side; shapes stay."""
    resolved, X = kernel.for_features(2), rows(5, 3, 2)
    moved = resolved.amplified(1e6)
    np.testing.assert_allclose(moved(X, X), 1e6 * resolved(X, X), rtol=1e-12)
    assert moved.log_prior() == pytest.approx(resolved.log_prior(), abs=1e-12)
    np.testing.assert_allclose(
        moved.bounds - moved.params[:, None], resolved.bounds - resolved.params[:, None]
    )
    assert resolved.amplified(1.0) == resolved


def test_what_was_given_fixed_or_fitted_is_not_amplified() -> None:
    given = [
        RBF(variance=1.0),
        RBF(variance=Positive(fixed=True)),
        RBF(variance=Positive(prior=LogNormal(0.0, 1.0))),
        Constant(2.0) * Linear(0.5),
    ]
    fitted = RBF().for_features(2)
    for kernel in (*given, fitted.with_params(fitted.params + 0.1)):
        resolved = kernel.for_features(2)
        assert resolved.amplified(1e6) == resolved
    free = RBF(variance=Positive(prior=None)).for_features(2).amplified(1e6)
    assert free.variance.values == pytest.approx(1e6)


@pytest.mark.parametrize("kernel", DEFAULTS, ids=repr)
def test_shortened_starts_elsewhere_in_the_same_room(kernel: Kernel) -> None:
    resolved = kernel.for_features(2)
    moved = resolved.shortened(np.full(2, 9.0))
    np.testing.assert_array_equal(moved.bounds, resolved.bounds)
    away = resolved.params - moved.params
    is_level = ["log_lengthscale" in name for name in resolved.param_names]
    np.testing.assert_allclose(away, np.where(is_level, np.log(9.0), 0.0), atol=1e-12)
    assert resolved.shortened(np.ones(2)) == resolved


@pytest.mark.parametrize("ard", [False, True, "shrunk"])
def test_every_lengthscale_is_shortened_by_its_own_factor(ard: Ard) -> None:
    """One for all by the largest factor; shrunk ones as far as their deviations reach."""
    resolved = RBF(ard=ard).for_features(3)
    factors = np.array([4.0, 1.0, 2.0])
    ratio = resolved.lengthscale.values / resolved.shortened(factors).lengthscale.values
    np.testing.assert_allclose(ratio, 4.0 if ard is False else factors, rtol=1e-12)
    if ard == "shrunk":
        extreme = resolved.shortened(np.array([1e6, 1.0, 1.0]))
        low, high = extreme.bounds.T
        assert np.all((low < extreme.params) & (extreme.params < high))
        assert extreme.lengthscale.values[0] < 1e-2 * resolved.lengthscale.values[0]


def test_active_dims_shortens_by_the_factors_of_its_features() -> None:
    resolved = ActiveDims(RBF(ard=True), (2, 0)).for_features(3)
    moved = resolved.shortened(np.array([5.0, 7.0, 3.0]))
    both = [kernel.inner.lengthscale.values for kernel in (resolved, moved)]
    np.testing.assert_allclose(both[0] / both[1], [3.0, 5.0])


def test_equal_terms_of_a_sum_start_apart() -> None:
    """At equal parameters their gradients are equal, so they would stay equal for ever."""
    one = RBF().for_features(1)
    first, second, other = (one + RBF() + Matern32()).for_features(1).shortened(np.ones(1)).terms
    assert first == one
    assert second == one.shortened(np.full(1, 9.0))
    assert other == Matern32().for_features(1)


def test_given_lengthscales_are_not_shortened() -> None:
    fitted = RBF().for_features(2)
    given = [RBF(2.0), RBF(Positive(fixed=True)), RBF(Positive(prior=LogNormal(0.0, 1.0)))]
    for kernel in (*given, fitted.with_params(fitted.params + 0.1)):
        resolved = kernel.for_features(2)
        assert resolved.shortened(np.full(2, 9.0)) == resolved
