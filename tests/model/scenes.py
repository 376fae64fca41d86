"""Small models with rows and a posterior that is not converged, for tests of passes and sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgp._array.linalg import factorise
from stepgp.cells import Grid, Hat
from stepgp.kernels import RBF, Kernel, Linear, Matern52
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import (
    Affine,
    CLogLog,
    Exp,
    Free,
    Identity,
    LearntLink,
    Link,
    Monotone,
    Probit,
    Ridge,
    Sigmoid,
    Smooth,
    Softplus,
)
from stepgp.model import ConstantMean, LinearMean, MeanFunction, ZeroMean
from stepgp.model.posterior import Posterior, SiteSums, posterior_of
from stepgp.model.rowpass import Model, RowBlock
from stepgp.model.rules import CellRule, ClosedForm, Quadrature, Rule

HATS = CellRule(Hat(Grid.uniform(-7.0, 7.0, 40, "midpoint")))
JITTER = 1e-12


@dataclass(frozen=True, eq=False)
class Scene:
    """A model, its rows and some q(u)."""

    model: Model
    block: RowBlock
    q: Posterior


def kernel_matrix(model: Model) -> np.ndarray:
    return model.kernel(model.inducing, model.inducing)


def inputs(n_rows: int, seed: int, n_features: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))


def moved(kernel: Kernel, n_features: int = 2) -> Kernel:
    """At parameters that no default makes special."""
    resolved = kernel.for_features(n_features)
    step = np.random.default_rng(3).normal(scale=0.3, size=len(resolved.params))
    return resolved.with_params(resolved.params + step)


def rough_posterior(model: Model, X: np.ndarray, seed: int) -> Posterior:
    """q(u) of sites that no likelihood asked for."""
    generator = np.random.default_rng(seed)
    kzx = model.kernel(model.inducing, X)
    precision = generator.uniform(0.1, 0.8, size=len(X))
    linear = precision * generator.normal(size=len(X))
    sums = SiteSums(kzx @ linear, (kzx * precision) @ kzx.T)
    return posterior_of(sums.whitened(factorise(kernel_matrix(model), jitter=JITTER)))


def draw(
    likelihood: Likelihood,
    link: Link,
    X: np.ndarray,
    exposure: np.ndarray | None,
    seed: int,
    size: float = 1.0,
) -> np.ndarray:
    """Targets of a smooth latent function of the inputs."""
    f = size * (np.sin(2.0 * X[:, 0]) + 0.5 * X[:, -1])
    level = link(f) if exposure is None else link(f) * exposure
    return likelihood.sample(level, np.random.default_rng(seed))


def scene(
    likelihood: Likelihood,
    link: Link,
    *,
    rule: Rule = HATS,
    kernel: Kernel | None = None,
    mean_function: MeanFunction | None = None,
    weights: bool = False,
    n_rows: int = 40,
    n_inducing: int = 7,
    n_features: int = 2,
) -> Scene:
    """Rows drawn from the likelihood itself, weighted if asked, with exposures where they fit."""
    X = inputs(n_rows, 1, n_features)
    exposure = np.linspace(0.4, 2.0, n_rows) if likelihood.takes_exposure else None
    model = Model(
        kernel=moved(kernel or RBF(), n_features),
        mean_function=(mean_function or ConstantMean(0.3)).for_features(n_features),
        likelihood=likelihood,
        link=link,
        rule=rule,
        inducing=inputs(n_inducing, 2, n_features),
    )
    weight = np.random.default_rng(5).integers(1, 4, n_rows).astype(float) if weights else None
    block = RowBlock(X, draw(likelihood, link, X, exposure, 4), weight, exposure)
    return Scene(model, block, rough_posterior(model, X, 6))


def learnt(kind: LearntLink, reference: Link) -> Link:
    """Away from its reference."""
    placed = kind.completed(reference).placed(0.0, 3.0)
    step = np.random.default_rng(8).uniform(0.02, 0.3, len(placed.params))
    return placed.with_params(placed.params + step)


SCENES: dict[str, Scene] = {
    "bernoulli-sigmoid": scene(Bernoulli(), Sigmoid()),
    "bernoulli-probit-weights": scene(Bernoulli(), Probit(), weights=True),
    "bernoulli-cloglog-linear-mean": scene(
        Bernoulli(), CLogLog(), mean_function=LinearMean(0.2, np.array([0.5, -0.4]))
    ),
    "poisson-exp-closed": scene(Poisson(), Exp(), rule=ClosedForm(), weights=True),
    "poisson-exp-cells": scene(Poisson(), Exp()),
    "poisson-softplus-zero-mean": scene(
        Poisson(), Softplus(), mean_function=ZeroMean(), kernel=Matern52(ard=True) + Linear()
    ),
    "gaussian-closed": scene(Gaussian(), Identity(), rule=ClosedForm(), weights=True),
    "gaussian-cells": scene(Gaussian(0.6, learn=("scale",)), Identity()),
    "gaussian-affine": scene(Gaussian(), Affine(Identity(), 1.0, 2.0), rule=ClosedForm()),
    "gaussian-exp-quadrature": scene(Gaussian(0.9, learn=("scale",)), Exp(), rule=Quadrature(16)),
    "gaussian-fixed-noise": scene(Gaussian(0.5), Identity(), rule=ClosedForm()),
    "student": scene(StudentT(), Identity(), weights=True),
    "bernoulli-smooth": scene(Bernoulli(), learnt(Smooth(n_knots=6), Sigmoid()), weights=True),
    "poisson-ridge": scene(Poisson(), learnt(Ridge(n_knots=5, strength=0.1), Exp())),
    "gaussian-free": scene(
        Gaussian(0.6, learn=("scale",)), Affine(learnt(Free(n_knots=6), Identity()), 0.2, 1.3)
    ),
    "student-monotone": scene(StudentT(), learnt(Monotone(n_knots=6), Identity()), weights=True),
    "student-softplus-linear-mean": scene(
        StudentT(0.4), Softplus(), mean_function=LinearMean(-0.2, np.array([0.1, 0.3]))
    ),
}
