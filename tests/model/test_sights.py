"""Rows within the model's cells, at their ends and beyond: each sees what it needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from stepgp.cells import Grid, Hat, Indicator
from stepgp.likelihoods import Bernoulli, Gaussian, Poisson, StudentT
from stepgp.links import Affine, CLogLog, Exp, Identity, Link, Probit, Sigmoid
from stepgp.model import MixturePredictive
from stepgp.model.sights import apart
from tests.links.helpers import TO_LIBRARY

CELLS = Hat(Grid.uniform(-4.0, 4.0, 400, "midpoint"))
INSIDE = np.linspace(-1.0, 1.0, 9), np.geomspace(1e-6, 5e-3, 9)
EDGES = np.array([-3.9, 3.0, -4.2, 4.0]), np.array([0.1, 0.5, 0.01, 1.0])
FAR = np.array([300.0, -1e3, 1e4, 1e6, -1e12]), np.array([0.4, 0.003, 1.0, 0.6, 0.5])


def joined(*rows: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    mean, var = zip(*rows, strict=True)
    return np.concatenate(mean), np.concatenate(var)


def growing(likelihood: Any, link: Link, mean: Any, var: Any, **more: Any) -> MixturePredictive:
    return MixturePredictive(likelihood, link, CELLS, mean, var, cells_grow=True, **more)


def test_rows_within_the_cells_see_nothing_else() -> None:
    alone = MixturePredictive(StudentT(0.1, 4.0), Identity(), CELLS, *INSIDE)
    crowd = growing(StudentT(0.1, 4.0), Identity(), *joined(FAR, INSIDE, EDGES))
    rows = slice(len(FAR[0]), len(FAR[0]) + len(INSIDE[0]))
    np.testing.assert_allclose(crowd.mean()[rows], alone.mean(), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(crowd.std()[rows], alone.std(), rtol=1e-13)
    np.testing.assert_allclose(crowd.quantile(0.2)[rows], alone.quantile(0.2), rtol=1e-11)
    y = np.linspace(-3.0, 3.0, len(crowd))
    np.testing.assert_allclose(crowd.log_prob(y)[rows], alone.log_prob(y[rows]), rtol=1e-13)
    np.testing.assert_allclose(crowd.cdf(y)[rows], alone.cdf(y[rows]), rtol=1e-13)


def test_a_row_is_what_it_is_alone() -> None:
    """Whatever other rows ask for, 1e150 deviations away or at the ends of the cells."""
    mean, var = joined(FAR, INSIDE, EDGES, (np.array([1e150, -3.0]), np.array([1e290, 1e300])))
    crowd = growing(Bernoulli(), Sigmoid(), mean, var)
    for row in range(len(mean)):
        alone = growing(Bernoulli(), Sigmoid(), mean[[row]], var[[row]])
        np.testing.assert_allclose(crowd.mean()[row], alone.mean()[0], rtol=1e-13)
        np.testing.assert_allclose(crowd.log_prob(0.0)[row], alone.log_prob(0.0)[0], rtol=1e-13)


# ---- against the integral over f


SPREAD, STEP = np.linspace(-9.0, 9.0, 4_001, retstep=True)
WEIGHT = stats.norm.pdf(SPREAD) * STEP


@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_noise_around_f_far_away(shift: float) -> None:
    """Standard deviation, quantiles, density and cdf of t noise around f ~ N(μ, v)."""
    link, noise = Affine(Identity(), shift, 2.0), StudentT(0.3, 5.0)
    for mean, var in (FAR, EDGES):
        dist, centre = growing(noise, link, mean, var), shift + 2.0 * mean
        np.testing.assert_allclose(dist.mean(), centre, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(dist.var(), 4.0 * var + 0.09 * 5.0 / 3.0, rtol=2e-3)
        levels = 2.0 * np.sqrt(var)[:, None] * SPREAD
        for offset in (-3.0, 0.1, 8.0):
            density = stats.t(5.0, scale=0.3).pdf(offset - levels) @ WEIGHT
            cdf = stats.t(5.0, scale=0.3).cdf(offset - levels) @ WEIGHT
            np.testing.assert_allclose(dist.log_prob(centre + offset), np.log(density), atol=5e-3)
            np.testing.assert_allclose(dist.cdf(centre + offset), cdf, atol=2e-3)
        low, middle, high = dist.quantile([0.05, 0.5, 0.95]).T - centre
        np.testing.assert_allclose(middle, 0.0, atol=1e-3)
        np.testing.assert_allclose(high, -low, rtol=1e-3)
        share = [
            stats.t(5.0, scale=0.3).cdf(at - row) @ WEIGHT
            for at, row in zip(high, levels, strict=True)
        ]
        np.testing.assert_allclose(share, 0.95, atol=1e-3)


@pytest.mark.parametrize("scale", [0.05, 1.0])
def test_densities_beyond_the_cells_of_a_row_within(scale: float) -> None:
    """N(0, v) seen through cells that end at six deviations, targets at up to twenty."""
    deviation = 4.0 / 6.0
    for end in (6.0, 7.0, 8.0, 20.0):
        dist = growing(Gaussian(scale), Identity(), np.zeros(1), np.array([deviation**2]))
        total = np.sqrt(deviation**2 + scale**2)
        for y in (end * deviation, -end * deviation):
            wanted = stats.norm(0.0, total).logpdf(y)
            np.testing.assert_allclose(dist.log_prob(y), wanted, rtol=3e-4)


def test_rows_are_checked() -> None:
    for var in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"var must be positive and finite, got .* in row 1"):
            growing(Gaussian(1.0), Identity(), np.zeros(2), np.array([1.0, var]))
    with pytest.raises(ValueError, match="one shape"):
        growing(Gaussian(1.0), Identity(), np.zeros(2), np.ones(3))
    with pytest.raises(ValueError, match="exposure must be positive"):
        growing(Poisson(), Exp(), np.zeros(2), np.ones(2), exposure=np.array([1.0, 0.0]))
    assert growing(Poisson(), Exp(), [0, 1], [1, 1]).mean().shape == (2,)


@pytest.mark.parametrize("mean", [-30.0, -4.5, 3.5, 12.0, 40.0])
@pytest.mark.parametrize("deviation", [0.1, 1.0, 2.5])
def test_growing_links_far_away(mean: float, deviation: float) -> None:
    """E eᶠ and its variance, which lie 2√v deviations off: beyond the six that a row sees."""
    dist = growing(Poisson(), Exp(), np.array([mean]), np.array([deviation**2]))
    rate = np.exp(mean + 0.5 * deviation**2)
    np.testing.assert_allclose(dist.mean(), rate, rtol=2e-3)
    np.testing.assert_allclose(dist.var(), rate + np.expm1(deviation**2) * rate**2, rtol=8e-3)


@pytest.mark.parametrize("size", [1e1, 1e3, 1e8, 1e33, 1e100, 1e150])
@pytest.mark.parametrize("share", [-14.0, -7.0, -2.0, 0.0, 0.3, 5.0])
def test_probabilities_where_the_latent_variance_is_huge(size: float, share: float) -> None:
    """E Φ(f) = Φ(μ/√(1 + v)), in both tails."""
    dist = growing(Bernoulli(), Probit(), np.array([share * size]), np.array([size**2]))
    z = share * size / np.sqrt(1.0 + size**2)
    np.testing.assert_allclose(dist.log_prob(1.0), stats.norm.logcdf(z), rtol=5e-3, atol=1e-3)
    np.testing.assert_allclose(dist.log_prob(0.0), stats.norm.logcdf(-z), rtol=5e-3, atol=1e-3)


@pytest.mark.parametrize("link", [Sigmoid(), Probit(), CLogLog()], ids=str)
@pytest.mark.parametrize("mean", [1e2, 1e33, 1e155, 1e300])
def test_saturated_probabilities(link: Link, mean: float) -> None:
    dist = growing(Bernoulli(), link, np.array([mean, -mean]), np.ones(2))
    np.testing.assert_allclose(dist.mean(), [1.0, 0.0], atol=1e-13)
    for y, sure in ((1.0, 0), (0.0, 1)):
        log = dist.log_prob(y)
        assert log[sure] == pytest.approx(0.0, abs=1e-13)
        assert np.isfinite(log).all()
        assert log[1 - sure] < -40.0


# ---- how


def test_few_cells_wherever_a_row_is() -> None:
    mean, var = joined(FAR, EDGES, (np.full(50, 7.0), np.geomspace(1e-200, 1e300, 50)))
    groups = list(apart(CELLS, mean, var))
    np.testing.assert_array_equal(
        np.sort(np.concatenate([group.rows for group in groups])), np.arange(len(mean))
    )
    assert max(group.cells.n_cells for group in groups) < 80_000
    usual = list(apart(CELLS, *joined(FAR, INSIDE, EDGES)))
    assert max(group.cells.n_cells for group in usual) < 8 * CELLS.n_cells


@pytest.mark.parametrize("library", TO_LIBRARY)
def test_libraries_agree(library: str) -> None:
    mean, var = joined(FAR, INSIDE, EDGES)
    y, exposure = np.arange(len(mean)) % 3.0, np.linspace(0.5, 2.0, len(mean))
    for likelihood, link, more in (
        (Bernoulli(), Sigmoid(), {}),
        (Gaussian(0.4), Identity(), {}),
        (Poisson(), Exp(), {"exposure": exposure}),
    ):
        mean = np.clip(mean, -300.0, 300.0)
        expected = growing(likelihood, link, mean, var, **more)
        convert = TO_LIBRARY[library]
        got = growing(
            likelihood,
            link,
            convert(mean),
            convert(var),
            **{name: convert(value) for name, value in more.items()},
        )
        np.testing.assert_allclose(got.mean(), expected.mean(), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(got.log_prob(y), expected.log_prob(y), rtol=1e-10)
        assert got.sample(2, 0).shape == (len(mean), 2)


@pytest.mark.parametrize("family", [Hat, Indicator])
def test_any_family_and_a_single_node(family: type) -> None:
    for grid in (Grid.uniform(-1.0, 1.0, 30, "midpoint"), Grid(np.array([0.3]))):
        dist = replace(growing(Bernoulli(), Sigmoid(), *FAR), cells=family(grid))
        np.testing.assert_allclose(dist.mean(), FAR[0] > 0.0, atol=1e-12)


@pytest.mark.parametrize(("mean", "var"), [(3.9, 9.0), (0.0, 16.0), (-20.0, 30.0), (12.0, 20.0)])
def test_moments_of_growing_links_across_the_ends(mean: float, var: float) -> None:
    """E e^f sits √v deviations beyond the mean, E e^2f twice as many: far outside the cells."""
    dist = growing(Poisson(), Exp(), np.array([mean]), np.array([var]))
    expected = np.exp(mean + 0.5 * var)
    assert dist.mean()[0] == pytest.approx(expected, rel=5e-3)
    assert dist.var()[0] == pytest.approx(expected + np.expm1(var) * expected**2, rel=0.05)
