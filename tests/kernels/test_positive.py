"""Lengthscales shared, free or shrunk; their priors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from stepgp.kernels import RBF, Linear, LogNormal, Positive
from tests.kernels.cases import rows


def test_shrunk_is_the_formula() -> None:
    kernel = RBF().for_features(3)
    assert kernel.param_names == (
        "log_lengthscale",
        "lengthscale_deviation[0]",
        "lengthscale_deviation[1]",
        "lengthscale_deviation[2]",
        "log_variance",
    )
    moved = kernel.with_params(np.array([0.3, 1.0, -2.0, 0.5, 0.7]))
    np.testing.assert_allclose(
        moved.lengthscale.values, np.exp(0.3 + 0.25 * np.array([1.0, -2.0, 0.5])), rtol=1e-15
    )
    np.testing.assert_allclose(moved.variance.values, math.exp(0.7), rtol=1e-15)


def test_names_of_the_other_kinds() -> None:
    assert RBF(ard=False).for_features(2).param_names == ("log_lengthscale", "log_variance")
    assert RBF(ard=True).for_features(2).param_names == (
        "log_lengthscale[0]",
        "log_lengthscale[1]",
        "log_variance",
    )


@pytest.mark.parametrize("ard", [False, True, "shrunk"])
def test_default_start(ard: bool | str) -> None:
    kernel = RBF(ard=ard).for_features(7)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        kernel.lengthscale.log_values, 0.5 * math.log(7) + 0.5, rtol=0, atol=1e-14
    )
    assert kernel.variance.values == 1.0


def test_default_priors() -> None:
    kernel = RBF().for_features(2).with_params(np.array([0.3, 1.0, -2.0, 0.7]))
    level = norm(0.5 * math.log(2) + 0.7, 1.5).logpdf(0.3)
    deviations = norm(0, 1).logpdf([1.0, -2.0]).sum()
    assert kernel.log_prior() == pytest.approx(level + deviations + norm(0, 1.5).logpdf(0.7))
    free = RBF(ard=True).for_features(2).with_params(np.array([0.3, 1.0, 0.7]))
    each = norm(0.5 * math.log(2) + 0.7, 1.5).logpdf([0.3, 1.0]).sum()
    assert free.log_prior() == pytest.approx(each + norm(0, 1.5).logpdf(0.7))


def test_no_prior_keeps_the_shrinkage() -> None:
    kernel = RBF(Positive(prior=None, ard="shrunk"), Positive(prior=None)).for_features(2)
    moved = kernel.with_params(np.array([9.0, 1.0, 2.0, 9.0]))
    assert moved.log_prior() == pytest.approx(norm(0, 1).logpdf([1.0, 2.0]).sum())
    np.testing.assert_array_equal(moved.log_prior_gradient(), [0.0, -1.0, -2.0, 0.0])


def test_own_prior() -> None:
    kernel = RBF(ard=False, variance=Positive(3.0, prior=LogNormal(0.2, 0.4))).for_features(2)
    lengthscale = norm(0.5 * math.log(2) + 0.7, 1.5).logpdf(kernel.params[0])
    expected = lengthscale + norm(0.2, 0.4).logpdf(math.log(3.0))
    assert kernel.log_prior() == pytest.approx(expected)


def test_fixed_values_are_no_parameters() -> None:
    lengthscale = Positive([1.0, 2.0], ard=True, fixed=True)
    kernel = RBF(lengthscale, 3.0).for_features(2)
    assert kernel.param_names == ("log_variance",)
    moved = kernel.with_params(np.array([0.0]))
    np.testing.assert_allclose(moved.lengthscale.values, [1.0, 2.0], rtol=1e-15)


@pytest.mark.parametrize("ard", [True, "shrunk"])
def test_start_per_feature(ard: bool | str) -> None:
    kernel = RBF(np.array([0.5, 1.0, 4.0]), ard=ard).for_features(3)  # type: ignore[arg-type]
    np.testing.assert_allclose(kernel.lengthscale.values, [0.5, 1.0, 4.0], rtol=1e-15)
    again = kernel.with_params(kernel.params)
    np.testing.assert_allclose(again.lengthscale.values, [0.5, 1.0, 4.0], rtol=1e-14)
    assert np.all(kernel.bounds[:, 0] < kernel.params)


def test_one_feature_has_no_deviation() -> None:
    kernel = RBF().for_features(1)
    assert kernel.param_names == ("log_lengthscale", "log_variance")
    X = rows(5, 1, 1)
    np.testing.assert_array_equal(kernel(X, X), RBF(ard=False)(X, X))


def test_kinds_agree_at_equal_values() -> None:
    X = rows(6, 2)
    isotropic = RBF(1.7, ard=False)(X, X)
    np.testing.assert_allclose(RBF(1.7, ard=True)(X, X), isotropic, rtol=1e-14)
    np.testing.assert_allclose(RBF([1.7, 1.7, 1.7])(X, X), isotropic, rtol=1e-14)


def test_positive_keeps_its_own_sharing() -> None:
    kernel = RBF(Positive(ard="shrunk", tau=0.5), ard=False).for_features(2)
    moved = kernel.with_params(np.array([0.0, 1.0, -1.0, 0.0]))
    np.testing.assert_allclose(moved.lengthscale.log_values, [0.5, -0.5], rtol=1e-15)


def test_linear_is_scaled_by_the_number_of_features() -> None:
    kernel = Linear().for_features(4)
    np.testing.assert_allclose(kernel.diag(np.ones((1, 4))), [1.0], rtol=1e-15)
    assert kernel.log_prior() == pytest.approx(norm(0, 1.5).logpdf(0))


def test_bounds_are_a_factor_of_a_thousand() -> None:
    kernel = RBF(2.0, ard=False).for_features(3)
    np.testing.assert_allclose(np.exp(kernel.bounds), [[2e-3, 2e3], [1e-3, 1e3]], rtol=1e-13)


def test_bounds_of_deviations_are_ten_prior_sd() -> None:
    kernel = RBF([1.0, 2.0]).for_features(2)
    lengthscales = kernel.bounds[:3]
    np.testing.assert_allclose(lengthscales[1:, 1] - kernel.params[1:3], 10.0, rtol=1e-13)
    np.testing.assert_allclose(kernel.params[1:3] - lengthscales[1:, 0], 10.0, rtol=1e-13)


@pytest.mark.parametrize("ard", [False, True, "shrunk"])
def test_a_unit_moves_the_log_values_by_one(ard: bool | str) -> None:
    kernel = RBF(ard=ard).for_features(4)  # type: ignore[arg-type]
    for index, unit in enumerate(kernel.units[:-1]):
        moved = kernel.with_params(kernel.params + unit * np.eye(len(kernel.params))[index])
        step = moved.lengthscale.log_values - kernel.lengthscale.log_values
        assert np.linalg.norm(step) == pytest.approx(1.0, rel=1e-12)
    assert kernel.units[-1] == 1.0


def test_repr_shows_values() -> None:
    assert repr(RBF()) == "RBF(lengthscale=auto, variance=1)"
    assert repr(RBF(1.5, 2.0, ard=False)) == "RBF(lengthscale=1.5, variance=2)"
    resolved = RBF([1.0, 2.0]).for_features(2)
    assert repr(resolved) == "RBF(lengthscale=[1, 2], variance=1)"
