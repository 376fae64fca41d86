"""What the rows say about a learnt link: the curvature that its band comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stepgp._array.namespace import Floats, namespace
from stepgp.model.expectation import level_bend, link_statistics
from stepgp.model.posterior import Posterior, marginals
from stepgp.model.rowpass import Model, RowBlock
from stepgp.rows.memory import MemoryRows


@dataclass(frozen=True, eq=False)
class _Seen:
    """Statistics of the levels (R, K), and second derivatives in them (K,), summed over rows."""

    statistics: Floats
    bend: Floats

    def __add__(self, other: _Seen) -> _Seen:
        return _Seen(self.statistics + other.statistics, self.bend + other.bend)


def informed(model: Model, q: Posterior, rows: MemoryRows) -> Model:
    """The model whose link knows how well it is known; itself where nothing of it is learnt."""
    if not model.link.params.size:
        return model

    def see(block: RowBlock) -> _Seen:
        mean, var = marginals(q, model.kernel, model.mean_function, model.inducing, block.X)
        weight = namespace(var).ones_like(var) if block.weight is None else block.weight
        seen = model.likelihood, model.link, model.rule, block.y, block.exposure, mean, var, weight
        statistics = link_statistics(*seen)
        bend = np.zeros(statistics.shape[1])
        return _Seen(statistics, bend if model.likelihood.features else level_bend(*seen))

    seen = rows.reduce(see)
    link = model.link.informed(
        model.rule.points, model.likelihood.features, seen.statistics, seen.bend
    )
    return replace(model, link=link)
