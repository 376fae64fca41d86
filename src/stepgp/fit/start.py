"""Where a fit starts: the best model that ignores X, and a first grid around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, minimize

from stepgp._array.namespace import Array, Floats, namespace, to_numpy
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.rows.memory import MemoryRows

_REACH = 15.0
_POINTS = 121
_GRIDS = 40
_CLOSE, _ENOUGH = 1e-3, 1e-4
"""The last grid reaches no further, and has gained no more nats a row."""
_NOTHING = 1e-6
"""Nats a row: a level that runs off to infinity stops where a grid gains less, and less than
the grid before."""
_LARGEST = 1e20
"""Of a latent value: neighbouring numbers must be closer than what the likelihood tells apart."""
_ROWS = 20_000
_HALVINGS = 40
_REFUSED = 1e300


@dataclass(frozen=True)
class Constant:
    """The best single latent value for all rows."""

    level: float
    """x for the given likelihood parameters: where a fit starts."""
    log_prob: float
    """Log-likelihood per unit of weight of the best x and parameters, these under their priors."""
    log_prior: float
    """Log prior of these parameters."""
    exact: bool
    """Whether all targets are equal, and not discrete."""

    def log_joint(self, weight: float) -> float:
        """Log-likelihood of rows of that weight plus log prior; −∞ where a level is all there is.

        Targets that are all equal make a density as large as its smallest noise allows: that
        says nothing about a model that has some.
        """
        return -np.inf if self.exact else weight * self.log_prob + self.log_prior


def best_constant(rows: MemoryRows, likelihood: Likelihood, link: Link) -> Constant:
    """The best model that ignores X; its parameters are learnt under their priors, as in a fit.

    At most 20,000 rows take part.
    """
    total = rows.total_weight
    rows = rows.head(_ROWS)
    x, log_prob = _best_level(rows, likelihood, link, total)
    if likelihood.params.size and np.isfinite(log_prob):

        def negative(theta: Floats) -> float:
            moved = likelihood.with_params(theta[1:])
            score = float(_score(rows, moved, link, theta[:1])[0]) + moved.log_prior() / total
            return -score if np.isfinite(score) else _REFUSED

        bounds = np.concatenate([[[x - _REACH, x + _REACH]], likelihood.bounds])
        start = np.concatenate([[x], likelihood.params])
        found = minimize(negative, start, method="L-BFGS-B", bounds=Bounds(*bounds.T))
        if -found.fun > log_prob + likelihood.log_prior() / total:
            likelihood = likelihood.with_params(found.x[1:])
            log_prob = float(_score(rows, likelihood, link, found.x[:1])[0])
    if abs(x) > _LARGEST:
        raise ValueError(
            f"The targets ask for latent values around {x:g} under the link {link!r}, where "
            "neighbouring numbers are too far apart. Give exposures in a smaller unit, so that "
            'their numbers are larger, or use a link that needs no such values, such as "exp".'
        )
    same = not likelihood.discrete and bool(np.ptp(to_numpy(rows.y)) == 0.0)
    return Constant(x, log_prob, likelihood.log_prior(), same)


def _best_level(
    rows: MemoryRows, likelihood: Likelihood, link: Link, total: float
) -> tuple[float, float]:
    """(x, log-likelihood) at the given likelihood parameters.

    Where the best grid point is the last, the next grid starts around it and is four times as
    wide, for as long as that gains anything; else it is between the point's neighbours. A level
    that has run off comes back as far as costs half a nat in all: counts of n rows that are all 0
    have the rate 1/2n, not 0.
    """
    centre, reach = 0.0, _REACH
    best, before = (0.0, -np.inf), 0.0
    for _ in range(_GRIDS):
        grid = centre + np.linspace(-reach, reach, _POINTS)
        score = _score(rows, likelihood, link, grid)
        if not np.isfinite(score).any():
            return best
        top = int(np.nanargmax(np.where(np.isfinite(score), score, -np.inf)))
        gained = score[top] - best[1]
        if gained > 0.0:
            best = (float(grid[top]), float(score[top]))
        inner = 0 < top < _POINTS - 1
        centre, reach = float(grid[top]), reach * (2.0 / (_POINTS - 1) if inner else 4.0)
        rise = score[top] - score[_POINTS // 2]
        close = inner and reach < _CLOSE * max(1.0, abs(centre)) and gained < _ENOUGH
        if not inner and rise < _NOTHING and rise <= before:
            return _back(rows, likelihood, link, best, 0.5 / total)
        if close:
            break
        before = rise
    return best


def _back(
    rows: MemoryRows,
    likelihood: Likelihood,
    link: Link,
    best: tuple[float, float],
    cost: float,
) -> tuple[float, float]:
    """The level nearest to 0 whose score is within `cost` of the best one, which has run off."""
    near, far = 0.0, best[0]
    for _ in range(_HALVINGS):
        middle = 0.5 * (near + far)
        score = float(_score(rows, likelihood, link, np.array([middle]))[0])
        near, far = (near, middle) if score >= best[1] - cost else (middle, far)
    return far, float(_score(rows, likelihood, link, np.array([far]))[0])


def _score(rows: MemoryRows, likelihood: Likelihood, link: Link, grid: Floats) -> Floats:
    """Mean log p(y | g(x)) over the rows for every x of the grid."""
    block = next(iter(MemoryRows(rows.X, rows.y, rows.weight, rows.exposure, len(rows)).blocks()))
    xp = namespace(block.y)
    weight = xp.ones_like(block.y) if block.weight is None else block.weight
    share = to_numpy(weight) / float(xp.sum(weight))
    if likelihood.features:
        statistics = to_numpy(likelihood.statistics(block.y, block.exposure))
        base = float(share @ to_numpy(likelihood.base(block.y, block.exposure)))
        with np.errstate(all="ignore"):
            table = np.stack([link.feature(feature, grid) for feature in likelihood.features])
            return base + (share @ statistics) @ table
    return np.array([share @ _column(likelihood, link, block.y, block.exposure, x) for x in grid])


def _column(
    likelihood: Likelihood, link: Link, y: Array, exposure: Array | None, x: float
) -> Floats:
    level = namespace(y).full_like(y, float(link(np.array([x]))[0]))
    return to_numpy(likelihood.log_prob(y, level if exposure is None else level * exposure))
