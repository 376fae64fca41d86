"""What users meet first: targets, links, names, and likelihoods of their own."""

from __future__ import annotations

import re

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT, resolve
from stepgp.links import Exp, Identity, Link, Sigmoid, Support
from tests.likelihoods.cases import CASES, Case
from tests.likelihoods.minimal import Exponential
from tests.links.cases import LINKS, name
from tests.links.helpers import TO_LIBRARY

EACH = pytest.mark.parametrize("case", CASES, ids=str)
BAD_TARGETS = [
    (Bernoulli(), 2.0, "0 or 1"),
    (Bernoulli(), -1.0, "0 or 1"),
    (Bernoulli(), 0.5, "0 or 1"),
    (Bernoulli(), np.nan, "0 or 1"),
    (Poisson(), -1.0, "whole numbers"),
    (Poisson(), 1.5, "whole numbers"),
    (Poisson(), np.inf, "whole numbers"),
    (Poisson(), np.nan, "whole numbers"),
    (Gaussian(), np.inf, "finite numbers"),
    (Gaussian(), np.nan, "finite numbers"),
    (StudentT(), -np.inf, "finite numbers"),
    (Exponential(), np.nan, "finite numbers"),
]


@EACH
def test_good_targets_pass(case: Case) -> None:
    case.likelihood.check_targets(case.targets)
    if case.likelihood.discrete:
        case.likelihood.check_targets(case.targets.astype(np.int64))


@pytest.mark.parametrize(("model", "bad", "expected"), BAD_TARGETS)
def test_bad_targets_name_row_and_value(model: Likelihood, bad: float, expected: str) -> None:
    y = np.array([0.0, 1.0, 1.0, bad, 0.0, bad])
    message = f"Target {bad} in row 3 has no probability under {type(model).__name__}, "
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        model.check_targets(y)
    assert f"expects {expected}" in str(error.value)
    assert "2 of 6 rows" in str(error.value)


def test_every_likelihood_refuses_some_target() -> None:
    assert {type(m) for m, _, _ in BAD_TARGETS} == {type(c.likelihood) for c in CASES} | {
        Exponential
    }


@EACH
def test_default_link_fits(case: Case) -> None:
    link = case.likelihood.default_link()
    assert link.support is case.likelihood.support
    case.likelihood.check_link(link)


@pytest.mark.parametrize("link", LINKS, ids=name)
@EACH
def test_links_with_other_levels_are_refused(case: Case, link: Link) -> None:
    model = case.likelihood
    if model.support.contains(link.support):
        model.check_link(link)
    else:
        message = re.escape(f"CustomLink(function, Support.{model.support.name})")
        with pytest.raises(ValueError, match=message):
            model.check_link(link)


def test_default_links() -> None:
    assert Bernoulli().default_link() == Sigmoid()
    assert Poisson().default_link() == Exp()
    assert Gaussian().default_link() == StudentT().default_link() == Identity()


def test_names() -> None:
    assert resolve("bernoulli") == Bernoulli()
    assert resolve("gaussian") == Gaussian()
    assert resolve("poisson") == Poisson()
    assert resolve("student_t") == StudentT()
    own = Exponential()
    assert resolve(own) is own
    message = "expected one of bernoulli, gaussian, poisson, student_t, or an object"
    for unknown in ("normal", Gaussian, None, ["poisson"]):
        with pytest.raises(ValueError, match=message):
            resolve(unknown)  # type: ignore[arg-type]


@pytest.mark.parametrize("library", TO_LIBRARY)
def test_own_likelihood_needs_three_methods(library: str) -> None:
    model, y, level = Exponential(), np.array([[0.5], [2.0]]), np.array([0.3, 1.0, 4.0])
    column, levels = TO_LIBRARY[library](y), TO_LIBRARY[library](level)
    np.testing.assert_allclose(
        to_numpy(model.log_prob(column, levels)), -y / level - np.log(level), rtol=1e-14
    )
    assert model.default_link() == Exp()
    assert model.features == model.param_names == ()
    assert not model.discrete
    assert not model.takes_exposure
    assert not model.location_scale
    assert model.params.shape == (0,)
    assert model.bounds.shape == (0, 2)
    assert model.with_params(np.zeros(0)) is model
    assert model.initial(y[:, 0]) is model
    assert model.log_prior() == 0.0
    assert model.log_prior_gradient().shape == (0,)
    gradient = model.log_prob_gradient(column, levels)
    assert gradient.shape == (0, 2, 3)
    assert type(gradient) is type(column)


@pytest.mark.parametrize("missing", ["log_prob", "mean", "var"])
def test_the_three_methods_are_compulsory(missing: str) -> None:
    methods = {k: v for k, v in vars(Exponential).items() if k in {"log_prob", "mean", "var"}}
    del methods[missing]
    with pytest.raises(TypeError, match=missing):
        type("Incomplete", (Likelihood,), methods)()


def test_missing_methods_are_named() -> None:
    model, ones = Exponential(), np.ones(2)
    calls = {
        "cdf(y, level), which cdf, quantiles and intervals need": lambda: model.cdf(ones, ones),
        "sample(level, generator)": lambda: model.sample(ones, np.random.default_rng(0)),
        "statistics(y, exposure)": lambda: model.statistics(ones),
        "base(y, exposure)": lambda: model.base(ones),
        "rescaled(shift, scale)": lambda: model.rescaled(0.0, 1.0),
    }
    for method, call in calls.items():
        message = re.escape(f"Exponential does not define {method}")
        with pytest.raises(NotImplementedError, match=message):
            call()


class NoisyCount(Likelihood):
    """A Gaussian whose variance grows with the level; its parameter states no gradient."""

    support = Support.POSITIVE

    def __init__(self, log_spread: float = 0.0) -> None:
        self.log_spread = log_spread

    @property
    def params(self) -> np.ndarray:
        return np.array([self.log_spread])

    def with_params(self, params: np.ndarray) -> NoisyCount:
        return NoisyCount(float(params[0]))

    def log_prob(self, y: np.ndarray, level: np.ndarray) -> np.ndarray:
        var = self.var(level)
        return -0.5 * (y - level) ** 2 / var - 0.5 * np.log(2.0 * np.pi * var)

    def mean(self, level: np.ndarray) -> np.ndarray:
        return level

    def var(self, level: np.ndarray) -> np.ndarray:
        return np.exp(2.0 * self.log_spread) * level


def test_own_parameters_need_no_gradient() -> None:
    model = NoisyCount(-0.4)
    y, level = np.array([[0.5], [3.0]]), np.array([0.7, 1.0, 2.0])
    gradient = model.log_prob_gradient(y, level)
    np.testing.assert_allclose(
        gradient[0], (y - level) ** 2 / model.var(level) - 1.0, rtol=1e-8, atol=1e-9
    )
    assert model.param_names == ("param_0",)
    np.testing.assert_array_equal(model.bounds, [[-np.inf, np.inf]])
    np.testing.assert_array_equal(model.log_prior_gradient(), [0.0])
