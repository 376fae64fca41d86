"""One judge for everybody: full-data ELBO and held-out log-likelihood of given parameters.

Plain NumPy and SciPy in float64, sharing no code with any arm. Nothing is re-optimised and no
prior is counted: parameters are scored as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, solve_triangular
from scipy.special import gammaln, log_expit, logsumexp

from benchmarks.tasks import Data

Floats = npt.NDArray[np.float64]
N_POINTS = 100
BLOCK = 8192


@dataclass(frozen=True)
class Snapshot:
    """A sparse variational GP: k(x,x′) = σ² exp(−½ Σ (x_d − x′_d)²/ℓ_d²), f = c + GP, u = f(Z).

    q(u) is N(c + L m, L R Rᵀ Lᵀ) with L Lᵀ = k(Z,Z) + jitter·I and any square root R: the form in
    which no digit is lost when k(Z,Z) is close to singular. `jitter` is absolute, and each arm's
    own: with any jitter ≥ 0 in k(Z,Z) alone the ELBO is a lower bound of the same evidence.
    """

    variance: float
    lengthscales: Floats
    mean: float
    Z: Floats
    q_mean: Floats
    q_root: Floats
    jitter: float

    @staticmethod
    def from_unwhitened(
        variance: float,
        lengthscales: Floats,
        mean: float,
        Z: Floats,
        m: Floats,
        S: Floats,
        jitter: float,
    ) -> Snapshot:
        """The same from q(u) = N(m, S)."""
        L = factor(variance, lengthscales, Z, jitter)
        q_mean = solve_triangular(L, m - mean, lower=True)
        q_root = solve_triangular(L, cholesky(S, lower=True), lower=True)
        return Snapshot(variance, lengthscales, mean, Z, q_mean, q_root, jitter)


def kernel(variance: float, lengthscales: Floats, A: Floats, B: Floats) -> Floats:
    A, B = A / lengthscales, B / lengthscales
    r2 = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2.0 * (A @ B.T)
    return variance * np.exp(-0.5 * np.maximum(r2, 0.0))


def factor(variance: float, lengthscales: Floats, Z: Floats, jitter: float) -> Floats:
    K = kernel(variance, lengthscales, Z, Z)
    np.fill_diagonal(K, variance + jitter)
    return cholesky(K, lower=True)


def marginals(s: Snapshot, L: Floats, X: Floats) -> tuple[Floats, Floats]:
    """A = L⁻¹k(Z,x): mean = c + Aᵀm, var = k(x,x) − Σ A² + Σ (RᵀA)²."""
    A = solve_triangular(L, kernel(s.variance, s.lengthscales, s.Z, X), lower=True)
    RA = s.q_root.T @ A
    var = s.variance - (A * A).sum(0) + (RA * RA).sum(0)
    return s.mean + A.T @ s.q_mean, np.maximum(var, 1e-12 * s.variance)


def latent(s: Snapshot, X: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of f at every row."""
    return marginals(s, factor(s.variance, s.lengthscales, s.Z, s.jitter), X)


def _log_prob(likelihood: str, y: Floats, f: Floats) -> Floats:
    """Bernoulli with logit link, or Poisson with log link."""
    if likelihood == "bernoulli":
        return log_expit(np.where(y > 0.5, f, -f))
    return y * f - np.exp(f) - gammaln(y + 1.0)


def _nodes(mean: Floats, var: Floats) -> tuple[Floats, Floats]:
    """Gauss–Hermite: E h(f) ≈ Σ_j w_j h(mean + √(2 var) t_j), log w_j normalised."""
    t, w = np.polynomial.hermite.hermgauss(N_POINTS)
    return mean[:, None] + np.sqrt(2.0 * var)[:, None] * t, np.log(w) - 0.5 * np.log(np.pi)


def kl(s: Snapshot) -> float:
    """KL[N(m, RRᵀ) ‖ N(0, I)] = ½(tr RRᵀ + mᵀm − M − log|RRᵀ|)."""
    logdet = 2.0 * np.linalg.slogdet(s.q_root)[1]
    return float(0.5 * ((s.q_root**2).sum() + s.q_mean @ s.q_mean - len(s.q_mean) - logdet))


def elbo(s: Snapshot, likelihood: str, X: Floats, y: Floats) -> float:
    """Σ_i E_q log p(y_i | f_i) − KL[q(u) ‖ p(u)], in nats over all rows."""
    L = factor(s.variance, s.lengthscales, s.Z, s.jitter)
    total = 0.0
    for start in range(0, len(y), BLOCK):
        rows = slice(start, start + BLOCK)
        f, log_w = _nodes(*marginals(s, L, X[rows]))
        total += float((_log_prob(likelihood, y[rows, None], f) @ np.exp(log_w)).sum())
    return total - kl(s)


def log_likelihood(s: Snapshot, likelihood: str, X: Floats, y: Floats) -> float:
    """Mean over rows of log E_q p(y_i | f_i)."""
    L = factor(s.variance, s.lengthscales, s.Z, s.jitter)
    total = 0.0
    for start in range(0, len(y), BLOCK):
        rows = slice(start, start + BLOCK)
        f, log_w = _nodes(*marginals(s, L, X[rows]))
        total += float(logsumexp(_log_prob(likelihood, y[rows, None], f) + log_w, axis=1).sum())
    return total / len(y)


def test_score(s: Snapshot, likelihood: str, data: Data) -> float | None:
    """Held-out log-likelihood; None where no rows are held out."""
    if not len(data.y_test):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        return log_likelihood(s, likelihood, data.X_test, data.y_test)


def scores(s: Snapshot, likelihood: str, data: Data) -> tuple[float, float | None]:
    """(full-data ELBO, held-out log-likelihood)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return elbo(s, likelihood, data.X, data.y), test_score(s, likelihood, data)
