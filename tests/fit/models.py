"""The models that whole fits are tested on."""

from __future__ import annotations

import pytest

from stepgp.fit import Fit, fit_rows
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import CLogLog, Exp, Identity, Link, Sigmoid, Softplus
from stepgp.rows import MemoryRows
from tests.fit.problems import drawn, options, prior

MODELS: dict[str, tuple[Likelihood, Link]] = {
    "bernoulli-sigmoid": (Bernoulli(), Sigmoid()),
    "bernoulli-cloglog": (Bernoulli(), CLogLog()),
    "poisson-exp": (Poisson(), Exp()),
    "poisson-softplus": (Poisson(), Softplus()),
    "gaussian": (Gaussian(), Identity()),
    "gaussian-softplus": (Gaussian(), Softplus()),
    "student": (StudentT(), Identity()),
}
every_model = pytest.mark.parametrize("name", MODELS)
some_models = pytest.mark.parametrize("name", ["bernoulli-sigmoid", "poisson-exp", "student"])


def problem(name: str, **given: int) -> tuple[MemoryRows, Likelihood, Link]:
    likelihood, link = MODELS[name]
    return drawn(likelihood, link, exposure=likelihood.takes_exposure, **given), likelihood, link


def fitted(name: str, rows: MemoryRows | None = None, **given: object) -> Fit:
    own, likelihood, link = problem(name)
    return fit_rows(rows or own, prior(likelihood, link), options(**given))
