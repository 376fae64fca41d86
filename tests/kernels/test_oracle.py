"""Values and gradients against the textbook formulas, differentiated by torch's autograd."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stepgp.kernels import (
    RBF,
    Constant,
    Kernel,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    RationalQuadratic,
)
from tests.kernels.cases import N_FEATURES, rows

torch: Any = pytest.importorskip("torch")
Formula = Callable[..., Any]


def distance(ell: Any, A: Any, B: Any) -> Any:
    return torch.sqrt((((A[:, None] - B[None]) / ell) ** 2).sum(-1))


def matern32(ell: Any, variance: Any, A: Any, B: Any) -> Any:
    q = math.sqrt(3) * distance(ell, A, B)
    return variance * (1 + q) * torch.exp(-q)


def matern52(ell: Any, variance: Any, A: Any, B: Any) -> Any:
    q = math.sqrt(5) * distance(ell, A, B)
    return variance * (1 + q + q**2 / 3) * torch.exp(-q)


def rational_quadratic(ell: Any, variance: Any, alpha: Any, A: Any, B: Any) -> Any:
    return variance * (1 + distance(ell, A, B) ** 2 / (2 * alpha)) ** -alpha


def periodic(ell: Any, variance: Any, period: Any, A: Any, B: Any) -> Any:
    sine = torch.sin(math.pi * (A[:, None] - B[None]) / period) / ell
    return variance * torch.exp(-2 * (sine**2).sum(-1))


# Kernel with one lengthscale (or variance) per feature, sizes of its parameters, the formula.
ORACLES: list[tuple[Kernel, tuple[int, ...], Formula]] = [
    (RBF(ard=True), (3, 1), lambda s, v, A, B: v * torch.exp(-0.5 * distance(s, A, B) ** 2)),
    (Matern12(ard=True), (3, 1), lambda s, v, A, B: v * torch.exp(-distance(s, A, B))),
    (Matern32(ard=True), (3, 1), matern32),
    (Matern52(ard=True), (3, 1), matern52),
    (RationalQuadratic(ard=True), (3, 1, 1), rational_quadratic),
    (Periodic(ard=True), (3, 1, 1), periodic),
    (Periodic(ard=True, period=[1.0, 2.0, 3.0]), (3, 1, 3), periodic),
    (Linear(ard=True), (3,), lambda v, A, B: (A * v) @ B.T),
    (Polynomial(3, ard=True), (3, 1), lambda v, c, A, B: (c + (A * v) @ B.T) ** 3),
    (Constant(), (1,), lambda v, A, B: v * (A @ B.T) ** 0),
    (RBF(ard=True) + 2.0, (3, 1, 1), lambda s, v, c, A, B: squared_exponential(s, v, A, B) + c),
    (2.0 * RBF(ard=True), (1, 3, 1), lambda c, s, v, A, B: c * squared_exponential(s, v, A, B)),
]


def squared_exponential(ell: Any, variance: Any, A: Any, B: Any) -> Any:
    return variance * torch.exp(-0.5 * distance(ell, A, B) ** 2)


@pytest.mark.parametrize(
    ("start", "sizes", "formula"),
    ORACLES,
    ids=[f"{type(kernel).__name__}{i}" for i, (kernel, _, _) in enumerate(ORACLES)],
)
def test_autograd(start: Kernel, sizes: tuple[int, ...], formula: Formula) -> None:
    kernel = start.for_features(N_FEATURES)
    params = np.random.default_rng(1).normal(scale=0.4, size=sum(sizes))
    kernel = kernel.with_params(params)
    A, B, adjoint = rows(6, 2), rows(8, 3), rows(6, 4, 8)

    theta = torch.tensor(params, requires_grad=True)
    first = torch.tensor(A, requires_grad=True)
    expected = formula(*torch.split(torch.exp(theta), sizes), first, torch.tensor(B))
    (expected * torch.tensor(adjoint)).sum().backward()

    K, pullback = kernel.with_pullback(A, B)
    gradient = pullback(adjoint.copy())
    np.testing.assert_allclose(K, expected.detach().numpy(), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(gradient.params, theta.grad.numpy(), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(
        gradient.first,
        np.zeros_like(A) if first.grad is None else first.grad,
        rtol=1e-10,
        atol=1e-11,
    )
