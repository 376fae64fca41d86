"""q(u) and its quantities against dense algebra from their definitions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from stepgp._array import to_numpy
from stepgp._array.linalg import Factor, NotPositiveDefinite, factorise
from stepgp.kernels import Matern32
from stepgp.model import LinearMean
from stepgp.model.posterior import (
    VARIANCE_FLOOR,
    Posterior,
    Sites,
    SiteSums,
    divergence,
    marginals,
    posterior_of,
)
from stepgp.model.rowpass import row_pass
from tests.links.helpers import TO_LIBRARY, slope
from tests.model.scenes import SCENES, inputs, kernel_matrix

SCENE = SCENES["bernoulli-cloglog-linear-mean"]
# Well conditioned, so that dense algebra with explicit inverses is a reference.
MODEL = replace(SCENE.model, kernel=Matern32(0.7, 1.4, ard=False).for_features(2))
X = SCENE.block.X
KZZ = kernel_matrix(MODEL)
KZX = MODEL.kernel(MODEL.inducing, X)
M = len(KZZ)
NEW = inputs(9, 11)


def random_sums(seed: int, negative: float = 0.0) -> SiteSums:
    """Λ₁ = K_zx l and Λ₂ = K_zx diag(b) K_xz, a share of b below zero."""
    generator = np.random.default_rng(seed)
    b = generator.uniform(0.1, 1.5, size=len(X))
    b[: int(negative * len(X))] *= -0.05
    return SiteSums(KZX @ generator.normal(size=len(X)), (KZX * b) @ KZX.T)


def jittered(kzz: np.ndarray, jitter: float) -> np.ndarray:
    return kzz + jitter * np.mean(np.diag(kzz)) * np.eye(len(kzz))


def dense(sums: SiteSums, kzz: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of u: S = (K⁻¹ + K⁻¹Λ₂K⁻¹)⁻¹ and S K⁻¹Λ₁."""
    inverse = np.linalg.inv(kzz)
    covariance = np.linalg.inv(inverse + inverse @ sums.quadratic @ inverse)
    return covariance @ inverse @ sums.linear, covariance


def gaussian_kl(
    mean: np.ndarray, covariance: np.ndarray, other_mean: np.ndarray, other: np.ndarray
) -> float:
    """KL(N(mean, covariance) ‖ N(other_mean, other))."""
    inverse = np.linalg.inv(other)
    step = other_mean - mean
    log_dets = np.linalg.slogdet(other)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * float(
        np.trace(inverse @ covariance) + step @ inverse @ step - len(mean) + log_dets
    )


def made(
    seed: int = 1, *, jitter: float = 1e-10, negative: float = 0.0
) -> tuple[Posterior, np.ndarray, np.ndarray, np.ndarray]:
    """A posterior, and K_zz (jitter inside), mean and covariance of u by dense algebra."""
    sums = random_sums(seed, negative)
    q = posterior_of(sums.whitened(factorise(KZZ, jitter=jitter)))
    kzz = jittered(KZZ, jitter)
    return q, kzz, *dense(sums, kzz)


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


# ---- sites


def test_divergence_is_kl_of_two_posteriors() -> None:
    one, _, mean, covariance = made(1)
    two, _, other_mean, other_covariance = made(2, negative=0.2)
    expected = gaussian_kl(mean, covariance, other_mean, other_covariance)
    assert divergence(one, two) == pytest.approx(expected, rel=1e-7)
    assert divergence(one, one) == pytest.approx(0.0, abs=1e-12)
    prior = posterior_of(Sites.none(one.factor))
    assert divergence(one, prior) == pytest.approx(one.kl, rel=1e-10)


def test_sums_add() -> None:
    one, two = random_sums(1), random_sums(2)
    total = one + two
    np.testing.assert_array_equal(total.linear, one.linear + two.linear)
    np.testing.assert_array_equal(total.quadratic, one.quadratic + two.quadratic)


def test_towards_mixes_the_sums() -> None:
    factor = factorise(KZZ, jitter=1e-10)
    one, two = random_sums(1).whitened(factor), random_sums(2).whitened(factor)
    mixed = one.towards(two, 0.3)
    direct = SiteSums(
        0.7 * random_sums(1).linear + 0.3 * random_sums(2).linear,
        0.7 * random_sums(1).quadratic + 0.3 * random_sums(2).quadratic,
    ).whitened(factor)
    np.testing.assert_allclose(mixed.linear, direct.linear, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mixed.quadratic, direct.quadratic, rtol=1e-9, atol=1e-8)
    np.testing.assert_array_equal(one.towards(two, 1.0).linear, two.linear)


def test_moved_to_the_same_place_is_the_identity() -> None:
    factor = factorise(KZZ, jitter=1e-12)
    sites = random_sums(1).whitened(factor)
    same = sites.moved(factor, KZZ)
    scale = np.max(np.abs(sites.quadratic))
    np.testing.assert_allclose(same.linear, sites.linear, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(same.quadratic, sites.quadratic, rtol=1e-7, atol=1e-8 * scale)


def test_moved_is_the_formula() -> None:
    """Λ₁ ← AΛ₁ and Λ₂ ← AΛ₂Aᵀ with A = K_{Z′Z}(θ′) K_ZZ(θ)⁻¹."""
    kernel = MODEL.kernel.with_params(MODEL.kernel.params + 0.2)
    Z = MODEL.inducing[:5] + 0.1
    factor, new_factor = factorise(KZZ, jitter=1e-10), factorise(kernel(Z, Z), jitter=1e-10)
    sums, between = random_sums(1), kernel(Z, MODEL.inducing)
    A = between @ np.linalg.inv(jittered(KZZ, 1e-10))
    expected = SiteSums(A @ sums.linear, A @ sums.quadratic @ A.T).whitened(new_factor)
    got = sums.whitened(factor).moved(new_factor, between)
    assert got.factor is new_factor
    np.testing.assert_allclose(got.linear, expected.linear, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(got.quadratic, expected.quadratic, rtol=1e-7, atol=1e-7)
    np.testing.assert_array_equal(got.quadratic, got.quadratic.T)


def test_moved_there_and_back() -> None:
    """As many inducing inputs elsewhere, same kernel: nothing is lost but rounding."""
    Z = MODEL.inducing + 0.05
    factor = factorise(KZZ, jitter=1e-12)
    there = factorise(MODEL.kernel(Z, Z), jitter=1e-12)
    sites = random_sums(1).whitened(factor)
    moved = sites.moved(there, MODEL.kernel(Z, MODEL.inducing))
    assert not np.allclose(moved.linear, sites.linear, rtol=1e-3)
    q, near = posterior_of(sites), posterior_of(moved)
    args = MODEL.kernel, MODEL.mean_function
    mean, _ = marginals(q, *args, MODEL.inducing, NEW)
    near_mean, _ = marginals(near, *args, Z, NEW)
    np.testing.assert_allclose(near_mean, mean, atol=0.1)


def test_rescaled_is_as_many_times_the_rows() -> None:
    factor = factorise(KZZ, jitter=1e-10)
    one = random_sums(1)
    twice = (one + one).whitened(factor)
    got = one.whitened(factor).rescaled(2.0)
    np.testing.assert_allclose(got.linear, twice.linear, rtol=1e-14)
    np.testing.assert_allclose(got.quadratic, twice.quadratic, rtol=1e-14)


def test_negative_sites_may_leave_no_posterior() -> None:
    factor = factorise(KZZ, jitter=1e-10)
    sites = random_sums(1).whitened(factor)
    with pytest.raises(NotPositiveDefinite, match="precision that is not positive"):
        posterior_of(replace(sites, quadratic=-sites.quadratic - np.eye(M)))
    with pytest.raises(NotPositiveDefinite):
        posterior_of(replace(sites, quadratic=np.full((M, M), np.nan)))


def test_q_of_one_row_is_bayes_rule() -> None:
    """One Gaussian observation of u itself: the product of two normal densities."""
    factor = Factor(np.array([[1.5]]), np.array([[1.0 / 1.5]]), 0.0)
    variance, noise, y = 2.25, 0.4, 0.9
    q = posterior_of(
        SiteSums(np.array([variance * y / noise]), np.array([[variance**2 / noise]])).whitened(
            factor
        )
    )
    mean, covariance = q.inducing_moments()
    grid = np.linspace(-12.0, 12.0, 20_001)
    weight = stats.norm(0.0, np.sqrt(variance)).pdf(grid) * stats.norm(y, np.sqrt(noise)).pdf(grid)
    weight /= weight.sum()
    assert mean[0] == pytest.approx(weight @ grid, rel=1e-9)
    assert covariance[0, 0] == pytest.approx(weight @ (grid - mean[0]) ** 2, rel=1e-9)
