"""Sums of sites: added, mixed, moved to other inducing inputs, and what q(u) they leave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from stepgp._array.linalg import Factor, NotPositiveDefinite, factorise
from stepgp.model.posterior import (
    Sites,
    SiteSums,
    divergence,
    marginals,
    posterior_of,
)
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
    """To more inducing inputs, the old among them: nothing is lost but rounding, either way."""
    Z = np.concatenate([MODEL.inducing, NEW[:3] + 0.3])
    factor = factorise(KZZ, jitter=1e-12)
    there = factorise(MODEL.kernel(Z, Z), jitter=1e-12)
    sites = random_sums(1).whitened(factor)
    moved = sites.moved(there, MODEL.kernel(Z, MODEL.inducing))
    q, same = posterior_of(sites), posterior_of(moved)
    args = MODEL.kernel, MODEL.mean_function
    expected = marginals(q, *args, MODEL.inducing, NEW)
    for got, reference in zip(marginals(same, *args, Z, NEW), expected, strict=True):
        np.testing.assert_allclose(got, reference, rtol=1e-10, atol=1e-10)
    assert same.kl == pytest.approx(q.kl, rel=1e-10)
    back = moved.moved(factor, MODEL.kernel(MODEL.inducing, Z))
    np.testing.assert_allclose(back.linear, sites.linear, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(back.quadratic, sites.quadratic, rtol=1e-9, atol=1e-9)


def test_moved_nearby_loses_little() -> None:
    """As many inducing inputs elsewhere see less of f: ten times nearer, a tenth of the loss."""
    q = posterior_of(random_sums(1).whitened(factorise(KZZ, jitter=1e-12)))
    args = MODEL.kernel, MODEL.mean_function
    expected, _ = marginals(q, *args, MODEL.inducing, NEW)
    losses = []
    for distance in (0.05, 0.005):
        Z = MODEL.inducing + distance
        there = factorise(MODEL.kernel(Z, Z), jitter=1e-12)
        near = posterior_of(q.sites.moved(there, MODEL.kernel(Z, MODEL.inducing)))
        losses.append(np.max(np.abs(marginals(near, *args, Z, NEW)[0] - expected)))
    assert losses[0] < 0.03
    assert 0.05 < losses[1] / losses[0] < 0.2


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
