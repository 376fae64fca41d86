"""A posterior of few inducing inputs, and the same by dense algebra with explicit inverses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepgp._array.linalg import factorise
from stepgp.kernels import Matern32
from stepgp.model.posterior import Posterior, SiteSums, posterior_of
from tests.model.scenes import SCENES, inputs, kernel_matrix

SCENE = SCENES["bernoulli-cloglog-linear-mean"]
# Well conditioned, so that dense algebra with explicit inverses is a reference.
MODEL = replace(SCENE.model, kernel=Matern32(0.7, 1.4, ard=False).for_features(2))
X = SCENE.block.X
KZZ = kernel_matrix(MODEL)
KZX = MODEL.kernel(MODEL.inducing, X)
M = len(KZZ)
NEW = inputs(9, 11)


def random_sums(seed: int, negative: float = 0.0) -> SiteSums:
    """Λ₁ = K_zx l and Λ₂ = K_zx diag(b) K_xz, a share of b below zero."""
    generator = np.random.default_rng(seed)
    b = generator.uniform(0.1, 1.5, size=len(X))
    b[: int(negative * len(X))] *= -0.05
    return SiteSums(KZX @ generator.normal(size=len(X)), (KZX * b) @ KZX.T)


def jittered(kzz: np.ndarray, jitter: float) -> np.ndarray:
    return kzz + jitter * np.mean(np.diag(kzz)) * np.eye(len(kzz))


def dense(sums: SiteSums, kzz: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of u: S = (K⁻¹ + K⁻¹Λ₂K⁻¹)⁻¹ and S K⁻¹Λ₁."""
    inverse = np.linalg.inv(kzz)
    covariance = np.linalg.inv(inverse + inverse @ sums.quadratic @ inverse)
    return covariance @ inverse @ sums.linear, covariance


def gaussian_kl(
    mean: np.ndarray, covariance: np.ndarray, other_mean: np.ndarray, other: np.ndarray
) -> float:
    """KL(N(mean, covariance) ‖ N(other_mean, other))."""
    inverse = np.linalg.inv(other)
    step = other_mean - mean
    log_dets = np.linalg.slogdet(other)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * float(
        np.trace(inverse @ covariance) + step @ inverse @ step - len(mean) + log_dets
    )


def made(
    seed: int = 1, *, jitter: float = 1e-10, negative: float = 0.0
) -> tuple[Posterior, np.ndarray, np.ndarray, np.ndarray]:
    """A posterior, and K_zz (jitter inside), mean and covariance of u by dense algebra."""
    sums = random_sums(seed, negative)
    q = posterior_of(sums.whitened(factorise(KZZ, jitter=jitter)))
    kzz = jittered(KZZ, jitter)
    return q, kzz, *dense(sums, kzz)
