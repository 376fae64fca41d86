"""Fits from random hyperparameters and inducing inputs all end near the best of them."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.fit import Fit, Options, Prior, fit_rows
from stepgp.kernels import RBF, Kernel
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Exp, Identity, Link, Sigmoid
from stepgp.model import ConstantMean
from stepgp.rows import MemoryRows
from tests.fit.problems import drawn

N_INDUCING = 15
NEAR = 0.01
"""Nats a row below the best."""

PROBLEMS: dict[str, tuple[Likelihood, Link]] = {
    "bernoulli": (Bernoulli(), Sigmoid()),
    "poisson": (Poisson(), Exp()),
    "gaussian": (Gaussian(), Identity()),
    "student": (StudentT(), Identity()),
}


def random_start(
    rows: MemoryRows, likelihood: Likelihood, link: Link, seed: int, n_chosen: int | None = None
) -> Fit:
    """Kernel parameters within two deviations of their prior; inducing inputs drawn anywhere, or
    as many as wanted chosen by the library."""
    generator = np.random.default_rng(seed)
    kernel: Kernel = RBF(ard=False).for_features(2)
    centre = np.array([0.5 * np.log(2.0) + 0.7, 0.0])
    start = centre + 1.5 * generator.uniform(-1.5, 1.5, size=2)
    chosen = Prior(kernel.with_params(start), ConstantMean(), likelihood.initial(rows.y), link)
    if n_chosen is not None:
        return fit_rows(rows, chosen, Options(n_chosen, seed=seed))
    Z = generator.normal(size=(N_INDUCING, 2))
    return fit_rows(rows, chosen, Options(N_INDUCING, inducing=Z))


def assert_near_the_best(fits: list[Fit]) -> None:
    objectives = np.array([fit.objective for fit in fits])
    missing = np.max(objectives) - objectives
    far = {int(start): round(float(missing[start]), 4) for start in np.flatnonzero(missing >= NEAR)}
    assert not far, "starts and what they miss of the best, nats a row"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_random_starts_end_near_the_best(name: str) -> None:
    """50 starts for each likelihood, 200 in all."""
    likelihood, link = PROBLEMS[name]
    rows = drawn(likelihood, link, n_rows=150, seed=21)
    assert_near_the_best([random_start(rows, likelihood, link, seed) for seed in range(50)])


@pytest.mark.slow
@pytest.mark.parametrize("data", [21, 22, 23, 24])
@pytest.mark.parametrize("name", PROBLEMS)
def test_random_starts_on_more_data(name: str, data: int) -> None:
    """13 starts on each of 16 data sets, with inducing inputs as a user gets them."""
    likelihood, link = PROBLEMS[name]
    rows = drawn(likelihood, link, n_rows=150, seed=data)
    assert_near_the_best([random_start(rows, likelihood, link, seed, 40) for seed in range(13)])


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_few_random_starts(name: str) -> None:
    likelihood, link = PROBLEMS[name]
    rows = drawn(likelihood, link, n_rows=150, seed=21)
    assert_near_the_best([random_start(rows, likelihood, link, seed) for seed in range(3)])
