"""Mixtures over the cells that each row sees are those over all cells."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.cells import CellFamily, Grid, Hat, Indicator
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Exp, Identity, Link, Probit, Softplus
from stepgp.model import MixturePredictive
from stepgp.model.mixture import Mixture
from stepgp.model.sights import SharedCells

GRID = Grid.uniform(-30.0, 30.0, 6_001, "midpoint")
MEAN = np.array([-9.0, -2.0, 0.0, 0.7, 3.0, 4.0, 33.0])
VAR = np.array([0.04, 1e-4, 1.0, 4.0, 1e-3, 9.0, 1.0])
PAIRS: list[tuple[Likelihood, Link]] = [
    (Gaussian(0.02), Identity()),
    (StudentT(0.02, 4.0), Identity()),
    (StudentT(0.3, 30.0), Softplus()),
    (Poisson(), Exp()),
    (Poisson(), Softplus()),
    (Bernoulli(), Probit()),
]
each_pair = pytest.mark.parametrize(("likelihood", "link"), PAIRS, ids=str)


def everything(cells: CellFamily, mean: np.ndarray, var: np.ndarray) -> SharedCells:
    near = np.tile(np.arange(cells.n_cells), (len(mean), 1))
    return SharedCells(mean, var, cells, near)


@each_pair
@pytest.mark.parametrize("family", [Hat, Indicator])
def test_nothing_is_missed(
    likelihood: Likelihood, link: Link, family: type[Hat] | type[Indicator]
) -> None:
    """Moments, cdf and quantiles; densities of targets far from what f suggests as well."""
    cells = family(GRID)
    exposure = np.linspace(0.5, 3.0, len(MEAN)) if likelihood.takes_exposure else None
    seen = MixturePredictive(likelihood, link, cells, MEAN, VAR, exposure)
    whole = Mixture(likelihood, link, everything(cells, MEAN, VAR), exposure)
    np.testing.assert_allclose(seen.mean(), whole.mean(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(seen.var(), whole.var(), rtol=1e-9, atol=1e-30)
    for q in (0.001, 0.47, 0.95):
        np.testing.assert_allclose(
            seen.quantile(q), whole.quantiles([q])[:, 0], rtol=1e-9, atol=1e-10
        )
    for y in (0.0, 1.0) if isinstance(likelihood, Bernoulli) else (0.0, 3.0, 25.0, 400.0):
        targets = np.full(len(MEAN), y)
        np.testing.assert_allclose(
            seen.log_prob(targets), whole.log_prob(targets), rtol=1e-9, atol=1e-10
        )
        np.testing.assert_allclose(seen.cdf(targets), whole.cdf(targets), atol=1e-12)


def test_draws_follow_the_rows() -> None:
    dist = MixturePredictive(Gaussian(0.02), Identity(), Hat(GRID), MEAN, VAR)
    draws = dist.sample(4_000, 1)
    assert draws.shape == (len(MEAN), 4_000)
    np.testing.assert_allclose(draws.mean(axis=1)[:-1], MEAN[:-1], atol=0.2)


def test_rows_do_not_depend_on_each_other() -> None:
    dist = MixturePredictive(Poisson(), Exp(), Hat(GRID), MEAN, VAR)
    for row in range(len(MEAN)):
        alone = MixturePredictive(
            Poisson(), Exp(), Hat(GRID), MEAN[row : row + 1], VAR[row : row + 1]
        )
        assert alone.mean()[0] == pytest.approx(dist.mean()[row], rel=1e-11)
        assert alone.log_prob(2.0)[0] == pytest.approx(dist.log_prob(2.0)[row], rel=1e-11)


def test_a_likelihood_of_bounded_noise() -> None:
    """Log-density −∞ at the mean and at the ends of what is near: the cells between count."""

    class Uniform(Likelihood):
        def log_prob(self, y: np.ndarray, level: np.ndarray) -> np.ndarray:
            return np.where(np.abs(y - level) < 0.5, 0.0, -np.inf)

        def mean(self, level: np.ndarray) -> np.ndarray:
            return level

        def var(self, level: np.ndarray) -> np.ndarray:
            return np.full_like(level, 1.0 / 12.0)

    mean, var, y = np.zeros(2), np.array([1.0, 0.01]), np.array([12.0, 0.2])
    cells = Hat(GRID)
    seen = MixturePredictive(Uniform(), Identity(), cells, mean, var).log_prob(y)
    whole = Mixture(Uniform(), Identity(), everything(cells, mean, var), None).log_prob(y)
    np.testing.assert_allclose(seen, whole, rtol=1e-9)
    assert np.isfinite(seen).all()
