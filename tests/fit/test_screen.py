"""Functions that vary fast: no gradient leads to them from the usual lengthscale."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp._array.namespace import Floats
from stepgp.fit import fit_rows
from stepgp.fit.journal import Journal
from stepgp.fit.screen import ranked, starts_of
from stepgp.kernels import RBF, Kernel, Matern12, Matern32
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Exp, Identity, Link, Sigmoid
from stepgp.model import ZeroMean
from stepgp.model.posterior import marginals
from stepgp.model.rowpass import Model
from stepgp.model.rules import ClosedForm
from stepgp.rows import MemoryRows
from tests.fit.problems import options, prior, prior_state

MODELS: dict[str, tuple[Likelihood, Link, float]] = {
    "bernoulli": (Bernoulli(), Sigmoid(), 3.0),
    "poisson": (Poisson(), Exp(), 1.0),
    "gaussian": (Gaussian(), Identity(), 1.0),
    "student": (StudentT(), Identity(), 1.0),
}


def wave(x: Floats, periods: int) -> Floats:
    return np.sin(2.0 * np.pi * periods * x)


def waves(name: str, periods: int, n_rows: int = 600) -> MemoryRows:
    """Targets around a wave of so many periods; the input standardised."""
    generator = np.random.default_rng(periods)
    likelihood, link, size = MODELS[name]
    x = generator.uniform(0.0, 1.0, n_rows)
    level = link(size * wave(x, periods))
    given = likelihood.with_params(np.log([0.2, 4.0])[: likelihood.params.size])
    return MemoryRows(np.sqrt(12.0) * (x[:, None] - 0.5), given.sample(level, generator))


@pytest.mark.parametrize("kernel", [RBF(), Matern32(), Matern12()], ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("periods", [1, 5, 8, 12, 20])
@pytest.mark.parametrize("name", MODELS)
def test_a_wave_is_found_whatever_its_period(name: str, periods: int, kernel: Kernel) -> None:
    likelihood, link, _ = MODELS[name]
    rows = waves(name, periods)
    start = prior(likelihood.initial(rows.y), link, kernel=kernel, n_features=1)
    fit = fit_rows(rows, start, options(100))
    x = np.linspace(0.02, 0.98, 300)
    model = fit.model
    X = np.sqrt(12.0) * (x[:, None] - 0.5)
    mean, _ = marginals(fit.q, model.kernel, model.mean_function, model.inducing, X)
    assert np.corrcoef(mean, wave(x, periods))[0, 1] > 0.75
    assert fit.diagnostics.outcome.is_sound


def test_a_slow_trend_does_not_hide_a_wave() -> None:
    generator = np.random.default_rng(0)
    x = np.sort(generator.uniform(0.0, 1.0, 400))
    y = 2.0 * x + 0.5 * wave(x, 12) + 0.1 * generator.standard_normal(400)
    X = np.sqrt(12.0) * (x[:, None] - 0.5)
    rows = MemoryRows(X, (y - y.mean()) / y.std())
    fit = fit_rows(rows, prior(Gaussian(), Identity(), n_features=1), options(100))
    model = fit.model
    mean, _ = marginals(fit.q, model.kernel, model.mean_function, model.inducing, X)
    assert np.corrcoef(mean * y.std() - 2.0 * x, wave(x, 12))[0, 1] > 0.95


def test_starts_differ_in_lengthscale_only() -> None:
    kernel = RBF().for_features(3)
    away = kernel.params - np.array([start.params for start in starts_of(kernel)])
    np.testing.assert_allclose(np.exp(away[:, 0]), [1.0, 3.0, 9.0, 27.0])
    np.testing.assert_array_equal(away[:, 1:], 0.0)
    given = RBF(2.0).for_features(3)
    first, second = starts_of(given)
    assert first == given
    np.testing.assert_allclose(second.params, given.params - 1.0)


def test_the_best_start_comes_first_and_hopeless_ones_are_left_out() -> None:
    rows = waves("gaussian", 8)
    Z = rows.X[:100]
    first, *shorter = (
        prior_state(Model(kernel, ZeroMean(), Gaussian(0.3), Identity(), ClosedForm(), Z))
        for kernel in starts_of(RBF().for_features(1))
    )
    journal = Journal(lambda progress: None)
    best, *others = ranked(rows, [first, *shorter], journal)
    assert len(others) == 3
    assert best.model.kernel == shorter[1].model.kernel
    with np.errstate(all="ignore"):
        broken = MemoryRows(rows.X, np.full(len(rows), np.nan))
        assert ranked(broken, [first, *shorter], journal) == []
