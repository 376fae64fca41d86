"""The best model that ignores X."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from stepgp.fit.start import best_constant as constant
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import CLogLog, Exp, Identity, Link, Probit, Sigmoid, Softplus
from stepgp.rows import MemoryRows
from tests.fit.problems import drawn
from tests.likelihoods.minimal import Exponential
from tests.links.helpers import TO_LIBRARY
from tests.model.cases import arrays

FIXED: list[tuple[Likelihood, Link]] = [
    (Bernoulli(), Sigmoid()),
    (Bernoulli(), Probit()),
    (Bernoulli(), CLogLog()),
    (Poisson(), Exp()),
    (Poisson(), Softplus()),
    (Gaussian(0.5), Identity()),
    (Gaussian(0.5), Exp()),
    (StudentT(0.5, 4.0), Identity()),
]
each_fixed = pytest.mark.parametrize(("likelihood", "link"), FIXED, ids=str)


def best_constant(rows: MemoryRows, likelihood: Likelihood, link: Link) -> tuple[float, float]:
    """x and log-likelihood."""
    found = constant(rows, likelihood, link)
    return found.level, found.log_prob


def score(rows: MemoryRows, likelihood: Likelihood, link: Link, x: float) -> float:
    """Σ w log p(y | g(x))/Σ w."""
    exposure = 1.0 if rows.exposure is None else rows.exposure
    level = np.full(len(rows), link(np.array([x]))[0]) * exposure
    return float(np.average(likelihood.log_prob(rows.y, level), weights=rows.weight))


@each_fixed
def test_it_is_the_maximum(likelihood: Likelihood, link: Link) -> None:
    rows = drawn(likelihood, link, exposure=likelihood.takes_exposure)
    rows = replace(rows, weight=np.random.default_rng(1).uniform(0.2, 2.0, len(rows)))
    x, log_prob = best_constant(rows, likelihood, link)
    found = optimize.minimize_scalar(
        lambda at: -score(rows, likelihood, link, at), bounds=(-12.0, 6.0), options={"xatol": 1e-10}
    )
    assert log_prob == pytest.approx(-found.fun, abs=1e-6)
    assert x == pytest.approx(found.x, abs=1e-2)
    assert score(rows, likelihood, link, x) == pytest.approx(log_prob, abs=1e-9)


def test_shares_and_rates_have_closed_forms() -> None:
    rows = drawn(Bernoulli(), Sigmoid())
    share = rows.y.mean()
    x, log_prob = best_constant(rows, Bernoulli(), Sigmoid())
    assert 1.0 / (1.0 + np.exp(-x)) == pytest.approx(share, abs=1e-3)
    entropy = share * np.log(share) + (1.0 - share) * np.log(1.0 - share)
    assert log_prob == pytest.approx(entropy, abs=1e-6)
    counts = drawn(Poisson(), Exp(), exposure=True)
    x, _ = best_constant(counts, Poisson(), Exp())
    assert np.exp(x) == pytest.approx(counts.y.sum() / counts.exposure.sum(), rel=2e-3)


@pytest.mark.parametrize("size", [1e-6, 1e5])
def test_levels_far_from_zero_are_found(size: float) -> None:
    y = size * (1.0 + 0.1 * np.random.default_rng(1).normal(size=200))
    rows = MemoryRows(np.zeros((200, 1)), y)
    x, _ = best_constant(rows, Gaussian(0.1 * size), Identity())
    assert x == pytest.approx(y.mean(), rel=1e-2, abs=1e-2)
    counts = MemoryRows(np.zeros((200, 1)), np.full(200, 1e5), None, np.full(200, 1e-6))
    x, _ = best_constant(counts, Poisson(), Exp())
    assert x == pytest.approx(np.log(1e11), abs=1e-2)
    counts = MemoryRows(np.zeros((200, 1)), np.full(200, round(1e3 * max(size, 1.0))))
    x, _ = best_constant(counts, Poisson(), Softplus())
    assert np.logaddexp(0.0, x) == pytest.approx(counts.y[0], rel=0.05)


def test_learnt_parameters_take_part() -> None:
    """The constant to beat has its own best noise."""
    rows = drawn(Gaussian(0.8), Identity())
    _, log_prob = best_constant(rows, Gaussian(), Identity())
    assert log_prob == pytest.approx(
        stats.norm(rows.y.mean(), rows.y.std()).logpdf(rows.y).mean(), abs=1e-4
    )
    _, heavy = best_constant(rows, StudentT(), Identity())
    assert heavy >= log_prob - 0.02  # the prior holds its df below that of Gaussian noise


def test_priors_take_part_too() -> None:
    """Where no prior may be left out: the sum for all rows, and its parts."""
    rows = drawn(StudentT(0.3, 6.0), Identity())
    found = constant(rows, StudentT(), Identity())
    assert found.log_joint(120.0) == pytest.approx(120.0 * found.log_prob + found.log_prior)
    joint = []
    for scale, df in ((0.3, 6.0), (0.5, 4.0), (0.8, 10.0), (1.0, 30.0)):
        other = StudentT(scale, df, learn=("scale", "df"))
        joint.append(120.0 * score(rows, other, Identity(), found.level) + other.log_prior())
    assert found.log_joint(120.0) > max(joint)


def test_equal_targets_say_nothing_about_noise() -> None:
    """The smaller it may be, the larger their density: there is nothing to compare with."""
    rows = MemoryRows(np.zeros((30, 1)), np.full(30, 2.0))
    for likelihood in (Gaussian(), StudentT()):
        assert constant(rows, likelihood, Identity()).log_joint(30.0) == -np.inf
    counts = constant(rows, Poisson(), Exp())
    assert counts.log_joint(30.0) == pytest.approx(30.0 * stats.poisson(2.0).logpmf(2), abs=1e-3)


def test_one_class_only() -> None:
    """The best level is at infinity: the search comes back as far as costs half a nat in all."""
    rows = MemoryRows(np.zeros((30, 1)), np.ones(30))
    x, log_prob = best_constant(rows, Bernoulli(), Sigmoid())
    assert 30.0 * log_prob == pytest.approx(-0.5, rel=1e-3)
    assert 1.0 / (1.0 + np.exp(-x)) == pytest.approx(np.exp(-0.5 / 30.0), rel=1e-4)
    x, log_prob = best_constant(replace(rows, y=np.zeros(30)), Poisson(), Exp())
    assert 30.0 * log_prob == pytest.approx(-0.5, rel=1e-3)
    assert np.exp(x) == pytest.approx(0.5 / 30.0, rel=1e-3)


def test_own_likelihoods_and_libraries() -> None:
    rows = MemoryRows(np.zeros((50, 1)), np.linspace(0.1, 3.0, 50), np.linspace(1.0, 2.0, 50))
    x, log_prob = best_constant(rows, Exponential(), Exp())
    mean = np.average(rows.y, weights=rows.weight)
    assert np.exp(x) == pytest.approx(mean, rel=1e-3)
    assert log_prob == pytest.approx(-1.0 - np.log(mean), abs=1e-6)
    for convert in TO_LIBRARY.values():
        X, y, weight = arrays(convert, rows.X, rows.y, rows.weight)
        got = best_constant(MemoryRows(X, y, weight), Exponential(), Exp())
        assert got == pytest.approx((x, log_prob), rel=1e-10)
        counts = drawn(Poisson(), Exp(), exposure=True)
        expected = best_constant(counts, Poisson(), Exp())
        X, y, exposure = arrays(convert, counts.X, counts.y, counts.exposure)
        got = best_constant(MemoryRows(X, y, None, exposure), Poisson(), Exp())
        assert got == pytest.approx(expected, rel=1e-10)
