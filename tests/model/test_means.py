"""Mean functions: values, gradients, names."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.model import ConstantMean, LinearMean, MeanFunction, ZeroMean
from stepgp.model.means import resolve_mean
from tests.kernels.differences import assert_gradient, richardson
from tests.links.helpers import TO_LIBRARY
from tests.model.scenes import inputs
from tests.subclasses import concrete_subclasses

MEANS: list[MeanFunction] = [ZeroMean(), ConstantMean(0.7), LinearMean(0.2, np.array([1.0, -2.0]))]
every_mean = pytest.mark.parametrize("mean", MEANS, ids=lambda mean: type(mean).__name__)
X = inputs(8, 1)


def test_every_mean_function_is_listed() -> None:
    assert concrete_subclasses(MeanFunction) == {type(mean) for mean in MEANS}


def test_values() -> None:
    np.testing.assert_array_equal(ZeroMean()(X), np.zeros(8))
    np.testing.assert_array_equal(ConstantMean(0.7)(X), np.full(8, 0.7))
    np.testing.assert_allclose(MEANS[2](X), 0.2 + X[:, 0] - 2.0 * X[:, 1], rtol=1e-14)


@every_mean
def test_pullback_is_the_gradient(mean: MeanFunction) -> None:
    adjoint = np.random.default_rng(2).normal(size=8)
    reference = richardson(lambda p: float(adjoint @ mean.with_params(p)(X)), mean.params)
    assert_gradient(mean.pullback(X, adjoint), reference, 1e-9)


@every_mean
def test_params_round_trip(mean: MeanFunction) -> None:
    assert len(mean.param_names) == len(set(mean.param_names)) == len(mean.params)
    moved = mean.with_params(mean.params + 0.5)
    np.testing.assert_array_equal(moved.params, mean.params + 0.5)
    assert type(moved) is type(mean)
    assert mean.for_features(2) is mean


@every_mean
@pytest.mark.parametrize("library", TO_LIBRARY)
def test_every_library(mean: MeanFunction, library: str) -> None:
    rows = TO_LIBRARY[library](X)
    adjoint = np.linspace(-1.0, 1.0, 8)
    assert type(mean(rows)) is type(rows)
    np.testing.assert_allclose(to_numpy(mean(rows)), mean(X), rtol=1e-14)
    got = mean.pullback(rows, TO_LIBRARY[library](adjoint))
    assert isinstance(got, np.ndarray)
    np.testing.assert_allclose(got, mean.pullback(X, adjoint), rtol=1e-13, atol=1e-14)


def test_a_start_at_a_level() -> None:
    assert ZeroMean().shifted(2.0) == ZeroMean()
    assert ConstantMean(0.7).shifted(2.0) == ConstantMean(2.0, centre=2.0)
    shifted = MEANS[2].shifted(2.0)
    np.testing.assert_array_equal(shifted.params, [2.0, 1.0, -2.0])


@every_mean
def test_prior_of_a_constant_that_has_been_given_a_start(mean: MeanFunction) -> None:
    """N(offset, (3·unit)²) on the constant alone, flat before; its slope."""
    assert mean.log_prior() == 0.0
    np.testing.assert_array_equal(mean.log_prior_gradient(), np.zeros(len(mean.params)))
    shifted = mean.shifted(2.0, 10.0)
    moved = shifted.with_params(shifted.params + 15.0)
    wanted = -0.5 * 0.5**2 if len(mean.params) else 0.0
    assert moved.log_prior() == pytest.approx(wanted)
    for index, slope in enumerate(moved.log_prior_gradient()):
        step = 1e-3 * np.eye(len(mean.params))[index]
        above, below = (moved.with_params(moved.params + s * step).log_prior() for s in (1, -1))
        assert slope == pytest.approx((above - below) / 2e-3, abs=1e-9)


@every_mean
def test_steps_are_counted_in_the_unit_of_the_start(mean: MeanFunction) -> None:
    np.testing.assert_array_equal(mean.units, np.ones(len(mean.params)))
    moved = mean.shifted(2.0, 30.0)
    np.testing.assert_array_equal(moved.units, np.full(len(mean.params), 30.0))
    np.testing.assert_array_equal(moved.with_params(moved.params + 1.0).units, moved.units)


def test_linear_mean_takes_the_size_of_the_inputs() -> None:
    sized = LinearMean().for_features(3)
    np.testing.assert_array_equal(sized.params, np.zeros(4))
    assert sized.param_names == (
        "mean_constant",
        "mean_slope_0",
        "mean_slope_1",
        "mean_slope_2",
    )
    with pytest.raises(ValueError, match=r"2 slopes, X has 3 columns"):
        MEANS[2].for_features(3)


def test_names() -> None:
    assert resolve_mean("zero") == ZeroMean()
    assert resolve_mean("constant") == ConstantMean()
    assert isinstance(resolve_mean("linear"), LinearMean)
    own = ConstantMean(3.0)
    assert resolve_mean(own) is own
    with pytest.raises(ValueError, match=r"one of \['constant', 'linear', 'zero'\].*'plane'"):
        resolve_mean("plane")
