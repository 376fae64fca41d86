"""Softplus and its kin, log Γ, ψ, log Σ exp and exp in place."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import special

from stepgp._array import to_numpy
from stepgp._array.special import (
    digamma,
    exp_inplace,
    log1mexp,
    log_gamma,
    log_sigmoid,
    logsumexp,
    softplus,
)
from tests._array.references import GAMMA
from tests.links.helpers import TO_LIBRARY

EACH_LIBRARY = pytest.mark.parametrize("library", TO_LIBRARY)
REAL = np.array([-700.0, -300.0, -40.0, -5.0, -0.3, -1e-9, 0.0, 1e-9, 0.7, 12.0, 36.8, 300.0, 1e5])
POSITIVE = np.array([1e-300, 1e-12, 1e-3, 0.5, 0.69, 0.693148, 0.7, 1.0, 5.0, 36.0, 40.0, 700.0])
FORMULAS: dict[str, tuple[Callable[[Any], Any], np.ndarray, Callable[[Decimal], Decimal]]] = {
    "softplus": (softplus, REAL, lambda x: (1 + x.exp()).ln()),
    "log_sigmoid": (log_sigmoid, REAL, lambda x: -(1 + (-x).exp()).ln()),
    "log1mexp": (log1mexp, POSITIVE, lambda x: (1 - (-x).exp()).ln()),
}


@cache
def exact(formula: Callable[[Decimal], Decimal], x: float) -> float:
    with decimal.localcontext(decimal.Context(prec=700, Emax=10**9, Emin=-(10**9), traps=[])):
        return float(formula(Decimal(x)))


@pytest.mark.parametrize("name", FORMULAS)
@EACH_LIBRARY
def test_formulas_are_exact(name: str, library: str) -> None:
    function, points, formula = FORMULAS[name]
    got = to_numpy(function(TO_LIBRARY[library](points)))
    reference = [exact(formula, x) for x in points.tolist()]
    np.testing.assert_allclose(got, reference, rtol=1e-15, atol=0)


@pytest.mark.parametrize("name", FORMULAS)
@EACH_LIBRARY
def test_formulas_keep_single_precision(name: str, library: str) -> None:
    function, points, _ = FORMULAS[name]
    points = points[(np.abs(points) > 1e-4) & (np.abs(points) < 80.0)]
    got = function(TO_LIBRARY[library](points.astype(np.float32)))
    assert "float32" in str(got.dtype)
    np.testing.assert_allclose(to_numpy(got), function(points), rtol=1e-5)


@EACH_LIBRARY
def test_log_gamma_and_digamma(library: str) -> None:
    x, log_gammas, digammas = np.array(GAMMA).T
    got = to_numpy(log_gamma(TO_LIBRARY[library](x)))
    np.testing.assert_allclose(got, log_gammas, rtol=1e-14, atol=4e-15)
    got = to_numpy(digamma(TO_LIBRARY[library](x)))
    np.testing.assert_allclose(got, digammas, rtol=4e-15, atol=2e-15)


@EACH_LIBRARY
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_logsumexp(axis: int, library: str) -> None:
    x = np.array([[1000.0, 999.0, -3.0], [-np.inf, -1e4, -1e4], [0.0, -800.0, np.inf]])
    got = logsumexp(TO_LIBRARY[library](x), axis=axis)
    np.testing.assert_allclose(to_numpy(got), special.logsumexp(x, axis=axis), rtol=1e-15)


@EACH_LIBRARY
def test_logsumexp_of_nothing_is_minus_infinity(library: str) -> None:
    x = np.array([[-np.inf, -np.inf], [0.0, 0.0]])
    got = to_numpy(logsumexp(TO_LIBRARY[library](x)))
    np.testing.assert_array_equal(got, [-np.inf, math.log(2.0)])


def test_logsumexp_hands_nan_on() -> None:
    assert math.isnan(logsumexp(np.array([0.0, np.nan])))


@EACH_LIBRARY
def test_exp_inplace(library: str) -> None:
    x = np.linspace(-3.0, 3.0, 7)
    array = TO_LIBRARY[library](x.copy())
    got = exp_inplace(array)
    np.testing.assert_allclose(to_numpy(got), np.exp(x), rtol=1e-15)
    assert got is array or library == "array_api_strict"


@EACH_LIBRARY
def test_exp_inplace_of_a_scalar(library: str) -> None:
    assert float(exp_inplace(TO_LIBRARY[library](np.array(0.5)))) == pytest.approx(math.exp(0.5))
