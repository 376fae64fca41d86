"""The objective of the hyperparameters: ELBO plus log priors per row, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stepgp._array.linalg import Factor, NotPositiveDefinite, factorise
from stepgp._array.namespace import Floats
from stepgp.fit.estep import EStep, e_step
from stepgp.kernels import Kernel, Pullback
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.means import MeanFunction
from stepgp.model.posterior import Sites
from stepgp.model.rowpass import Model
from stepgp.rows.memory import MemoryRows

_AT = 1e-6
"""A parameter this near to a bound is at it."""


@dataclass(frozen=True, eq=False)
class State:
    """A model with its whitened sites: all that has to be kept to go on from there."""

    model: Model
    sites: Sites

    @classmethod
    def prior(cls, model: Model, *, jitter: float, largest: float) -> State:
        """The state before any row has been seen, with the smallest jitter that will do."""
        return cls(model, Sites.none(factorise(_kzz(model), jitter=jitter, largest=largest)))

    @property
    def jitter(self) -> float:
        """Relative jitter of K_zz, fixed within a run of the optimiser."""
        return self.sites.factor.jitter


@dataclass(frozen=True)
class Precision:
    """How far an E-step goes."""

    tolerance: float
    """Nats a row that a further pass may gain."""
    share: float
    """The same as a share of the change since the last accepted θ."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The objective per unit of weight at a model, its gradient, and the state reached."""

    objective: float
    gradient: Floats
    """Empty where it was not asked for."""
    state: State
    e_step: EStep


def _units(model: Model) -> Floats:
    """What a step of one in θ is in every parameter: steps of comparable effect.

    Distances between standardised inputs grow like √D.
    """
    inducing = np.sqrt(model.inducing.shape[1])
    return np.concatenate(
        [
            model.kernel.units,
            model.mean_function.units,
            np.ones(len(model.likelihood.params) + len(model.link.params)),
            np.full(model.inducing.size, inducing),
        ]
    )


def _parts(model: Model) -> tuple[Kernel, MeanFunction, Likelihood, Link]:
    """What carries hyperparameters and their priors, in the order of θ."""
    return model.kernel, model.mean_function, model.likelihood, model.link


def n_hyperparameters(model: Model) -> int:
    """Parameters of kernel, mean function, likelihood and link."""
    return sum(len(part.params) for part in _parts(model))


def parameters_of(model: Model) -> Floats:
    """θ as one vector: kernel, mean function, likelihood, link, inducing inputs, in their units."""
    parameters = np.concatenate([*(part.params for part in _parts(model)), model.inducing.ravel()])
    return parameters / _units(model)


def with_parameters(model: Model, theta: Floats) -> Model:
    """The model at another θ."""
    ends = np.cumsum([len(part.params) for part in _parts(model)])
    kernel, mean_function, likelihood, link, inducing = np.split(theta * _units(model), ends)
    return replace(
        model,
        kernel=model.kernel.with_params(kernel),
        mean_function=model.mean_function.with_params(mean_function),
        likelihood=model.likelihood.with_params(likelihood),
        link=model.link.with_params(link) if link.size else model.link,
        inducing=inducing.reshape(model.inducing.shape),
    )


def parameter_bounds(model: Model) -> Floats:
    """Bounds of θ for the optimiser, (P, 2): the mean and the inducing inputs are free."""
    free = len(model.mean_function.params)
    unbounded = np.array([[-np.inf, np.inf]])
    bounds = np.concatenate(
        [
            model.kernel.bounds,
            np.repeat(unbounded, free, axis=0),
            model.likelihood.bounds,
            model.link.bounds,
            np.repeat(unbounded, model.inducing.size, axis=0),
        ]
    )
    return bounds / _units(model)[:, None]


def presses_a_bound(evaluation: Evaluation, *, at_least: float) -> bool:
    """Whether a kernel parameter at its bound would gain that much per unit of weight beyond it."""
    model, slopes = evaluation.state.model, evaluation.gradient
    n_kernel = len(model.kernel.params) if slopes.size else 0
    theta, slopes = parameters_of(model)[:n_kernel], slopes[:n_kernel]
    low, high = parameter_bounds(model)[:n_kernel].T
    outwards = np.where(theta >= high - _AT, slopes, np.where(theta <= low + _AT, -slopes, 0.0))
    return bool(np.any(outwards > at_least))


def evaluate(
    rows: MemoryRows,
    model: Model,
    start: State,
    precision: Precision,
    *,
    reference: float = np.nan,
    damped: bool = False,
    max_passes: int = 15,
    gradient: bool = True,
) -> Evaluation:
    """(ELBO + log priors)/Σw at `model`, with q(u) converged from the state `start`.

    The sites of `start` are moved to the new hyperparameters and inducing inputs first. The
    E-step stops when a pass would gain ≤ `precision.tolerance` nats a row, or a share of the
    change against the ELBO `reference` where that is larger.
    """
    kzz, pullback = model.kernel.with_pullback(model.inducing, model.inducing)
    factor = factorise(kzz, jitter=start.jitter, largest=start.jitter)
    weight = rows.total_weight
    step = e_step(
        rows,
        model,
        _moved(start, model, factor),
        tolerance=precision.tolerance * weight,
        share=precision.share,
        reference=reference,
        damped=damped,
        max_passes=max_passes,
        gradient=gradient,
    )
    slopes = np.zeros(0)
    if gradient:
        # Far from sense an ELBO may still be a number where its slopes are none.
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = _gradient(model, step, pullback)
        if not np.isfinite(slopes).all():
            raise NotPositiveDefinite("The gradient of the objective is not finite.")
    # The gain still to come is known to second order: with it the objective is smooth in θ,
    # however many passes each evaluation took.
    objective = step.elbo + step.gain + sum(part.log_prior() for part in _parts(model))
    return Evaluation(objective / weight, slopes / weight, State(model, step.onward.sites), step)


def _gradient(model: Model, step: EStep, pullback: Pullback) -> Floats:
    """∂(ELBO + log priors)/∂θ with q(u) held (envelope theorem)."""
    by_kzz = pullback(step.q.kzz_adjoint(step.rows.sites.whitened(step.q.factor)))
    by_rows = step.rows.gradient
    assert by_rows is not None
    return _units(model) * np.concatenate(
        [
            by_rows.kernel + by_kzz.params + model.kernel.log_prior_gradient(),
            by_rows.mean_function + model.mean_function.log_prior_gradient(),
            by_rows.likelihood + model.likelihood.log_prior_gradient(),
            model.rule.pull(model.link, model.likelihood.features, by_rows.levels)
            + model.link.log_prior_gradient()
            if model.link.params.size
            else np.zeros(0),
            (by_rows.inducing + by_kzz.first).ravel(),
        ]
    )


def conditioned(evaluation: Evaluation) -> State:
    """The state reached, its link in parameters whose unit the rows see alike."""
    state, gradient = evaluation.state, evaluation.e_step.rows.gradient
    model = state.model
    if gradient is None or not model.link.params.size:
        return state
    link = model.link.conditioned(model.rule.points, model.likelihood.features, gradient.levels)
    return replace(state, model=replace(model, link=link))


def moved_to(state: State, *, inducing: Floats | None = None, jitter: float | None = None) -> State:
    """The same kernel and rows seen from other inducing inputs, or under another jitter."""
    model = state.model if inducing is None else replace(state.model, inducing=inducing)
    factor = factorise(_kzz(model), jitter=state.jitter if jitter is None else jitter)
    between = model.kernel(model.inducing, state.model.inducing)
    return State(model, state.sites.moved(factor, between))


def _moved(start: State, model: Model, factor: Factor) -> Sites:
    """The sites of `start` under the model's kernel and inducing inputs."""
    if np.array_equal(start.sites.factor.lower, factor.lower):
        return start.sites
    return start.sites.moved(factor, model.kernel(model.inducing, start.model.inducing))


def _kzz(model: Model) -> Floats:
    return model.kernel(model.inducing, model.inducing)
