"""Where inducing inputs start."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from sklearn.cluster import KMeans

from stepgp._array import Floats
from stepgp.kernels import RBF, Linear, Matern32
from stepgp.model.inducing import InducingMethod, choose_inducing, greedy_variance, kmeans

METHODS: tuple[InducingMethod, ...] = get_args(InducingMethod)
every_method = pytest.mark.parametrize("method", METHODS)
KERNEL = Matern32(0.8, 1.3, ard=False).for_features(2)
X = np.random.default_rng(1).normal(size=(60, 2))


def chosen(
    X: Floats, n: int, method: InducingMethod, weight: Floats | None = None, seed: int = 0
) -> Floats:
    return choose_inducing(
        X, weight, n, method=method, kernel=KERNEL, generator=np.random.default_rng(seed)
    )


def test_methods() -> None:
    assert set(METHODS) == {"kmeans++", "greedy", "first"}


@every_method
def test_shape_and_distinct(method: InducingMethod) -> None:
    Z = chosen(X, 12, method)
    assert Z.shape == (12, 2)
    assert len(np.unique(Z, axis=0)) == 12
    assert Z.dtype == np.float64


@every_method
def test_deterministic_given_the_generator(method: InducingMethod) -> None:
    np.testing.assert_array_equal(chosen(X, 12, method), chosen(X, 12, method))


def test_another_seed_is_another_choice() -> None:
    assert not np.array_equal(chosen(X, 12, "kmeans++"), chosen(X, 12, "kmeans++", seed=1))


@every_method
def test_the_rows_stay_as_they_are(method: InducingMethod) -> None:
    rows = X.copy()
    Z = chosen(rows, 12, method)
    Z += 1.0
    np.testing.assert_array_equal(rows, X)


@pytest.mark.parametrize("method", ["kmeans++", "greedy"])
def test_few_distinct_rows_are_all_taken(method: InducingMethod) -> None:
    few = np.repeat(X[:5], 9, axis=0)
    Z = chosen(few, 12, method)
    np.testing.assert_array_equal(Z, np.unique(X[:5], axis=0))


@pytest.mark.parametrize("method", ["kmeans++", "greedy"])
def test_repeated_rows_are_taken_once(method: InducingMethod) -> None:
    Z = chosen(np.concatenate([X, X, X[:30]]), 20, method)
    distances = np.linalg.norm(Z[:, None] - Z[None], axis=-1) + np.eye(20)
    assert np.min(distances) > 1e-6


@pytest.mark.parametrize("method", ["kmeans++", "greedy"])
def test_weights_are_repeats(method: InducingMethod) -> None:
    count = np.random.default_rng(2).integers(1, 5, len(X))
    weighted = chosen(X, 10, method, weight=count.astype(float))
    repeated = chosen(np.repeat(X, count, axis=0), 10, method)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("method", ["kmeans++", "greedy"])
def test_order_of_rows_does_not_matter(method: InducingMethod) -> None:
    order = np.random.default_rng(3).permutation(len(X))
    np.testing.assert_allclose(chosen(X[order], 10, method), chosen(X, 10, method), rtol=1e-12)


def test_first_rows() -> None:
    np.testing.assert_array_equal(chosen(X, 10, "first"), X[:10])
    np.testing.assert_array_equal(chosen(X[:4], 10, "first"), X[:4])
    twice = np.repeat(X, 2, axis=0)
    np.testing.assert_array_equal(chosen(twice, 10, "first"), X[:10])


def test_many_rows_are_thinned() -> None:
    many = np.random.default_rng(4).normal(size=(12_000, 2))
    for method in ("kmeans++", "greedy"):
        Z = chosen(many, 15, method, weight=np.ones(12_000))
        assert Z.shape == (15, 2)
        np.testing.assert_array_equal(Z, chosen(many, 15, method, weight=np.ones(12_000)))


# ---- greedy


def test_greedy_takes_the_largest_conditional_variance() -> None:
    K = KERNEL(X, X)
    index = greedy_variance(X, 12, KERNEL)
    taken: list[int] = []
    for pick in index:
        conditional = np.diag(K).copy()
        if taken:
            across = K[taken]
            inverse = np.linalg.inv(K[np.ix_(taken, taken)])
            conditional -= np.einsum("ij,ik,kj->j", across, inverse, across)
        assert conditional[pick] >= np.max(conditional) - 1e-10
        taken.append(int(pick))
    assert len(set(taken)) == 12


def test_greedy_starts_where_the_prior_is_widest() -> None:
    kernel = Linear(1.0, ard=False).for_features(2)
    index = greedy_variance(X, 5, kernel)
    assert index[0] == np.argmax(np.sum(X**2, axis=1))
    assert len(index) == 2  # two columns leave nothing after two rows


def test_greedy_stops_when_nothing_is_left() -> None:
    same = np.zeros((6, 2))
    assert len(greedy_variance(same, 4, KERNEL)) == 1
    smooth = RBF(50.0, ard=False).for_features(2)
    Z = choose_inducing(
        X, None, 50, method="greedy", kernel=smooth, generator=np.random.default_rng(0)
    )
    assert 3 <= len(Z) < 50
    np.linalg.cholesky(smooth(Z, Z) + 1e-8 * np.eye(len(Z)))


# ---- k-means


def test_kmeans_finds_clusters() -> None:
    generator = np.random.default_rng(5)
    centres = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    rows = np.concatenate([c + 0.1 * generator.normal(size=(25, 2)) for c in centres])
    found = kmeans(rows, np.ones(100), 4, np.random.default_rng(0))
    means = np.array([rows[i * 25 : (i + 1) * 25].mean(axis=0) for i in range(4)])
    for mean in means:
        assert np.min(np.linalg.norm(found - mean, axis=1)) < 1e-12


def test_kmeans_is_near_the_optimum_of_scikit_learn() -> None:
    rows = np.random.default_rng(6).normal(size=(400, 3))
    weight = np.random.default_rng(7).uniform(0.5, 3.0, 400)
    found = kmeans(rows, weight, 15, np.random.default_rng(0))
    nearest = np.min(np.sum((rows[:, None] - found[None]) ** 2, axis=-1), axis=1)
    best = KMeans(15, n_init=10, random_state=0).fit(rows, sample_weight=weight)
    assert weight @ nearest <= 1.15 * best.inertia_


def test_heavy_rows_draw_centres() -> None:
    rows = np.linspace(0.0, 1.0, 50)[:, None]
    weight = np.ones(50)
    weight[40] = 1e6
    found = kmeans(rows, weight, 5, np.random.default_rng(0))
    assert np.min(np.abs(found - rows[40])) < 1e-3


def test_seeds_are_drawn_by_weight() -> None:
    """Five rows hold all the weight: each gets a centre, wherever the others are."""
    rows = np.random.default_rng(8).normal(size=(100, 2))
    weight = np.full(100, 1e-12)
    heavy = [3, 20, 41, 66, 97]
    weight[heavy] = 1.0
    for seed in range(5):
        found = kmeans(rows, weight, 5, np.random.default_rng(seed))
        distance = np.linalg.norm(rows[heavy, None] - found[None], axis=-1)
        assert np.max(np.min(distance, axis=1)) < 1e-6


def test_more_centres_than_places() -> None:
    """No division by zero where every row has a centre on it."""
    rows = np.repeat(np.array([[0.0], [1.0]]), 3, axis=0)
    found = kmeans(rows, np.ones(6), 4, np.random.default_rng(0))
    assert np.isfinite(found).all()
    assert {0.0, 1.0} == set(found.ravel().tolist())
