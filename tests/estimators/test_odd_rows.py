"""Rows that are odd but can be fitted: what comes out is documented here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from stepgp._array import Floats
from tests.estimators.data import (
    BINARY,
    LABELS,
    REAL,
    SIGNAL,
    TARGETS,
    X_NEW,
    N,
    X,
    classifier,
    regressor,
)

LIKELIHOODS = pytest.mark.parametrize("likelihood", list(TARGETS))


@pytest.fixture(autouse=True)
def nothing_is_warned_of() -> Iterator[None]:
    """Odd is not bad: a fit with sane predictions does not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        yield


def is_sane(mean: Floats, std: Floats, y: Floats) -> bool:
    """Finite and within a few times the spread of the targets, or of counts around them."""
    spread = np.ptp(y) + np.sqrt(np.max(np.abs(y))) + 1.0
    inside = (mean >= np.min(y) - spread) & (mean <= np.max(y) + spread)
    return bool(np.all(inside & (std > 0.0) & (std <= 3.0 * spread)))


@LIKELIHOODS
@pytest.mark.parametrize("n_rows", [1, 2])
def test_few_rows(likelihood: str, n_rows: int) -> None:
    y = TARGETS[likelihood][:n_rows]
    mean, std = regressor(likelihood).fit(X[:n_rows], y).predict(X_NEW, return_std=True)
    assert is_sane(mean, std, y)


def test_one_target_is_the_prediction_everywhere() -> None:
    mean = regressor().fit(X[:1], [5.0]).predict(X_NEW)
    np.testing.assert_allclose(mean, 5.0, atol=1e-6)


def test_two_rows_of_two_classes() -> None:
    probability = classifier().fit(X[:2], ["a", "b"]).predict_proba(X[:2])
    assert probability[0, 0] > 0.5 > probability[1, 0]


@LIKELIHOODS
def test_constant_column_is_as_good_as_none(likelihood: str) -> None:
    y = TARGETS[likelihood]
    with_constant = np.column_stack([X, np.full(N, 0.1)])
    mean, std = regressor(likelihood).fit(with_constant, y).predict(with_constant, return_std=True)
    assert is_sane(mean, std, y)
    without = regressor(likelihood).fit(X, y).predict(X)
    # Not equal: the prior of a lengthscale depends on the number of columns.
    assert np.corrcoef(mean, without)[0, 1] > 0.9


@LIKELIHOODS
def test_only_constant_columns(likelihood: str) -> None:
    y = TARGETS[likelihood]
    mean, std = regressor(likelihood).fit(np.full((N, 2), 0.1), y).predict(X, return_std=True)
    assert is_sane(mean, std, y)
    at_data = regressor(likelihood).fit(np.full((N, 2), 0.1), y).predict(np.full((1, 2), 0.1))
    np.testing.assert_allclose(at_data, np.mean(y), atol=0.15 * np.std(y))


def test_labels_on_constant_columns() -> None:
    model = classifier().fit(np.zeros((N, 2)), BINARY)
    share = model.predict_proba(np.zeros((1, 2)))[0, 1]
    np.testing.assert_allclose(share, np.mean(BINARY), atol=0.05)


@LIKELIHOODS
def test_duplicate_inputs_with_different_targets(likelihood: str) -> None:
    y = TARGETS[likelihood]
    repeated = np.repeat(X[:4], N // 4, axis=0)
    model = regressor(likelihood).fit(repeated, y)
    mean, std = model.predict(repeated, return_std=True)
    assert is_sane(mean, std, y)
    assert len(model.inducing_) == 4


def test_contradicting_labels() -> None:
    model = classifier().fit(np.concatenate([X, X]), np.concatenate([BINARY, 1.0 - BINARY]))
    np.testing.assert_allclose(model.predict_proba(X), 0.5, atol=0.02)


def test_separable_labels() -> None:
    model = classifier().fit(X, X[:, 0] > 0.0)
    assert model.score(X, X[:, 0] > 0.0) > 0.9
    assert np.isfinite(model.predict_log_proba(X)).all()


@pytest.mark.parametrize(
    ("likelihood", "value", "most"),
    [
        *((name, value, 0.1) for name in ("gaussian", "student_t") for value in (0.0, 3.0, -1e6)),
        ("gaussian", 1e200, 0.1),
        *(("poisson", value, 2.0) for value in (0.0, 3.0)),
        *(("bernoulli", value, 0.2) for value in (0.0, 1.0)),
    ],
)
def test_constant_targets(likelihood: str, value: float, most: float) -> None:
    model = regressor(likelihood).fit(X, np.full(N, value))
    mean, std = model.predict(X_NEW, return_std=True)
    np.testing.assert_allclose(mean, value, atol=0.03)
    assert np.all((std >= 0.0) & (std < most))


def test_exposures_of_all_sizes() -> None:
    """A constant rate seen for a moment or for ages: some rows know it to four digits."""
    generator = np.random.default_rng(0)
    exposure = 10.0 ** generator.uniform(-8.0, 8.0, N)
    counts = generator.poisson(2.0 * exposure).astype(np.float64)
    model = regressor("poisson").fit(X, counts, exposure=exposure)
    np.testing.assert_allclose(model.predict(X_NEW), 2.0, rtol=0.02)


@pytest.mark.parametrize("scale", [1e-130, 1e130])
@pytest.mark.parametrize("likelihood", ["gaussian", "student_t"])
def test_units_of_targets_do_not_matter(likelihood: str, scale: float) -> None:
    wanted = regressor(likelihood).fit(X, REAL).predict(X_NEW, return_std=True)
    dist = regressor(likelihood).fit(X, scale * REAL).predict_dist(X_NEW)
    np.testing.assert_allclose(dist.mean() / scale, wanted[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(dist.std() / scale, wanted[1], rtol=1e-3)
    assert np.isfinite(dist.log_prob(scale)).all()


@pytest.mark.parametrize("likelihood", ["gaussian", "student_t"])
def test_targets_far_from_zero_that_hardly_vary(likelihood: str) -> None:
    near = regressor(likelihood).fit(X, REAL).predict(X_NEW, return_std=True)
    far = regressor(likelihood).fit(X, 1e6 + 1e-3 * REAL).predict(X_NEW, return_std=True)
    # 1e6 has 1e-10 of absolute precision: seven digits of 1e-3 are left.
    np.testing.assert_allclose((far[0] - 1e6) / 1e-3, near[0], atol=1e-3)
    # Fits of 40 rows stop .005 nats below their top: half a percent of a deviation.
    np.testing.assert_allclose(far[1] / 1e-3, near[1], rtol=5e-3)


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1.0, 1e6, 1e300])
def test_units_of_inputs_do_not_matter(scale: float) -> None:
    wanted = regressor().fit(X, REAL).predict(X_NEW)
    found = regressor().fit(scale * X + 3.0 * scale, REAL).predict(scale * X_NEW + 3.0 * scale)
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_noise_is_called_noise() -> None:
    y = np.random.default_rng(3).normal(size=N)
    mean, std = regressor().fit(X, y).predict(X, return_std=True)
    assert np.std(mean) < 0.6 * np.std(y)
    np.testing.assert_allclose(std, np.std(y), rtol=0.4)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, bool, object])
def test_types_of_inputs(dtype: type) -> None:
    rounded = (X > 0.0) if dtype is bool else np.round(4.0 * X)
    wanted = regressor().fit(rounded.astype(np.float64), REAL).predict(rounded)
    found = regressor().fit(rounded.astype(dtype), REAL).predict(rounded.astype(dtype))
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("layout", ["F", "C"])
def test_inputs_are_left_alone(layout: str) -> None:
    inputs, y, weight = np.array(X, order=layout), REAL.copy(), np.ones(N)
    for array in (inputs, y, weight):
        array.flags.writeable = False
    model = regressor().fit(inputs, y, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(inputs), regressor().fit(X, REAL).predict(X))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool, object])
def test_types_of_targets(dtype: type) -> None:
    whole = np.round(SIGNAL) if dtype is not bool else BINARY
    wanted = regressor().fit(X, whole).predict(X)
    np.testing.assert_array_equal(regressor().fit(X, whole.astype(dtype)).predict(X), wanted)


def test_column_of_targets_is_taken_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="column-vector y"):
        found = regressor().fit(X, REAL[:, None]).predict(X)
    np.testing.assert_array_equal(found, regressor().fit(X, REAL).predict(X))


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_targets_are_left_out(missing: float | None) -> None:
    y = REAL.astype(object if missing is None else np.float64)
    y[[0, 5]] = missing
    weight = np.arange(1.0, N + 1.0)
    with pytest.warns(UserWarning, match=r"2 of 40 rows have no target") as caught:
        model = regressor().fit(X, y, sample_weight=weight)
    assert caught[0].filename == __file__
    kept = np.delete(np.arange(N), [0, 5])
    without = regressor().fit(X[kept], REAL[kept], sample_weight=weight[kept])
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


def test_missing_counts_take_their_exposure_with_them() -> None:
    y, exposure = TARGETS["poisson"].copy(), np.linspace(1.0, 3.0, N)
    y[2] = np.nan
    with pytest.warns(UserWarning, match="1 of 40 rows"):
        model = regressor("poisson").fit(X, y, exposure=exposure)
    kept = np.delete(np.arange(N), 2)
    without = regressor("poisson").fit(X[kept], y[kept], exposure=exposure[kept])
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


def test_column_of_labels_is_taken_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="column-vector y"):
        model = classifier().fit(X, LABELS[:, None])
    np.testing.assert_array_equal(model.predict(X), classifier().fit(X, LABELS).predict(X))
