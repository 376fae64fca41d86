"""The finite mixture: its variance, its tails, exposure, blocks, and the Gaussian it replaces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from stepgp.cells import Grid, Hat
from stepgp.likelihoods import Bernoulli, Gaussian, Poisson, StudentT
from stepgp.links import Affine, CLogLog, Exp, Identity, Link, Probit, Sigmoid, Softplus
from stepgp.model import GaussianPredictive, MixturePredictive
from tests.likelihoods.minimal import Exponential
from tests.links.helpers import TO_LIBRARY
from tests.model.cases import CELLS, MEAN, PAIRS, VAR, arrays, coarse
from tests.model.dists import can_sum

FINE = Hat(Grid.uniform(-16.0, 16.0, 4_000, "midpoint"))
MODERATE = np.minimum(VAR, 1.0)


# ---- moments against the true link


def test_poisson_variance_is_total_variance() -> None:
    """E Var(y|f) + Var E(y|f) = E λ + (e^v − 1)(E λ)² with E λ = e·e^(μ+v/2)."""
    exposure = np.linspace(0.3, 2.5, 6)
    dist = MixturePredictive(Poisson(), Exp(), FINE, MEAN, MODERATE, exposure)
    rate = exposure * np.exp(MEAN + 0.5 * MODERATE)
    np.testing.assert_allclose(dist.mean(), rate, rtol=1e-4)
    np.testing.assert_allclose(dist.var(), rate + np.expm1(MODERATE) * rate**2, rtol=3e-4)


def test_gaussian_variance_adds_that_of_the_latent() -> None:
    dist = MixturePredictive(Gaussian(0.4), Identity(), FINE, MEAN, VAR)
    np.testing.assert_allclose(dist.mean(), MEAN, atol=1e-12)
    np.testing.assert_allclose(dist.var(), 0.16 + VAR, rtol=1e-4)


def test_probit_has_its_closed_form() -> None:
    dist = MixturePredictive(Bernoulli(), Probit(), FINE, MEAN, VAR)
    np.testing.assert_allclose(dist.mean(), stats.norm.cdf(MEAN / np.sqrt(1.0 + VAR)), rtol=1e-4)


# ---- tails


def test_probit_at_forty_deviations() -> None:
    """Neither clamped nor −∞: log Φ(−40/√2) and worse."""
    mean = np.array([-40.0, 40.0, -40.0, 40.0])
    cells = Hat(Grid.uniform(-60.0, 60.0, 12_001, "midpoint"))
    for link in (Probit(), Sigmoid()):
        dist = MixturePredictive(Bernoulli(), link, cells, mean, np.ones(4))
        y = np.array([1.0, 0.0, 0.0, 1.0])
        got = dist.log_prob(y)
        if isinstance(link, Probit):
            reference = stats.norm.logcdf(-40.0 / np.sqrt(2.0))
            np.testing.assert_allclose(got[:2], reference, rtol=1e-4)
        else:  # E e^f = e^(μ + ½) far on the left
            np.testing.assert_allclose(got[:2], -39.5, rtol=1e-5)
        assert np.all(np.abs(got[2:]) < 1e-10)


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("link", [Sigmoid(), Probit(), CLogLog()], ids=str)
def test_rows_far_outside_the_grid(link: Link, cells: str) -> None:
    """Every cell is 40 √v away: the nearest one holds the row, and logs stay finite."""
    family = coarse(CELLS[cells])
    low, high = family.span
    mean, var = np.array([low - 40.0, high + 40.0]), np.ones(2)
    dist = MixturePredictive(Bernoulli(), link, family, mean, var)
    for y in (0.0, 1.0):
        assert np.isfinite(dist.log_prob(y)).all()
    ends = link(family.stencil()[0][[0, -1], 0])
    np.testing.assert_allclose(dist.mean(), ends, rtol=1e-12)


@pytest.mark.parametrize("cells", ["hat", "step-midpoint"])
def test_log_prob_is_the_sum_in_log_space(cells: str) -> None:
    """Against SciPy's logsumexp over masses from normal cdfs in log space."""
    family = CELLS[cells](-4.0, 2.5, 12)
    sharp = Gaussian(1e-3)
    mean, var = np.array([-1.0, 0.4]), np.array([1e-4, 1e-2])
    y = np.array([2.0, -3.5])  # 300 and 39 deviations of f away
    dist = MixturePredictive(sharp, Identity(), family, mean, var)
    levels = family.nodes
    terms = family.log_masses(mean, var) + stats.norm(levels, 1e-3).logpdf(y[:, None])
    assert np.all(np.exp(terms) == 0.0)  # a sum of probabilities would be log 0
    np.testing.assert_allclose(dist.log_prob(y), special.logsumexp(terms, axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("dist", "far"),
    [
        (MixturePredictive(Gaussian(0.5), Identity(), FINE, np.zeros(1), np.ones(1)), 1e4),
        (MixturePredictive(Poisson(), Exp(), coarse(CELLS["hat"]), np.zeros(1), np.ones(1)), 1e4),
        (GaussianPredictive(np.zeros(1), np.ones(1)), 1e4),
    ],
    ids=["mixture", "counts", "gaussian"],
)
def test_outliers_are_never_cheap(dist: MixturePredictive, far: float) -> None:
    """The density has no floor: it keeps falling, and stays finite."""
    near, middle, outer = (dist.log_prob(y)[0] for y in (1.0, 0.1 * far, far))
    assert np.isfinite(outer)
    assert near > middle > outer
    assert middle < -2e3
    assert outer < 8.0 * middle


def test_impossible_targets_have_probability_zero() -> None:
    counts = MixturePredictive(
        Poisson(), Exp(), coarse(CELLS["hat"]), MEAN, VAR, np.arange(1.0, 7.0)
    )
    y = np.array([0.5, -1.0, 3.0, np.inf, np.nan, 0.0])
    got, whole = counts.log_prob(y), counts.log_prob(np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0]))
    np.testing.assert_array_equal(got[[0, 1, 3]], np.full(3, -np.inf))
    assert np.isnan(got[4])
    np.testing.assert_allclose(got[[2, 5]], whole[[2, 5]], rtol=1e-14)
    classes = MixturePredictive(Bernoulli(), Sigmoid(), coarse(CELLS["hat"]), MEAN, VAR)
    np.testing.assert_array_equal(classes.log_prob(2.0), np.full(6, -np.inf))


def test_infinite_variance_is_not_nan() -> None:
    """Cells without mass must not turn it into 0·∞."""
    dist = MixturePredictive(StudentT(0.5, 1.5), Identity(), FINE, MEAN, VAR)
    assert np.isposinf(dist.var()).all()
    assert np.isfinite(dist.mean()).all()


def test_student_tails_stay_heavy() -> None:
    """(ν + 1) log y on the way out."""
    dist = MixturePredictive(StudentT(0.5, 3.0), Identity(), FINE, np.zeros(1), np.ones(1))
    drop = dist.log_prob(1e6)[0] - dist.log_prob(1e8)[0]
    assert drop == pytest.approx(4.0 * np.log(100.0), rel=1e-6)


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_an_offset_costs_no_digits(offset: float) -> None:
    """Gaussian noise of a hundredth on a large offset: y²/2σ² − yg/σ² + g²/2σ² would cancel."""
    narrow = np.full(6, 1e-4)
    near = MixturePredictive(Gaussian(0.01), Affine(Softplus(), 0.0, 1.0), FINE, MEAN, narrow)
    far = replace(near, link=Affine(Softplus(), offset, 1.0))
    y = Softplus()(MEAN) + np.linspace(-0.03, 0.03, 6)
    np.testing.assert_allclose(far.log_prob(y + offset), near.log_prob(y), atol=1e-10 * offset)


# ---- array libraries


@pytest.mark.parametrize("library", [name for name in TO_LIBRARY if name != "numpy"])
@pytest.mark.parametrize("cells", CELLS)
def test_every_library(cells: str, library: str) -> None:
    """What is of the size rows × cells is computed where the rows are."""
    for pair in PAIRS:
        family, y = coarse(CELLS[cells]), pair.targets.copy()
        reference = MixturePredictive(pair.likelihood, pair.link, family, MEAN, VAR, pair.exposure)
        mean, var, exposure = arrays(TO_LIBRARY[library], MEAN, VAR, pair.exposure)
        dist = MixturePredictive(pair.likelihood, pair.link, family, mean, var, exposure)
        y[0] = np.nan
        for got, wanted in (
            (dist.mean(), reference.mean()),
            (dist.var(), reference.var()),
            (dist.log_prob(y), reference.log_prob(y)),
        ):
            assert type(got) is np.ndarray
            np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12, err_msg=str(pair))
        if can_sum(pair.likelihood):
            np.testing.assert_allclose(dist.cdf(1.0), reference.cdf(1.0), rtol=1e-10)
            np.testing.assert_allclose(dist.quantile(0.3), reference.quantile(0.3), rtol=1e-8)
            assert dist.sample(2, 1).shape == (6, 2)


# ---- exposure


@pytest.mark.parametrize("cells", CELLS)
def test_exposure_multiplies_the_rate(cells: str) -> None:
    """p(y | e) = Σ w_k Poisson(y | e g_k), in every method."""
    exposure = np.linspace(0.3, 9.0, 6)
    plain = MixturePredictive(Poisson(), Exp(), coarse(CELLS[cells]), MEAN, VAR)
    dist = replace(plain, exposure=exposure)
    masses = plain.cells.masses(MEAN, VAR)
    points, weights = plain.cells.stencil()
    rates = exposure[:, None] * (np.exp(points) @ weights)
    y = np.array([0.0, 1.0, 3.0, 8.0, 60.0, 2.0])
    density = np.sum(masses * stats.poisson(rates).pmf(y[:, None]), axis=1)
    np.testing.assert_allclose(dist.log_prob(y), np.log(density), rtol=1e-9)
    cdf = np.sum(masses * stats.poisson(rates).cdf(y[:, None]), axis=1)
    np.testing.assert_allclose(dist.cdf(y), cdf, rtol=1e-10)
    np.testing.assert_allclose(dist.mean(), exposure * plain.mean(), rtol=1e-13)
    between = plain.var() - plain.mean()
    np.testing.assert_allclose(dist.var(), dist.mean() + exposure**2 * between, rtol=1e-11)
    one = replace(plain, exposure=np.ones(6))
    np.testing.assert_allclose(one.log_prob(y), plain.log_prob(y), rtol=1e-13)
    np.testing.assert_array_equal(one.quantile(0.4), plain.quantile(0.4))


# ---- blocks of rows


def test_rows_in_blocks() -> None:
    """More rows than are held at a time: the same numbers as one by one."""
    n = 1_000_000 // 512 + 7
    generator = np.random.default_rng(1)
    mean, var = generator.normal(size=n), generator.uniform(0.1, 1.0, n)
    exposure = generator.uniform(0.5, 2.0, n)
    cells = Hat(Grid.uniform(-7.0, 7.0, 512, "midpoint"))
    dist = MixturePredictive(Poisson(), Exp(), cells, mean, var, exposure)
    y = generator.poisson(2.0, n).astype(float)
    for rows in (slice(0, 5), slice(1950, 1960), slice(n - 5, n)):
        part = MixturePredictive(Poisson(), Exp(), cells, mean[rows], var[rows], exposure[rows])
        np.testing.assert_allclose(dist.mean()[rows], part.mean(), rtol=1e-13)
        np.testing.assert_allclose(dist.var()[rows], part.var(), rtol=1e-13)
        np.testing.assert_allclose(dist.log_prob(y)[rows], part.log_prob(y[rows]), rtol=1e-12)
        np.testing.assert_allclose(dist.cdf(y)[rows], part.cdf(y[rows]), rtol=1e-13)
    draws = dist.sample(2, 3)
    assert draws.shape == (n, 2)
    assert np.mean(draws) == pytest.approx(np.mean(dist.mean()), rel=0.05)
    classes = MixturePredictive(Bernoulli(), Sigmoid(), cells, mean, var)
    quantile = classes.quantile([0.2, 0.6])
    np.testing.assert_array_equal(quantile, classes.mean()[:, None] > [0.8, 0.4])


# ---- Gaussian noise around the latent function itself


def test_the_gaussian_is_what_fine_cells_approach() -> None:
    exact = GaussianPredictive(MEAN, np.sqrt(VAR + 0.25))
    dist = MixturePredictive(Gaussian(0.5), Identity(), FINE, MEAN, VAR)
    y = np.array([-2.5, 0.0, 0.3, 1.4, 1.8, -4.0])
    np.testing.assert_allclose(dist.mean(), exact.mean(), atol=1e-12)
    np.testing.assert_allclose(dist.var(), exact.var(), rtol=1e-4)
    np.testing.assert_allclose(dist.log_prob(y), exact.log_prob(y), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dist.cdf(y), exact.cdf(y), rtol=1e-4)
    levels = [0.01, 0.3, 0.5, 0.95]
    np.testing.assert_allclose(dist.quantile(levels), exact.quantile(levels), rtol=1e-4, atol=1e-5)


def test_the_gaussian_is_scipys() -> None:
    exact, frozen = GaussianPredictive(MEAN, np.sqrt(VAR)), stats.norm(MEAN, np.sqrt(VAR))
    y = MEAN + np.array([-30.0, -1.0, 0.0, 0.5, 4.0, 40.0]) * np.sqrt(VAR)
    np.testing.assert_allclose(exact.log_prob(y), frozen.logpdf(y), rtol=1e-12)
    np.testing.assert_allclose(exact.cdf(y), frozen.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(exact.quantile(0.2), frozen.ppf(0.2), rtol=1e-12)
    np.testing.assert_array_equal(exact.mean(), frozen.mean())
    np.testing.assert_allclose(exact.std(), frozen.std(), rtol=1e-15)


# ---- likelihoods with only what is compulsory


def test_own_likelihood_has_moments_and_densities() -> None:
    dist = MixturePredictive(Exponential(), Exp(), FINE, MEAN, MODERATE)
    rate = np.exp(MEAN + 0.5 * MODERATE)
    np.testing.assert_allclose(dist.mean(), rate, rtol=1e-4)
    second = 2.0 * np.exp(2.0 * MEAN + 2.0 * MODERATE)
    np.testing.assert_allclose(dist.var(), second - rate**2, rtol=1e-3)
    assert np.isfinite(dist.log_prob(0.7)).all()
    for call in (lambda: dist.cdf(1.0), lambda: dist.quantile(0.5), lambda: dist.sample(2)):
        with pytest.raises(NotImplementedError, match="Exponential does not define"):
            call()
