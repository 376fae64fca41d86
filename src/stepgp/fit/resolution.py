"""How fine the cells must be, and where: chosen from the marginals that a fit has reached."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgp._array.namespace import Floats, to_numpy
from stepgp.cells import Grid, Hat
from stepgp.cells.base import CellFamily
from stepgp.fit.estep import EStep
from stepgp.model.expectation import expect_rows
from stepgp.model.posterior import Posterior, marginals
from stepgp.model.rowpass import Model, RowBlock
from stepgp.model.rules import CellRule
from stepgp.rows.memory import MemoryRows

COARSEST, USUAL, FINEST = 64, 512, 2**18
"""Cells to start with, cells that most fits make do with, and the most that there may be: rows see
those near their means only, so that many cost little more than a longer table of levels."""
_DEARER = 10.0
"""More than the usual number of cells must be worth ten times what fewer may change."""
ROUGHLY = 3e-3
"""Nats a row by which refining may change the ELBO on a subset of the rows: θ is still to move."""
_SOME = 10_000
_CAUTION = 1.5
_MARGIN = 0.05
_MOST = 2 * USUAL
"""Cells of a prediction that are had for the asking."""
_SEEN = 2e-3
"""Nats a row that twice as many cells may change in a prediction: of Gaussian noise σ, cells of
.18σ, which make it .3 % wider."""
_TRIES = 4
_CORE = 4.0
"""Deviations of all rows' marginals together that get the finest cells."""
_GROWTH = 1.2
"""Ratio of neighbouring cells beyond the core: there only far rows look."""


@dataclass(frozen=True)
class Resolution:
    """How far E log p through the cells is from what infinitely fine ones would give.

    Per row E on twice as many cells minus E, times 2ᵖ/(2ᵖ − 1) for cells of order p (Richardson)
    and half as much again, as cells are not infinitely fine yet; measured with q(u) held, on at
    most 10,000 rows.
    """

    change: float
    """ELBO on twice as many cells minus the ELBO, nats per unit of weight."""
    error: float
    """Estimated |error| of a row, on average over the rows; so signs do not cancel."""
    largest: float
    """That of the worst row."""
    narrow: float
    """Share of rows whose √var is below half a cell where they are: they see (almost) no slope."""


def even_hats(low: float, high: float, n_cells: int) -> Hat:
    """`n_cells` hats of (but for the outermost) one width from `low` to `high`."""
    return Hat(Grid.uniform(low, high, n_cells, "midpoint"))


def graded_hats(core: tuple[float, float], span: tuple[float, float], width: float) -> Hat:
    """Hats of one width over the core, growing outwards until they cover the span."""
    n_core = int(np.clip(np.ceil((core[1] - core[0]) / width), COARSEST // 2, FINEST))
    edges = np.linspace(*core, n_core + 1)
    return Hat(
        Grid(
            np.concatenate(
                [
                    core[0] - _steps(edges[1] - edges[0], core[0] - span[0])[::-1],
                    edges,
                    core[1] + _steps(edges[1] - edges[0], span[1] - core[1]),
                ]
            ),
            "midpoint",
        )
    )


def _steps(width: float, reach: float) -> Floats:
    """Distances width·γ, width·(γ + γ²), … up to the first beyond `reach`."""
    if reach <= 0.0:
        return np.zeros(0)
    count = int(np.ceil(np.log1p(reach / width * (_GROWTH - 1.0)) / np.log(_GROWTH)))
    ratios = np.power(_GROWTH, np.arange(1.0, max(count, 1) + 1.0))
    return np.cumsum(width * ratios)


def resolution_of(rows: MemoryRows, model: Model, cells: CellFamily, q: Posterior) -> Resolution:
    """What twice as many cells would change in every row."""
    parts = [_changes(block, model, cells, q) for block in rows.head(_SOME).blocks()]
    change, narrow, weight = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    factor = _CAUTION * 2.0**cells.order / (2.0**cells.order - 1.0)
    share = weight / weight.sum()
    return Resolution(
        change=float(share @ change),
        error=factor * float(share @ np.abs(change)),
        largest=factor * float(np.max(np.abs(change))),
        narrow=float(share @ narrow),
    )


def _changes(
    block: RowBlock, model: Model, cells: CellFamily, q: Posterior
) -> tuple[Floats, Floats, Floats]:
    """For every row: E log p on finer cells minus that on these, whether √var is below half the
    cell at its mean, and its weight."""
    mean, var = marginals(q, model.kernel, model.mean_function, model.inducing, block.X)
    coarse, fine = (
        expect_rows(
            model.likelihood, model.link, CellRule(family), block.y, block.exposure, mean, var
        ).value
        for family in (cells, cells.refined())
    )
    narrow = to_numpy(var) < (0.5 * cells.widths_at(to_numpy(mean))) ** 2
    weight = np.ones(len(narrow)) if block.weight is None else to_numpy(block.weight)
    return to_numpy(fine) - to_numpy(coarse), narrow.astype(np.float64), weight


def adapted(
    cells: CellFamily,
    model: Model,
    step: EStep,
    resolution: Resolution,
    *,
    enough: float,
    n_cells: int | None,
) -> CellFamily | None:
    """Cells that cover what rows may see, as fine as `enough` asks; None where these will do.

    The error of hats falls as width², so one measured change tells the width that is needed, where
    it is not much too wide. Where more than the usual number of cells is needed, `enough` is ten
    times as much, and rows far from the others get cells as fine as theirs: a likelihood so narrow
    shows them any other. A given `n_cells` makes that many even ones instead.
    """
    spread = step.rows.spread
    low, high = cells.span
    covered = low <= spread.lowest and spread.highest <= high
    change, dearer = abs(resolution.change), _DEARER * enough
    fine = change < (enough if cells.n_cells <= USUAL else dearer)
    if covered and (fine or n_cells is not None or cells.n_cells >= FINEST):
        return None
    span = visible_range(model, step)
    if n_cells is not None:
        return even_hats(*span, n_cells)
    core, finest = spread.core(_CORE), cells.finest_width

    def wanted(change_left: float) -> float:
        return finest * min(1.0, float(np.sqrt(0.5 * change_left / max(change, 1e-300))))

    usual = (core[1] - core[0]) / USUAL
    if wanted(enough) >= usual:
        return graded_hats(core, span, wanted(enough))
    if wanted(dearer) >= usual:
        return graded_hats(core, span, usual)
    return graded_hats((spread.lowest, spread.highest), span, wanted(dearer))


def visible_range(model: Model, step: EStep) -> tuple[float, float]:
    """What the latent marginals of the rows, and of rows far from all of them, see."""
    deviation = 6.0 * float(np.sqrt(np.max(model.kernel.diag(model.inducing))))
    centre = model.mean_function(model.inducing)
    low = min(step.rows.spread.lowest, float(np.min(centre)) - deviation)
    high = max(step.rows.spread.highest, float(np.max(centre)) + deviation)
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def predictive_cells(model: Model, step: EStep, trained: CellFamily | None) -> CellFamily:
    """Even hats over all that may be seen, as fine as the finest that the model was trained on.

    A model trained in closed form had none, but its predictions are mixtures all the same.
    """
    low, high = visible_range(model, step)
    core = step.rows.spread.core(_CORE)
    width = (core[1] - core[0]) / USUAL
    if trained is not None:
        width = trained.finest_width
    # Two of them are the unbounded ones.
    number = 2.0 + np.ceil((high - low) / max(width, 1e-300))
    return even_hats(low, high, int(np.clip(number, COARSEST, _MOST)))


def refined_for_predictions(
    rows: MemoryRows, model: Model, q: Posterior, cells: CellFamily
) -> tuple[CellFamily, Resolution]:
    """Even cells as narrow as E log p of the rows needs to be within 2e-3 nats of its limit.

    E log p bends more in f than log E p does, by 1/σ² against 1/(σ² + v) for Gaussian noise: where
    the one is fine enough, the predictive density is.
    """
    resolution = resolution_of(rows, model, cells, q)
    for _ in range(_TRIES):
        change = abs(resolution.change)
        if change < _SEEN or cells.n_cells >= FINEST:
            break
        number = np.ceil(cells.n_cells * np.sqrt(2.0 * change / _SEEN))
        cells = even_hats(*cells.span, int(min(number, FINEST)))
        resolution = resolution_of(rows, model, cells, q)
    return cells, resolution
