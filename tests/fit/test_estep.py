"""The E-step: where it ends, how it gets there, and what its guard is for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepgp._array.linalg import NotPositiveDefinite, factorise
from stepgp.cells import Grid, Hat
from stepgp.fit.estep import EStep, e_step
from stepgp.kernels import RBF
from stepgp.likelihoods import Poisson
from stepgp.links import Softplus
from stepgp.model import ConstantMean
from stepgp.model.posterior import Posterior, Sites, posterior_of
from stepgp.model.rowpass import Model, row_pass
from stepgp.model.rules import CellRule
from stepgp.rows import MemoryRows
from tests.fit.problems import converged, prior_state, rows_of
from tests.model.scenes import SCENES, Scene

every_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())


def elbo(rows: MemoryRows, model: Model, q: Posterior) -> float:
    """Σ w E log p − KL."""
    return rows.reduce(lambda block: row_pass(model, q, block)).value - q.kl


def settled(scene: Scene, start: Sites | None = None, **options: float | bool) -> EStep:
    rows = rows_of(scene)
    chosen = {"tolerance": 1e-8 * rows.total_weight, "max_passes": 60, **options}
    return e_step(rows, scene.model, start or prior_state(scene.model).sites, **chosen)


# ---- where it ends


@every_scene
def test_the_end_is_a_fixed_point(scene: Scene) -> None:
    """The sites that the rows ask for are those that q has."""
    step = converged(rows_of(scene), scene.model).e_step
    q = step.q
    asked = step.rows.sites.whitened(q.factor)
    for got, held in ((asked.linear, q.sites.linear), (asked.quadratic, q.sites.quadratic)):
        np.testing.assert_allclose(got, held, rtol=1e-4, atol=1e-4 * np.max(np.abs(held)))
    assert abs(step.gain) < 1e-8 * len(scene.block.y)


@every_scene
def test_the_end_is_a_maximum(scene: Scene) -> None:
    """No other q(u) has a larger ELBO: means and precisions moved at random, far and near."""
    rows, model = rows_of(scene), scene.model
    q = converged(rows, model).e_step.q
    best = elbo(rows, model, q)
    generator = np.random.default_rng(7)
    size = len(q.whitened_mean)
    losses = []
    for scale in (0.02, 0.02, 0.1, 0.1, 0.5):
        shift = scale * generator.normal(size=size)
        turn = scale * generator.normal(size=(size, size))
        quadratic = q.sites.quadratic + turn @ turn.T + scale * np.diag(generator.normal(size=size))
        precision = np.eye(size) + quadratic
        other = replace(q.sites, linear=precision @ (q.whitened_mean + shift), quadratic=quadratic)
        losses.append(best - elbo(rows, model, posterior_of(other)))
    assert min(losses) > -1e-8 * abs(best)
    assert max(losses) > 1e-3


@every_scene
def test_values_belong_together(scene: Scene) -> None:
    """ELBO, q and sums of one and the same pass; the gradient is there."""
    rows, step = rows_of(scene), settled(scene)
    assert step.elbo == pytest.approx(elbo(rows, scene.model, step.q), rel=1e-12)
    again = rows.reduce(lambda block: row_pass(scene.model, step.q, block, gradient=True))
    assert step.rows.value == again.value
    assert step.rows.gradient is not None
    np.testing.assert_array_equal(step.rows.gradient.kernel, again.gradient.kernel)
    np.testing.assert_array_equal(step.rows.sites.linear, again.sites.linear)


@every_scene
def test_the_predicted_gain_is_what_is_missing(scene: Scene) -> None:
    """After a rough E-step: ELBO + gain is near the end, and nearer than the ELBO."""
    rows = rows_of(scene)
    best = converged(rows, scene.model).e_step.elbo
    rough = settled(scene, tolerance=3e-2 * rows.total_weight, damped=True)
    missing = best - rough.elbo
    assert missing >= -1e-7 * abs(best)
    assert rough.gain >= 0.0
    if missing > 1e-3:
        assert 0.3 * missing < rough.gain < 3.0 * missing


# ---- how it gets there


@every_scene
def test_damping_does_not_change_the_end(scene: Scene) -> None:
    damped, raw = settled(scene, damped=True), settled(scene, damped=False)
    per_row = len(scene.block.y) * 1e-6
    assert damped.elbo == pytest.approx(raw.elbo, abs=per_row)


@every_scene
def test_passes_are_few(scene: Scene) -> None:
    step = settled(scene, tolerance=1e-4 * len(scene.block.y))
    assert step.passes <= 12


def test_a_gaussian_needs_one_step() -> None:
    """It is conjugate: the first sums are already those of the end."""
    for name in ("gaussian-closed", "gaussian-affine", "gaussian-fixed-noise"):
        step = settled(SCENES[name])
        assert step.passes <= 3
        assert abs(step.gain) < 1e-8


def test_the_limit_on_passes_holds() -> None:
    scene = SCENES["bernoulli-sigmoid"]
    for limit in (1, 2, 3):
        step = settled(scene, tolerance=-1.0, max_passes=limit)
        assert step.passes <= limit + 1  # one more where the gradient was left out
        assert step.rows.gradient is not None


def test_more_passes_never_lower_the_elbo() -> None:
    for scene in SCENES.values():
        rows = rows_of(scene)
        reached = [
            settled(scene, tolerance=-1.0, max_passes=limit, damped=True).elbo
            for limit in (1, 2, 3, 5, 8, 13)
        ]
        assert np.all(np.diff(reached) >= -2e-9 * rows.total_weight - 1e-10 * abs(reached[-1]))


def test_a_share_of_the_change_is_enough() -> None:
    """Far from the reference a rougher E-step does; beside it the tolerance counts."""
    scene = SCENES["bernoulli-sigmoid"]
    fine = settled(scene, tolerance=1e-10)
    far = settled(scene, tolerance=1e-10, share=0.1, reference=fine.elbo - 50.0)
    near = settled(scene, tolerance=1e-10, share=0.1, reference=fine.elbo)
    assert far.passes < near.passes
    assert near.elbo == pytest.approx(fine.elbo, abs=1e-6)


# ---- bad starts


@every_scene
@pytest.mark.parametrize("size", [3.0, 30.0])
def test_a_wild_start_ends_at_the_same_place(scene: Scene, size: float) -> None:
    """From a confident q(u) that is wrong by many deviations."""
    end = converged(rows_of(scene), scene.model).e_step
    factor = end.q.factor
    generator = np.random.default_rng(3)
    n = len(factor.lower)
    wild = Sites(size * generator.normal(size=n), size * np.eye(n), factor)
    step = settled(scene, wild, damped=True)
    assert step.elbo == pytest.approx(end.elbo, abs=2e-5 * len(scene.block.y))


def test_outliers_of_a_student_have_negative_sites() -> None:
    """They are legitimate: clipping them would end at another, lower ELBO."""
    scene = SCENES["student"]
    y = scene.block.y.copy()
    y[::4] += 6.0
    shifted = replace(scene, block=replace(scene.block, y=y))
    step = converged(rows_of(shifted), shifted.model).e_step
    asked = step.rows.sites.whitened(step.q.factor)
    np.testing.assert_allclose(
        asked.quadratic,
        step.q.sites.quadratic,
        atol=1e-3 * np.max(np.abs(asked.quadratic)),
    )
    raw, damped = settled(shifted), settled(shifted, damped=True)
    assert raw.elbo == pytest.approx(damped.elbo, abs=1e-5 * len(y))
    assert raw.elbo == pytest.approx(step.elbo, abs=1e-5 * len(y))


def test_a_start_without_a_finite_elbo_is_a_named_failure() -> None:
    scene = SCENES["gaussian-closed"]
    rows = replace(rows_of(scene), y=np.full(40, np.nan))
    with pytest.raises(NotPositiveDefinite, match="starting posterior is not finite"):
        e_step(rows, scene.model, prior_state(scene.model).sites, tolerance=1e-6)


def test_a_start_that_is_no_posterior_is_a_named_failure() -> None:
    scene = SCENES["gaussian-closed"]
    factor = factorise(scene.model.kernel(*[scene.model.inducing] * 2), jitter=1e-8)
    n = len(factor.lower)
    with pytest.raises(NotPositiveDefinite, match="precision that is not positive"):
        e_step(
            rows_of(scene),
            scene.model,
            Sites(np.zeros(n), -2.0 * np.eye(n), factor),
            tolerance=1e-6,
        )


def test_a_prior_that_reaches_over_a_kink_is_left() -> None:
    """Counts of a million through softplus, f = 1e6 ± 4e5 a priori: below zero log p falls by a
    million nats a unit, and the sites that this asks for are too precise for any posterior."""
    X = np.linspace(-1.7, 1.7, 200)[:, None]
    y = np.random.default_rng(1).poisson(1e6 * np.exp(np.sin(1.7 * X[:, 0]))).astype(float)
    kernel = RBF(variance=2.1e11).for_features(1)
    cells = CellRule(Hat(Grid.uniform(-2.4e6, 4.8e6, 4_000, "midpoint")))
    model = Model(kernel, ConstantMean(1.2e6), Poisson(), Softplus(), cells, X[::7])
    rows, start = MemoryRows(X, y), prior_state(model).sites
    before = elbo(rows, model, posterior_of(start))
    after = e_step(rows, model, start, tolerance=1e-3, damped=True, max_passes=40).elbo
    assert after > before + 0.99 * abs(before)
