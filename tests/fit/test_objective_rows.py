"""The objective does not depend on how rows come: threads, blocks, repeats, array library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepgp.fit import Options
from stepgp.fit.objective import evaluate
from stepgp.rows import MemoryRows
from tests.fit.problems import TO_THE_END, converged, rows_of
from tests.links.helpers import TO_LIBRARY
from tests.model.cases import arrays
from tests.model.scenes import SCENES, Scene

every_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
ROUNDING = 5e-6
"""Of the largest slope: K_zz has condition numbers up to 1e8, the jitter's inverse."""
DEFAULT_JITTER = Options(1).jitter


@every_scene
def test_threads_change_no_bit(scene: Scene) -> None:
    rows = replace(rows_of(scene), block=16)
    one, two = (converged(replace(rows, n_jobs=n), scene.model) for n in (1, 2))
    assert one.objective == two.objective
    np.testing.assert_array_equal(one.gradient, two.gradient)


@pytest.mark.parametrize("jitter", [1e-3, DEFAULT_JITTER])
@every_scene
def test_the_size_of_blocks_changes_rounding_only(scene: Scene, jitter: float) -> None:
    """One evaluation from one state: the value to 1e-10, the gradient as K_zz allows.

    Sums in another order differ by a few ulp. Whitened and pulled back through K_zz these become
    up to 800 ulp times its condition number, whatever the E-step does: here it makes one pass
    from the very same q(u). So 1e-10 of the largest slope needs a condition number below 1e4, as
    a jitter of 1e-3 gives; with 7e6 it is 1e-6.
    """
    rows, model = rows_of(scene), scene.model
    start = converged(rows, model, jitter=jitter).state
    one, other = (
        evaluate(replace(rows, block=block), model, start, TO_THE_END, max_passes=1)
        for block in (8, 2_048)
    )
    assert other.objective == pytest.approx(one.objective, rel=1e-10)
    difference = np.max(np.abs(other.gradient - one.gradient)) / np.max(np.abs(one.gradient))
    lower = start.sites.factor.lower
    per_condition = 1_000.0 * np.finfo(float).eps * np.linalg.cond(lower @ lower.T)
    assert difference <= (1e-10 if jitter == 1e-3 else per_condition)


@every_scene
def test_the_size_of_blocks_does_not_matter_to_an_e_step(scene: Scene) -> None:
    """From the prior to convergence: as many passes, to one end."""
    one, other = (
        converged(replace(rows_of(scene), block=block), scene.model, jitter=1e-3)
        for block in (8, 2_048)
    )
    assert other.e_step.passes == one.e_step.passes
    assert other.objective == pytest.approx(one.objective, rel=1e-10)
    scale = np.max(np.abs(one.gradient))
    np.testing.assert_allclose(other.gradient, one.gradient, rtol=0.0, atol=1e-10 * scale)


@every_scene
def test_integer_weights_are_repeats(scene: Scene) -> None:
    """Of the objective per unit of weight: priors count once, not once a row."""
    rows = rows_of(scene)
    count = np.random.default_rng(4).integers(1, 4, len(rows))
    weighted = converged(replace(rows, weight=count.astype(float)), scene.model)
    repeated = converged(
        MemoryRows(
            np.repeat(rows.X, count, axis=0),
            np.repeat(rows.y, count),
            None,
            None if rows.exposure is None else np.repeat(rows.exposure, count),
        ),
        scene.model,
    )
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    scale = np.max(np.abs(repeated.gradient))
    np.testing.assert_allclose(weighted.gradient, repeated.gradient, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize("library", [name for name in TO_LIBRARY if name != "numpy"])
@every_scene
def test_every_library(scene: Scene, library: str) -> None:
    """The whole evaluation, E-step included, on rows of another library."""
    block = scene.block
    columns = arrays(TO_LIBRARY[library], block.X, block.y, block.weight, block.exposure)
    got, expected = (
        converged(rows, scene.model) for rows in (MemoryRows(*columns), rows_of(scene))
    )
    assert got.objective == pytest.approx(expected.objective, rel=1e-9)
    scale = np.max(np.abs(expected.gradient))
    np.testing.assert_allclose(got.gradient, expected.gradient, rtol=1e-5, atol=ROUNDING * scale)
