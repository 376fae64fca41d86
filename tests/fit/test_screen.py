"""Functions that vary fast: no gradient leads to them from the usual lengthscale."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp._array.namespace import Floats
from stepgp.fit import fit_rows
from stepgp.fit.journal import Journal
from stepgp.fit.screen import as_given, best_first, evaluated, misses_something, openings
from stepgp.kernels import RBF, Kernel, Matern12, Matern32
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Exp, Identity, Link, Sigmoid
from stepgp.model import ZeroMean
from stepgp.model.posterior import marginals
from stepgp.model.rowpass import Model
from stepgp.model.rules import ClosedForm
from stepgp.rows import MemoryRows
from tests.fit.problems import options, prior

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


@pytest.mark.parametrize("n_features", [2, 3, 5, 8])
def test_one_fast_feature_among_others(n_features: int) -> None:
    """All lengthscales as short as that would leave nothing but noise."""
    generator = np.random.default_rng(n_features)
    X = generator.uniform(0.0, 1.0, size=(1_000, n_features))
    signal = wave(X[:, 0], 5)
    y = signal + 0.1 * generator.standard_normal(1_000)
    inputs = np.sqrt(12.0) * (X - 0.5)
    start = prior(Gaussian(), Identity(), n_features=n_features)
    fit = fit_rows(MemoryRows(inputs, y / y.std()), start, options(100))
    model = fit.model
    mean, _ = marginals(fit.q, model.kernel, model.mean_function, model.inducing, inputs)
    assert np.corrcoef(mean, signal)[0, 1] > 0.99


def test_what_a_first_fit_misses_is_looked_for() -> None:
    """Labels of two waves: the usual start finds a little, and residuals that still vary."""
    generator = np.random.default_rng(1)
    X = generator.uniform(size=(1_000, 3))
    f = wave(X[:, 0], 5) + wave(X[:, 1], 4)
    y = (generator.random(1_000) < Sigmoid()(3.0 * f)).astype(float)
    rows = MemoryRows(np.sqrt(12.0) * (X - 0.5), y)
    fit = fit_rows(rows, prior(Bernoulli(), Sigmoid(), n_features=3), options(100))
    model = fit.model
    mean, _ = marginals(fit.q, model.kernel, model.mean_function, model.inducing, rows.X)
    assert np.mean((mean > 0) == (f > 0)) > 0.8
    assert not misses_something(rows, fit.model, fit.q)


def test_equal_kernels_separate() -> None:
    generator = np.random.default_rng(0)
    x = np.sort(generator.uniform(0.0, 1.0, 400))
    y = 3.0 * wave(x, 1) + 0.5 * wave(x, 15) + 0.1 * generator.standard_normal(400)
    rows = MemoryRows(np.sqrt(12.0) * (x[:, None] - 0.5), y / y.std())
    start = prior(Gaussian(), Identity(), kernel=RBF() + RBF(), n_features=1)
    fit = fit_rows(rows, start, options(100))
    slow, fast = (term.params[0] for term in fit.model.kernel.terms)
    assert abs(slow - fast) > 1.0
    assert fit.model.likelihood.value("scale") * y.std() < 0.15


# ---- the openings


def test_openings_differ_in_lengthscale_only() -> None:
    rows = MemoryRows(np.random.default_rng(0).normal(size=(200, 3)), np.zeros(200))
    kernel = RBF().for_features(3)
    found = openings(kernel, rows)
    assert found[0].kernel == kernel
    away = kernel.params - np.array([opening.kernel.params for opening in found])
    np.testing.assert_allclose(np.exp(away[:, 0]), [1.0, 3.0, 9.0, 27.0])
    np.testing.assert_array_equal(away[:, 1:], 0.0)
    assert not any(opening.suggested for opening in found)


def test_lengthscales_that_targets_suggest() -> None:
    rows = waves("gaussian", 8)
    two = MemoryRows(np.column_stack([rows.X, rows.X[::-1]]), rows.y)
    suggested = [o.kernel for o in openings(RBF(ard=True).for_features(2), two) if o.suggested]
    usual = RBF(ard=True).for_features(2).lengthscale.values
    for kernel in suggested:
        ratio = usual / kernel.lengthscale.values
        assert ratio[0] > 5.0
        assert ratio[1] == pytest.approx(1.0)


def test_given_lengthscales_are_started_from_first() -> None:
    rows = waves("gaussian", 8)
    given = RBF(2.0).for_features(1)
    assert openings(given, rows) == []
    first, second = as_given(given)
    assert first.kernel == given
    np.testing.assert_allclose(second.kernel.params, given.params - 1.0)


def test_the_best_opening_comes_first_and_hopeless_ones_are_left_out() -> None:
    rows, journal = waves("gaussian", 8), Journal(lambda progress: None)
    kernel = RBF().for_features(1)
    model = Model(kernel, ZeroMean(), Gaussian(0.3), Identity(), ClosedForm(), rows.X[:100])
    every = openings(kernel, rows)
    found = best_first(evaluated(rows, every, model, options(), journal), usual=kernel)
    assert len(found) == len(every)
    reached = [opening.evaluation.objective for opening in found if opening.evaluation]
    assert reached == sorted(reached, reverse=True)
    assert found[0].kernel.params[0] < kernel.params[0] - np.log(5.0)
    slow = waves("gaussian", 1)
    slightly = best_first(evaluated(slow, every, model, options(), journal), usual=kernel)
    reached = [opening.evaluation.objective for opening in slightly if opening.evaluation]
    assert slightly[0].kernel == kernel
    assert max(reached) - reached[0] < 0.05
    with np.errstate(all="ignore"):
        broken = MemoryRows(rows.X, np.full(len(rows), np.nan))
        assert evaluated(broken, every, model, options(), journal) == []
