"""One row far from all others: its own numbers are right, or an error, and nobody else's change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from stepgp import StepGPClassifier, StepGPRegressor
from stepgp.kernels import Linear
from stepgp.model import MixturePredictive
from tests.estimators.data import COUNTS, X_NEW, X, classifier, regressor

SLOPE = X[:, 0] > 0.1 * np.sin(9.0 * X[:, 1])
REAL = 2.0 * X[:, 0] + 0.3 * np.random.default_rng(3).standard_t(4.0, size=len(X))
DISTANCES = [1e3, 1e9, 1e33, 1e100, 1e150]
LINKS = pytest.mark.parametrize("link", ["sigmoid", "probit", "cloglog"])


@pytest.fixture(scope="module")
def lines() -> dict[str, StepGPClassifier]:
    """Classifiers whose mean and variance know no end."""
    return {
        link: classifier(link=link, kernel=Linear(), mean_function="linear").fit(X, SLOPE)
        for link in ("sigmoid", "probit", "cloglog")
    }


@pytest.fixture(scope="module")
def heavy() -> StepGPRegressor:
    return regressor("student_t", mean_function="linear").fit(X, REAL)


@LINKS
@pytest.mark.parametrize("distance", DISTANCES)
def test_a_far_row_changes_no_other(lines: Any, link: str, distance: float) -> None:
    model, far = lines[link], np.array([[distance, 0.0], [-distance, 0.0]])
    log = model.predict_log_proba(np.vstack([X_NEW, far]))
    np.testing.assert_allclose(log[: len(X_NEW)], model.predict_log_proba(X_NEW), rtol=1e-12)
    mean, var = model.latent(far)
    # Every link is a step for one who sees it from there.
    step = stats.norm.cdf(np.stack([-mean, mean], axis=1) / np.sqrt(1.0 + var)[:, None])
    np.testing.assert_allclose(np.exp(log[-2:]), step, atol=1e-3)
    assert np.isfinite(log).all()
    np.testing.assert_allclose(np.exp(log).sum(axis=1), 1.0, rtol=0.0, atol=1e-12)


@LINKS
def test_probabilities_saturate(link: str) -> None:
    """A linear mean under a bounded variance."""
    model = classifier(link=link, mean_function="linear").fit(X, SLOPE)
    far = np.array([[1e5, 0.0], [-1e5, 0.0], [1e300, 0.0], [-1e300, 0.0]])
    yes = np.array([1.0, 0.0, 1.0, 0.0])
    np.testing.assert_allclose(model.predict_proba(far), np.stack([1 - yes, yes], axis=1))
    assert np.isfinite(model.predict_log_proba(far)).all()


@pytest.mark.parametrize("method", ["predict_proba", "predict", "latent"])
@pytest.mark.parametrize("distance", [1e155, 1.7e308])
def test_latent_values_that_are_no_numbers(lines: Any, method: str, distance: float) -> None:
    message = r"Row 1 of X lies so far out .* finite \(1 of 2 rows are not\). Correct, clip or drop"
    with pytest.raises(ValueError, match=message):
        getattr(lines["sigmoid"], method)([[0.1, 0.0], [distance, 0.0]])


@pytest.mark.parametrize("likelihood", ["gaussian", "student_t"])
def test_means_that_are_no_numbers(likelihood: str) -> None:
    model = regressor(likelihood, mean_function="linear").fit(X, REAL)
    with pytest.raises(ValueError, match=r"Row 0 of X lies so far out"):
        model.predict([[1.7e308, 0.0], [0.1, 0.0]])


def test_a_bounded_kernel_knows_no_far() -> None:
    model = regressor().fit(X, REAL)
    near, far = model.predict([[1e4, 0.0]]), model.predict([[1e300, 0.0]])
    np.testing.assert_allclose(far, near, rtol=1e-12)


@pytest.mark.parametrize("distance", [30.0, 300.0, -1e3, 1e4, 1e6])
def test_noise_is_the_same_everywhere(heavy: StepGPRegressor, distance: float) -> None:
    """A linear mean takes rows far beyond the cells; t noise around N(μ, v) stays what it is."""
    row = np.array([[distance, 0.0]])
    dist = heavy.predict_dist(row)
    mean, var = heavy.latent(row)
    link, noise = heavy.link_, heavy.likelihood_
    image = link.image(mean, var)
    assert isinstance(dist, MixturePredictive)
    assert image is not None
    np.testing.assert_allclose(dist.mean(), image[0], rtol=1e-12)
    expected = np.sqrt(image[1] + noise.var(np.zeros(1)))
    np.testing.assert_allclose(dist.std(), expected, rtol=1e-3)
    z = np.linspace(-9.0, 9.0, 2_001)
    weight = stats.norm.pdf(z) * (z[1] - z[0])
    levels = np.sqrt(image[1]) * z
    for offset in (-1.0, 0.0, 4.0):
        at = np.array([offset])
        density = weight @ np.exp(noise.log_prob(at, levels))
        np.testing.assert_allclose(dist.log_prob(image[0] + at), np.log(density), atol=2e-3)
    for end, p in zip(dist.quantile([0.05, 0.5, 0.95])[0], (0.05, 0.5, 0.95), strict=True):
        assert weight @ noise.cdf(end - image[0], levels) == pytest.approx(p, abs=1e-3)
    np.testing.assert_allclose(dist.interval(0.9)[0], dist.quantile([0.05, 0.95])[0], rtol=1e-9)


def test_counts_grow_to_infinity_and_shrink_to_nothing() -> None:
    """Without NaN, and without a warning."""
    model = regressor("poisson", mean_function="linear").fit(X, COUNTS)
    far = np.array([[x, 0.0] for x in (1e2, 1e3, 1e160, -1e2, -1e3, -1e160)])
    dist = model.predict_dist(far)
    for numbers in (dist.mean(), dist.std(), dist.log_prob(3.0), dist.cdf(3.0), dist.interval()):
        assert not np.isnan(numbers).any()
    assert np.isfinite(dist.log_prob(3.0)).all()
    assert set(dist.mean()[[2, 5]]) == {0.0, np.inf}
    assert dist.sample(3, 0).shape == (6, 3)
