"""How fast targets vary along every input, told without a model."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.fit.roughness import lengthscales, normal_scores


def inputs(n_rows: int, n_features: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(n_rows, n_features))


@pytest.mark.parametrize("periods", [1, 3, 10, 30])
def test_a_wave_has_a_sixth_of_its_period(periods: int) -> None:
    X = inputs(1_000, 3, periods)
    y = np.sin(2.0 * np.pi * periods * X[:, 1])
    y = y + 0.3 * np.random.default_rng(0).standard_normal(1_000)
    found = lengthscales(X, normal_scores(y))
    assert found[1] == pytest.approx(1.0 / (6.0 * periods), rel=0.4)
    np.testing.assert_array_equal(found[[0, 2]], np.inf)


def test_noise_is_rarely_taken_for_structure() -> None:
    """Four standard errors, several looks: less than one in a thousand."""
    found = [
        lengthscales(inputs(300, 5, seed), np.random.default_rng(seed + 999).normal(size=300))
        for seed in range(200)
    ]
    assert np.mean(np.isfinite(found)) <= 0.002


def test_labels_and_outliers() -> None:
    X = inputs(1_000, 1, 0)
    wave = np.sin(20.0 * np.pi * X[:, 0])
    labels = (np.random.default_rng(1).random(1_000) < 0.5 + 0.4 * wave).astype(float)
    wild = wave + np.random.default_rng(2).standard_cauchy(1_000)
    for y in (labels, wild):
        assert 1.0 / 240.0 < lengthscales(X, normal_scores(y))[0] < 1.0 / 30.0


def test_nothing_to_see() -> None:
    X = inputs(100, 2, 0)
    for scores in (np.zeros(100), np.full(100, 3.0)):
        np.testing.assert_array_equal(lengthscales(X, scores), np.inf)
    np.testing.assert_array_equal(lengthscales(X[:20], X[:20, 0]), np.inf)
    constant = np.column_stack([np.ones(100), X[:, 0]])
    assert np.isinf(lengthscales(constant, np.random.default_rng(0).normal(size=100))[0])


def test_normal_scores_are_symmetric_and_keep_ties() -> None:
    scores = normal_scores(np.array([5.0, 1.0, 1.0, 9.0, 1e9]))
    assert scores[1] == scores[2] == scores.min()
    assert scores[4] == scores.max() < 2.0
