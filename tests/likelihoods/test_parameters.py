"""Parameters of likelihoods: round trip, gradients, priors, starts, units."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats

from stepgp._array.differences import richardson_gradient
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.likelihoods.moments import robust_sd, weighted_median, weighted_sd
from stepgp.likelihoods.parametric import Parametric
from stepgp.links import Support
from tests.likelihoods.cases import CASES, Case
from tests.links.helpers import slope

EACH = pytest.mark.parametrize("case", CASES, ids=str)
LEARNT = [case for case in CASES if case.likelihood.params.size]
EACH_LEARNT = pytest.mark.parametrize("case", LEARNT, ids=str)


def by_parameter(model: Likelihood, function: object, index: int) -> np.ndarray:
    """∂ function(model)/∂ params[index] by the differences of the tests."""
    unit = np.eye(model.params.size)[index]
    return slope(
        lambda t: function(model.with_params(model.params + t * unit)),  # type: ignore[operator]
        0.0,
    )


def test_what_is_learnt() -> None:
    assert Gaussian().param_names == ("log_scale",)
    assert StudentT().param_names == ("log_scale", "log_df")
    assert StudentT(0.5).param_names == ("log_df",)
    assert StudentT(df=4.0).param_names == ("log_scale",)
    assert StudentT(0.5, 4.0).param_names == Gaussian(0.5).param_names == ()
    assert Gaussian(0.5, learn=("scale",)).param_names == ("log_scale",)
    assert Gaussian(learn=()).param_names == ()
    assert Bernoulli().param_names == Poisson().param_names == ()


@EACH
def test_params_round_trip(case: Case) -> None:
    model = case.likelihood
    size = model.params.size
    assert len(model.param_names) == size
    assert model.bounds.shape == (size, 2)
    assert (model.bounds[:, 0] < model.params).all()
    assert (model.params < model.bounds[:, 1]).all()
    moved = model.with_params(model.params + 0.1)
    np.testing.assert_allclose(moved.params, model.params + 0.1, rtol=1e-14, atol=1e-14)
    assert moved.param_names == model.param_names
    assert type(moved) is type(model)
    with pytest.raises(ValueError, match="parameters, got"):
        model.with_params(np.zeros(size + 1))


def test_learnt_values_stay_learnt() -> None:
    start = StudentT().with_params(np.log([0.2, 7.0]))
    assert start.value("scale") == pytest.approx(0.2)
    assert start.value("df") == pytest.approx(7.0)
    assert StudentT(0.2).with_params(np.log([7.0])).value("scale") == 0.2


@EACH
def test_gradient_of_log_prob(case: Case) -> None:
    model, y = case.likelihood, case.targets[:, None]
    gradient = model.log_prob_gradient(y, case.levels)
    assert gradient.shape == (model.params.size, case.targets.size, case.levels.size)
    for index in range(model.params.size):
        reference = by_parameter(model, lambda m: m.log_prob(y, case.levels), index)
        np.testing.assert_allclose(gradient[index], reference, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("case", [c for c in CASES if c.likelihood.features], ids=str)
def test_gradient_of_statistics(case: Case) -> None:
    model, y = case.likelihood, case.targets
    by_statistics, by_base = model.statistics_gradient(y, None)
    assert by_statistics.shape == (model.params.size, y.size, len(model.features))
    assert by_base.shape == (model.params.size, y.size)
    for index in range(model.params.size):
        reference = by_parameter(model, lambda m: m.statistics(y), index)
        np.testing.assert_allclose(by_statistics[index], reference, rtol=1e-8, atol=1e-12)
        reference = by_parameter(model, lambda m: m.base(y), index)
        np.testing.assert_allclose(by_base[index], reference, rtol=1e-8, atol=1e-9)


@EACH_LEARNT
def test_stated_gradients_equal_the_default(case: Case) -> None:
    """What a likelihood states may be left out: the differences of the base class replace it."""
    model, y = case.likelihood, case.targets[:, None]
    np.testing.assert_allclose(
        Likelihood.log_prob_gradient(model, y, case.levels),
        model.log_prob_gradient(y, case.levels),
        rtol=1e-7,
        atol=1e-7,
    )
    if model.features:
        stated = model.statistics_gradient(case.targets)
        default = Likelihood.statistics_gradient(model, case.targets)
        for one, other in zip(stated, default, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


def test_richardson_gradient() -> None:
    at = np.array([0.3, -1.2])
    got = richardson_gradient(lambda p: np.array([np.exp(p[0] * p[1]), np.sin(p[1])]), at)
    e = math.exp(-0.36)
    np.testing.assert_allclose(got, [[-1.2 * e, 0.0], [0.3 * e, math.cos(1.2)]], atol=1e-11)
    assert richardson_gradient(lambda p: np.zeros((4, 3)), np.zeros(0)).shape == (0, 4, 3)


@EACH
def test_prior(case: Case) -> None:
    model = case.likelihood
    gradient = model.log_prior_gradient()
    assert gradient.shape == model.params.shape
    for index in range(model.params.size):
        reference = by_parameter(model, lambda m: m.log_prior(), index)
        assert gradient[index] == pytest.approx(reference, rel=1e-9, abs=1e-10)
    if isinstance(model, Parametric):
        terms = [
            stats.norm(math.log(p.typical), p.spread).logpdf(value)
            for p, value in zip(model.learnt, model.params, strict=True)
        ]
        assert model.log_prior() == pytest.approx(sum(terms), rel=1e-12, abs=1e-12)
    else:
        assert model.log_prior() == 0.0


def test_wrong_parameters_are_errors() -> None:
    for value in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"Gaussian got scale=.*; expected a finite number"):
            Gaussian(value)
    with pytest.raises(ValueError, match=r"df=1\.0; expected a finite number above 1, or None"):
        StudentT(df=1.0)
    with pytest.raises(ValueError, match="has no parameter 'df' to learn; expected some of scale"):
        Gaussian(learn=("df",))


def test_start_from_data() -> None:
    generator = np.random.default_rng(1)
    y = generator.normal(3.0, 2.0, 4001)
    assert Gaussian().initial(y).value("scale") == pytest.approx(0.5 * y.std(), rel=1e-12)
    assert StudentT().initial(y).value("scale") == pytest.approx(1.0, rel=0.05)
    spoilt = y.copy()
    spoilt[:400] = 1e6
    assert StudentT().initial(spoilt).value("scale") == pytest.approx(1.0, rel=0.2)
    assert StudentT().initial(y).value("df") == 4.0
    for model in (Gaussian(0.7), Gaussian(0.7, learn=("scale",)), Bernoulli(), Poisson()):
        assert model.initial(y) == model
    for open_model in (Gaussian(), StudentT()):
        assert open_model.initial(y).param_names == open_model.param_names
        assert open_model.initial(np.ones(5)) == open_model


def test_starts_weigh_rows_as_repeats() -> None:
    y = np.array([0.3, -1.0, 2.0, 0.9, 4.0])
    weight = np.array([3.0, 1.0, 2.0, 1.0, 4.0])
    repeated = np.repeat(y, weight.astype(int))
    for model in (Gaussian(), StudentT()):
        got = model.initial(y, weight).value("scale")
        assert got == pytest.approx(model.initial(repeated).value("scale"), rel=1e-12)
    assert weighted_sd(y, weight) == pytest.approx(repeated.std(), rel=1e-12)
    assert weighted_median(y, weight) == np.median(repeated)


def test_robust_spread_falls_back_where_most_targets_are_equal() -> None:
    y = np.array([0.0, 0.0, 0.0, 0.0, 5.0])
    assert robust_sd(y) == pytest.approx(y.std())
    assert robust_sd(np.zeros(4)) == 0.0


@pytest.mark.parametrize("case", [c for c in CASES if c.likelihood.location_scale], ids=str)
def test_rescaled_is_the_density_in_other_units(case: Case) -> None:
    shift, scale = 7.0, 12.0
    y, level = case.targets[:, None], case.levels
    other = case.likelihood.rescaled(shift, scale)
    np.testing.assert_allclose(
        other.log_prob(shift + scale * y, shift + scale * level),
        case.likelihood.log_prob(y, level) - math.log(scale),
        rtol=1e-10,
    )
    assert other.param_names == case.likelihood.param_names


def test_location_scale_families() -> None:
    kinds = {type(c.likelihood) for c in CASES if c.likelihood.location_scale}
    assert kinds == {Gaussian, StudentT}
    with pytest.raises(NotImplementedError, match=re.escape("Poisson does not define rescaled(")):
        Poisson().rescaled(0.0, 2.0)


@EACH
def test_slope_in_the_level(case: Case) -> None:
    """By formula or by differences in the unit of the support, against other differences."""
    model, y, level = case.likelihood, case.targets[:, None], case.levels
    reach = {Support.REAL: 1.0, Support.POSITIVE: level, Support.UNIT: level * (1.0 - level)}
    unit = reach[model.support]
    wanted = slope(lambda t: model.log_prob(y, level + t * unit), 0.0) / unit
    np.testing.assert_allclose(model.level_slope(y, level), wanted, rtol=1e-5, atol=1e-5)
    by_differences = Likelihood.level_slope(model, y, level)
    np.testing.assert_allclose(by_differences, wanted, rtol=1e-5, atol=1e-4)
