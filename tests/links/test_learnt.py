"""Learnt links: where they start, their gradients, their priors, their bands."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

from stepgp._array import Floats
from stepgp.links import (
    Affine,
    Exp,
    Feature,
    Free,
    Identity,
    LearntLink,
    Link,
    Monotone,
    Probit,
    Ridge,
    Sigmoid,
    Smooth,
    resolve,
)
from stepgp.links.knots import interpolate, interpolate_adjoint, interpolation_matrix
from stepgp.links.smooth import bending
from tests.links.helpers import slope
from tests.subclasses import concrete_subclasses

KINDS: list[LearntLink] = [
    Free(n_knots=7),
    Ridge(n_knots=7, strength=0.7),
    Ridge(n_knots=7, strength=0.7, constant=0.3),
    Smooth(n_knots=7),
    Smooth(n_knots=7, stiffness=5.0),
    Monotone(n_knots=7),
]
REFERENCES: list[Link] = [Identity(), Sigmoid(), Probit(), Exp()]
SIGMOID = Sigmoid()
X = np.linspace(-6.0, 6.0, 41)
each_kind = pytest.mark.parametrize("kind", KINDS, ids=repr)
each_reference = pytest.mark.parametrize("reference", REFERENCES, ids=str)


def moved(kind: LearntLink, reference: Link = SIGMOID, seed: int = 0) -> LearntLink:
    """Placed around .5, at parameters that no default makes special."""
    placed = kind.completed(reference).placed(0.5, 4.0)
    step = np.random.default_rng(seed).uniform(0.05, 0.4, len(placed.params))
    return placed.with_params(placed.params + step)


def test_every_kind_is_listed() -> None:
    assert concrete_subclasses(LearntLink) == {type(kind) for kind in KINDS}


def test_names() -> None:
    assert type(resolve("learnt")) is Smooth
    assert type(resolve("monotone")) is Monotone


# ---- knots


def test_interpolation_and_its_adjoint() -> None:
    knots = np.array([-1.0, 0.5, 0.75, 3.0])
    values = np.array([2.0, -1.0, 4.0, 0.0])
    x = np.array([-9.0, -1.0, 0.0, 0.5, 0.6, 3.0, 7.0])
    found = interpolate(knots, values, x)
    np.testing.assert_allclose(found, [2.0, 2.0, 0.0, -1.0, 1.0, 0.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(interpolation_matrix(knots, x) @ values, found, atol=1e-14)
    adjoint = np.random.default_rng(0).normal(size=len(x))
    by_values = interpolate_adjoint(knots, x, adjoint)
    np.testing.assert_allclose(by_values, interpolation_matrix(knots, x).T @ adjoint)


# ---- where it starts


@each_reference
@each_kind
def test_before_any_data_it_is_the_reference(kind: LearntLink, reference: Link) -> None:
    completed = kind.completed(reference)
    for link in (completed, completed.placed(0.5, 4.0)):
        np.testing.assert_allclose(link(X), reference(X), rtol=1e-14)
        assert link.support is reference.support
        assert link.standard is reference.standard
    assert not completed.params.size
    placed = completed.placed(0.5, 4.0)
    assert placed.knots is not None
    np.testing.assert_allclose(placed.knots, np.linspace(-3.5, 4.5, 7))
    np.testing.assert_array_equal(placed.placed(9.0, 1.0).knots, placed.knots)
    np.testing.assert_array_equal(placed.levels, reference(placed.knots))


def test_a_given_reference_stays() -> None:
    assert Smooth(reference=Probit()).completed(Sigmoid()).reference == Probit()
    given = Smooth(knots=np.array([-1.0, 0.0, 2.0])).completed(Sigmoid()).placed(0.0, 9.0)
    np.testing.assert_array_equal(given.params, np.zeros(3))


# ---- values


@each_reference
@each_kind
def test_levels_are_those_of_a_shifted_latent_value(kind: LearntLink, reference: Link) -> None:
    link = moved(kind, reference)
    assert link.knots is not None
    shift = np.interp(X, link.knots, link.deviations)
    assert np.abs(shift).max() > 0.04
    np.testing.assert_allclose(link(X), reference(X + shift), rtol=1e-14)
    for feature in Feature:
        if feature.domain.contains(reference.support):
            wanted = reference.feature(feature, X + shift)
            np.testing.assert_allclose(link.feature(feature, X), wanted, rtol=1e-14)


def test_tails_keep_their_digits() -> None:
    link = moved(Smooth())
    x = np.array([-700.0, 700.0])
    assert link.log(x)[0] == pytest.approx(-700.0 + link.deviations[0])
    assert link.log_complement(x)[1] == pytest.approx(-700.0 - link.deviations[-1])


def test_monotone_links_never_fall() -> None:
    link = Monotone(n_knots=9).completed(Sigmoid()).placed(0.0, 4.0)
    low, _ = link.bounds.T
    for seed in range(20):
        theta = np.maximum(low, np.random.default_rng(seed).normal(size=9))
        assert np.all(np.diff(link.with_params(theta)(X)) >= 0.0)
    assert np.all(link.params[1:] > 0.0)


# ---- gradients


def total(link: Link, feature: Feature, adjoint: Floats, unit: Floats, t: float) -> float:
    """Σ_k adjoint_k feature(g(x_k)), θ moved by t·unit."""
    return float(adjoint @ link.with_params(link.params + t * unit).feature(feature, X))


@each_reference
@each_kind
def test_pull_is_the_gradient(kind: LearntLink, reference: Link) -> None:
    link = moved(kind, reference)
    for wrapped in (link, Affine(link, 0.3, 1.7)):
        for feature in Feature:
            if not feature.domain.contains(wrapped.support):
                continue
            adjoint = np.random.default_rng(1).normal(size=len(X))
            got = wrapped.pull(feature, X, adjoint)
            for index, unit in enumerate(np.eye(len(link.params))):
                wanted = slope(partial(total, wrapped, feature, adjoint, unit), 0.0)
                scale = 1.0 + np.sum(np.abs(adjoint * wrapped.feature(feature, X)))
                assert got[index] == pytest.approx(wanted, rel=1e-6, abs=1e-8 * scale)


@each_reference
@each_kind
def test_prior_gradient_and_curvature(kind: LearntLink, reference: Link) -> None:
    link = moved(kind, reference)
    got = link.log_prior_gradient()
    for index, unit in enumerate(np.eye(len(link.params))):
        wanted = slope(lambda t, u=unit: link.with_params(link.params + t * u).log_prior(), 0.0)
        assert got[index] == pytest.approx(wanted, rel=1e-6, abs=1e-7)
    precision = link.precision()
    np.testing.assert_array_equal(precision, precision.T)
    assert np.linalg.eigvalsh(precision)[0] >= -1e-9


def test_the_prior_of_smooth_links_is_that_of_their_deviations() -> None:
    link = moved(Smooth(n_knots=9))
    d = link.deviations
    assert link.log_prior() == pytest.approx(-0.5 * d @ link.precision() @ d)
    same = moved(Monotone(n_knots=9))
    assert same.log_prior() == pytest.approx(
        -0.5 * same.deviations @ same.precision() @ same.deviations
    )


def test_bending_is_the_integral_of_the_squared_second_derivative() -> None:
    knots = np.linspace(-3.0, 3.0, 601)
    d = np.sin(knots)
    wanted = 2.0 * (3.0 - 0.5 * np.sin(6.0)) + np.mean(d**2)
    assert d @ bending(knots, 1.0) @ d == pytest.approx(wanted, rel=1e-3)
    line = 2.0 + 3.0 * knots
    assert line @ bending(knots, 1.0) @ line == pytest.approx(np.mean(line**2), rel=1e-6)


def test_ridge_draws_levels_to_what_it_is_told() -> None:
    link = moved(Ridge(n_knots=5, strength=2.0, constant=0.25))
    assert link.log_prior() == pytest.approx(-2.0 * np.sum((link.levels - 0.25) ** 2))
    link = moved(Ridge(n_knots=5, strength=2.0))
    assert link.knots is not None
    wanted = -2.0 * np.sum((link.levels - Sigmoid()(link.knots)) ** 2)
    assert link.log_prior() == pytest.approx(wanted)


# ---- bands


def test_the_band_is_that_of_a_gaussian_around_the_deviations() -> None:
    """One observation of precision 25 at every knot, and no prior: ±1.96/5 around d."""
    link = moved(Free(n_knots=5), Identity())
    assert link.knots is not None
    statistics = np.stack([np.zeros(5), np.full(5, -12.5)])
    known = link.informed(link.knots, (Feature.VALUE, Feature.SQUARE), statistics, np.zeros(5))
    low, high = known.band(link.knots).T
    np.testing.assert_allclose(0.5 * (high - low), 1.959964 / np.sqrt(25.02), rtol=1e-6)
    np.testing.assert_allclose(0.5 * (high + low), link.levels, rtol=1e-12)
    narrow = known.band(link.knots, coverage=0.5)
    assert np.all(narrow[:, 1] - narrow[:, 0] < high - low)


@each_kind
def test_bands_hold_the_link_and_its_support(kind: LearntLink) -> None:
    link = moved(kind)
    points = np.linspace(-5.0, 6.0, 30)
    features = (Feature.LOG, Feature.LOG_COMPLEMENT)
    known = link.informed(points, features, np.full((2, 30), 3.0), np.zeros(30))
    low, high = known.band(X).T
    assert np.all((low > 0.0) & (low < link(X)) & (link(X) < high) & (high < 1.0))
    in_units = Affine(known, 2.0, -3.0).band(X)
    np.testing.assert_allclose(in_units, np.stack([2.0 - 3.0 * high, 2.0 - 3.0 * low], axis=-1))


def test_fixed_links_have_no_width_but_that_of_f() -> None:
    np.testing.assert_array_equal(Sigmoid().band(X), np.stack([Sigmoid()(X)] * 2, axis=-1))
    low, high = Sigmoid().band(X, 0.9, var=4.0).T
    np.testing.assert_allclose(low, Sigmoid()(X - 2.0 * 1.6448536), rtol=1e-7)
    np.testing.assert_allclose(high, Sigmoid()(X + 2.0 * 1.6448536), rtol=1e-7)


def test_bands_of_f_and_link_together() -> None:
    """Against draws of both: f ~ N(x, v), d ~ N(d̂, covariance)."""
    link = moved(Smooth(n_knots=9))
    assert link.knots is not None
    features = (Feature.LOG, Feature.LOG_COMPLEMENT)
    known = link.informed(link.knots, features, np.full((2, 9), 40.0), np.zeros(9))
    assert known.covariance is not None
    generator = np.random.default_rng(0)
    x, v = np.linspace(-2.0, 3.0, 6), 0.04
    shifts = generator.multivariate_normal(known.deviations, known.covariance, size=20_000)
    f = x + np.sqrt(v) * generator.standard_normal((20_000, 6))
    d = np.array([np.interp(row, link.knots, own) for row, own in zip(f, shifts, strict=True)])
    wanted = np.quantile(Sigmoid()(f + d), [0.05, 0.95], axis=0).T
    np.testing.assert_allclose(known.band(x, 0.9, var=v), wanted, atol=0.015)
    with pytest.raises(ValueError, match="coverage must lie strictly between 0 and 1"):
        known.band(x, 1.0)


# ---- errors, files


def test_errors() -> None:
    with pytest.raises(ValueError, match="increasing latent values"):
        Smooth(knots=np.array([0.0, 0.0, 1.0]))
    with pytest.raises(ValueError, match="n_knots must be at least 2"):
        Free(n_knots=1)
    for wrong in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="stiffness must be a positive number"):
            Smooth(stiffness=wrong)
        with pytest.raises(ValueError, match="stiffness must be a positive number"):
            Monotone(stiffness=wrong)
        with pytest.raises(ValueError, match="strength must be a positive number"):
            Ridge(strength=wrong)
    with pytest.raises(ValueError, match="has not been fitted"):
        moved(Smooth()).band(X)
    with pytest.raises(ValueError, match="no knots yet"):
        _ = Smooth().levels


@each_kind
def test_pickle(kind: LearntLink) -> None:
    link = moved(kind)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(link))(X), link(X))
