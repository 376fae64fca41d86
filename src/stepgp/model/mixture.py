"""A block of rows with the finite mixture of each: masses of cells, levels of cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
import numpy.typing as npt

from stepgp._array.namespace import Floats
from stepgp._array.special import logsumexp
from stepgp.cells.base import CellFamily
from stepgp.likelihoods import Likelihood
from stepgp.links import Feature, Link
from stepgp.model.quantiles import continuous_quantile, discrete_quantile
from stepgp.model.rules import feature_levels


@final
@dataclass(frozen=True, eq=False)
class Mixture:
    """p(y_i) = Σ_k w_k(μ_i, v_i) p(y_i | e_i g_k) (paper, eq. predictivemixture)."""

    likelihood: Likelihood
    link: Link
    cells: CellFamily
    latent_mean: Floats
    latent_var: Floats
    exposure: Floats | None

    def mean(self) -> Floats:
        """Σ_k w_k E(y | g_k)."""
        return np.sum(self._masses() * self.likelihood.mean(self._levels()), axis=1)

    def var(self) -> Floats:
        """Σ_k w_k (Var_k + (mean_k − mean)²): within the likelihood and between its levels.

        A cell without mass adds nothing, even where its variance is infinite.
        """
        levels, masses = self._levels(), self._masses()
        means = self.likelihood.mean(levels)
        centre = np.sum(masses * means, axis=1, keepdims=True)
        spread = self.likelihood.var(levels) + (means - centre) ** 2
        nothing = np.zeros_like(masses)
        return np.sum(np.multiply(masses, spread, where=masses > 0, out=nothing), axis=1)

    def log_prob(self, y: Floats) -> Floats:
        """log Σ_k exp(log w_k + log p(y | g_k)), from log-features where there are any.

        So the density far outside the data is small but never zero; a target that the likelihood
        cannot give has log 0 = −∞.
        """
        possible = self.likelihood.valid_targets(y)
        if not possible.all():
            log_prob = np.where(np.isnan(y), np.nan, -np.inf)
            log_prob[possible] = self._rows(possible).log_prob(y[possible])
            return log_prob
        if self.likelihood.features:
            table = np.stack(
                [feature_levels(self.cells, self.link, f) for f in self.likelihood.features]
            )
            terms = self.likelihood.statistics(y, self.exposure) @ table
            terms += self.likelihood.base(y, self.exposure)[:, None]
        else:
            terms = self.likelihood.log_prob(y[:, None], self._levels())
        return logsumexp(terms + self.cells.log_masses(self.latent_mean, self.latent_var))

    def cdf(self, y: Floats) -> Floats:
        """Σ_k w_k P(Y ≤ y | g_k), without the rounding that takes the sum of masses past one."""
        total = np.sum(self._masses() * self.likelihood.cdf(y[:, None], self._levels()), axis=1)
        return np.minimum(total, 1.0)

    def quantile(self, p: float) -> Floats:
        """The smallest y with cdf(y) ≥ p."""
        masses = self._masses()
        levels = np.broadcast_to(self._levels(), masses.shape)

        def cdf(y: Floats, rows: npt.NDArray[np.intp]) -> Floats:
            return np.sum(masses[rows] * self.likelihood.cdf(y[:, None], levels[rows]), axis=1)

        search = discrete_quantile if self.likelihood.discrete else continuous_quantile
        return search(cdf, p, self.mean())

    def sample(self, n_samples: int, generator: np.random.Generator) -> Floats:
        """A cell by its mass, then a target by the cell's level, (n, n_samples)."""
        total = np.cumsum(self._masses(), axis=1)
        draws = generator.random((len(total), n_samples)) * total[:, -1:]
        cells = np.empty(draws.shape, dtype=np.intp)
        for row, cumulated in enumerate(total):
            cells[row] = np.searchsorted(cumulated, draws[row])
        levels = np.broadcast_to(self._levels(), total.shape)
        return self.likelihood.sample(np.take_along_axis(levels, cells, axis=1), generator)

    def _rows(self, rows: npt.NDArray[np.bool_]) -> Mixture:
        return replace(
            self,
            latent_mean=self.latent_mean[rows],
            latent_var=self.latent_var[rows],
            exposure=None if self.exposure is None else self.exposure[rows],
        )

    def _masses(self) -> Floats:
        return self.cells.masses(self.latent_mean, self.latent_var)

    def _levels(self) -> Floats:
        """e_i g_k, (n, K), or (1, K) without exposure."""
        levels = feature_levels(self.cells, self.link, Feature.VALUE)[None, :]
        return levels if self.exposure is None else levels * self.exposure[:, None]
