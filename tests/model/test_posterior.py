"""q(u) and its quantities against dense algebra from their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp._array.linalg import Factor, factorise
from stepgp.model import LinearMean
from stepgp.model.posterior import (
    VARIANCE_FLOOR,
    Sites,
    SiteSums,
    marginals,
    posterior_of,
)
from stepgp.model.rowpass import row_pass
from tests.links.helpers import TO_LIBRARY, slope
from tests.model.dense import (
    KZZ,
    MODEL,
    NEW,
    M,
    gaussian_kl,
    jittered,
    made,
    random_sums,
)
from tests.model.scenes import SCENES, kernel_matrix

each = pytest.mark.parametrize(
    ("jitter", "negative"), [(1e-10, 0.0), (1e-10, 0.2), (1e-3, 0.0)], ids=str
)


@each
def test_moments_and_weights_are_those_of_dense_algebra(jitter: float, negative: float) -> None:
    q, kzz, mean, covariance = made(jitter=jitter, negative=negative)
    inverse = np.linalg.inv(kzz)
    got_mean, got_covariance = q.inducing_moments()
    np.testing.assert_allclose(got_mean, mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(got_covariance, covariance, rtol=1e-7, atol=1e-9)
    scale = np.max(np.abs(inverse))
    np.testing.assert_allclose(q.weights, inverse @ mean, rtol=1e-6, atol=1e-10 * scale)
    reduction = inverse @ (kzz - covariance) @ inverse
    np.testing.assert_allclose(q.reduction, reduction, rtol=1e-5, atol=1e-9 * scale)
    np.testing.assert_array_equal(q.reduction, q.reduction.T)
    assert q.factor.jitter == jitter


@each
def test_whitened_quantities(jitter: float, negative: float) -> None:
    q, kzz, mean, covariance = made(jitter=jitter, negative=negative)
    lower = np.linalg.cholesky(kzz)
    inverse = np.linalg.inv(lower)
    np.testing.assert_allclose(q.whitened_mean, inverse @ mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(q.covariance, inverse @ covariance @ inverse.T, atol=1e-8)
    np.testing.assert_allclose(q.precision, lower.T @ np.linalg.inv(covariance) @ lower, rtol=1e-6)
    log_det = np.linalg.slogdet(q.precision)[1]
    assert q.log_det_precision == pytest.approx(log_det, rel=1e-12)


@each
def test_kl_is_that_of_two_gaussians(jitter: float, negative: float) -> None:
    q, kzz, mean, covariance = made(jitter=jitter, negative=negative)
    assert q.kl == pytest.approx(gaussian_kl(mean, covariance, np.zeros(M), kzz), rel=1e-8)
    assert q.kl > 0.0


def test_kl_of_one_inducing_input_is_the_textbook() -> None:
    factor = Factor(np.array([[2.0]]), np.array([[0.5]]), 0.0)
    q = posterior_of(Sites(np.array([3.0]), np.array([[4.0]]), factor))
    mean, variance = 3.0 / 5.0, 1.0 / 5.0
    assert q.kl == pytest.approx(0.5 * (variance + mean**2 - 1.0 - np.log(variance)), rel=1e-14)
    assert q.inducing_moments()[0][0] == pytest.approx(2.0 * mean, rel=1e-14)


def test_no_data_is_the_prior() -> None:
    q = posterior_of(Sites.none(factorise(KZZ, jitter=1e-10)))
    assert q.kl == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_array_equal(q.weights, np.zeros(M))
    np.testing.assert_array_equal(q.reduction, np.zeros((M, M)))
    mean, var = marginals(q, MODEL.kernel, MODEL.mean_function, MODEL.inducing, NEW)
    np.testing.assert_array_equal(mean, MODEL.mean_function(NEW))
    np.testing.assert_array_equal(var, MODEL.kernel.diag(NEW))


def test_little_data_keeps_its_digits() -> None:
    """W of tiny sites is linear in them: I − B⁻¹ would lose them to rounding."""
    factor = factorise(KZZ, jitter=1e-10)
    sums = random_sums(2)
    whitened = sums.whitened(factor)
    tiny = posterior_of(whitened.rescaled(1e-13))
    linear = factor.inverse.T @ whitened.quadratic @ factor.inverse * 1e-13
    np.testing.assert_allclose(tiny.reduction, linear, rtol=1e-5, atol=1e-9 * np.max(linear))


def test_marginals_are_the_conditional_of_q() -> None:
    q, kzz, mean, covariance = made()
    inverse = np.linalg.inv(kzz)
    kzn = MODEL.kernel(MODEL.inducing, NEW)
    knn = MODEL.kernel(NEW, NEW)
    expected_mean = MODEL.mean_function(NEW) + kzn.T @ inverse @ mean
    expected = knn - kzn.T @ (inverse - inverse @ covariance @ inverse) @ kzn
    got, var = marginals(q, MODEL.kernel, MODEL.mean_function, MODEL.inducing, NEW)
    np.testing.assert_allclose(got, expected_mean, rtol=1e-7)
    np.testing.assert_allclose(var, np.diag(expected), rtol=1e-7)


def test_the_variance_has_a_floor() -> None:
    """Where data leave no variance, rounding must not make it negative."""
    factor = factorise(KZZ, jitter=1e-12)
    q = posterior_of(SiteSums(np.zeros(M), 1e14 * KZZ @ KZZ).whitened(factor))
    _, var = marginals(q, MODEL.kernel, MODEL.mean_function, MODEL.inducing, MODEL.inducing)
    floor = VARIANCE_FLOOR * MODEL.kernel.diag(MODEL.inducing)
    assert np.all(var >= floor)
    assert np.all(var < 1e-6)


@pytest.mark.parametrize("library", [name for name in TO_LIBRARY if name != "numpy"])
def test_marginals_in_every_library(library: str) -> None:
    q, *_ = made()
    convert = TO_LIBRARY[library]
    rows = convert(NEW)
    for mean_function in (MODEL.mean_function, LinearMean(0.1, np.array([1.0, 2.0]))):
        got = marginals(q, MODEL.kernel, mean_function, MODEL.inducing, rows)
        expected = marginals(q, MODEL.kernel, mean_function, MODEL.inducing, NEW)
        for one, other in zip(got, expected, strict=True):
            assert type(one) is type(rows)
            np.testing.assert_allclose(to_numpy(one), other, rtol=1e-10)


# ---- gradient in K_zz


def direction_of(size: int) -> np.ndarray:
    direction = np.random.default_rng(8).normal(size=(size, size))
    return direction + direction.T


every_jitter = pytest.mark.parametrize("jitter", [1e-10, 1e-3])


@every_jitter
@pytest.mark.parametrize("name", ["bernoulli-cloglog-linear-mean", "student", "poisson-exp-cells"])
def test_kzz_adjoint_is_the_gradient_with_whitened_q_held(name: str, jitter: float) -> None:
    """As K_zz moves under K_zx, m and B held: a = L⁻ᵀm and W = L⁻ᵀ(I − B⁻¹)L⁻¹ follow.

    Its root moves without turning, L ← L(I + ½ L⁻¹ dK L⁻ᵀ): a rotation would turn m and B.
    """
    model, block = replace(SCENES[name].model, kernel=MODEL.kernel), SCENES[name].block
    kzz = kernel_matrix(model)
    sites = random_sums(1).whitened(factorise(kzz, jitter=jitter))
    q = posterior_of(sites)
    direction = direction_of(len(kzz))
    inside = jittered(direction, jitter)
    turn_free = 0.5 * sites.factor.inverse @ inside @ sites.factor.inverse.T

    def value(step: float) -> float:
        lower = sites.factor.lower @ (np.eye(len(kzz)) + step * turn_free)
        factor = Factor(lower, np.linalg.inv(lower), jitter)
        return row_pass(model, posterior_of(replace(sites, factor=factor)), block).value

    adjoint = q.kzz_adjoint(row_pass(model, q, block).sites.whitened(sites.factor))
    np.testing.assert_array_equal(adjoint, adjoint.T)
    assert np.sum(adjoint * direction) == pytest.approx(slope(value, 0.0, step=4e-3), rel=1e-6)


@every_jitter
def test_kzz_adjoint_at_a_fixed_point(jitter: float) -> None:
    """Where the rows propose q's own sites, it is −KL's gradient with (a, W) held.

    That is u ~ N(Ka, K − KWK) against N(0, K), as K (jitter inside) moves: E log p knows K_zz
    only through a and W, so this is all of ∂ELBO/∂K_zz at the optimum (envelope theorem).
    """
    q, *_ = made(jitter=jitter)
    direction = direction_of(M)

    def negative_kl(step: float) -> float:
        kzz = jittered(KZZ + step * direction, jitter)
        covariance = kzz - kzz @ q.reduction @ kzz
        return -gaussian_kl(kzz @ q.weights, covariance, np.zeros(M), kzz)

    assert negative_kl(0.0) == pytest.approx(-q.kl, rel=1e-6)
    adjoint = q.kzz_adjoint(q.sites)
    assert np.sum(adjoint * direction) == pytest.approx(slope(negative_kl, 0.0, 1e-4), rel=1e-6)
