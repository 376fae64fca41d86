"""Fits from random hyperparameters and inducing inputs all end near the best of them."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.fit import Fit, Options, Prior, fit_rows
from stepgp.kernels import RBF, Ard, Kernel
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Exp, Identity, Link, Sigmoid
from stepgp.model import ConstantMean
from tests.fit.problems import drawn

N_INDUCING = 40
"""Enough that it is not their places that decide: of 15 placed at random some stay at a local
optimum, up to .05 nats a row below the best."""
NEAR = 0.01
"""Nats a row below the best."""
N_STARTS = 13
"""For each of four likelihoods, four data sets and three kinds of lengthscales: 624 in all."""

PROBLEMS: dict[str, tuple[Likelihood, Link]] = {
    "bernoulli": (Bernoulli(), Sigmoid()),
    "poisson": (Poisson(), Exp()),
    "gaussian": (Gaussian(), Identity()),
    "student": (StudentT(), Identity()),
}
DATA = (21, 22, 23, 24)
"""Seeds of data sets of 150 rows."""
each_problem = pytest.mark.parametrize("name", PROBLEMS)
each_data = pytest.mark.parametrize("data", DATA)
each_ard = pytest.mark.parametrize("ard", [False, True, "shrunk"])


def random_start(name: str, data: int, ard: Ard, seed: int, *, chosen: bool = False) -> Fit:
    """Kernel parameters up to a factor of 9.5 from the default ones, inducing inputs drawn
    anywhere, or chosen by the library."""
    likelihood, link = PROBLEMS[name]
    rows = drawn(likelihood, link, n_rows=150, seed=data)
    generator = np.random.default_rng(seed)
    kernel: Kernel = RBF(ard=ard).for_features(2)
    away = 2.25 * generator.uniform(-1.0, 1.0, size=len(kernel.params))
    start = Prior(
        kernel.with_params(kernel.params + away), ConstantMean(), likelihood.initial(rows.y), link
    )
    if chosen:
        return fit_rows(rows, start, Options(N_INDUCING, seed=seed))
    Z = generator.normal(size=(N_INDUCING, 2))
    return fit_rows(rows, start, Options(N_INDUCING, inducing=Z))


def assert_near_the_best(fits: list[Fit]) -> None:
    objectives = np.array([fit.objective for fit in fits])
    missing = np.max(objectives) - objectives
    far = {int(start): round(float(missing[start]), 4) for start in np.flatnonzero(missing >= NEAR)}
    assert not far, "starts and what they miss of the best, nats a row"


@pytest.mark.slow
@each_ard
@each_data
@each_problem
def test_random_starts_end_near_the_best(name: str, data: int, ard: Ard) -> None:
    assert_near_the_best([random_start(name, data, ard, seed) for seed in range(N_STARTS)])


@pytest.mark.slow
@each_ard
@each_data
@each_problem
def test_random_kernels_with_chosen_inducing_inputs(name: str, data: int, ard: Ard) -> None:
    """As a user gets them."""
    fits = [random_start(name, data, ard, seed, chosen=True) for seed in range(N_STARTS)]
    assert_near_the_best(fits)


@each_problem
def test_a_few_random_starts(name: str) -> None:
    assert_near_the_best([random_start(name, 21, False, seed) for seed in (0, 7, 9)])
