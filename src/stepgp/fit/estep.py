"""The E-step: guarded passes over the rows until q(u) and its sites agree."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stepgp._array.linalg import NotPositiveDefinite
from stepgp.model.posterior import Posterior, Sites, divergence, posterior_of
from stepgp.model.rowpass import Model, RowSums, row_pass
from stepgp.rows.memory import MemoryRows

_SMALLEST_STEP = 2.0**-6
_TINIEST_STEP = 2.0**-30
"""As little as is tried where larger steps leave no posterior: sites that the prior asks for may be
far too precise, as where it reaches over a kink of log p that the posterior stays away from."""
_FIRST_STEP = 0.3
_FALL = 1e-9
"""An ELBO may fall by this much a row: rounding, not a bad step."""
_CLOSE = 30.0
"""Within this factor of the tolerance a pass also computes the gradient: it may be the last."""
_TRUSTED = 10.0
"""Where no gradient is asked for, a step predicted to gain this many tolerances is taken untested.

What is left after it was 0.1 to 5 % of its gain for gains of up to 5 nats a degree of freedom, and
16 % for one of 14 (Bernoulli, Poisson, Student-t).
"""


@dataclass(frozen=True, eq=False)
class EStep:
    """One consistent set: the ELBO, the q(u) it belongs to, and the rows' sums under that q, or,
    where the last step is taken untested, under the q before it."""

    elbo: float
    q: Posterior
    rows: RowSums
    passes: int
    onward: Posterior
    """What the next pass would have started from: q after the step that `rows` asks for."""

    @property
    def gain(self) -> float:
        """KL(q‖onward): what that step is predicted to add to the ELBO."""
        return divergence(self.q, self.onward)


def e_step(
    rows: MemoryRows,
    model: Model,
    start: Sites,
    *,
    tolerance: float,
    share: float = 0.0,
    reference: float = np.nan,
    damped: bool = False,
    max_passes: int = 15,
    gradient: bool = True,
) -> EStep:
    """Repeat row pass → new sums → new q until a further step would gain ≤ `tolerance` nats,
    or a `share` of the change against `reference`, the ELBO of the last accepted θ.

    The gain of a step is predicted as KL(q‖q_new), exact where the likelihood is Gaussian, so
    convergence is known before the pass that would confirm it. A step that lowers the ELBO is
    halved, down to 2⁻⁶, one that leaves no posterior down to 2⁻³⁰; then the last good state is
    returned. `damped` starts with ρ = 0.3 until the ELBO has risen once.

    The rows' sums come with a `gradient` if asked for, and with the q that they belong to. Else the
    last step is taken without the pass that would test it, and the ELBO is the predicted one.
    """
    allowed_fall = _FALL * rows.total_weight
    step = _FIRST_STEP if damped else 1.0
    predicted, enough = np.inf, tolerance
    q, good = posterior_of(start), None
    for passes in range(1, max_passes + 1):
        perhaps_last = predicted <= _CLOSE * enough or passes == max_passes
        sums = _pass(rows, model, q, gradient=gradient and perhaps_last)
        elbo = sums.value - q.kl
        if np.isfinite(elbo) and (good is None or elbo >= good.elbo - allowed_fall):
            step = step if good is None else min(1.0, 2.0 * step)
            good = EStep(elbo, q, sums, passes, onward=q)
            enough = np.fmax(tolerance, share * abs(elbo - reference))
        elif good is None:
            raise NotPositiveDefinite("The ELBO of the starting posterior is not finite.")
        else:
            step *= 0.5
        step, onward = _advance(good, step)
        good = replace(good, onward=onward, passes=passes)
        predicted = good.gain / step
        if not gradient and predicted <= _TRUSTED * enough:
            return replace(good, elbo=good.elbo + good.gain, q=onward)
        if predicted <= enough and good.rows.gradient is not None:
            return good
        q = onward
    assert good is not None
    if predicted > enough:  # out of passes: a gain so large is no forecast
        good = replace(good, onward=good.q)
    if not gradient or good.rows.gradient is not None:
        return good
    return replace(good, rows=_pass(rows, model, good.q, gradient=True), passes=good.passes + 1)


def _advance(good: EStep, step: float) -> tuple[float, Posterior]:
    """q moved by `step` towards the sites of its rows; halved until that is a posterior.

    A step below 2⁻⁶ on arrival has lowered the ELBO ever since: then q itself, as good as it gets.
    """
    proposed = good.rows.sites.whitened(good.q.factor)
    if np.isfinite(proposed.linear).all() and np.isfinite(proposed.quadratic).all():
        tried = step if step >= _SMALLEST_STEP else 0.0
        while tried >= _TINIEST_STEP:
            try:
                onward = posterior_of(good.q.sites.towards(proposed, tried))
            except NotPositiveDefinite:
                tried *= 0.5
            else:
                return max(tried, _SMALLEST_STEP), onward
    return step, good.q


def _pass(rows: MemoryRows, model: Model, q: Posterior, *, gradient: bool) -> RowSums:
    return rows.reduce(lambda block: row_pass(model, q, block, gradient=gradient))
