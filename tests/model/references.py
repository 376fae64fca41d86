"""Quadrature under a Gaussian: what every expectation is compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import integrate

from stepgp.cells import CellFamily, Hat
from tests.model.cases import Pair

_REACH = 12.0  # deviations
_PANELS, _ORDER = 96, 12


def levels_of(cells: CellFamily, pair: Pair) -> np.ndarray:
    """The level of every cell, straight from its definition."""
    points, weights = cells.stencil()
    return pair.link(points.ravel()).reshape(points.shape) @ weights


def log_probs(pair: Pair, levels: np.ndarray, exposure: np.ndarray | None) -> np.ndarray:
    """log p(y_i | e_i·level), (n, K), for levels (K,) or (n, K)."""
    rates = 1.0 if exposure is None else exposure[:, None]
    return pair.likelihood.log_prob(pair.targets[:, None], rates * levels)


def through_cells(cells: CellFamily, table: np.ndarray) -> Callable[[float], np.ndarray]:
    """x ↦ the rows of `table`, (n, K), as the cells see them: steps, or piecewise linear."""
    if isinstance(cells, Hat):
        nodes = cells.nodes

        def linear(x: float) -> np.ndarray:
            right = int(np.clip(np.searchsorted(nodes, x), 1, len(nodes) - 1))
            share = np.clip((x - nodes[right - 1]) / (nodes[right] - nodes[right - 1]), 0.0, 1.0)
            return (1.0 - share) * table[:, right - 1] + share * table[:, right]

        return linear
    edges = cells.grid.edges  # type: ignore[attr-defined]
    return lambda x: table[:, np.searchsorted(edges, x, side="right")]


def own_integrals(
    cells: CellFamily, pairs: Sequence[Pair], mean: np.ndarray, var: np.ndarray
) -> list[np.ndarray]:
    """For each pair, ∫ N(x | mean_i, var_i) · its log p(y_i | ·) seen through the cells.

    One adaptive quadrature for all, broken at the knots, each row in units of its largest value
    within reach.
    """
    table = np.concatenate([log_probs(p, levels_of(cells, p), p.exposure) for p in pairs])
    centre, deviation = np.tile(mean, len(pairs)), np.tile(np.sqrt(var), len(pairs))
    knots = cells.nodes if isinstance(cells, Hat) else cells.grid.edges  # type: ignore[attr-defined]
    nearby = cells.masses(centre, deviation**2) > 1e-12
    scale = np.max(np.abs(table) * nearby, axis=1)
    function = through_cells(cells, table / scale[:, None])

    def integrand(x: float) -> np.ndarray:
        z = (x - centre) / deviation
        return np.exp(-0.5 * z * z) / deviation * function(x)

    low, high = np.min(centre - _REACH * deviation), np.max(centre + _REACH * deviation)
    breaks = np.concatenate(
        [knots, *(mean + t * np.sqrt(var) for t in (-9.0, -3.0, 0.0, 3.0, 9.0))]
    )
    breaks = np.unique(breaks[(breaks > low) & (breaks < high)])
    total, _ = integrate.quad_vec(
        integrand, low, high, epsabs=1e-13, epsrel=1e-13, norm="max", points=breaks
    )
    return np.split(total * scale / np.sqrt(2.0 * np.pi), len(pairs))


def true_expectation(
    pair: Pair, mean: np.ndarray, var: np.ndarray, exposure: np.ndarray | None
) -> np.ndarray:
    """E log p(y_i | g(f_i)) for the link itself, from its log-features where there are any.

    Gauss–Legendre of order 12 on 96 panels of a quarter of a deviation.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    edges = np.linspace(-_REACH, _REACH, _PANELS + 1)
    half = 0.5 * np.diff(edges)[:, None]
    z = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes).ravel()
    mass = (half * weights).ravel() * np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    x = mean[:, None] + np.sqrt(var)[:, None] * z
    model = pair.likelihood
    if not model.features:
        return log_probs(pair, pair.link(x), exposure) @ mass
    statistics = model.statistics(pair.targets, exposure)
    total = model.base(pair.targets, exposure)
    for column, feature in zip(statistics.T, model.features, strict=True):
        total = total + column * (pair.link.feature(feature, x) @ mass)
    return total
