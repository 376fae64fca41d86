"""The pass over rows: its sums from their formulas, its gradient from differences."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest

from stepgp._array.linalg import factorise
from stepgp.cells import Grid, Hat, Indicator
from stepgp.likelihoods import Bernoulli, Gaussian, StudentT
from stepgp.links import Identity, Sigmoid
from stepgp.model.expectation import expect_rows
from stepgp.model.marginals import Spread
from stepgp.model.posterior import VARIANCE_FLOOR, SiteSums, marginals, posterior_of
from stepgp.model.rowpass import Model, RowBlock, RowSums, row_pass
from stepgp.model.rules import CellRule, ClosedForm
from stepgp.rows.memory import tree_sum
from tests.links.helpers import TO_LIBRARY, slope
from tests.model.cases import arrays
from tests.model.scenes import SCENES, Scene, kernel_matrix, scene

every_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())


def run(scene: Scene, *, gradient: bool = True, model: Model | None = None) -> RowSums:
    return row_pass(model or scene.model, scene.q, scene.block, gradient=gradient)


# ---- the sums


@every_scene
def test_sums_are_their_formulas(scene: Scene) -> None:
    model, block = scene.model, scene.block
    got = run(scene)
    mean, var = marginals(scene.q, model.kernel, model.mean_function, model.inducing, block.X)
    expected = expect_rows(
        model.likelihood, model.link, model.rule, block.y, block.exposure, mean, var
    )
    weight = np.ones(len(mean)) if block.weight is None else block.weight
    assert got.value == pytest.approx(weight @ expected.value, rel=1e-12)
    kzx = model.kernel(model.inducing, block.X)
    b = -2.0 * expected.d_var * weight
    linear = expected.d_mean * weight + b * (mean - model.mean_function(block.X))
    scale = np.max(np.abs(kzx), initial=1.0) * np.sum(np.abs(linear))
    np.testing.assert_allclose(got.sites.linear, kzx @ linear, rtol=1e-9, atol=1e-13 * scale)
    quadratic = kzx @ np.diag(b) @ kzx.T
    scale = np.max(np.abs(quadratic))
    np.testing.assert_allclose(got.sites.quadratic, quadratic, rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_array_equal(got.sites.quadratic, got.sites.quadratic.T)
    spread = Spread.of(mean, var, weight)
    assert astuple(got.spread) == pytest.approx(astuple(spread), rel=1e-11)


@every_scene
def test_without_gradient_the_rest_is_the_same(scene: Scene) -> None:
    with_gradient, without = run(scene), run(scene, gradient=False)
    assert without.gradient is None
    assert without.value == with_gradient.value
    np.testing.assert_array_equal(without.sites.linear, with_gradient.sites.linear)
    np.testing.assert_array_equal(without.sites.quadratic, with_gradient.sites.quadratic)


def test_some_sites_are_negative() -> None:
    """A Student-t has them: Λ₂ must not lose their sign."""
    scene = SCENES["student"]
    y = scene.block.y.copy()
    y[:20] += 30.0
    sums = row_pass(scene.model, scene.q, replace(scene.block, y=y))
    model = scene.model
    mean, var = marginals(scene.q, model.kernel, model.mean_function, model.inducing, scene.block.X)
    expected = expect_rows(model.likelihood, model.link, model.rule, y, None, mean, var)
    assert np.sum(expected.d_var > 0) >= 10
    kzx = model.kernel(model.inducing, scene.block.X)
    quadratic = (kzx * (-2.0 * expected.d_var * scene.block.weight)) @ kzx.T
    np.testing.assert_allclose(
        sums.sites.quadratic, quadratic, rtol=1e-9, atol=1e-12 * np.max(np.abs(quadratic))
    )


# ---- the gradient, (a, W) held


@every_scene
@pytest.mark.parametrize("part", ["kernel", "mean_function", "likelihood", "inducing"])
def test_gradient_is_that_of_the_value(scene: Scene, part: str) -> None:
    sums = run(scene)
    got = getattr(sums.gradient, part)
    at = scene.model.inducing if part == "inducing" else getattr(scene.model, part).params
    assert got.shape == at.shape
    for index in np.ndindex(at.shape):

        def moved(t: float, index: tuple[int, ...] = index) -> float:
            there = at.copy()
            there[index] += t
            new = there if part == "inducing" else getattr(scene.model, part).with_params(there)
            return run(scene, gradient=False, model=replace(scene.model, **{part: new})).value

        reference = slope(moved, 0.0)
        scale = max(np.max(np.abs(got)), 1e-3 * abs(sums.value))
        assert got[index] == pytest.approx(reference, rel=1e-7, abs=1e-8 * scale)


# ---- weights


@every_scene
def test_weights_are_repeats(scene: Scene) -> None:
    count = np.random.default_rng(2).integers(1, 4, len(scene.block.y))
    weighted = row_pass(
        scene.model, scene.q, replace(scene.block, weight=count.astype(float)), gradient=True
    )
    block = scene.block
    repeated = row_pass(
        scene.model,
        scene.q,
        RowBlock(
            np.repeat(block.X, count, axis=0),
            np.repeat(block.y, count),
            None,
            None if block.exposure is None else np.repeat(block.exposure, count),
        ),
        gradient=True,
    )
    assert_equal_sums(weighted, repeated, 1e-10)


def assert_equal_sums(one: RowSums, other: RowSums, tolerance: float) -> None:
    def close(a: np.ndarray, b: np.ndarray) -> None:
        scale = np.max(np.abs(b), initial=0.0)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)

    assert one.value == pytest.approx(other.value, rel=tolerance)
    assert astuple(one.spread) == pytest.approx(astuple(other.spread), rel=tolerance)
    close(one.sites.linear, other.sites.linear)
    close(one.sites.quadratic, other.sites.quadratic)
    assert one.gradient is not None
    assert other.gradient is not None
    for part in ("kernel", "mean_function", "likelihood", "inducing"):
        close(getattr(one.gradient, part), getattr(other.gradient, part))


@every_scene
def test_sums_of_parts_are_the_sum(scene: Scene) -> None:
    block = scene.block
    parts = [
        RowBlock(
            *(a if a is None else a[rows] for a in (block.X, block.y, block.weight, block.exposure))
        )
        for rows in (slice(0, 7), slice(7, 8), slice(8, 33), slice(33, None))
    ]
    sums = [row_pass(scene.model, scene.q, part, gradient=True) for part in parts]
    assert_equal_sums(tree_sum(sums), run(scene), 1e-11)


# ---- the floor of the variance


def test_rows_at_the_floor_have_no_slope_in_the_variance() -> None:
    """q knows f at the inducing inputs to many digits; rows there fall to the floor."""
    base = SCENES["gaussian-closed"]
    model = replace(base.model, likelihood=Gaussian(0.5))
    kzz = kernel_matrix(model)
    q = posterior_of(
        SiteSums(np.zeros(len(kzz)), 1e15 * kzz @ kzz).whitened(factorise(kzz, jitter=1e-14))
    )
    block = RowBlock(model.inducing, np.zeros(len(kzz)))
    _, var = marginals(q, model.kernel, model.mean_function, model.inducing, block.X)
    floored = var == VARIANCE_FLOOR * model.kernel.diag(block.X)
    assert floored.any()
    sums = row_pass(model, q, block, gradient=True)
    one = RowBlock(block.X[floored][:1], block.y[:1])
    alone = row_pass(model, q, one, gradient=True)
    np.testing.assert_array_equal(alone.sites.quadratic, np.zeros_like(kzz))
    assert np.isfinite(sums.value)
    assert np.isfinite(sums.gradient.kernel).all()
    assert np.isfinite(sums.gradient.inducing).all()


# ---- array libraries


@pytest.mark.parametrize("library", [name for name in TO_LIBRARY if name != "numpy"])
@every_scene
def test_every_library_gives_the_same_sums(scene: Scene, library: str) -> None:
    block = scene.block
    X, y, weight, exposure = arrays(
        TO_LIBRARY[library], block.X, block.y, block.weight, block.exposure
    )
    got = row_pass(scene.model, scene.q, RowBlock(X, y, weight, exposure), gradient=True)
    expected = row_pass(scene.model, scene.q, block, gradient=True)
    assert_equal_sums(got, expected, 1e-10)
    assert isinstance(got.value, float)
    assert isinstance(got.sites.quadratic, np.ndarray)
    assert isinstance(got.gradient.inducing, np.ndarray)
    assert got.sites.quadratic.dtype == got.gradient.kernel.dtype == np.float64


@pytest.mark.parametrize("library", TO_LIBRARY)
@pytest.mark.parametrize(
    "cells",
    [Indicator(Grid.uniform(-5.0, 5.0, 30, "average")), Hat(Grid.uniform(-5.0, 5.0, 30))],
    ids=["step", "hat"],
)
def test_blocks_longer_than_a_window(library: str, cells: Indicator | Hat) -> None:
    """Several hundred rows: cells meet them in groups, sorted, and hand them back in order."""
    long = scene(Bernoulli(), Sigmoid(), rule=CellRule(cells), n_rows=1_300)
    expected = [
        row_pass(long.model, long.q, RowBlock(long.block.X[i : i + 100], long.block.y[i : i + 100]))
        for i in range(0, 1_300, 100)
    ]
    X, y = arrays(TO_LIBRARY[library], long.block.X, long.block.y)
    got = row_pass(long.model, long.q, RowBlock(X, y))
    assert got.value == pytest.approx(sum(part.value for part in expected), rel=1e-12)
    linear = sum(part.sites.linear for part in expected)
    np.testing.assert_allclose(got.sites.linear, linear, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("library", TO_LIBRARY)
@pytest.mark.parametrize(
    "name", ["bernoulli-sigmoid", "poisson-exp-closed", "gaussian-closed", "student"]
)
def test_single_precision_rows(name: str, library: str) -> None:
    """Row-sized arrays in float32 give the sums to as many digits, in float64."""
    scene = SCENES[name]
    block = scene.block
    single = [
        None if a is None else a.astype(np.float32)
        for a in (block.X, block.y, block.weight, block.exposure)
    ]
    got = row_pass(
        scene.model, scene.q, RowBlock(*arrays(TO_LIBRARY[library], *single)), gradient=True
    )
    assert_equal_sums(got, run(scene), 2e-3)
    assert got.sites.quadratic.dtype == np.float64


# ---- pieces


def test_adding_sums() -> None:
    scene = SCENES["bernoulli-sigmoid"]
    one = row_pass(scene.model, scene.q, scene.block, gradient=True)
    without = run(scene, gradient=False)
    assert (one + without).value == 2.0 * one.value
    total = one + one
    np.testing.assert_array_equal(total.gradient.inducing, 2.0 * one.gradient.inducing)
    np.testing.assert_array_equal(total.sites.quadratic, 2.0 * one.sites.quadratic)
    assert total.spread == one.spread + one.spread


def test_likelihood_without_features_in_closed_form_is_an_error() -> None:
    scene = SCENES["student"]
    model = replace(scene.model, likelihood=StudentT(), link=Identity(), rule=ClosedForm())
    with pytest.raises(TypeError, match="use cells"):
        row_pass(model, scene.q, scene.block)
