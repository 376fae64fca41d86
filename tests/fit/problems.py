"""Small problems for fits, and E-steps taken to the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepgp.fit import Options, Prior
from stepgp.fit.objective import Evaluation, Precision, State, evaluate
from stepgp.kernels import RBF, Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Link, Support
from stepgp.model import ConstantMean, MeanFunction
from stepgp.model.rowpass import Model
from stepgp.rows import MemoryRows
from tests.model.scenes import Scene, draw, inputs

TO_THE_END = Precision(tolerance=-1.0, share=0.0)
"""No gain is small enough: an E-step makes all the passes it may."""


def rows_of(scene: Scene) -> MemoryRows:
    block = scene.block
    return MemoryRows(block.X, block.y, block.weight, block.exposure)


def prior_state(model: Model, jitter: float = 1e-8) -> State:
    return State.prior(model, jitter=jitter, largest=1e-3)


def converged(
    rows: MemoryRows, model: Model, start: State | None = None, *, jitter: float = 1e-8
) -> Evaluation:
    """The objective with q(u) as converged as rounding allows."""
    state = start or prior_state(model, jitter)
    return evaluate(rows, model, state, TO_THE_END, damped=start is None, max_passes=25)


def drawn(
    likelihood: Likelihood,
    link: Link,
    *,
    n_rows: int = 120,
    n_features: int = 2,
    seed: int = 1,
    exposure: bool = False,
) -> MemoryRows:
    """Rows from a smooth function of the first and last input."""
    X = inputs(n_rows, seed, n_features)
    rates = np.random.default_rng(seed).uniform(0.5, 2.0, n_rows) if exposure else None
    # Two classes say little each: they need a function that sets them well apart.
    size = 4.0 if likelihood.support is Support.UNIT else 1.0
    return MemoryRows(X, draw(likelihood, link, X, rates, seed + 1, size), None, rates)


def prior(
    likelihood: Likelihood,
    link: Link,
    *,
    kernel: Kernel | None = None,
    mean_function: MeanFunction | None = None,
    n_features: int = 2,
) -> Prior:
    return Prior(
        (kernel or RBF()).for_features(n_features),
        (mean_function or ConstantMean()).for_features(n_features),
        likelihood,
        link,
    )


def options(n_inducing: int = 12, **given: object) -> Options:
    return replace(Options(n_inducing), **given)  # type: ignore[arg-type]
