"""A block of rows with the finite mixture of each: masses of cells, levels of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp._array.special import logsumexp
from stepgp.likelihoods import Likelihood
from stepgp.links import Feature, Link
from stepgp.model.quantiles import continuous_quantile, discrete_quantile
from stepgp.model.sights import Sight


@final
@dataclass(frozen=True, eq=False)
class Mixture:
    """p(y_i) = Σ_k w_k(μ_i, v_i) p(y_i | e_i g_k) (paper, eq. predictivemixture).

    The sum is over the cells near each row, (n, W) consecutive ones, or over all of them.

    Rows are arrays of any library; what comes out of cdf, quantiles and draws is NumPy.
    """

    likelihood: Likelihood
    link: Link
    sight: Sight
    exposure: Array | None

    def mean(self) -> Array:
        """Σ_k w_k E(y | g_k)."""
        return _total(self.sight.masses(), self.means())

    def var(self) -> Array:
        """Σ_k w_k (Var_k + (mean_k − mean)²): within the likelihood and between its levels."""
        levels, masses, means = self._levels(), self.sight.masses(), self.means()
        xp = namespace(masses)
        centre = _total(masses, means)
        finite = xp.isfinite(centre)
        known = (masses > 0) & finite[:, None]
        offset = xp.where(known, means, 0.0) - xp.where(known, centre[:, None], 0.0)
        between = xp.where(finite, xp.sum(masses * offset**2, axis=1), math.inf)
        return _total(masses, self.likelihood.var(levels)) + between

    def log_prob(self, y: Floats) -> Array:
        """log Σ_k exp(log w_k + log p(y | g_k)), from log-features where there are any.

        So the density far outside the data is small but never zero; a target that the likelihood
        cannot give has log 0 = −∞.
        """
        possible = self.likelihood.valid_targets(y)
        # A target that is possible stands in for the others.
        some = np.where(possible, y, y[possible][0] if possible.any() else 1.0)
        found = self._log_prob(like(some, self.sight.mean))
        if possible.all():
            return found
        impossible = np.where(np.isnan(y), math.nan, -math.inf)
        return namespace(found).where(
            like(possible, self.sight.mean) > 0, found, like(impossible, self.sight.mean)
        )

    def _log_prob(self, y: Array) -> Array:
        return logsumexp(self.log_terms(y) + self.sight.log_masses())

    def log_terms(self, y: Array) -> Array:
        """log p(y_i | e_i g_k), (n, W), or (n, K) for all cells."""
        features = self.likelihood.features
        if not any(feature.is_log for feature in features):
            # Features such as y² and g² would cancel where log p takes y − g.
            return self.likelihood.log_prob(y[:, None], self._levels())
        statistics = self.likelihood.statistics(y, self.exposure)
        terms = self.likelihood.base(y, self.exposure)[:, None]
        for r, feature in enumerate(features):
            levels = self.sight.levels(self.link, feature)
            largest = float(namespace(y).finfo(y.dtype).max)
            levels = namespace(y).clip(levels, min=-largest, max=largest)  # 0·∞ is no number
            terms = terms + statistics[:, r, None] * levels
        return terms

    def means(self) -> Array:
        """E(y | e_i g_k), (n, W)."""
        return self.likelihood.mean(self._levels())

    def cdf(self, y: Floats) -> Floats:
        """Σ_k w_k P(Y ≤ y | g_k), without the rounding that takes the sum of masses past one."""
        cdf = self.likelihood.cdf(y[:, None], to_numpy(self._levels()))
        return np.minimum(np.sum(to_numpy(self.sight.masses()) * cdf, axis=1), 1.0)

    def quantiles(self, at: list[float]) -> Floats:
        """The smallest y with cdf(y) ≥ p for every p, (n, m)."""
        masses, levels = to_numpy(self.sight.masses()), to_numpy(self._levels())
        # Near the median: a mean may be infinite.
        middle = np.argmax(
            np.cumsum(masses, axis=1) >= 0.5 * np.sum(masses, axis=1)[:, None], axis=1
        )
        centre = np.take_along_axis(to_numpy(self.means()), middle[:, None], axis=1)[:, 0]

        def cdf(y: Floats, rows: npt.NDArray[np.intp]) -> Floats:
            return np.sum(masses[rows] * self.likelihood.cdf(y[:, None], levels[rows]), axis=1)

        search = discrete_quantile if self.likelihood.discrete else continuous_quantile
        return np.stack([search(cdf, p, centre) for p in at], axis=-1)

    def sample(self, n_samples: int, generator: np.random.Generator) -> Floats:
        """A cell by its mass, then a target by the cell's level, (n, n_samples)."""
        total = np.cumsum(to_numpy(self.sight.masses()), axis=1)
        draws = generator.random((len(total), n_samples)) * total[:, -1:]
        cells = np.empty(draws.shape, dtype=np.intp)
        for row, cumulated in enumerate(total):
            cells[row] = np.searchsorted(cumulated, draws[row])
        levels = to_numpy(self._levels())
        return self.likelihood.sample(np.take_along_axis(levels, cells, axis=1), generator)

    def _levels(self) -> Array:
        """e_i g_k, (n, W)."""
        levels = self.sight.levels(self.link, Feature.VALUE)
        return levels if self.exposure is None else levels * self.exposure[:, None]


def _total(masses: Array, values: Array) -> Array:
    """Σ_k w_k v_k: a cell without mass adds nothing, even where its value is infinite."""
    xp = namespace(masses)
    return xp.sum(masses * xp.where(masses > 0, values, xp.zeros_like(masses)), axis=1)
