"""Likelihoods far narrower than what f spans: cells as fine as their noise, or a warning."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stepgp._array import Floats
from stepgp.fit import Fit, Outcome, fit_rows, resolution, stages
from stepgp.likelihoods import Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Exp, Identity, Link, Softplus
from stepgp.model import MixturePredictive
from stepgp.model.posterior import marginals
from stepgp.rows import MemoryRows
from tests.fit.problems import converged, options, prior, rows_of
from tests.model.scenes import scene

_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(100)
WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


def waves(n_rows: int, seed: int) -> tuple[Floats, Floats]:
    X = np.random.default_rng(seed).uniform(-2.0, 2.0, (n_rows, 1))
    return X, np.sin(1.7 * X[:, 0])


def fitted(X: Floats, y: Floats, likelihood: Likelihood, link: Link, **given: object) -> Fit:
    chosen = prior(likelihood, link, n_features=1)
    return fit_rows(MemoryRows(X, y), chosen, options(20, **given))


def both(fit: Fit, link: Link, X: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """log p(y) and the deviation of y by the mixture, and by quadrature under the same q."""
    model = fit.model
    args = model.kernel, model.mean_function, model.inducing, X
    mean, var = marginals(fit.q, *args)
    dist = MixturePredictive(model.likelihood, link, fit.cells, mean, var)
    level = link(mean[:, None] + np.sqrt(var)[:, None] * _POINTS)
    terms = model.likelihood.log_prob(y[:, None], level)
    centre = model.likelihood.mean(level) @ WEIGHTS
    square = model.likelihood.var(level) + (model.likelihood.mean(level) - centre[:, None]) ** 2
    density = np.log(np.exp(terms) @ WEIGHTS)
    return dist.log_prob(y), dist.std(), density, np.sqrt(square @ WEIGHTS)


@pytest.mark.parametrize("noise", [1e-2, 1e-3])
@pytest.mark.parametrize("name", ["student", "gaussian-softplus"])
def test_narrow_noise_stays_narrow(name: str, noise: float) -> None:
    likelihood, link, offset = {
        "student": (StudentT(noise, 5.0), Identity(), 0.0),
        "gaussian-softplus": (Gaussian(noise), Softplus(), 3.0),
    }[name]
    (X, f), (X_new, f_new) = waves(200, 1), waves(200, 2)
    errors = noise * np.random.default_rng(3).standard_t(5.0, (2, 200))
    fit = fitted(X, f + offset + errors[0], likelihood, link)
    assert fit.diagnostics.outcome.is_sound
    assert abs(fit.diagnostics.resolution.change) < 2e-3
    ours, std, exact, exact_std = both(fit, link, X_new, f_new + offset + errors[1])
    assert np.mean(ours) == pytest.approx(np.mean(exact), abs=0.02)
    np.testing.assert_allclose(std, exact_std, rtol=0.05)


def test_learnt_noise_is_not_held_up_by_the_cells() -> None:
    """Cells of width Δ look like noise of Δ/√6: noise is learnt down to less than that of 512."""
    X, f = waves(200, 1)
    y = f + 0.005 * np.random.default_rng(3).standard_normal(200)
    fit = fitted(X, y, StudentT(), Identity())
    assert fit.diagnostics.outcome.is_sound
    assert fit.model.likelihood.value("scale") < 0.008


def test_large_counts() -> None:
    X, f = waves(200, 1)
    X_new, f_new = waves(200, 2)
    counts = np.random.default_rng(3).poisson(1e6 * np.exp([f, f_new])).astype(float)
    fit = fitted(X, counts[0], Poisson(), Exp())
    assert fit.diagnostics.outcome.is_sound
    mean, var = marginals(
        fit.q, fit.model.kernel, fit.model.mean_function, fit.model.inducing, X_new
    )
    dist = MixturePredictive(Poisson(), Exp(), fit.cells, mean, var)
    rates = np.exp(mean[:, None] + np.sqrt(var)[:, None] * _POINTS)
    exact = np.log(stats.poisson(rates).pmf(counts[1][:, None]) @ WEIGHTS)
    assert np.mean(dist.log_prob(counts[1])) == pytest.approx(np.mean(exact), abs=0.02)
    total = np.exp(mean + 0.5 * var) + np.expm1(var) * np.exp(2.0 * mean + var)
    np.testing.assert_allclose(dist.std(), np.sqrt(total), rtol=0.01)
    low, high = dist.quantile(np.array([0.05, 0.95])).T
    assert np.mean((low <= counts[1]) & (counts[1] <= high)) < 0.96


def test_too_few_cells_are_said() -> None:
    """A number that was asked for is kept; the fit is not called sound."""
    X, f = waves(200, 1)
    y = f + 1e-2 * np.random.default_rng(3).standard_t(5.0, 200)
    fit = fitted(X, y, StudentT(1e-2, 5.0), Identity(), n_cells=64)
    assert fit.diagnostics.n_cells == 64
    assert fit.diagnostics.outcome is Outcome.CELLS_TOO_COARSE
    assert not fit.diagnostics.outcome.is_sound
    given = fitted(X, y, StudentT(1e-2, 5.0), Identity(), cells=fit.cells)
    assert given.diagnostics.outcome is not Outcome.CELLS_TOO_COARSE
    assert given.diagnostics.resolution is not None
    assert abs(given.diagnostics.resolution.change) > 0.01


def test_cells_that_stay_too_coarse_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolution, "FINEST", 512)
    monkeypatch.setattr(stages, "FINEST", 512)
    X, f = waves(200, 1)
    y = f + 1e-3 * np.random.default_rng(3).standard_t(5.0, 200)
    fit = fitted(X, y, StudentT(1e-3, 5.0), Identity())
    assert fit.diagnostics.outcome is Outcome.CELLS_TOO_COARSE


def test_many_cells_reach_every_row() -> None:
    """Beyond the usual number there is no core: all rows get cells of one width, as fine as ten
    times the tolerance asks for; below it as fine as the tolerance itself."""
    made = scene(StudentT(1e-3, 5.0), Identity())
    step = converged(rows_of(made), made.model).e_step
    spread = step.rows.spread
    cells = resolution.even_hats(spread.lowest, spread.highest, 200)

    def widths(change: float) -> Floats:
        found = resolution.Resolution(change, change, change, 0.0)
        finer = resolution.adapted(cells, made.model, step, found, enough=1e-4, n_cells=None)
        assert finer is not None
        points = np.linspace(spread.lowest, spread.highest, 50)[1:-1]
        return finer.widths_at(points) / cells.finest_width

    np.testing.assert_allclose(widths(0.5), np.sqrt(0.5 * 1e-3 / 0.5), rtol=0.02)
    assert np.min(widths(1.5e-4)) == pytest.approx(np.sqrt(0.5 / 1.5), rel=0.02)
