"""Where to start θ: of several lengthscales the ones that explain a few rows best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stepgp._array.linalg import NotPositiveDefinite
from stepgp._array.namespace import Floats, to_numpy
from stepgp.fit.journal import Journal
from stepgp.fit.objective import Evaluation, Precision, State, evaluate
from stepgp.fit.options import Options
from stepgp.fit.roughness import lengthscales, normal_scores
from stepgp.kernels import Kernel
from stepgp.kernels.priors import lengthscale_start
from stepgp.model.posterior import Posterior, marginals
from stepgp.model.rowpass import Model
from stepgp.rows.memory import MemoryRows

_FACTORS = (3.0, 9.0, 27.0)
"""How much shorter than usual. A function that varies faster than its kernel looks like noise
to it, and no gradient leads from there to the truth: sin over five periods is lost from one."""
_SHORTEST = 300.0
"""As much as any single lengthscale is shortened."""
_LONGER = 2.5
"""How much longer than suggested the last start is: fewer inducing inputs do for it."""
_CLEARLY = 0.05
"""Nats a row by which another start must be better than the usual one to come first."""
_ENOUGH = Precision(tolerance=0.01, share=0.0)
_PASSES = 12
_FAR = 4.0
"""Residuals beyond so many deviations are outliers."""
_ROWS = 2_048
"""Rows that tell how fast targets vary along each input."""


@dataclass(frozen=True, eq=False)
class Opening:
    """A kernel to start from, then with q(u) of few rows."""

    kernel: Kernel
    suggested: bool
    """Whether its lengthscales are what the targets suggest, feature by feature."""
    evaluation: Evaluation | None = None

    @property
    def state(self) -> State:
        assert self.evaluation is not None
        return self.evaluation.state


def openings(kernel: Kernel, rows: MemoryRows) -> list[Opening]:
    """With all lengthscales shorter, or each as the targets suggest; none where they are given."""
    n_features = int(rows.X.shape[1])
    usual = kernel.shortened(np.ones(n_features))
    suggested = _suggested(rows)
    found = [Opening(usual, suggested=False)]
    for factor in _FACTORS:
        found.append(Opening(kernel.shortened(factor * np.ones(n_features)), suggested=False))
    for longer in (1.0, _LONGER):
        factors = np.maximum(suggested / longer, 1.0)
        found.append(Opening(kernel.shortened(factors), suggested=True))
    different = [opening for opening in found[1:] if opening.kernel != usual]
    return [found[0], *different] if different else []


def as_given(kernel: Kernel) -> list[Opening]:
    """The kernel itself, then one with all parameters less by one."""
    lowest, _ = kernel.bounds.T
    lower = kernel.with_params(np.maximum(kernel.params - 1.0, lowest))
    return [Opening(kernel, suggested=False), Opening(lower, suggested=False)]


def _suggested(rows: MemoryRows) -> Floats:
    """How much shorter than usual the targets suggest each lengthscale to be, (D,)."""
    some = rows.head(_ROWS)
    y = to_numpy(some.y)
    rates = y if some.exposure is None else y / to_numpy(some.exposure)
    found = lengthscales(to_numpy(some.X), normal_scores(rates))
    shorter = lengthscale_start(rows.X.shape[1]) / found
    return np.asarray(np.clip(shorter, 1.0, _SHORTEST), dtype=np.float64)


def misses_something(rows: MemoryRows, model: Model, q: Posterior) -> bool:
    """Whether what is left of the targets still varies with an input, beyond doubt."""
    some = rows.head(_ROWS)
    mean, _ = marginals(q, model.kernel, model.mean_function, model.inducing, some.X)
    level = model.link(mean) if some.exposure is None else model.link(mean) * some.exposure
    left = to_numpy(some.y) - to_numpy(model.likelihood.mean(level))
    var = to_numpy(model.likelihood.var(level))
    if np.isfinite(var).all():
        # Where there is no doubt nothing is left either.
        scores = np.clip(left / np.sqrt(np.where(var > 0.0, var, 1.0)), -_FAR, _FAR)
    else:
        scores = normal_scores(left)
    return bool(np.any(np.isfinite(lengthscales(to_numpy(some.X), scores))))


def evaluated(
    rows: MemoryRows, openings: list[Opening], model: Model, options: Options, journal: Journal
) -> list[Opening]:
    """The openings with q(u) of these rows; those that have none are left out."""
    found: list[Opening] = []
    for opening in openings:
        try:
            start = State.prior(
                replace(model, kernel=opening.kernel),
                jitter=options.jitter,
                largest=options.largest_jitter,
            )
            evaluation = evaluate(
                rows,
                start.model,
                start,
                _ENOUGH,
                damped=True,
                max_passes=_PASSES,
                gradient=False,
            )
        except NotPositiveDefinite:
            continue
        found.append(replace(opening, evaluation=journal.evaluated(evaluation)))
    return found


def best_first(openings: list[Opening], usual: Kernel) -> list[Opening]:
    """By the objective of few rows; the usual start is taken where others are not clearly better.

    It is where priors and inducing inputs are at home, and what it misses is seen in residuals.
    """

    def objective(opening: Opening) -> float:
        assert opening.evaluation is not None
        ahead = _CLEARLY if opening.kernel == usual else 0.0
        return opening.evaluation.objective + ahead

    return sorted(openings, key=objective, reverse=True)
