"""q(u) of the inducing values from the sums of the rows' sites (Adam, Chang, Khan & Solin 2021).

With K_zz = LLᵀ (jitter inside), Λ₁ = K_zx l and Λ₂ = K_zx diag(b) K_xz:
    G = L⁻¹Λ₂L⁻ᵀ,  B = I + G,  m = B⁻¹L⁻¹Λ₁,  a = L⁻ᵀm,  W = L⁻ᵀ(I − B⁻¹)L⁻¹,
and in the whitened coordinates v = L⁻¹u the posterior is N(m, B⁻¹) against the prior N(0, I).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from stepgp._array.linalg import (
    Factor,
    NotPositiveDefinite,
    cholesky_lower,
    column_dots,
    symmetric,
)
from stepgp._array.namespace import Array, Floats, like, namespace
from stepgp.kernels import Kernel
from stepgp.model.means import MeanFunction

VARIANCE_FLOOR = 1e-10
"""Latent variances below this share of the prior's are rounding; they are raised to it."""


@dataclass(frozen=True, eq=False)
class SiteSums:
    """Λ₁ (M,) and Λ₂ (M, M): what a pass over the rows says about q(u)."""

    linear: Floats
    quadratic: Floats

    def __add__(self, other: SiteSums) -> SiteSums:
        return SiteSums(self.linear + other.linear, self.quadratic + other.quadratic)

    def whitened(self, factor: Factor) -> Sites:
        """L⁻¹Λ₁ and G = L⁻¹Λ₂L⁻ᵀ; not finite where rows ask for what no number can hold."""
        inverse = factor.inverse
        with np.errstate(over="ignore", invalid="ignore"):
            quadratic = symmetric(inverse @ self.quadratic @ inverse.T)
            return Sites(inverse @ self.linear, quadratic, factor)


@dataclass(frozen=True, eq=False)
class Sites:
    """The sums in the whitened coordinates of a factor: L⁻¹Λ₁ and G = L⁻¹Λ₂L⁻ᵀ.

    Kept whitened because L⁻¹ amplifies rounding by the condition number of K_zz: here a
    congruence keeps G positive semi-definite wherever it was.
    """

    linear: Floats
    quadratic: Floats
    factor: Factor

    @classmethod
    def none(cls, factor: Factor) -> Sites:
        """No data: the posterior is the prior."""
        size = len(factor.lower)
        return cls(np.zeros(size), np.zeros((size, size)), factor)

    def towards(self, other: Sites, step: float) -> Sites:
        """(1 − ρ)·self + ρ·other."""
        return Sites(
            (1.0 - step) * self.linear + step * other.linear,
            (1.0 - step) * self.quadratic + step * other.quadratic,
            self.factor,
        )

    def rescaled(self, ratio: float) -> Sites:
        """The sites of `ratio` times as many rows like these."""
        return Sites(ratio * self.linear, ratio * self.quadratic, self.factor)

    def moved(self, factor: Factor, between: Floats) -> Sites:
        """The same rows' sites under other inducing inputs and another kernel.

        Λ₁ ← AΛ₁, Λ₂ ← AΛ₂Aᵀ with A = K_{Z′Z}(θ′) K_ZZ(θ)⁻¹, which is L′⁻¹ K_{Z′Z} L⁻ᵀ in
        whitened coordinates; `between` is K_{Z′Z}(θ′).
        """
        map_to_new = (factor.inverse @ between) @ self.factor.inverse.T
        return Sites(
            map_to_new @ self.linear,
            symmetric(map_to_new @ self.quadratic @ map_to_new.T),
            factor,
        )


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(u) with everything that rows and gradients need of it."""

    sites: Sites
    whitened_mean: Floats
    """m"""
    precision: Floats
    """B"""
    covariance: Floats
    """B⁻¹"""
    log_det_precision: float
    weights: Floats
    """a, with mean(x) = m(x) + k_xz a"""
    reduction: Floats
    """W, with var(x) = k_xx − k_xz W k_zx"""

    @property
    def factor(self) -> Factor:
        """L of K_zz."""
        return self.sites.factor

    @property
    def kl(self) -> float:
        """KL(q‖p) = ½[tr B⁻¹ + mᵀm − M + log|B|]."""
        m = self.whitened_mean
        return 0.5 * float(np.trace(self.covariance) + m @ m - len(m) + self.log_det_precision)

    def kzz_adjoint(self, proposed: Sites) -> Floats:
        """∂ELBO/∂K_zz with the whitened m and B held, from the sites that the rows now propose.

        In A = L⁻¹K_zx the ELBO depends on K_zz only through L, and with λ′, G′ the proposed
        whitened sites ∂ELBO/∂A · Aᵀ = S = m(λ′ − G′m)ᵀ + (I − B⁻¹)G′, so
            ∂ELBO/∂K_zz = −½ L⁻ᵀ ½(S + Sᵀ) L⁻¹,
        plus the jitter's trace term. At convergence S is symmetric and this is the total
        derivative, ½(W − aaᵀ − L⁻ᵀGL⁻¹) (envelope theorem); before, holding m and B is far
        closer to it than holding a and W, which carry K_zz⁻¹.
        """
        inverse, m = self.factor.inverse, self.whitened_mean
        residual = proposed.linear - proposed.quadratic @ m
        shrunk = proposed.quadratic - self.covariance @ proposed.quadratic
        adjoint = -0.5 * inverse.T @ symmetric(np.outer(m, residual) + shrunk) @ inverse
        share = self.factor.jitter / len(adjoint) * np.trace(adjoint)
        adjoint[np.diag_indices_from(adjoint)] += share
        return symmetric(adjoint)

    def inducing_moments(self) -> tuple[Floats, Floats]:
        """Mean (without the prior mean) and covariance of u: Lm and LB⁻¹Lᵀ."""
        lower = self.factor.lower
        return lower @ self.whitened_mean, lower @ self.covariance @ lower.T


def posterior_of(sites: Sites) -> Posterior:
    """The posterior of the given sites; negative ones may leave none, which is an error."""
    inverse, evidence = sites.factor.inverse, sites.quadratic
    precision = evidence + np.eye(len(evidence))
    lower = cholesky_lower(precision)
    if lower is None:
        raise NotPositiveDefinite("The sites leave a posterior precision that is not positive.")
    triangle, _ = lapack.dpotri(lower, lower=1)
    covariance = triangle + triangle.T  # its other half is zero, as that of `lower` is
    covariance[np.diag_indices_from(covariance)] *= 0.5
    mean = covariance @ sites.linear
    # B⁻¹G, not I − B⁻¹: where the data say little, G is small and its digits matter.
    shrinkage = symmetric(covariance @ evidence)
    return Posterior(
        sites=sites,
        whitened_mean=mean,
        precision=precision,
        covariance=covariance,
        log_det_precision=2.0 * float(np.sum(np.log(np.diag(lower)))),
        weights=inverse.T @ mean,
        reduction=symmetric(inverse.T @ shrinkage @ inverse),
    )


def divergence(q: Posterior, other: Posterior) -> float:
    """KL(q‖other) over the same prior: the ELBO that a conjugate step from q to other gains.

    ½[tr(B′B⁻¹) − M + (m′ − m)ᵀB′(m′ − m) + log|B| − log|B′|].
    """
    step = other.whitened_mean - q.whitened_mean
    return 0.5 * float(
        np.sum(other.precision * q.covariance)
        - len(step)
        + step @ other.precision @ step
        + q.log_det_precision
        - other.log_det_precision
    )


def marginals(
    q: Posterior, kernel: Kernel, mean_function: MeanFunction, inducing: Floats, X: Array
) -> tuple[Array, Array]:
    """Mean and variance of f at every row of X."""
    xp = namespace(X)
    kzx = kernel(like(inducing, X), X)
    prior_var = kernel.diag(X)
    mean = mean_function(X) + like(q.weights, X) @ kzx
    var = prior_var - column_dots(kzx, like(q.reduction, X) @ kzx)
    return mean, xp.maximum(var, VARIANCE_FLOOR * prior_var)
