"""GPyTorch as a careful user writes it today: sparse variational GP, learnt inducing inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import gpytorch
import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from gpytorch.models import ApproximateGP
from gpytorch.variational import (
    CholeskyVariationalDistribution,
    NaturalVariationalDistribution,
    VariationalStrategy,
)

from benchmarks.clock import Recorder
from benchmarks.inducing import kmeans
from benchmarks.score import Snapshot
from benchmarks.tasks import Data, Task

Tensor = torch.Tensor


@dataclass(frozen=True)
class Recipe:
    """How one arm trains: Adam on everything, or NGD on q(u) with Adam on the rest.

    `decay`: cosine decay of the learning rate to a hundredth over the task's number of epochs.
    """

    lr: float
    minibatch: bool
    natural: bool = False
    decay: bool = False
    float64: bool = False


class LogitBernoulli(_OneDimensionalLikelihood):
    """Bernoulli with logit link: E log p by GPyTorch's own 20-point quadrature."""

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> object:
        return torch.distributions.Bernoulli(logits=function_samples)

    def expected_log_prob(
        self, observations: Tensor, function_dist: MultivariateNormal, *args: object, **kw: object
    ) -> Tensor:
        sign = observations.mul(2).sub(1)
        return self.quadrature(lambda f: torch.nn.functional.logsigmoid(f * sign), function_dist)


class ExpPoisson(_OneDimensionalLikelihood):
    """Poisson with log link: E log p = yμ − exp(μ + v/2) − ln y!, in closed form."""

    def forward(self, function_samples: Tensor, *args: object, **kwargs: object) -> object:
        return torch.distributions.Poisson(function_samples.exp())

    def expected_log_prob(
        self, observations: Tensor, function_dist: MultivariateNormal, *args: object, **kw: object
    ) -> Tensor:
        mean, var = function_dist.mean, function_dist.variance
        rate = torch.exp(mean + 0.5 * var)
        return observations * mean - rate - torch.lgamma(observations + 1.0)


class SVGP(ApproximateGP):
    def __init__(self, Z: Tensor, n_features: int, natural: bool, jitter: float | None) -> None:
        distribution = (
            NaturalVariationalDistribution if natural else CholeskyVariationalDistribution
        )
        strategy = VariationalStrategy(
            self, Z, distribution(len(Z)), learn_inducing_locations=True, jitter_val=jitter
        )
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(
            gpytorch.kernels.RBFKernel(ard_num_dims=n_features)
        )

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))


def likelihood_module(name: str) -> _OneDimensionalLikelihood:
    return LogitBernoulli() if name == "bernoulli" else ExpPoisson()


def build(Z: Tensor, n_features: int, *, natural: bool, jitter: float | None = None) -> SVGP:
    """The model, started at the lengthscale e^½·√D: GPyTorch's .69 is far too short for D=30."""
    model = SVGP(Z, n_features, natural, jitter)
    model.covar_module.base_kernel.lengthscale = math.exp(0.5) * math.sqrt(n_features)
    model.covar_module.outputscale = 1.0
    return model


def snapshot_of(model: SVGP) -> Snapshot:
    """The parameters as they are; q(u) in the whitened form that GPyTorch trains itself."""
    with torch.no_grad():
        q = model.variational_strategy._variational_distribution()
        root = q.lazy_covariance_matrix.root.to_dense()
        kernel = model.covar_module

        def array(t: Tensor) -> np.ndarray:
            return t.detach().double().numpy().copy()

        return Snapshot(
            variance=float(kernel.outputscale),
            lengthscales=array(kernel.base_kernel.lengthscale).ravel(),
            mean=float(model.mean_module.constant),
            Z=array(model.variational_strategy.inducing_points),
            q_mean=array(q.mean),
            q_root=array(root),
            jitter=float(model.variational_strategy.jitter_val),
        )


def train(recipe: Recipe, task: Task, data: Data, recorder: Recorder) -> int:
    """Trains until the recorder has seen enough; returns the number of steps."""
    torch.manual_seed(0)
    dtype = torch.float64 if recipe.float64 else torch.float32
    torch.set_default_dtype(dtype)
    X, y = torch.as_tensor(data.X, dtype=dtype), torch.as_tensor(data.y, dtype=dtype)
    n = len(y)
    Z = torch.as_tensor(kmeans(data.X, task.n_inducing), dtype=dtype)
    model = build(Z, X.shape[1], natural=recipe.natural)
    likelihood = likelihood_module(task.likelihood)
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=n)
    batch = min(n, task.batch_size if recipe.minibatch else n)
    optimisers: list[torch.optim.Optimizer] = []
    if recipe.natural:
        optimisers.append(gpytorch.optim.NGD(model.variational_parameters(), num_data=n, lr=0.1))
        optimisers.append(torch.optim.Adam(model.hyperparameters(), lr=recipe.lr))
    else:
        optimisers.append(torch.optim.Adam(model.parameters(), lr=recipe.lr))
    per_epoch = -(-n // batch)
    horizon = task.decay_epochs * per_epoch if recipe.decay else 0
    schedules = [
        torch.optim.lr_scheduler.CosineAnnealingLR(o, max(horizon, 1), eta_min=recipe.lr / 100)
        for o in optimisers
    ]
    model.train()
    steps = 0
    while True:
        order = torch.randperm(n) if batch < n else None
        for start in range(0, n, batch):
            rows = slice(None) if order is None else order[start : start + batch]
            for o in optimisers:
                o.zero_grad()
            loss = -objective(model(X[rows]), y[rows])
            loss.backward()
            for o in optimisers:
                o.step()
            if steps < horizon:
                for schedule in schedules:
                    schedule.step()
            steps += 1
            if not recorder.more(steps, lambda: snapshot_of(model)):
                return steps
