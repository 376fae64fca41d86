"""Predictive distributions of targets: finite mixtures over cells, or Gaussians."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt
from array_api_compat import device
from scipy.special import ndtr, ndtri

from stepgp._array.blockwise import blockwise
from stepgp._array.namespace import Array, Floats, namespace, to_numpy
from stepgp.cells.base import CellFamily
from stepgp.cells.checks import checked_rows
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.mixture import Mixture
from stepgp.model.nearby import SharingRows
from stepgp.model.sights import Group, OwnCells, Rows, apart, together

_ENTRIES = 65_000
"""Rows × cells held at a time: their arrays stay in the cache."""


class Predictive(ABC):
    """p(y) for n rows. Arrays of targets are (n,), results NumPy."""

    @abstractmethod
    def __len__(self) -> int:
        """n."""

    @abstractmethod
    def mean(self) -> Floats:
        """E y, (n,)."""

    @abstractmethod
    def var(self) -> Floats:
        """Var y, (n,): within the likelihood and between its levels."""

    @abstractmethod
    def log_prob(self, y: npt.ArrayLike) -> Floats:
        """log p(y_i) of row i, (n,)."""

    @abstractmethod
    def cdf(self, y: npt.ArrayLike) -> Floats:
        """P(Y_i ≤ y_i), (n,)."""

    @abstractmethod
    def quantile(self, q: npt.ArrayLike) -> Floats:
        """The smallest y with P(Y_i ≤ y) ≥ q: (n,) for a number, (n, m) for m of them."""

    @abstractmethod
    def sample(
        self, n_samples: int = 1, random_state: int | np.random.Generator | None = None
    ) -> Floats:
        """Independent draws for every row, (n, n_samples)."""

    @final
    def __repr__(self) -> str:
        methods = "mean, var, std, log_prob, cdf, quantile, interval, sample"
        return f"<{type(self).__name__} of {len(self)} rows: {methods}>"

    @final
    def std(self) -> Floats:
        """√Var y, (n,)."""
        return np.sqrt(self.var())

    @final
    def interval(self, coverage: float = 0.9) -> Floats:
        """The central interval with that probability: lower and upper end, (n, 2)."""
        if np.ndim(coverage) or not _all_inside(coverage):
            raise ValueError(
                f"coverage must be one number strictly between 0 and 1, got {coverage!r}."
            )
        return self.quantile([0.5 * (1.0 - coverage), 0.5 * (1.0 + coverage)])


@final
@dataclass(frozen=True, eq=False, repr=False)
class GaussianPredictive(Predictive):
    """N(y | location, scale²), where a Gaussian likelihood sees the latent function itself."""

    location: Floats
    scale: Floats

    def __len__(self) -> int:
        return len(self.location)

    def mean(self) -> Floats:
        return self.location

    def var(self) -> Floats:
        return self.scale**2

    def log_prob(self, y: npt.ArrayLike) -> Floats:
        z = (_targets(y, len(self)) - self.location) / self.scale
        return -0.5 * z * z - np.log(self.scale) - 0.5 * np.log(2.0 * np.pi)

    def cdf(self, y: npt.ArrayLike) -> Floats:
        return ndtr((_targets(y, len(self)) - self.location) / self.scale)

    def quantile(self, q: npt.ArrayLike) -> Floats:
        level = _levels(q)
        return np.add.outer(self.location, 0.0 * level) + np.multiply.outer(
            self.scale, ndtri(level)
        )

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.Generator | None = None
    ) -> Floats:
        draws = np.random.default_rng(random_state).standard_normal((len(self), n_samples))
        return self.location[:, None] + self.scale[:, None] * draws


@final
@dataclass(frozen=True, eq=False, repr=False)
class MixturePredictive(Predictive):
    """p(y_i) = Σ_k w_k(μ_i, v_i) p(y_i | e_i g_k), over the cells that each row sees.

    Latent marginals and exposures may be arrays of any library; results are NumPy.
    """

    likelihood: Likelihood
    link: Link
    cells: CellFamily
    latent_mean: Array
    latent_var: Array
    exposure: Array | None = None
    cells_grow: bool = False
    """Whether rows that look beyond the cells see more of them, or their own."""

    def __post_init__(self) -> None:
        columns = {"mean": self.latent_mean, "var": self.latent_var}
        if self.exposure is not None:
            columns["exposure"] = self.exposure
        for name, column in zip(columns, checked_rows(**columns), strict=True):
            field = name if name == "exposure" else f"latent_{name}"
            object.__setattr__(self, field, column)

    def __len__(self) -> int:
        return self.latent_mean.shape[0]

    def mean(self) -> Floats:
        return self._gather(lambda block, rows: block.mean())

    def var(self) -> Floats:
        return self._gather(lambda block, rows: block.var())

    def log_prob(self, y: npt.ArrayLike) -> Floats:
        targets = _targets(y, len(self))
        return self._gather(lambda block, rows: block.log_prob(targets[rows]), targets=targets)

    def cdf(self, y: npt.ArrayLike) -> Floats:
        targets = _targets(y, len(self))
        return self._gather(lambda block, rows: block.cdf(targets[rows]))

    def quantile(self, q: npt.ArrayLike) -> Floats:
        levels = _levels(q)
        wanted = levels.ravel().tolist()
        found = self._gather(lambda block, rows: block.quantiles(wanted), levels.size)
        return found.reshape(len(self), *levels.shape)

    def sample(
        self, n_samples: int = 1, random_state: int | np.random.Generator | None = None
    ) -> Floats:
        generator = np.random.default_rng(random_state)
        return self._gather(lambda block, rows: block.sample(n_samples, generator), n_samples)

    def _gather(
        self,
        function: Callable[[Mixture, Rows], Array],
        n_columns: int | None = None,
        *,
        targets: Floats | None = None,
    ) -> Floats:
        """What the function makes of every block, in the rows' order: (n,) or (n, n_columns).

        Densities of `targets` may see more cells than all else.
        """
        found = np.empty(len(self) if n_columns is None else (len(self), n_columns))
        # Far out levels and moments may be more than a float, and levels that have rounded to an
        # end of their support have the logarithm −∞.
        with blockwise(), np.errstate(over="ignore", divide="ignore"):
            for rows, block in self._blocks(targets):
                found[rows] = to_numpy(function(block, rows))
        return found

    def _blocks(self, targets: Floats | None) -> Iterator[tuple[Rows, Mixture]]:
        if self.cells_grow:
            groups = apart(self.cells, self.latent_mean, self.latent_var)
        else:
            groups = together(self.cells, len(self))
        for group in groups:
            yield from self._own(group) if group.own else self._sharing(group, targets)

    def _sharing(self, group: Group, targets: Floats | None) -> Iterator[tuple[Rows, Mixture]]:
        rows = SharingRows(self.likelihood, self.link, group.cells, *self._rows(group.rows))
        for some, block in rows.mixtures(None if targets is None else targets[group.rows]):
            yield group.rows[some], block

    def _own(self, group: Group) -> Iterator[tuple[Rows, Mixture]]:
        size = max(1, _ENTRIES // group.cells.n_cells)
        for start in range(0, len(group.rows), size):
            rows = group.rows[start : start + size]
            mean, var, exposure = self._rows(rows)
            sight = OwnCells(mean, var, group.cells)
            yield rows, Mixture(self.likelihood, self.link, sight, exposure)

    def _rows(self, rows: Rows) -> tuple[Array, Array, Array | None]:
        """Mean, variance and exposure of some of the rows."""
        exposure = None if self.exposure is None else _some(self.exposure, rows)
        return _some(self.latent_mean, rows), _some(self.latent_var, rows), exposure


def _some(array: Array, rows: Rows) -> Array:
    xp = namespace(array)
    return xp.take(array, xp.asarray(rows, device=device(array)))


def _targets(y: npt.ArrayLike, n_rows: int) -> Floats:
    given = np.asarray(y)
    targets = _numbers(given)
    if targets is None or given.shape not in ((), (n_rows,)):
        got = f"{given.dtype} of shape {given.shape}" if given.ndim else repr(given.item())
        raise ValueError(f"y must be a number or have shape ({n_rows},), got {got}.")
    return np.broadcast_to(targets, n_rows)


def _numbers(given: npt.NDArray[Any]) -> Floats | None:
    """Float64; None where these are no real numbers, as text and a single None are not."""
    if given.dtype.kind not in ("biufO" if given.ndim else "biuf"):
        return None
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _levels(q: npt.ArrayLike) -> Floats:
    if not _all_inside(q):
        raise ValueError(f"Quantile levels must be numbers strictly between 0 and 1, got {q!r}.")
    return np.asarray(q, dtype=np.float64)


def _all_inside(levels: npt.ArrayLike) -> bool:
    """Whether these are one or more real numbers in (0, 1)."""
    given = np.asarray(levels)
    is_real = given.dtype.kind in "iuf" and given.size > 0
    return is_real and bool(np.all((given > 0.0) & (given < 1.0)))
