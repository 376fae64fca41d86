"""What holds for mixtures at any latent mean and variance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepgp.cells import Grid, Hat, Indicator
from stepgp.likelihoods import Bernoulli, Gaussian
from stepgp.links import Link, Sigmoid
from stepgp.model import MixturePredictive
from tests.links.cases import DERIVED, LINKS, name
from tests.model.cases import CELLS, MEAN, VAR, Pair, coarse
from tests.model.references import true_expectation

FINE = Hat(Grid.uniform(-16.0, 16.0, 4_000, "midpoint"))


@pytest.mark.parametrize("link", [*LINKS, *DERIVED], ids=name)
@pytest.mark.parametrize("cells", CELLS)
@settings(max_examples=30)
@given(mean=st.floats(-9.0, 9.0), rise=st.floats(0.0, 5.0), var=st.floats(1e-8, 30.0))
def test_monotone_links_have_monotone_means(
    link: Link, cells: str, mean: float, rise: float, var: float
) -> None:
    """A larger latent mean never lowers the predictive one: masses only move to the right."""
    family = coarse(CELLS[cells])
    latent = np.array([mean, mean + rise])
    dist = MixturePredictive(Gaussian(1.0), link, family, latent, np.full(2, var))
    low, high = dist.mean()
    assert high >= low - 1e-12 * abs(low)


@given(mean=st.floats(-30.0, 30.0), log_var=st.floats(-20.0, 6.0))
def test_two_classes_always_sum_to_one(mean: float, log_var: float) -> None:
    for cells in CELLS.values():
        dist = MixturePredictive(
            Bernoulli(), Sigmoid(), coarse(cells), np.array([mean]), np.exp([log_var])
        )
        total = np.exp(dist.log_prob(0.0)) + np.exp(dist.log_prob(1.0))
        assert total[0] == pytest.approx(1.0, abs=1e-12)


def test_jensen_between_training_and_prediction() -> None:
    """E log p ≤ log E p, both through the same cells."""
    y = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    for cells in CELLS.values():
        dist = MixturePredictive(Bernoulli(), Sigmoid(), coarse(cells), MEAN, VAR)
        masses = dist.cells.masses(MEAN, VAR)
        points, weights = dist.cells.stencil()
        levels = Sigmoid()(points) @ weights
        expected = np.sum(masses * Bernoulli().log_prob(y[:, None], levels), axis=1)
        assert np.all(dist.log_prob(y) >= expected - 1e-12)
    fine = MixturePredictive(Bernoulli(), Sigmoid(), FINE, MEAN, VAR)
    true = true_expectation(Pair(Bernoulli(), Sigmoid(), y), MEAN, VAR, None)
    assert np.all(fine.log_prob(y) >= true)
    step = MixturePredictive(
        Bernoulli(), Sigmoid(), Indicator(Grid.uniform(-16, 16, 4_000, "average")), MEAN, VAR
    )
    np.testing.assert_allclose(step.log_prob(y), fine.log_prob(y), rtol=1e-4)
