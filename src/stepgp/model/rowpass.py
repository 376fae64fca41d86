"""The one function that touches rows: from the state and a block of rows to sums.

Everything else in a fit is M×M. RowSums add up, so threads, files and devices are the same
reduction over other blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgp._array.linalg import add_outer, column_dots
from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp.kernels import Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.expectation import expect_rows, expect_with_slopes, link_statistics
from stepgp.model.marginals import Spread
from stepgp.model.means import MeanFunction
from stepgp.model.posterior import VARIANCE_FLOOR, Posterior, SiteSums
from stepgp.model.rules import Rule


@dataclass(frozen=True, eq=False)
class Model:
    """θ and what it acts on: the prior of f, the likelihood of y, and how cells see f."""

    kernel: Kernel
    mean_function: MeanFunction
    likelihood: Likelihood
    link: Link
    rule: Rule
    inducing: Floats


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows: inputs (n, D), targets (n,), weights and exposures (n,) or None."""

    X: Array
    y: Array
    weight: Array | None = None
    exposure: Array | None = None


@dataclass(frozen=True, eq=False)
class Gradient:
    """Sums over rows of the ELBO's derivatives, (a, W) held."""

    kernel: Floats
    mean_function: Floats
    likelihood: Floats
    levels: Floats
    """In the features of the cells' levels, (R, K): the statistics of a learnt link. (0, 0) of a
    link without parameters."""
    inducing: Floats

    def __add__(self, other: Gradient) -> Gradient:
        return Gradient(
            self.kernel + other.kernel,
            self.mean_function + other.mean_function,
            self.likelihood + other.likelihood,
            self.levels + other.levels,
            self.inducing + other.inducing,
        )


@dataclass(frozen=True, eq=False)
class RowSums:
    """What a pass over rows leaves: Σ E log p, the new sites' sums, perhaps the gradient."""

    value: float
    sites: SiteSums
    gradient: Gradient | None
    spread: Spread

    def __add__(self, other: RowSums) -> RowSums:
        gradient = self.gradient
        if gradient is not None and other.gradient is not None:
            gradient = gradient + other.gradient
        return RowSums(
            self.value + other.value,
            self.sites + other.sites,
            gradient,
            self.spread + other.spread,
        )


# A step too far may overflow, as rates of counts do: the value tells, and the E-step turns back.
@np.errstate(over="ignore", invalid="ignore")
def row_pass(model: Model, q: Posterior, block: RowBlock, *, gradient: bool = False) -> RowSums:
    """One block's share of the ELBO, of the next sites' sums and of the gradient.

    K_zx, T = W K_zx; mean = m(x) + K_xz a; var = k_xx − colsum(K_zx ∘ T);
    (E, g, h) = (E log p, ∂/∂mean, ∂/∂var); site b = −2h, l = g + b (mean − m(x));
    Λ₁ = K_zx l, Λ₂ = K_zx diag(b) K_xz; ∂/∂K_zx = a gᵀ − 2 T diag(h), ∂/∂k_xx = h.
    """
    X, y, exposure = block.X, block.y, block.exposure
    xp = namespace(X)
    a, W = like(q.weights, X), like(q.reduction, X)
    kzx, pullback = model.kernel.with_pullback(like(model.inducing, X), X)
    T = W @ kzx
    prior_mean, prior_var = model.mean_function(X), model.kernel.diag(X)
    mean = prior_mean + a @ kzx
    var = prior_var - column_dots(kzx, T)
    floor = VARIANCE_FLOOR * prior_var
    floored = var < floor
    var = xp.where(floored, floor, var)

    seen = model.likelihood, model.link, model.rule, y, exposure, mean, var
    if gradient:
        expected, by_likelihood = expect_with_slopes(*seen)
    else:
        expected, by_likelihood = expect_rows(*seen), xp.zeros((0, X.shape[0]), dtype=X.dtype)
    value, g = expected.value, expected.d_mean
    h = xp.where(floored, xp.zeros_like(var), expected.d_var)
    weight = xp.ones_like(var) if block.weight is None else block.weight
    value, g, h = value * weight, g * weight, h * weight

    b = -2.0 * h
    linear = to_numpy(kzx @ (g + b * (mean - prior_mean)))
    quadratic = to_numpy(_weighted_gram(kzx, b))
    slopes = None
    if gradient:
        T *= b
        by_kernel = pullback(add_outer(T, a, g))
        slopes = Gradient(
            kernel=by_kernel.params + model.kernel.diag_pullback(X, h),
            mean_function=model.mean_function.pullback(X, g),
            likelihood=to_numpy(by_likelihood @ weight),
            levels=link_statistics(*seen, weight) if model.link.params.size else np.zeros((0, 0)),
            inducing=to_numpy(by_kernel.first),
        )
    return RowSums(
        value=float(xp.sum(value)),
        sites=SiteSums(linear, quadratic),
        gradient=slopes,
        spread=Spread.of(mean, var, weight),
    )


def _weighted_gram(A: Array, b: Array) -> Array:
    """A diag(b) Aᵀ, symmetric to the bit.

    Half the work of a product where no weight is negative: BLAS sees a matrix times its own
    transpose. Log-concave likelihoods never leave that case.
    """
    xp = namespace(A)
    if float(xp.min(b)) >= 0.0:
        half = A * xp.sqrt(b)
        return half @ half.T
    product = (A * b) @ A.T
    return 0.5 * (product + product.T)
