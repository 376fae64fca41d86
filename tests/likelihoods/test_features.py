"""The exponential-family split: equal to log_prob, finite in the tails where log_prob is not."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.likelihoods import Bernoulli, Gaussian, Poisson
from stepgp.links import CLogLog, Exp, Feature, Link, Probit, Sigmoid, Softplus
from tests.likelihoods.cases import CASES, Case
from tests.links.cases import LINKS, name

SPLIT = [case for case in CASES if case.likelihood.features]
PAIRS = [
    pytest.param(case, link, id=f"{case}-{name(link)}")
    for case in SPLIT
    for link in LINKS
    if case.likelihood.support.contains(link.support)
]
LATENT = np.linspace(-3.0, 2.0, 13)  # levels that have not rounded to 0 or 1


def split(case: Case, link: Link, x: np.ndarray, exposure: np.ndarray | None = None) -> np.ndarray:
    model = case.likelihood
    features = np.stack([link.feature(feature, x) for feature in model.features])
    statistics = model.statistics(case.targets, exposure)
    assert statistics.shape == (case.targets.size, len(model.features))
    return model.base(case.targets, exposure)[:, None] + statistics @ features


def test_which_likelihoods_split() -> None:
    assert {type(case.likelihood) for case in SPLIT} == {Bernoulli, Gaussian, Poisson}


@pytest.mark.parametrize(("case", "link"), PAIRS)
def test_split_equals_log_prob(case: Case, link: Link) -> None:
    reference = case.likelihood.log_prob(case.targets[:, None], link(LATENT))
    np.testing.assert_allclose(split(case, link, LATENT), reference, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(
    ("case", "link"), [p for p in PAIRS if p.values[0].likelihood.takes_exposure]
)
def test_exposure_multiplies_the_level(case: Case, link: Link) -> None:
    exposure = np.linspace(0.2, 30.0, case.targets.size)
    level = exposure[:, None] * link(LATENT)
    reference = case.likelihood.log_prob(case.targets[:, None], level)
    got = split(case, link, LATENT, exposure)
    np.testing.assert_allclose(got, reference, rtol=1e-11, atol=1e-11)
    ones = np.ones_like(exposure)
    np.testing.assert_array_equal(split(case, link, LATENT, ones), split(case, link, LATENT))


def test_some_likelihood_takes_exposure() -> None:
    assert [type(c.likelihood) for c in CASES if c.likelihood.takes_exposure] == [Poisson]


@pytest.mark.parametrize("link", [Sigmoid(), Probit(), CLogLog()], ids=str)
def test_certain_and_wrong_is_finite(link: Link) -> None:
    """At |x| = 700 the level has rounded to 0 or 1; the split still charges the true price."""
    x = np.array([-700.0, 700.0])
    statistics = Bernoulli().statistics(np.array([1.0, 0.0]))
    features = np.stack([link.feature(feature, x) for feature in Bernoulli().features])
    price = np.einsum("nr,rn->n", statistics, features)
    expected = {
        "Sigmoid": [-700.0, -700.0],
        "Probit": [-245007.470020909054, -245007.470020909054],
        "CLogLog": [-700.0, -np.exp(700.0)],
    }
    np.testing.assert_allclose(price, expected[type(link).__name__], rtol=1e-13)


@pytest.mark.parametrize("link", [Exp(), Softplus()], ids=str)
def test_a_count_at_a_tiny_rate_is_finite(link: Link) -> None:
    x = np.array([-700.0])
    log_rate = link.feature(Feature.LOG, x)
    statistics = Poisson().statistics(np.array([3.0]))
    got = statistics[:, 0] * log_rate + statistics[:, 1] * link(x)
    assert got[0] == pytest.approx(-2100.0, rel=1e-14)
