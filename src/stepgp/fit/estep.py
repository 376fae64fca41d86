"""The E-step: guarded passes over the rows until q(u) and its sites agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgp._array.linalg import NotPositiveDefinite
from stepgp.model.posterior import Posterior, Sites, divergence, posterior_of
from stepgp.model.rowpass import Model, RowSums, row_pass
from stepgp.rows.memory import MemoryRows

_SMALLEST_STEP = 2.0**-6
_FIRST_STEP = 0.3
_FALL = 1e-9
"""An ELBO may fall by this much a row: rounding, not a bad step."""
_CLOSE = 30.0
"""Within this factor of the tolerance a pass also computes the gradient: it may be the last."""


@dataclass(frozen=True, eq=False)
class EStep:
    """One consistent set: the ELBO, the q(u) it belongs to, and the rows' sums under that q."""

    elbo: float
    q: Posterior
    rows: RowSums
    passes: int


def e_step(
    rows: MemoryRows,
    model: Model,
    start: Sites,
    *,
    tolerance: float,
    reference: float = np.nan,
    damped: bool = False,
    max_passes: int = 15,
) -> EStep:
    """Repeat row pass → new sums → new q until a further step would gain ≤ `tolerance` nats,
    or a hundredth of the change against `reference`, the ELBO of the last accepted θ.

    The gain of a step is predicted as KL(q‖q_new), exact where the likelihood is Gaussian, so
    convergence is known before the pass that would confirm it. A step that lowers the ELBO, or
    leaves no posterior, is halved, down to 2⁻⁶; then the last good state is returned. `damped`
    starts with ρ = 0.3 until the ELBO has risen once.
    """
    allowed_fall = _FALL * rows.total_weight
    step = _FIRST_STEP if damped else 1.0
    predicted = np.inf
    q = posterior_of(start)
    good: EStep | None = None
    passes, enough = 0, tolerance

    while True:
        gradient = predicted <= _CLOSE * enough or passes + 1 >= max_passes
        pass_sums = _pass(rows, model, q, gradient=gradient)
        passes += 1
        elbo = pass_sums.value - q.kl
        if np.isfinite(elbo) and (good is None or elbo >= good.elbo - allowed_fall):
            step = min(1.0, 2.0 * step) if good is not None else step
            good = EStep(elbo, q, pass_sums, passes)
            enough = np.fmax(tolerance, 0.01 * abs(elbo - reference))
        elif good is None:
            raise NotPositiveDefinite("The ELBO of the starting posterior is not finite.")
        else:
            step *= 0.5
        candidate = None
        proposed = good.rows.sites.whitened(good.q.factor)
        while candidate is None and step >= _SMALLEST_STEP:
            candidate = _try_posterior(good.q.sites.towards(proposed, step))
            step = step if candidate is not None else 0.5 * step
        settled = candidate is None
        if candidate is not None:
            predicted = divergence(good.q, candidate) / step
            settled = predicted <= enough
        if settled or passes >= max_passes:
            return _with_gradient(rows, model, good, passes)
        assert candidate is not None
        q = candidate


def _pass(rows: MemoryRows, model: Model, q: Posterior, *, gradient: bool) -> RowSums:
    return rows.reduce(lambda block: row_pass(model, q, block, gradient=gradient))


def _with_gradient(rows: MemoryRows, model: Model, good: EStep, passes: int) -> EStep:
    """The accepted state with its gradient, computed now if its pass left it out."""
    if good.rows.gradient is not None:
        return EStep(good.elbo, good.q, good.rows, passes)
    return EStep(good.elbo, good.q, _pass(rows, model, good.q, gradient=True), passes + 1)


def _try_posterior(sites: Sites) -> Posterior | None:
    if not (np.isfinite(sites.linear).all() and np.isfinite(sites.quadratic).all()):
        return None
    try:
        return posterior_of(sites)
    except NotPositiveDefinite:
        return None
