"""Rows that share cells, each seen through those near its mean, as far as they count."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace
from stepgp.cells.base import CellFamily
from stepgp.cells.windows import Weighs, near_cells
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.mixture import Mixture
from stepgp.model.sights import Rows, SharedCells

_MOMENTS, _DENSITY = 1e-14, -32.0
"""What a tail may still add: a share of the second moment; a logarithm of a share of p(y)."""


@final
@dataclass(frozen=True, eq=False)
class SharingRows:
    """Rows N(μ, v) of one model that see parts of the same cells: no table is (n, K)."""

    likelihood: Likelihood
    link: Link
    cells: CellFamily
    mean: Array
    var: Array
    exposure: Array | None

    def mixtures(self, targets: Floats | None) -> Iterator[tuple[Rows, Mixture]]:
        """Groups of rows with their mixtures: right for moments, cdf and quantiles, or for the
        densities of the targets."""
        weighs = self._counts_in_moments() if targets is None else self._counts_in_density(targets)
        for rows, near in near_cells(self.cells.nodes, self.mean, self.var, weighs):
            xp, index = namespace(self.mean), like(rows, near)
            mean, var = xp.take(self.mean, index), xp.take(self.var, index)
            exposure = None if self.exposure is None else xp.take(self.exposure, index)
            sight = SharedCells(mean, var, self.cells, near)
            yield rows, Mixture(self.likelihood, self.link, sight, exposure)

    def _through(self, near: Array) -> Mixture:
        """All rows, through these cells of each."""
        sight = SharedCells(self.mean, self.var, self.cells, near)
        return Mixture(self.likelihood, self.link, sight, self.exposure)

    def _beside_mean(self) -> Array:
        """The cells around μ − √v, μ and μ + √v of every row, (n, 3)."""
        xp, nodes = namespace(self.mean), self.cells.nodes
        step = xp.sqrt(self.var)
        points = xp.stack([self.mean - step, self.mean, self.mean + step], axis=1)
        found = xp.searchsorted(like(nodes, self.mean), points)
        return xp.clip(found, max=len(nodes) - 1)

    def _counts_in_moments(self) -> Weighs:
        """A cell counts while φ(reach) of its squared mean is seen beside that of those at μ ± √v:
        as eᶠ may grow beyond any number of deviations."""
        xp = namespace(self.mean)
        with np.errstate(all="ignore"):
            own = xp.max(xp.abs(self._through(self._beside_mean()).means()), axis=1)

        def weighs(cells: Array, reach: Array) -> Array:
            with np.errstate(all="ignore"):
                mean = xp.abs(self._through(cells[:, None]).means()[:, 0])
                return mean * xp.exp(-0.25 * reach * reach) > _MOMENTS**0.5 * own

        return weighs

    def _counts_in_density(self, y: Floats) -> Weighs:
        """A cell counts while φ(reach) p(y | g) there is seen beside p(y | g) at the mean."""
        targets = like(np.where(np.isfinite(y), y, 0.0), self.mean)
        xp = namespace(self.mean)

        def log_terms(cells: Array) -> Array:
            with np.errstate(all="ignore"):
                return self._through(cells).log_terms(targets)

        own = xp.max(log_terms(self._beside_mean()), axis=1)

        def weighs(cells: Array, reach: Array) -> Array:
            here = log_terms(cells[:, None])[:, 0] - 0.5 * reach * reach
            return (here > own + _DENSITY) | (own == -np.inf)

        return weighs
