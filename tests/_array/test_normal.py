"""Φ, φ, the Mills ratio and log-differences of Φ against 60-digit arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp._array.special import (
    log_normal_cdf,
    log_normal_cdf_difference,
    mills_ratio,
    normal_cdf_pdf,
    normal_remainder_pdf,
    normal_tail,
    ramp_ratio,
)
from tests._array import exact
from tests.links.helpers import TO_LIBRARY

EACH_LIBRARY = pytest.mark.parametrize("library", TO_LIBRARY)
POINTS = np.concatenate([np.arange(-37.5, 37.6, 0.75), [-1e-3, -1e-20, 0.0, 1e-20, 1e-3]])
POSITIVE = np.concatenate([[0.0, 1e-20, 1e-5], np.geomspace(1e-3, 37.5, 100)])


def rounding(z: np.ndarray) -> np.ndarray:
    """The relative accuracy of φ(z) that the rounding of z²/2 allows."""
    return 1e-15 * (1.0 + 0.25 * z * z)


@EACH_LIBRARY
def test_mills_ratio(library: str) -> None:
    t = np.concatenate([POSITIVE, np.geomspace(40.0, 1e6, 30)])
    with localcontext(exact.CONTEXT):
        reference = [float(exact.tail(d) / exact.density(d)) for d in map(Decimal, t.tolist())]
    got = mills_ratio(TO_LIBRARY[library](t))
    np.testing.assert_allclose(to_numpy(got), reference, rtol=1.2e-15, atol=0)
    far = mills_ratio(TO_LIBRARY[library](np.array([1e10, 1e30, 1e155, 1.7e308, np.inf])))
    expected = [1e-10, 1e-30, 1e-155, 1.0 / 1.7e308, 0.0]
    np.testing.assert_allclose(to_numpy(far), expected, rtol=1e-15)


@EACH_LIBRARY
def test_ramp_ratio(library: str) -> None:
    t = np.concatenate([POSITIVE, [49.99, 50.01, 60.0, 100.0, 1e3, 1e6]])
    with localcontext(exact.CONTEXT):
        reference = [
            float(1 - d * exact.tail(d) / exact.density(d)) for d in map(Decimal, t.tolist())
        ]
    got = ramp_ratio(TO_LIBRARY[library](t))
    # 1 − tR ≈ 1/t² is a difference of ones.
    np.testing.assert_array_less(np.abs(to_numpy(got) / reference - 1.0), 2e-15 + 1e-15 * t * t)
    np.testing.assert_allclose(to_numpy(got)[t > 50.0], np.array(reference)[t > 50.0], rtol=2e-13)


@EACH_LIBRARY
def test_cdf_and_pdf(library: str) -> None:
    cdf, density = (to_numpy(a) for a in normal_cdf_pdf(TO_LIBRARY[library](POINTS)))
    exact_cdf = np.array([float(exact.cdf(Decimal(z))) for z in POINTS.tolist()])
    exact_density = np.array([float(exact.density(Decimal(z))) for z in POINTS.tolist()])
    np.testing.assert_array_less(np.abs(cdf / exact_cdf - 1.0), rounding(POINTS))
    np.testing.assert_array_less(np.abs(density / exact_density - 1.0), rounding(POINTS))


@EACH_LIBRARY
def test_remainder_keeps_both_tails(library: str) -> None:
    remainder, density = (to_numpy(a) for a in normal_remainder_pdf(TO_LIBRARY[library](POINTS)))
    reference = np.array([float(exact.tail(Decimal(abs(z)))) for z in POINTS.tolist()])
    reference *= np.where(POINTS < 0, 1.0, -1.0)
    np.testing.assert_array_less(np.abs(remainder / reference - 1.0), rounding(POINTS))
    np.testing.assert_allclose(density, normal_cdf_pdf(POINTS)[1], rtol=1e-15)


@EACH_LIBRARY
def test_tail_ends_in_zero(library: str) -> None:
    t = np.array([38.6, 60.0, 1e5, 1e160, math.inf])
    tail, density = normal_tail(TO_LIBRARY[library](t))
    assert to_numpy(tail)[0] < 1e-320
    np.testing.assert_array_equal(to_numpy(tail)[1:], 0.0)
    np.testing.assert_array_equal(to_numpy(density)[1:], 0.0)


def test_arguments_are_left_alone() -> None:
    z = POINTS.copy()
    normal_tail(np.abs(z))
    for function in (normal_cdf_pdf, normal_remainder_pdf, log_normal_cdf):
        function(z)
    np.testing.assert_array_equal(z, POINTS)


@EACH_LIBRARY
def test_log_cdf(library: str) -> None:
    z = np.concatenate([POINTS, [-1e3, -200.0, -40.0]])
    reference = [exact.log_probability(-exact.INFINITY, Decimal(x)) for x in z.tolist()]
    got = to_numpy(log_normal_cdf(TO_LIBRARY[library](z)))
    # On the right log Φ ≈ −Φ(−z) has the accuracy of φ, on the left that of z²/2.
    np.testing.assert_array_less(np.abs(got / reference - 1.0), rounding(np.maximum(z, 0.0)))


EXTREME = np.array([1e31, 1e100, 1e160, 1.5e308])


@EACH_LIBRARY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logs_are_numbers_wherever_the_arguments_are(library: str, dtype: type) -> None:
    """−z²/2 where that is a float, the lowest float where it is not."""
    points = np.array([1e4, 1e15, 1e25, 3e38]) if dtype is np.float32 else EXTREME
    z = TO_LIBRARY[library](points.astype(dtype))
    low, high = to_numpy(log_normal_cdf(-z)), to_numpy(log_normal_cdf(z))
    np.testing.assert_array_equal(high, 0.0)
    half = 0.5 * np.minimum(points, np.sqrt(np.finfo(dtype).max)) ** 2
    np.testing.assert_allclose(-low, half, rtol=3e-3)
    to_the_end = log_normal_cdf_difference(z, TO_LIBRARY[library](np.full(4, np.inf, dtype)))
    np.testing.assert_allclose(-to_numpy(to_the_end), half, rtol=3e-3)
    assert not np.isnan(to_numpy(log_normal_cdf_difference(z, 1.1 * z))).any()
    np.testing.assert_array_less(-1e-30, to_numpy(ramp_ratio(z)))


INTERVALS = (
    (-1.0, 1.0),
    (-3.0, 0.5),
    (0.0, 1e-3),
    (-1e-3, 0.0),
    (0.25, 0.5),
    (3.0, 3.1),
    (-8.0, -7.5),
    (30.0, 31.0),
    (-40.0, -38.0),
    (38.0, 90.0),
    (-1000.0, -999.0),
    (999.0, 1000.0),
    (-50.0, 60.0),
    (-70.0, 70.0),
    (-math.inf, -40.0),
    (-math.inf, -1.0),
    (-math.inf, 0.0),
    (-math.inf, 3.0),
    (-math.inf, 40.0),
    (-3.0, math.inf),
    (0.0, math.inf),
    (1.0, math.inf),
    (40.0, math.inf),
    (-math.inf, math.inf),
)


@pytest.mark.parametrize(("low", "high"), INTERVALS)
@EACH_LIBRARY
def test_log_difference(low: float, high: float, library: str) -> None:
    convert = TO_LIBRARY[library]
    got = log_normal_cdf_difference(convert(np.array([low])), convert(np.array([high])))
    reference = exact.log_probability(Decimal(low), Decimal(high))
    # A narrow interval is a difference of neighbours.
    narrow = 2e-15 / (high - low) if high - low < 0.01 else 0.0
    assert float(got[0]) == pytest.approx(reference, rel=2e-15, abs=narrow)


def test_log_difference_of_nothing() -> None:
    z = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(log_normal_cdf_difference(z, z), -np.inf)


@EACH_LIBRARY
def test_single_precision(library: str) -> None:
    z = np.linspace(-8.0, 8.0, 33)
    single = TO_LIBRARY[library](z.astype(np.float32))
    for function in (normal_cdf_pdf, normal_remainder_pdf):
        for got, reference in zip(function(single), function(z), strict=True):
            assert "float32" in str(got.dtype)
            np.testing.assert_allclose(to_numpy(got), reference, rtol=2e-5)
    got = log_normal_cdf(single)
    assert "float32" in str(got.dtype)
    np.testing.assert_allclose(to_numpy(got), log_normal_cdf(z), rtol=2e-5)
    got = log_normal_cdf_difference(single[:-1], single[1:])
    assert "float32" in str(got.dtype)
    np.testing.assert_allclose(to_numpy(got), log_normal_cdf_difference(z[:-1], z[1:]), rtol=2e-5)
