"""Banana through 100 coarse steps: undamped passes once ended at −1.708 nats a row here."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold

from stepgp._array.linalg import NotPositiveDefinite
from stepgp.cells import Grid, Indicator
from stepgp.fit import Fit, fit_rows
from stepgp.fit.estep import e_step
from stepgp.kernels import RBF, Ard
from stepgp.likelihoods import Bernoulli
from stepgp.links import Sigmoid
from stepgp.model import ZeroMean
from stepgp.model.fitted import Standardisation
from stepgp.model.posterior import posterior_of
from stepgp.model.rowpass import Model, row_pass
from stepgp.model.rules import CellRule
from stepgp.rows import MemoryRows
from tests.fit.problems import options, prior, prior_state

CELLS = Indicator(Grid.uniform(-5.0, 5.0, 100))


@pytest.fixture(scope="module")
def banana(data_folder: Path) -> MemoryRows:
    """The first of ten folds, rows in the order of the file."""
    table = np.loadtxt(data_folder / "banana.csv", delimiter=",", skiprows=1)
    train, _ = next(KFold(10).split(table))
    X = table[train, :2]
    return MemoryRows(Standardisation.of(X, None).forward(X), (table[train, 2] > 0).astype(float))


def fit_from(rows: MemoryRows, ard: Ard, Z: np.ndarray, shift: float = 0.0) -> Fit:
    """The paper's preset from kernel parameters that far from the default ones."""
    kernel = RBF(ard=ard).for_features(2)
    kernel = kernel.with_params(kernel.params + shift)
    chosen = prior(Bernoulli(), Sigmoid(), kernel=kernel, mean_function=ZeroMean())
    return fit_rows(rows, chosen, options(10, inducing=Z.copy(), cells=CELLS))


@pytest.mark.parametrize("ard", [False, "shrunk"])
def test_a_fit_ends_where_it_should(banana: MemoryRows, ard: Ard) -> None:
    """Within .01 nats a row of the best of starts elsewhere, which is not bad either."""
    fit = fit_from(banana, ard, banana.X[:10])
    generator = np.random.default_rng(0)
    others = [
        fit_from(banana, ard, generator.permutation(banana.X)[:10], shift) for shift in (-0.7, 0.7)
    ]
    assert fit.objective > max(other.objective for other in others) - 0.01
    assert fit.elbo > -0.27
    assert fit.diagnostics.outcome.is_sound
    assert fit.diagnostics.restarts == 0


def test_it_kills_passes_without_a_guard(banana: MemoryRows) -> None:
    """Full steps from pass to pass soon leave no posterior where f may be wide."""
    kernel = RBF(1.0, np.exp(4.0), ard=False).for_features(2)
    model = Model(kernel, ZeroMean(), Bernoulli(), Sigmoid(), CellRule(CELLS), banana.X[:10])
    start = prior_state(model).sites

    def unguarded() -> None:
        q = posterior_of(start)
        for _ in range(15):
            q = posterior_of(banana.reduce(partial(row_pass, model, q)).sites.whitened(q.factor))

    with pytest.raises(NotPositiveDefinite, match="precision"):
        unguarded()
    guarded = e_step(banana, model, start, tolerance=1e-6, max_passes=100)
    assert guarded.elbo / len(banana) > -0.51


@pytest.mark.parametrize("log_variance", [0.0, 2.0, 4.0])
def test_e_steps_end_at_one_place(banana: MemoryRows, log_variance: float) -> None:
    """Damped or not, at wide and narrow priors of f: never stuck on the way."""
    rows = banana.head(1_000)
    kernel = RBF(1.0, np.exp(log_variance), ard=False).for_features(2)
    model = Model(kernel, ZeroMean(), Bernoulli(), Sigmoid(), CellRule(CELLS), rows.X[:10])
    start = prior_state(model).sites
    ends = [
        e_step(rows, model, start, tolerance=1e-6, damped=damped, max_passes=100)
        for damped in (True, False)
    ]
    assert ends[0].elbo == pytest.approx(ends[1].elbo, abs=1e-3)
    wrong = replace(start, linear=start.linear + 20.0, quadratic=50.0 * np.eye(10))
    lost = e_step(rows, model, wrong, tolerance=1e-6, damped=True, max_passes=100)
    assert lost.elbo == pytest.approx(ends[0].elbo, abs=1e-3)
