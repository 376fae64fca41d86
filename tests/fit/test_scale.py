"""How large the latent function is, in any units, and cells as fine as the noise at the start."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stepgp._array import Array, Floats, namespace
from stepgp.fit import Outcome, fit_rows
from stepgp.fit.run import Diagnostics
from stepgp.fit.scale import Start, start_of
from stepgp.fit.start import best_constant
from stepgp.kernels import RBF
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Exp, Identity, Link, Sigmoid, Softplus
from stepgp.rows import MemoryRows
from tests.fit.models import every_model, problem
from tests.fit.problems import options, prior
from tests.model.scenes import inputs

SIZES = [1e-4, 1e2, 1e4, 1e8]


class Laplace(Likelihood):
    """A user's own: log p = −|y − g|/b − log 2b."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def log_prob(self, y: Array, level: Array) -> Array:
        return -namespace(y, level).abs(y - level) / self.scale - math.log(2.0 * self.scale)

    def mean(self, level: Array) -> Array:
        return level

    def var(self, level: Array) -> Array:
        return 0.0 * level + 2.0 * self.scale**2


def start(y: Floats, likelihood: Likelihood, link: Link) -> Start:
    rows = MemoryRows(np.zeros((len(y), 1)), np.asarray(y, dtype=np.float64))
    return start_of(rows, likelihood, link, best_constant(rows, likelihood, link).level)


def waves(n_rows: int, top: float = 6.0) -> tuple[Floats, Floats]:
    X = np.random.default_rng(0).uniform(0.0, top, (n_rows, 1))
    return X, np.sin(X[:, 0])


@pytest.mark.parametrize("size", SIZES)
def test_the_spread_is_that_of_the_targets(size: float) -> None:
    y = np.random.default_rng(1).normal(size=400)
    for likelihood in (Gaussian(0.1 * size), Laplace(0.1 * size)):
        found = start(size * y, likelihood, Identity())
        assert 0.3 * size < found.spread < 1.5 * size
        assert abs(found.centre) < 0.2 * size


def test_the_spread_of_rates_is_seen_through_the_link() -> None:
    rates = 1e4 * np.exp(np.sin(np.linspace(0.0, 6.0, 400)))
    counts = np.random.default_rng(1).poisson(rates)
    assert 0.2 * rates.std() < start(counts, Poisson(), Softplus()).spread < 2.0 * rates.std()
    assert start(counts, Poisson(), Exp()).spread == 1.0
    even = np.random.default_rng(1).poisson(1e6, 400)
    assert 1e-4 < start(even, Poisson(), Exp()).spread < 3e-3


@every_model
def test_an_ordinary_spread_is_one(name: str) -> None:
    rows, likelihood, link = problem(name)
    found = start_of(rows, likelihood, link, best_constant(rows, likelihood, link).level)
    assert found.spread == 1.0
    assert found.width > 0.05


@pytest.mark.parametrize("ones", [0, 1, 20, 399, 400])
def test_classes_leave_the_spread_alone(ones: int) -> None:
    """The best level of a class is at infinity."""
    y = np.arange(400) < ones
    assert start(y, Bernoulli(), Sigmoid()).spread == 1.0
    assert start(1e4 * y, Poisson(), Exp()).spread == 1.0


@pytest.mark.parametrize("noise", [1e-3, 0.1])
def test_the_width_is_that_of_the_noise(noise: float) -> None:
    """½h²/σ² = 1/16 at h = σ/√8; rungs are √2 apart."""
    y = np.random.default_rng(1).normal(size=300)
    found = start(y, Gaussian(noise), Identity())
    assert noise / 2.01 <= found.width <= noise / math.sqrt(2.0) * 1.001
    # Student's density bends by (ν + 1)/ν more at its peak.
    found = start(y, StudentT(noise, 5.0), Identity())
    assert noise / 2.8 <= found.width <= noise / math.sqrt(2.0)


def test_exposure_is_taken_out() -> None:
    """One rate for all rows, seen for times of very different length."""
    generator = np.random.default_rng(1)
    exposure = 10.0 ** generator.uniform(2.0, 6.0, 400)
    rows = MemoryRows(np.zeros((400, 1)), generator.poisson(exposure) * 1.0, None, exposure)
    centre = best_constant(rows, Poisson(), Softplus()).level
    assert start_of(rows, Poisson(), Softplus(), centre).spread in (1.0, pytest.approx(0.05, 1.0))


# ---- whole fits


def diagnostics(rows: MemoryRows, likelihood: Likelihood, link: Link) -> tuple[Diagnostics, float]:
    fit = fit_rows(rows, prior(likelihood, link, n_features=1), options(20))
    return fit.diagnostics, fit.elbo


def test_counts_of_any_size_fit_through_any_link() -> None:
    """Through softplus the ELBO of large counts comes near that through exp."""
    X, wave = waves(300)
    y = np.random.default_rng(1).poisson(1e4 * np.exp(wave)).astype(float)
    found, elbo = diagnostics(MemoryRows((X - 3.0) / 1.7, y), Poisson(), Softplus())
    _, reference = diagnostics(MemoryRows((X - 3.0) / 1.7, y), Poisson(), Exp())
    assert found.outcome.is_sound
    assert elbo > reference - 0.1
    assert abs(found.resolution.change) < 1e-3


@pytest.mark.parametrize("size", SIZES)
def test_fits_of_own_likelihoods_know_no_units(size: float) -> None:
    X, wave = waves(100)
    y = wave + np.random.default_rng(1).laplace(scale=0.1, size=100)
    rows = MemoryRows((X - 3.0) / 1.7, y)
    found, elbo = diagnostics(MemoryRows(rows.X, size * y), Laplace(0.1 * size), Identity())
    _, reference = diagnostics(rows, Laplace(0.1), Identity())
    assert found.outcome.is_sound
    assert elbo + math.log(size) == pytest.approx(reference, abs=0.05)


def test_a_bound_that_hurts_is_said() -> None:
    """A variance that was given stays within a factor of 1000 of what was given."""
    y = np.sin(3.0 * inputs(200, 1)[:, 0])
    rows = MemoryRows(inputs(200, 1), 5.0 * y)
    chosen = prior(Gaussian(0.5), Identity(), kernel=RBF(variance=1e-5))
    fit = fit_rows(rows, chosen, options())
    assert fit.diagnostics.outcome is Outcome.AT_A_BOUND
    assert not fit.diagnostics.outcome.is_sound
    assert fit_rows(rows, prior(Gaussian(0.5), Identity()), options()).diagnostics.outcome.is_sound
