"""Links read from data: what is found, how well it is known, and that it costs nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import expit

from stepgp._array.namespace import Floats
from stepgp.fit import Fit, fit_rows
from stepgp.fit.information import informed
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import (
    Exp,
    Free,
    Identity,
    LearntLink,
    Link,
    Monotone,
    Ridge,
    Sigmoid,
    Smooth,
)
from stepgp.model import MixturePredictive
from stepgp.model.posterior import marginals
from stepgp.rows import MemoryRows
from tests.fit.problems import options, prior

KINDS: list[LearntLink] = [Smooth(), Monotone(), Ridge(strength=0.5), Free(n_knots=9)]
MODELS: dict[str, tuple[Likelihood, Link]] = {
    "bernoulli": (Bernoulli(), Sigmoid()),
    "poisson": (Poisson(), Exp()),
    "gaussian": (Gaussian(), Identity()),
    "student": (StudentT(), Identity()),
}
TRUTHS: dict[str, Callable[[Floats], Floats]] = {
    "shifted": lambda f: 0.15 + 0.7 * expit(3.0 * f - 1.0),
    "asymmetric": lambda f: 0.25 + 0.75 * expit(4.0 * f - 2.0) ** 3,
    "step": lambda f: np.where(f > 0.3, 0.9, 0.15),
}


def latent(X: Floats) -> Floats:
    return 2.0 * np.sin(1.5 * X[:, 0]) + 0.8 * X[:, 1]


def classes(truth: str, n_rows: int, seed: int) -> tuple[MemoryRows, Floats]:
    """Labels whose probability is that function of f, and these probabilities."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(-2.0, 2.0, size=(n_rows, 2))
    probability = TRUTHS[truth](latent(X))
    return MemoryRows(X, (generator.random(n_rows) < probability).astype(float)), probability


def fitted(rows: MemoryRows, link: Link, likelihood: Likelihood | None = None) -> Fit:
    model = prior(likelihood or Bernoulli(), link)
    return fit_rows(rows, model, options(40))


def predicted(fit: Fit, X: Floats) -> MixturePredictive:
    model = fit.model
    mean, var = marginals(fit.q, model.kernel, model.mean_function, model.inducing, X)
    return MixturePredictive(model.likelihood, model.link, fit.cells, mean, var, cells_grow=True)


def held_out(fit: Fit, X: Floats, probability: Floats) -> float:
    """Expected log-likelihood of a label at X, given its true probability."""
    dist = predicted(fit, X)
    ones, zeros = dist.log_prob(1.0), dist.log_prob(0.0)
    return float(np.mean(probability * ones + (1.0 - probability) * zeros))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("name", MODELS)
def test_no_accepted_iteration_lowers_the_objective(name: str, kind: LearntLink) -> None:
    likelihood, reference = MODELS[name]
    generator = np.random.default_rng(5)
    X = generator.uniform(-2.0, 2.0, size=(150, 2))
    level = reference(0.5 * latent(X))
    rows = MemoryRows(X, likelihood.sample(level, generator))
    fit = fitted(rows, kind.completed(reference), likelihood.initial(rows.y))
    reached = [progress.objective for progress in fit.history]
    assert len(reached) > 2
    # Cells are refined between runs: that may move the objective by what they hid.
    assert np.diff(reached).min() > -0.02
    assert np.median(np.diff(reached)) > 0.0
    assert fit.model.link.params.size
    assert fit.elbo > fit.diagnostics.constant_log_prob


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
def test_a_link_far_from_the_sigmoid_is_found(truth: str) -> None:
    """Held-out log-likelihood against the sigmoid's; the band of g(f(x)) at held-out rows."""
    gains, covered = list[float](), list[float]()
    for seed in range(3):
        rows, _ = classes(truth, 3_000, seed)
        test, probability = classes(truth, 2_000, seed + 100)
        learnt, fixed = (fitted(rows, kind) for kind in (Smooth(reference=Sigmoid()), Sigmoid()))
        gains.append(held_out(learnt, test.X, probability) - held_out(fixed, test.X, probability))
        model = learnt.model
        mean, var = marginals(learnt.q, model.kernel, model.mean_function, model.inducing, test.X)
        low, high = model.link.band(mean, var=var).T
        covered.append(float(np.mean((low <= probability) & (probability <= high))))
    assert min(gains) > 0.0, gains
    assert np.mean(covered) >= 0.85, covered


def test_a_true_sigmoid_costs_little() -> None:
    generator = np.random.default_rng(1)
    X = generator.uniform(-2.0, 2.0, size=(2_000, 2))
    probability = expit(latent(X))
    rows = MemoryRows(X, (generator.random(2_000) < probability).astype(float))
    test = generator.uniform(-2.0, 2.0, size=(2_000, 2))
    truth = expit(latent(test))
    learnt, fixed = (fitted(rows, link) for link in (Smooth(reference=Sigmoid()), Sigmoid()))
    assert held_out(learnt, test, truth) > held_out(fixed, test, truth) - 0.002


def test_bands_narrow_with_more_rows() -> None:
    few, many = (
        fitted(classes("asymmetric", n, 0)[0], Smooth(reference=Sigmoid())) for n in (200, 2_000)
    )
    widths = [
        float(np.mean(np.ptp(fit.model.link.band(np.linspace(-2, 2, 9)), axis=1)))
        for fit in (few, many)
    ]
    assert 0.0 < widths[1] < 0.7 * widths[0]


def test_fixed_links_are_left_as_they_are() -> None:
    rows, _ = classes("step", 100, 0)
    fit = fitted(rows, Sigmoid())
    assert fit.model.link == Sigmoid()
    assert informed(fit.model, fit.q, rows) is fit.model
