"""Closed forms of E feature(g(f)) against adaptive quadrature, derivatives against differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

from stepgp._array import to_numpy
from stepgp.links import Exp, Feature, Identity, Link, Probit
from tests.links.cases import LINKS, name
from tests.links.helpers import TO_LIBRARY, slope

MEANS = np.array([-2.0, 0.0, 0.4, 1.5])
VARS = np.array([0.3, 1.0, 0.05, 2.0])
CLOSED = [
    (Identity(), Feature.VALUE),
    (Identity(), Feature.SQUARE),
    (Probit(), Feature.VALUE),
    (Exp(), Feature.VALUE),
    (Exp(), Feature.SQUARE),
    (Exp(), Feature.LOG),
]
EACH_CLOSED = pytest.mark.parametrize(("link", "feature"), CLOSED, ids=str)


def value(link: Link, feature: Feature, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    expectation = link.expected(feature, mean, var)
    assert expectation is not None
    return expectation.value


def quadrature(link: Link, feature: Feature, mean: float, var: float) -> float:
    def integrand(z: float) -> float:
        x = np.array([mean + math.sqrt(var) * z])
        return float(link.feature(feature, x)[0]) * math.exp(-0.5 * z * z)

    total, _ = integrate.quad(integrand, -15.0, 15.0, epsabs=1e-14, epsrel=1e-13, limit=200)
    return total / math.sqrt(2.0 * math.pi)


@pytest.mark.parametrize("link", LINKS, ids=name)
@pytest.mark.parametrize("feature", Feature)
def test_a_closed_form_is_there_or_none(link: Link, feature: Feature) -> None:
    """No link inherits the closed form of another, and none disappears."""
    given = link.expected(feature, MEANS, VARS) is not None
    assert given == ((link, feature) in CLOSED)


@EACH_CLOSED
def test_value_equals_quadrature(link: Link, feature: Feature) -> None:
    reference = [quadrature(link, feature, m, v) for m, v in zip(MEANS, VARS, strict=True)]
    np.testing.assert_allclose(value(link, feature, MEANS, VARS), reference, rtol=1e-11, atol=1e-13)


@EACH_CLOSED
def test_derivatives_equal_differences(link: Link, feature: Feature) -> None:
    expectation = link.expected(feature, MEANS, VARS)
    assert expectation is not None
    by_mean = slope(lambda mean: value(link, feature, mean, VARS), MEANS)
    by_var = slope(lambda var: value(link, feature, MEANS, var), VARS)
    np.testing.assert_allclose(expectation.d_mean, by_mean, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(expectation.d_var, by_var, rtol=1e-8, atol=1e-10)


@EACH_CLOSED
def test_zero_variance_gives_the_feature(link: Link, feature: Feature) -> None:
    np.testing.assert_allclose(
        value(link, feature, MEANS, np.zeros(4)), link.feature(feature, MEANS), rtol=1e-14
    )


@pytest.mark.parametrize("library", TO_LIBRARY)
@EACH_CLOSED
def test_libraries_agree(link: Link, feature: Feature, library: str) -> None:
    convert = TO_LIBRARY[library]
    got = link.expected(feature, convert(MEANS), convert(VARS))
    reference = link.expected(feature, MEANS, VARS)
    assert got is not None
    assert reference is not None
    for part in ("value", "d_mean", "d_var"):
        array = getattr(got, part)
        assert type(array) is type(convert(MEANS))
        np.testing.assert_allclose(to_numpy(array), getattr(reference, part), rtol=1e-14)
