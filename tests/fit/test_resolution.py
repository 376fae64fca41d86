"""How fine the cells are: what is reported holds, and predictions see more than training did."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stepgp.cells import CellFamily, Grid, Hat, Indicator
from stepgp.fit.resolution import graded_hats, predictive_cells, resolution_of
from stepgp.likelihoods import StudentT
from stepgp.links import Identity
from stepgp.model.expectation import expect_rows
from stepgp.model.posterior import marginals
from stepgp.model.rules import CellRule, Quadrature
from tests.fit.problems import converged, rows_of
from tests.model.scenes import SCENES, scene

CELLS: dict[str, CellFamily] = {
    "hat": Hat(Grid.uniform(-7.0, 7.0, 60, "midpoint")),
    "step-upper": Indicator(Grid.uniform(-7.0, 7.0, 400, "upper")),
    "step-midpoint": Indicator(Grid.uniform(-7.0, 7.0, 100, "midpoint")),
    "step-average": Indicator(Grid.uniform(-7.0, 7.0, 100, "average")),
}
MODELS = {
    "bernoulli": SCENES["bernoulli-probit-weights"],
    "poisson": SCENES["poisson-exp-cells"],
    # Neither concave nor convex: errors of rows have both signs.
    "student": scene(StudentT(1.0, 5.0), Identity(), weights=True),
}


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS.keys())
@pytest.mark.parametrize("name", MODELS)
def test_the_reported_error_holds(name: str, cells: CellFamily) -> None:
    """On average over rows and for the worst, against 200-point quadrature of the true link."""
    made = MODELS[name]
    model, block = made.model, made.block
    found = resolution_of(rows_of(made), model, cells, made.q)
    mean, var = marginals(made.q, model.kernel, model.mean_function, model.inducing, block.X)
    seen, true = (
        expect_rows(model.likelihood, model.link, rule, block.y, block.exposure, mean, var).value
        for rule in (CellRule(cells), Quadrature(200))
    )
    error = np.abs(true - seen)
    weight = np.ones(len(error)) if block.weight is None else block.weight
    average = float(np.average(error, weights=weight))
    assert average <= found.error <= 4.0 * average
    assert np.max(error) <= found.largest <= 6.0 * np.max(error)
    assert abs(found.change) <= found.error


def test_narrow_rows_are_weighed() -> None:
    """Weight of the rows with √v below half a cell."""
    made = SCENES["bernoulli-probit-weights"]
    model, weight = made.model, made.block.weight
    assert weight is not None
    _, var = marginals(made.q, model.kernel, model.mean_function, model.inducing, made.block.X)
    deviation = np.sort(np.sqrt(var))
    half = 0.5 * float(deviation[15] + deviation[16])  # between two deviations
    cells = Hat(Grid(2.0 * half * np.arange(-30.0, 31.0), "midpoint"))
    found = resolution_of(rows_of(made), model, cells, made.q)
    share = np.sum(weight[np.sqrt(var) < half]) / np.sum(weight)
    assert found.narrow == pytest.approx(share, rel=1e-12)
    assert 0.0 < share < 1.0


def test_predictive_cells_are_nowhere_wider_than_the_finest_of_training() -> None:
    made = SCENES["bernoulli-sigmoid"]
    step = converged(rows_of(made), made.model).e_step
    trained = graded_hats((-2.0, 2.0), (-9.0, 9.0), 0.1)
    assert np.max(np.diff(trained.nodes)) > 1.0
    cells = predictive_cells(made.model, step, trained)
    assert np.max(np.diff(cells.nodes)) <= 0.1 * (1.0 + 1e-9)
    assert cells.span[0] <= step.rows.spread.lowest
    assert cells.span[1] >= step.rows.spread.highest
    closed = predictive_cells(replace(made.model), step, None)
    assert closed.n_cells > 200
