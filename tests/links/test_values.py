"""Values and features of all links: digits in both tails, libraries, slopes, inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.links import (
    Affine,
    CLogLog,
    CustomLink,
    Feature,
    LearntLink,
    Link,
    Probit,
    Sigmoid,
    Softplus,
    Support,
)
from stepgp.links.inverse import monotone_inverse
from tests.links.cases import DERIVED, LINKS, logistic, name
from tests.links.helpers import TO_LIBRARY, slope
from tests.links.references import LEVEL, LOG, LOG_COMPLEMENT, NORMAL, POINTS, exact
from tests.subclasses import concrete_subclasses

EACH_LINK = pytest.mark.parametrize("link", LINKS, ids=name)
EACH_LIBRARY = pytest.mark.parametrize("library", TO_LIBRARY)
WIDE = np.array(POINTS)


def features_of(link: Link) -> list[Feature]:
    return [feature for feature in Feature if feature.domain.contains(link.support)]


def test_every_link_is_listed() -> None:
    learnt = concrete_subclasses(LearntLink)  # listed in test_learnt.py
    assert concrete_subclasses(Link) - learnt == {type(link) for link in [*LINKS, *DERIVED]}


def test_every_link_has_references() -> None:
    named = {name(link) for link in LINKS if not name(link).startswith("Custom")}
    assert named == {*LEVEL, "Probit"}
    assert set(LOG) == set(LEVEL) - {"Identity"}
    assert set(LOG_COMPLEMENT) == set(LEVEL) - {"Identity", "Exp", "Softplus"}


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("link", [k for k in LINKS if name(k) in LEVEL], ids=name)
def test_level_is_exact(link: Link, x: float) -> None:
    """Of links by name; Φ has references of its own below."""
    reference = exact(LEVEL[name(link)], x)
    assert float(link(np.array([x]))[0]) == pytest.approx(reference, rel=1e-14, abs=0.0)


@pytest.mark.parametrize("link", [k for k in LINKS if isinstance(k, CustomLink)], ids=name)
def test_level_of_a_custom_link_is_its_function(link: CustomLink) -> None:
    """To the bit, one number at a time or all at once."""
    x = WIDE[np.abs(WIDE) < 30.0]
    levels = link(x)
    np.testing.assert_array_equal(levels, [float(link.function(at)) for at in x.tolist()])
    assert len(np.unique(levels)) == len(x)


@pytest.mark.parametrize("link", DERIVED, ids=name)
def test_level_of_a_derived_link_is_that_of_its_inner_one(link: Affine) -> None:
    x = WIDE[np.abs(WIDE) < 30.0]
    expected = link.shift + link.scale * link.inner(x)
    np.testing.assert_allclose(link(x), expected, rtol=1e-15, atol=0.0)


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("link", [k for k in LINKS if name(k) in LOG], ids=name)
def test_log_is_exact(link: Link, x: float) -> None:
    reference = exact(LOG[name(link)], x)
    got = float(link.feature(Feature.LOG, np.array([x]))[0])
    # log g passes through 0 where g = 1: digits relative to g there.
    assert got == pytest.approx(reference, rel=1e-14, abs=1e-15 if name(link) == "Softplus" else 0)


@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("link", [k for k in LINKS if name(k) in LOG_COMPLEMENT], ids=name)
def test_log_complement_is_exact(link: Link, x: float) -> None:
    reference = exact(LOG_COMPLEMENT[name(link)], x)
    got = float(link.feature(Feature.LOG_COMPLEMENT, np.array([x]))[0])
    assert got == pytest.approx(reference, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(("x", "value", "log"), NORMAL)
def test_probit_is_exact_and_not_clamped(x: float, value: float, log: float) -> None:
    at = np.array([x])
    assert float(Probit()(at)[0]) == pytest.approx(value, rel=2e-14, abs=0.0)
    # On the right log Φ is −e^(−x²/2…): the rounding of an exponent of 700 costs 2e-13.
    assert float(Probit().log(at)[0]) == pytest.approx(log, rel=2e-13, abs=0.0)
    assert float(Probit().log_complement(-at)[0]) == pytest.approx(log, rel=2e-13, abs=0.0)


@pytest.mark.parametrize("link", [Sigmoid(), Probit(), CLogLog(), Softplus()], ids=name)
def test_features_are_finite_far_out(link: Link) -> None:
    for feature in features_of(link):
        assert np.isfinite(link.feature(feature, WIDE)).all(), feature


@EACH_LIBRARY
@EACH_LINK
def test_features_are_the_same_in_every_library(link: Link, library: str) -> None:
    # A custom link rounds to the edge of its support; the square of e^700 overflows.
    inside = np.abs(WIDE) < (36.0 if name(link).startswith("Custom") else 301.0)
    x = WIDE[inside][:, None]
    for feature in features_of(link):
        array = TO_LIBRARY[library](x)
        got = link.feature(feature, array)
        assert type(got) is type(array)
        np.testing.assert_allclose(
            to_numpy(got), link.feature(feature, x), rtol=1e-13, err_msg=str(feature)
        )


@EACH_LIBRARY
@EACH_LINK
def test_features_keep_the_precision_of_their_argument(link: Link, library: str) -> None:
    x = np.array([-3.0, 0.5, 2.0])
    for feature in features_of(link):
        single = link.feature(feature, TO_LIBRARY[library](x.astype(np.float32)))
        assert "float32" in str(single.dtype)
        np.testing.assert_allclose(to_numpy(single), link.feature(feature, x), rtol=1e-5)


@EACH_LINK
def test_features_are_functions_of_the_level(link: Link) -> None:
    x = np.linspace(-6.0, 6.0, 41)
    level = link(x)
    expected: dict[Feature, Any] = {Feature.VALUE: level, Feature.SQUARE: level**2}
    if Feature.LOG in features_of(link):
        expected[Feature.LOG] = np.log(level)
    if Feature.LOG_COMPLEMENT in features_of(link):
        inside = level < 0.99  # beyond, 1 − g of the rounded g has lost digits
        assert inside.any()
        x, expected = x[inside], {f: v[inside] for f, v in expected.items()}
        expected[Feature.LOG_COMPLEMENT] = np.log1p(-level[inside])
    for feature, reference in expected.items():
        np.testing.assert_allclose(
            link.feature(feature, x), reference, rtol=1e-11, atol=1e-15, err_msg=str(feature)
        )


@EACH_LINK
def test_levels_rise_inside_the_support(link: Link) -> None:
    level = link(np.linspace(-30.0, 30.0, 501))
    assert (np.diff(level) >= 0.0).all()
    assert (level >= link.support.low).all()
    assert (level <= link.support.high).all()


@EACH_LINK
def test_lipschitz_is_the_largest_slope(link: Link) -> None:
    slopes = slope(link, np.linspace(-12.0, 12.0, 2401))
    if link.lipschitz is None:
        assert slopes.max() > 1e4
    else:
        assert 0.999 * link.lipschitz <= slopes.max() <= link.lipschitz * (1.0 + 1e-9)


@EACH_LINK
def test_inverse_gives_the_argument_back(link: Link) -> None:
    x = np.array([[-3.0, -1.0, -0.2], [0.0, 0.7, 2.5]])
    inverse = link.inverse(link(x))
    assert inverse is not None
    np.testing.assert_allclose(inverse, x, rtol=1e-10, atol=1e-12)
    one = link.inverse(float(link(np.array([0.7]))[0]))
    assert one is not None
    assert one.shape == ()
    assert float(one) == pytest.approx(0.7, rel=1e-10)


def test_bisection() -> None:
    falling = monotone_inverse(lambda x: -(x**3), [8.0, -27.0])
    assert falling is not None
    np.testing.assert_allclose(falling, [-2.0, 3.0], rtol=1e-12)
    jump = monotone_inverse(lambda x: np.where(x < 1.25, 0.1, 0.9), 0.5)
    assert jump is not None
    assert float(jump) == pytest.approx(1.25)
    end = monotone_inverse(logistic, 1.0 + 1e-9)
    assert end is not None
    assert float(end) == pytest.approx(30.0)
    assert monotone_inverse(np.sin, 0.5) is None
    assert monotone_inverse(lambda x: 0.0 * x, 0.5) is None
    assert monotone_inverse(lambda x: np.where(x < 0.0, np.nan, x), 0.5) is None


def test_supports() -> None:
    assert Support.REAL.contains(Support.UNIT)
    assert Support.POSITIVE.contains(Support.UNIT)
    assert Support.UNIT.contains(Support.UNIT)
    assert not Support.UNIT.contains(Support.POSITIVE)
    assert not Support.POSITIVE.contains(Support.REAL)
    assert str(Support.POSITIVE) == "(0, ∞)"
    assert str(Support.REAL) == "(-∞, ∞)"
    assert math.isinf(Support.POSITIVE.high)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("link", [k for k in LINKS if not name(k).startswith("Custom")], ids=name)
@EACH_LIBRARY
def test_ends_of_the_line(link: Link, library: str, dtype: type) -> None:
    """At the largest floats a level is the end of its support, without a warning."""
    points = np.array([-1.0, -1e-3, 1e-3, 1.0]) * float(np.finfo(dtype).max)
    x = TO_LIBRARY[library](points.astype(dtype))
    for feature in features_of(link):
        got = to_numpy(link.feature(feature, x))
        sign = -1.0 if feature is Feature.LOG_COMPLEMENT else 1.0
        if feature is not Feature.SQUARE:
            assert np.all(sign * got[1:] >= sign * got[:-1])
        assert not np.isnan(got).any()
        expected = link.expected(feature, x, 0.0 * x + 1.0)
        assert expected is None or not np.isnan(to_numpy(expected.value)).any()
    level = to_numpy(link(x))
    if link.support.low == 0.0:
        assert level[0] == 0.0
    if link.support.high == 1.0:
        assert level[-1] == 1.0
