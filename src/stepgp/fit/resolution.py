"""How fine the cells must be, and where: chosen from the marginals that a fit has reached."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stepgp.cells import Grid, Hat
from stepgp.cells.base import CellFamily
from stepgp.fit.estep import EStep
from stepgp.model.rowpass import Model, row_pass
from stepgp.model.rules import CellRule
from stepgp.rows.memory import MemoryRows

COARSEST, FINEST = 64, 512
ENOUGH = 1e-4
"""Refining must change the ELBO by less than this many nats a row."""
_MARGIN = 0.05


@dataclass(frozen=True)
class Resolution:
    """What a finer grid would change, per unit of weight."""

    change: float
    """ELBO on twice as many cells minus the ELBO."""
    narrow: float
    """Share of rows whose √var is below half a cell: they see (almost) no slope."""

    @property
    def is_enough(self) -> bool:
        return abs(self.change) < ENOUGH


def hats_over(low: float, high: float, n_cells: int) -> Hat:
    """`n_cells` hats of (but for the outermost) one width from `low` to `high`."""
    return Hat(Grid.uniform(low, high, n_cells, "midpoint"))


def resolution_of(rows: MemoryRows, model: Model, cells: CellFamily, step: EStep) -> Resolution:
    """Measured with q(u) held, by one pass on the refined grid."""
    finer = replace(model, rule=CellRule(cells.refined()))
    sums = rows.reduce(lambda block: row_pass(finer, step.q, block, cell_width=cells.cell_width))
    weight = rows.total_weight
    return Resolution((sums.value - step.rows.value) / weight, sums.narrow / weight)


def adapted(
    cells: CellFamily, model: Model, step: EStep, resolution: Resolution, n_cells: int | None
) -> CellFamily | None:
    """Cells that cover what rows may see, as fine as `ENOUGH` asks; None where these will do.

    The error of hats falls as K⁻², so one measured change tells the width that is needed. A
    given `n_cells` settles the number, not the stretch.
    """
    low, high = cells.span
    covered = low <= step.rows.lowest and step.rows.highest <= high
    if covered and (resolution.is_enough or cells.n_cells >= FINEST or n_cells is not None):
        return None
    low, high = visible_range(model, step)
    width = cells.cell_width * min(1.0, np.sqrt(0.5 * ENOUGH / max(abs(resolution.change), 1e-300)))
    wanted = n_cells or int(np.clip(np.ceil((high - low) / width), COARSEST, FINEST))
    return hats_over(low, high, wanted)


def visible_range(model: Model, step: EStep) -> tuple[float, float]:
    """What the latent marginals of the rows, and of rows far from all of them, see."""
    deviation = 6.0 * float(np.sqrt(np.max(model.kernel.diag(model.inducing))))
    centre = model.mean_function(model.inducing)
    low = min(step.rows.lowest, float(np.min(centre)) - deviation)
    high = max(step.rows.highest, float(np.max(centre)) + deviation)
    margin = _MARGIN * (high - low)
    return low - margin, high + margin


def predictive_cells(model: Model, step: EStep) -> CellFamily:
    """Hats for a model trained in closed form, whose predictions are mixtures all the same."""
    return hats_over(*visible_range(model, step), FINEST)
