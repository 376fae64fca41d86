"""Data frames, series, lists, and labels of any type."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.estimators.data import (
    BINARY,
    COUNTS,
    LABELS,
    REAL,
    X_NEW,
    N,
    X,
    classifier,
    regressor,
)

NAMES = ["height", "width"]


@pytest.fixture(params=["pandas", "polars"])
def frames(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


def frame(frames: Any, columns: dict[str, Any]) -> Any:
    return frames.DataFrame(columns)


def test_frame_in(frames: Any) -> None:
    inputs = frame(frames, dict(zip(NAMES, X.T, strict=True)))
    new = frame(frames, dict(zip(NAMES, X_NEW.T, strict=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor("poisson").fit(
            inputs, frames.Series(COUNTS), frames.Series(BINARY + 1.0), frames.Series(BINARY + 2.0)
        )
        found = model.predict(new, exposure=frames.Series(np.full(9, 2.0)))
        dist, latent = model.predict_dist(new), model.latent(new)
        model.predict_interval(new)
        model.score(inputs, frames.Series(COUNTS), exposure=frames.Series(BINARY + 2.0))
    assert model.feature_names_in_.tolist() == NAMES
    plain = regressor("poisson").fit(X, COUNTS, BINARY + 1.0, BINARY + 2.0)
    np.testing.assert_array_equal(found, plain.predict(X_NEW, exposure=2.0))
    np.testing.assert_array_equal(dist.mean(), plain.predict(X_NEW))
    np.testing.assert_array_equal(latent[0], plain.latent(X_NEW)[0])


def test_other_names(frames: Any) -> None:
    model = classifier().fit(frame(frames, dict(zip(NAMES, X.T, strict=True))), LABELS)
    for method in (model.predict, model.predict_proba, model.latent):
        with pytest.raises(ValueError, match="feature names should match"):
            method(frame(frames, {"height": X[:, 0], "depth": X[:, 1]}))
        with pytest.raises(ValueError, match="feature names should match"):
            method(frame(frames, {"width": X[:, 1], "height": X[:, 0]}))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


def test_missing_in_frame(frames: Any) -> None:
    inputs = frame(frames, {"height": [None, *X[1:, 0]], "width": X[:, 1]})
    with pytest.raises(ValueError, match="Input X contains NaN"):
        regressor().fit(inputs, REAL)


def test_missing_targets_in_series(frames: Any) -> None:
    with pytest.warns(UserWarning, match="1 of 40 rows"):
        model = regressor().fit(X, frames.Series([None, *REAL[1:]]))
    np.testing.assert_array_equal(
        model.predict(X_NEW), regressor().fit(X[1:], REAL[1:]).predict(X_NEW)
    )


def test_missing_labels_in_series(frames: Any) -> None:
    with pytest.raises(ValueError, match="contains (NaN|None)"):
        classifier().fit(X, frames.Series([None, *LABELS[1:].tolist()]))


def test_nullable_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.warns(UserWarning, match="1 of 40 rows"):
        model = regressor().fit(X, pandas.Series([None, *REAL[1:]], dtype="Float64"))
    np.testing.assert_array_equal(
        model.predict(X_NEW), regressor().fit(X[1:], REAL[1:]).predict(X_NEW)
    )


def test_index_of_series_is_not_looked_at() -> None:
    pandas = pytest.importorskip("pandas")
    shuffled = pandas.Series(REAL, index=np.arange(N)[::-1])
    model = regressor().fit(pandas.DataFrame(X, columns=NAMES), shuffled)
    np.testing.assert_array_equal(
        model.predict(pandas.DataFrame(X_NEW, columns=NAMES)),
        regressor().fit(X, REAL).predict(X_NEW),
    )


def test_lists() -> None:
    model = classifier().fit(X.tolist(), LABELS.tolist(), sample_weight=[1.0] * N)
    np.testing.assert_array_equal(
        model.predict_proba(X_NEW.tolist()), classifier().fit(X, LABELS).predict_proba(X_NEW)
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [("no", "yes"), (False, True), (-1, 1), (0.0, 1.0), (3, 7), ("β", "α")],
)
def test_labels(first: Any, second: Any) -> None:
    labels = np.array([first, second])[BINARY.astype(int)]
    model = classifier().fit(X, labels)
    wanted = sorted([first, second])
    assert model.classes_.tolist() == wanted
    assert model.classes_.dtype == labels.dtype
    assert model.predict(X).dtype == labels.dtype
    assert model.score(X, labels) > 0.8
    second_class = model.predict_proba(X)[:, 1]
    assert np.mean(second_class[labels == wanted[1]]) > np.mean(second_class[labels == wanted[0]])


def test_labels_in_series(frames: Any) -> None:
    model = classifier().fit(X, frames.Series(LABELS.tolist()))
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(model.predict(X), classifier().fit(X, LABELS).predict(X))


def test_categorical_labels() -> None:
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(LABELS).astype("category").cat.reorder_categories(["yes", "no"])
    assert classifier().fit(X, labels).classes_.tolist() == ["no", "yes"]


def test_swapped_labels_swap_the_columns() -> None:
    found = classifier().fit(X, 1.0 - BINARY).predict_proba(X_NEW)[:, ::-1]
    np.testing.assert_allclose(found, classifier().fit(X, BINARY).predict_proba(X_NEW), atol=0.01)
