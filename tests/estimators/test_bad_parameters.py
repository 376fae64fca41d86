"""Parameters that make no sense: each names itself, what was got and what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stepgp.cells import Grid, Hat
from stepgp.kernels import RBF
from stepgp.likelihoods import Gaussian
from stepgp.links import Sigmoid
from tests.estimators.data import BINARY, COUNTS, REAL, X, classifier, regressor
from tests.likelihoods.minimal import Exponential as Waiting

WRONG: list[tuple[str, Any, str]] = [
    ("kernel", "rbf", "kernel must be a kernel of stepgp.kernels.*got 'rbf'"),
    ("kernel", RBF, "kernel must be a kernel .*RBF()"),
    ("kernel", RBF([1.0, 2.0, 3.0]), "has 3 values"),
    ("link", "logit", "Unknown link 'logit'; expected one of identity, sigmoid"),
    ("link", Sigmoid, "Got the class Sigmoid as link"),
    ("link", None, "Got None as link"),
    ("link", "exp", r"Exp\(\) gives levels in \(0, ∞\).*Use Sigmoid"),
    ("link", "identity", r"Identity\(\) gives levels in .*Use Sigmoid"),
    ("link", lambda x: x, "link function gives .* must lie in .0, 1."),
    ("mean_function", "quadratic", "mean_function must be one of .*got 'quadratic'"),
    ("mean_function", None, "mean_function must be .*got None"),
    ("n_inducing", 0, 'n_inducing must be an integer of at least 1 or "auto", got 0'),
    ("n_inducing", 2.5, "n_inducing must be an integer"),
    ("n_inducing", "many", "n_inducing must be an integer .*'many'"),
    ("n_inducing", None, "n_inducing must be an integer .*None"),
    ("n_inducing", True, "n_inducing must be an integer .*True"),
    ("inducing", "random", "inducing must be one of .*got 'random'"),
    ("inducing", X[:, :1], r"shape \(M, 2\), got shape \(40, 1\)"),
    ("inducing", X[:0], r"shape \(M, 2\), got shape \(0, 2\)"),
    ("inducing", X[:5] * np.nan, "finite array .*in row 0"),
    ("inducing", X[:5], "n_inducing is 12, but inducing has 5 rows"),
    ("inducing", [["a"]], "inducing must be one of .*'a'"),
    ("n_cells", 1, 'n_cells must be an integer of at least 3 and at most 10000 or "auto", got 1'),
    ("n_cells", 10**7, "n_cells must be an integer .*at most 10000 .*got 10000000"),
    ("n_cells", 64.0, "n_cells must be an integer"),
    ("n_cells", None, "n_cells must be an integer .*None"),
    ("cells", 64, "cells must be cells of stepgp.cells.*got 64"),
    ("cells", Grid.uniform(-5.0, 5.0, 20), r"such as Hat\(grid\)"),
    ("standardize", "yes", "standardize must be True or False, got 'yes'"),
    ("standardize", 1, "standardize must be True or False, got 1"),
    ("max_iter", 0, "max_iter must be an integer of at least 1, got 0"),
    ("max_iter", None, "max_iter must be an integer"),
    ("tol", 0.0, "tol must be a positive finite number, got 0.0"),
    ("tol", np.nan, "tol must be a positive finite number, got nan"),
    ("tol", "tight", "tol must be a positive finite number, got 'tight'"),
    ("n_jobs", 0, "n_jobs must be a positive number of threads, -1 .*got 0"),
    ("n_jobs", 1.5, "n_jobs must be .*got 1.5"),
    ("n_jobs", "all", "n_jobs must be .*got 'all'"),
    ("verbose", -1, "verbose must be an integer of at least 0 or a bool, got -1"),
    ("verbose", "yes", "verbose must be"),
    ("random_state", -1, "random_state must be an integer of at least 0.*got -1"),
    ("random_state", 1.5, "random_state must be an integer"),
    ("random_state", "seed", "random_state must be an integer"),
]


@pytest.mark.parametrize(
    ("name", "value", "message"), WRONG, ids=[f"{w[0]} {w[2][-12:]}" for w in WRONG]
)
def test_parameter(name: str, value: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        classifier(**{name: value}).fit(X, BINARY)


def test_every_parameter_is_checked() -> None:
    assert {name for name, _, _ in WRONG} == set(classifier().get_params())
    assert set(regressor().get_params()) - set(classifier().get_params()) == {"likelihood"}


@pytest.mark.parametrize("likelihood", ["normal", None, 3, Gaussian])
def test_likelihood(likelihood: Any) -> None:
    with pytest.raises(ValueError, match=r"Unknown likelihood .*expected one of .*Gaussian\(\)"):
        regressor(likelihood).fit(X, REAL)


@pytest.mark.parametrize(
    ("likelihood", "link", "y", "message"),
    [
        (
            "bernoulli",
            lambda f: np.clip(0.5 + 0.3 * f, 0.0, 1.0),
            BINARY,
            r"log g = -inf at .*np.clip",
        ),
        ("poisson", lambda f: np.maximum(f, 0.0), COUNTS, r"log g = -inf at the latent value -"),
        (Waiting(), lambda f: np.maximum(f, 0.0), COUNTS + 0.5, r"has g = 0 at .*inside \(0, ∞\)"),
    ],
    ids=["clipped", "relu", "own likelihood"],
)
def test_link_that_reaches_the_end_of_its_levels(
    likelihood: Any, link: Any, y: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        regressor(likelihood, link=link).fit(X, y)


def test_link_onto_too_much() -> None:
    with pytest.raises(ValueError, match=r"Identity\(\) gives levels in .*Use Exp\(\)"):
        regressor("poisson", link="identity").fit(X, COUNTS)


def test_cells_and_their_number() -> None:
    cells = Hat(Grid.uniform(-5.0, 5.0, 20))
    with pytest.raises(ValueError, match="Got n_cells=20 and cells.*Leave one of them"):
        classifier(cells=cells, n_cells=20).fit(X, BINARY)


def test_unknown_parameter() -> None:
    with pytest.raises(TypeError, match="n_cell"):
        classifier(n_cell=20)
    with pytest.raises(ValueError, match="Invalid parameter 'n_cell'"):
        classifier().set_params(n_cell=20)


def test_init_only_stores() -> None:
    bad = {name: object() for name in classifier().get_params()}
    assert classifier(**bad).get_params() == bad


def test_a_failed_fit_leaves_the_parameters() -> None:
    model = classifier(n_cells=1)
    before = model.get_params()
    with pytest.raises(ValueError, match="n_cells"):
        model.fit(X, BINARY)
    assert model.get_params() == before
