"""The objective of the hyperparameters: its value, and its gradient in every group."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from stepgp._array.linalg import NotPositiveDefinite
from stepgp.fit import Options
from stepgp.fit.objective import (
    Precision,
    evaluate,
    parameter_bounds,
    parameters_of,
    with_parameters,
)
from stepgp.model.rules import CellRule
from tests.fit.problems import TO_THE_END, converged, prior_state, rows_of
from tests.links.helpers import slope
from tests.model.cases import CELLS
from tests.model.scenes import SCENES, Scene

every_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
DEFAULT_JITTER = Options(1).jitter
GROUPS = ("kernel", "mean_function", "likelihood", "link", "inducing")


def groups(scene: Scene) -> dict[str, slice]:
    """Where each group lies in θ."""
    model = scene.model
    sizes = [len(getattr(model, name).params) for name in GROUPS[:4]] + [model.inducing.size]
    ends = np.cumsum([0, *sizes])
    return {name: slice(a, b) for name, a, b in zip(GROUPS, ends[:-1], ends[1:], strict=True)}


def directions(scene: Scene, *, all_of_them: bool) -> dict[str, np.ndarray]:
    """Every parameter but those of the inducing inputs, and a mixture of each group's."""
    theta, where = parameters_of(scene.model), groups(scene)
    units = np.eye(len(theta))
    found: dict[str, np.ndarray] = {}
    generator = np.random.default_rng(1)
    for name, indices in where.items():
        if all_of_them and name != "inducing":
            numbers = range(indices.start, indices.stop)
            found |= {f"{name} {index - indices.start}": units[index] for index in numbers}
        elif indices.stop > indices.start:
            mixture = generator.normal(size=indices.stop - indices.start) @ units[indices]
            found[name] = mixture / np.linalg.norm(mixture)
    return found


def assert_gradient(
    scene: Scene, *, jitter: float, all_of_them: bool = True, accuracy: float = 1e-7
) -> None:
    """Against Richardson differences of the objective, each converged anew."""
    rows, theta = rows_of(scene), parameters_of(scene.model)
    # Twice as many passes as elsewhere: the error of the gradient is first order in what is left.
    at = converged(rows, scene.model, converged(rows, scene.model, jitter=jitter).state)

    def objective(direction: np.ndarray, step: float) -> float:
        moved = with_parameters(scene.model, theta + step * direction)
        return converged(rows, moved, at.state).objective

    scale = np.max(np.abs(at.gradient))
    for name, direction in directions(scene, all_of_them=all_of_them).items():
        reference = slope(partial(objective, direction), 0.0)
        got = float(at.gradient @ direction)
        assert got == pytest.approx(reference, rel=accuracy, abs=accuracy * scale), name


# ---- the gradient


@every_scene
def test_gradient_is_that_of_the_converged_objective(scene: Scene) -> None:
    """In every kernel, mean and likelihood parameter, and in the inducing inputs."""
    assert_gradient(scene, jitter=1e-6)


@every_scene
def test_gradient_at_the_default_jitter(scene: Scene) -> None:
    """K_zz of condition number 7e6 costs a digit: the gradient carries its inverse."""
    assert_gradient(scene, jitter=DEFAULT_JITTER, all_of_them=False, accuracy=3e-7)


@pytest.mark.parametrize("name", ["bernoulli-sigmoid", "gaussian-closed", "student"])
def test_gradient_with_a_jitter_that_matters(name: str) -> None:
    """The trace term: jitter is relative to the mean variance, which the kernel moves."""
    assert_gradient(SCENES[name], jitter=1e-3)


@pytest.mark.parametrize("cells", CELLS)
@pytest.mark.parametrize("name", ["bernoulli-sigmoid", "student"])
def test_gradient_through_all_cells(name: str, cells: str) -> None:
    rule = CellRule(CELLS[cells](-5.0, 5.0, 96))
    scene = SCENES[name]
    changed = replace(scene, model=replace(scene.model, rule=rule))
    assert_gradient(changed, jitter=1e-6, all_of_them=False)


# ---- the value


@every_scene
def test_value_is_elbo_and_priors_per_weight(scene: Scene) -> None:
    rows = rows_of(scene)
    at = converged(rows, scene.model)
    model = scene.model
    priors = (part.log_prior() for part in (model.kernel, model.likelihood, model.link))
    total = at.e_step.elbo + sum(priors)
    assert at.objective == pytest.approx(total / rows.total_weight, rel=1e-9)
    assert at.e_step.elbo == pytest.approx(at.e_step.rows.value - at.e_step.q.kl, rel=1e-12)
    assert at.state.model is model


@every_scene
def test_the_start_does_not_matter(scene: Scene) -> None:
    """From no sites at all, or from those of other hyperparameters: one objective."""
    rows = rows_of(scene)
    at = converged(rows, scene.model)
    elsewhere = with_parameters(scene.model, parameters_of(scene.model) + 0.15)
    start = converged(rows, elsewhere).state
    other = converged(rows, scene.model, start)
    assert other.objective == pytest.approx(at.objective, rel=1e-9)
    scale = np.max(np.abs(at.gradient))
    np.testing.assert_allclose(other.gradient, at.gradient, rtol=1e-4, atol=1e-5 * scale)


@every_scene
def test_going_on_from_the_state_is_at_once_done(scene: Scene) -> None:
    rows = rows_of(scene)
    at = converged(rows, scene.model)
    again = evaluate(rows, scene.model, at.state, Precision(tolerance=1e-9, share=0.0))
    assert again.e_step.passes <= 2
    assert again.objective == pytest.approx(at.objective, rel=1e-10)


@every_scene
def test_rough_evaluations_are_near(scene: Scene) -> None:
    """What the optimiser sees differs from the truth by the order of what it tolerates."""
    rows = rows_of(scene)
    at = converged(rows, scene.model)
    start = converged(rows, with_parameters(scene.model, parameters_of(scene.model) + 0.05)).state
    rough = evaluate(rows, scene.model, start, Precision(tolerance=3e-6, share=0.0))
    assert abs(rough.objective - at.objective) < 2e-5
    scale = np.linalg.norm(at.gradient)
    assert np.linalg.norm(rough.gradient - at.gradient) < 0.2 * scale


# ---- θ as a vector


def units_of(scene: Scene) -> np.ndarray:
    """What a step of one in θ is: kernels say so, inducing inputs count in √D, the rest in 1."""
    model, units = scene.model, np.ones(len(parameters_of(scene.model)))
    where = groups(scene)
    units[where["kernel"]] = model.kernel.units
    units[where["inducing"]] = np.sqrt(2.0)
    return units


@every_scene
def test_parameters_round_trip(scene: Scene) -> None:
    theta, units = parameters_of(scene.model), units_of(scene)
    moved = with_parameters(scene.model, theta + 0.25)
    np.testing.assert_allclose(parameters_of(moved), theta + 0.25, rtol=1e-12, atol=1e-14)
    for name in GROUPS[:3]:
        got, start = (getattr(model, name).params for model in (moved, scene.model))
        np.testing.assert_allclose(got, start + 0.25 * units[groups(scene)[name]], rtol=1e-12)
    np.testing.assert_allclose(
        moved.inducing, scene.model.inducing + 0.25 * np.sqrt(2.0), rtol=1e-12
    )
    assert moved.rule is scene.model.rule


@every_scene
def test_bounds_are_those_of_the_parts(scene: Scene) -> None:
    theta, units = parameters_of(scene.model), units_of(scene)
    bounds = parameter_bounds(scene.model)
    assert bounds.shape == (len(theta), 2)
    assert np.all(bounds[:, 0] < theta)
    assert np.all(theta < bounds[:, 1])
    where, bounds = groups(scene), bounds * units[:, None]
    assert np.isinf(bounds[where["inducing"]]).all()
    assert np.isinf(bounds[where["mean_function"]]).all()
    for name in ("kernel", "likelihood"):
        expected = getattr(scene.model, name).bounds
        np.testing.assert_allclose(bounds[where[name]], expected, rtol=1e-12)


# ---- failures are named


def test_coincident_inducing_inputs_need_jitter() -> None:
    """The jitter of a run is fixed: where it does not do, the evaluation says so."""
    scene = SCENES["bernoulli-sigmoid"]
    start = prior_state(scene.model, 1e-17)
    same = replace(scene.model, inducing=np.tile(scene.model.inducing[:1], (7, 1)))
    with pytest.raises(NotPositiveDefinite, match=r"7 inducing inputs.*fewer inducing inputs"):
        evaluate(rows_of(scene), same, start, TO_THE_END)


def test_a_gradient_that_overflows_is_a_named_failure() -> None:
    """Rates of e⁷⁰⁰: a value that is a number, and slopes that are none."""
    scene = SCENES["poisson-exp-closed"]
    start = prior_state(scene.model)
    wild = replace(start, sites=replace(start.sites, linear=np.full(7, 535.0)))
    with pytest.raises(NotPositiveDefinite, match="gradient of the objective is not finite"):
        evaluate(rows_of(scene), scene.model, wild, TO_THE_END, max_passes=1)


def test_impossible_rows_are_a_named_failure() -> None:
    scene = SCENES["gaussian-closed"]
    rows = replace(rows_of(scene), y=np.full(40, np.inf))
    with pytest.raises(NotPositiveDefinite, match="not finite"), np.errstate(all="ignore"):
        evaluate(rows, scene.model, prior_state(scene.model), TO_THE_END)
