"""What every family of cells can do with a Gaussian: masses, their logs, expectations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from stepgp._array.namespace import Array, Floats, namespace
from stepgp.cells.checks import checked_rows

Table = Callable[[Array, Array], Array]
"""(n indices of rows, (n, W) cells) ↦ the values of these rows' functions on cells of each.

(n, W), or (R, n, W) for R functions of every row's own.
"""


@dataclass(frozen=True)
class Expectation:
    """E h(f) under N(mean, var) and its derivatives in mean and var."""

    value: Array
    d_mean: Array
    d_var: Array


class CellFamily(ABC):
    """A partition of unity on the line, seen by f ~ N(mean, var).

    Masses w_k(μ, v) are non-negative and sum to one, so every expectation of a function that is
    represented on the cells is the finite sum Σ_k w_k h_k.
    """

    @property
    @abstractmethod
    def nodes(self) -> Floats:
        """x_k, one representative of each cell, (K,)."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """The stretch of the line that the cells resolve; beyond it a function is constant."""

    @abstractmethod
    def stencil(self) -> tuple[Floats, Floats]:
        """Points (K, P) and weights (P,): a link's level is Σ_p weight_p g(point_kp)."""

    @abstractmethod
    def refined(self) -> CellFamily:
        """The same family on the same span with twice as many cells."""

    @abstractmethod
    def extended(self, low: float, high: float) -> CellFamily:
        """The same cells and more beyond them, so that they resolve `low` to `high`."""

    @property
    @abstractmethod
    def order(self) -> int:
        """p where halving the cells of a smooth function takes its error to 2⁻ᵖ."""

    @final
    def masses(self, mean: Array, var: Array, near: Array | None = None) -> Array:
        """w_k(mean, var), (n, K); relative accuracy is kept in both tails.

        With `near`, (n, W) indices of consecutive cells of each row, those of these cells only;
        the outer two stand for all that is beyond, so the masses still sum to one.
        """
        mean, var = checked_rows(mean=mean, var=var)
        with _far_rows():
            return self._masses(mean, var, near)

    @final
    def mass_slopes(self, mean: Array, var: Array) -> tuple[Array, Array]:
        """(∂w_k/∂mean, ∂w_k/∂var), each (n, K)."""
        with _far_rows():
            return self._mass_slopes(*checked_rows(mean=mean, var=var))

    @final
    def log_masses(self, mean: Array, var: Array, near: Array | None = None) -> Array:
        """log w_k(mean, var), (n, K) or (n, W); finite where the masses themselves underflow."""
        mean, var = checked_rows(mean=mean, var=var)
        with _far_rows():
            return self._log_masses(mean, var, near)

    @abstractmethod
    def _masses(self, mean: Array, var: Array, near: Array | None) -> Array:
        """`masses` of arrays of floats."""

    @abstractmethod
    def _mass_slopes(self, mean: Array, var: Array) -> tuple[Array, Array]:
        """`mass_slopes` of arrays of floats."""

    @abstractmethod
    def _log_masses(self, mean: Array, var: Array, near: Array | None) -> Array:
        """`log_masses` of arrays of floats."""

    @abstractmethod
    def expect(self, values: Array, mean: Array, var: Array) -> Expectation:
        """E h(f) for h with value `values[:, k]` on cell k.

        `values` is (R, K) for R functions shared by all rows, giving (n, R) arrays. The value is
        that of `masses` to 1e-10 of itself plus 1e-11 in the unit of h: knots so far from the mean
        that they weigh less are left out, whatever is left of h near it.
        """

    @abstractmethod
    def expect_table(self, table: Table, mean: Array, var: Array) -> Expectation:
        """E h_i(f_i) for a function of each row's own, giving (n,) arrays, or (R, n) for R of them.

        `table` is asked for groups of rows and the cells near their means only.
        """

    @final
    def expect_rowwise(self, values: Array, mean: Array, var: Array) -> Expectation:
        """`expect_table` for a table that is there already, (n, K)."""
        xp = namespace(values)
        return self.expect_table(
            lambda rows, cells: xp.take_along_axis(xp.take(values, rows, axis=0), cells, axis=1),
            mean,
            var,
        )

    @property
    def n_cells(self) -> int:
        """K."""
        return len(self.nodes)

    @final
    def widths_at(self, points: Floats) -> Floats:
        """The distance of the nodes around each point, or of the outermost two beyond all nodes:
        what √var must not fall far below."""
        nodes = np.unique(self.nodes)
        if len(nodes) < 2:
            return np.zeros_like(points)
        after = np.clip(np.searchsorted(nodes, points, side="right"), 1, len(nodes) - 1)
        return nodes[after] - nodes[after - 1]

    @property
    def finest_width(self) -> float:
        """The smallest distance of neighbouring nodes, but for the half cells at the ends."""
        gaps = np.diff(np.unique(self.nodes))
        return float(np.min(gaps[1:-1] if len(gaps) > 2 else gaps, initial=math.inf))


def _far_rows() -> np.errstate:
    """A row may be more deviations away than a float can say: infinitely many do as well."""
    return np.errstate(over="ignore")
