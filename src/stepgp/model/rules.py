"""Three ways to take the expectation of a function of the level under N(mean, var).

Cells are the model; a closed form replaces them where the link has one; quadrature is there to
compare with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from stepgp._array.namespace import Array, Floats, like, namespace
from stepgp._array.special import logsumexp
from stepgp.cells.base import CellFamily, Expectation
from stepgp.cells.totals import totals
from stepgp.cells.windows import columns
from stepgp.links import Feature, Link, Support


class LevelFunction(Protocol):
    """A function of the level of each row's own."""

    def __call__(self, level: Array, rows: Array | None = None) -> Array:
        """Values (n, K) at levels (1, K) or (n, K), for the rows with these indices (or all).

        (R, n, K) for R functions of every row's own.
        """
        ...


class Rule(ABC):
    """How E h(g(f)), f ~ N(mean, var), is computed."""

    @abstractmethod
    def features(
        self, link: Link, features: tuple[Feature, ...], mean: Array, var: Array
    ) -> Expectation:
        """E feature_r(g(f)) with its derivatives, (n, R) arrays."""

    @abstractmethod
    def rowwise(self, link: Link, function: LevelFunction, mean: Array, var: Array) -> Expectation:
        """E h_i(g(f_i)) for a function of each row's own, (n,) arrays, or (R, n) for R of them."""

    @property
    def points(self) -> Floats:
        """Latent values at which levels are read, (K,)."""
        raise TypeError(f"{type(self).__name__} has no cells: learnt links are seen through cells.")

    @property
    def family(self) -> CellFamily | None:
        """The cells that the link is seen through, if any."""
        return None

    def totals(self, link: Link, function: LevelFunction, mean: Array, var: Array) -> Floats:
        """Σ_i w_k(μ_i, v_i) h_ri(g_k) for R functions of each row's own, (R, K)."""
        raise TypeError(f"{type(self).__name__} has no cells: learnt links are seen through cells.")

    def pull(self, link: Link, features: tuple[Feature, ...], adjoint: Floats) -> Floats:
        """Gradient of Σ_rk adjoint_rk feature_r(g_k) in the parameters of the link, (P,)."""
        return np.zeros(0)


@final
@dataclass(frozen=True, eq=False)
class CellRule(Rule):
    """Finite sums over cells: exact for the model whose link is seen through them."""

    cells: CellFamily

    def features(
        self, link: Link, features: tuple[Feature, ...], mean: Array, var: Array
    ) -> Expectation:
        table = np.stack([feature_levels(self.cells, link, feature) for feature in features])
        return self.cells.expect(like(table, mean), mean, var)

    def rowwise(self, link: Link, function: LevelFunction, mean: Array, var: Array) -> Expectation:
        levels = like(feature_levels(self.cells, link, Feature.VALUE), mean)
        return self.cells.expect_table(
            lambda rows, cells: function(columns(levels, cells), rows), mean, var
        )

    @property
    def family(self) -> CellFamily:
        return self.cells

    @property
    def points(self) -> Floats:
        points, weights = self.cells.stencil()
        if len(weights) > 1:
            raise ValueError(
                'A learnt link has one level for each cell: make the grid with rule="upper" or '
                'rule="midpoint" instead of "average".'
            )
        return points[:, 0]

    def totals(self, link: Link, function: LevelFunction, mean: Array, var: Array) -> Floats:
        levels = like(feature_levels(self.cells, link, Feature.VALUE), mean)
        return totals(
            self.cells, mean, var, lambda rows, cells: function(columns(levels, cells), rows)
        )

    def pull(self, link: Link, features: tuple[Feature, ...], adjoint: Floats) -> Floats:
        parts = zip(features or (Feature.VALUE,), adjoint, strict=True)
        pulled = [link.pull(feature, self.points, row) for feature, row in parts]
        return np.sum(pulled, axis=0)


@final
@dataclass(frozen=True)
class ClosedForm(Rule):
    """The link's own formulas; only where `has_closed_form` says so."""

    def features(
        self, link: Link, features: tuple[Feature, ...], mean: Array, var: Array
    ) -> Expectation:
        xp = namespace(mean)
        found = [link.expected(feature, mean, var) for feature in features]
        parts = [part for part in found if part is not None]
        return Expectation(
            xp.stack([part.value for part in parts], axis=-1),
            xp.stack([part.d_mean for part in parts], axis=-1),
            xp.stack([part.d_var for part in parts], axis=-1),
        )

    def rowwise(self, link: Link, function: LevelFunction, mean: Array, var: Array) -> Expectation:
        raise TypeError("A likelihood without features has no closed form: use cells.")


@final
@dataclass(frozen=True)
class Quadrature(Rule):
    """Gauss–Hermite with `n_points` points, for comparison: Σ_q ω_q h(g(μ + √v z_q)).

    The derivatives are those of the Gaussian: E[h z]/√v in the mean, E[h (z² − 1)]/2v in the
    variance.
    """

    n_points: int = 20

    def features(
        self, link: Link, features: tuple[Feature, ...], mean: Array, var: Array
    ) -> Expectation:
        xp = namespace(mean)
        points, moments = self._rule(mean, var)
        parts = [moments(link.feature(feature, points)) for feature in features]
        return Expectation(
            xp.stack([part.value for part in parts], axis=-1),
            xp.stack([part.d_mean for part in parts], axis=-1),
            xp.stack([part.d_var for part in parts], axis=-1),
        )

    def rowwise(self, link: Link, function: LevelFunction, mean: Array, var: Array) -> Expectation:
        points, moments = self._rule(mean, var)
        return moments(function(link(points)))

    def _rule(self, mean: Array, var: Array) -> tuple[Array, Callable[[Array], Expectation]]:
        xp = namespace(mean)
        nodes, weights = hermegauss(self.n_points)
        weights = weights / weights.sum()
        z, omega = like(nodes, mean), like(weights, mean)
        deviation = xp.sqrt(var)

        def moments(values: Array) -> Expectation:
            return Expectation(
                values @ omega,
                (values @ (omega * z)) / deviation,
                (values @ (omega * (z * z - 1.0))) / (2.0 * var),
            )

        return mean[:, None] + deviation[:, None] * z, moments


def feature_levels(cells: CellFamily, link: Link, feature: Feature) -> Array:
    """The feature of every cell's level g_k = Σ_p weight_p g(point_kp), (K,), NumPy.

    Where one point stands for a cell the link gives the feature itself, so log g keeps the digits
    that g has lost; averages of a log are taken in log space.
    """
    points, weights = cells.stencil()
    if len(weights) == 1:
        return link.feature(feature, points[:, 0])
    match feature:
        case Feature.VALUE:
            return link.feature(feature, points) @ weights
        case Feature.SQUARE:
            return (link.feature(Feature.VALUE, points) @ weights) ** 2
        case Feature.LOG | Feature.LOG_COMPLEMENT:
            return logsumexp(link.feature(feature, points) + np.log(weights), axis=-1)


def check_levels(
    cells: CellFamily, link: Link, features: tuple[Feature, ...], support: Support
) -> None:
    """Raise ValueError where a cell's level has no finite features, or is no level at all."""
    for feature in features or (Feature.VALUE,):
        with np.errstate(all="ignore"):
            table = feature_levels(cells, link, feature)
        wrong = ~np.isfinite(table)
        if not features:
            wrong |= (table <= support.low) | (table >= support.high)
        if wrong.any():
            cell = int(np.argmax(wrong))
            raise ValueError(
                f"The link {link!r} has {feature.value} = {table[cell]:g} at the latent value "
                f"{cells.nodes[cell]:.4g}, so log p(y | g) is not finite there. A link must stay "
                f"inside {support}: keep the function away from its ends, for example with "
                "np.clip(g, 1e-9, 1 - 1e-9)."
            )


def has_closed_form(link: Link, features: tuple[Feature, ...]) -> bool:
    """Whether the link knows the Gaussian expectation of all of these features."""
    at, spread = np.zeros(1), np.ones(1)
    return bool(features) and all(
        link.expected(feature, at, spread) is not None for feature in features
    )
