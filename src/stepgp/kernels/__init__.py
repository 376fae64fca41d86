"""Kernels: values, and closed-form gradients by pullback."""

from __future__ import annotations

from stepgp.kernels.active_dims import ActiveDims
from stepgp.kernels.base import Constant, Kernel, KernelGradient, Product, Pullback, Sum
from stepgp.kernels.linear import Linear, Polynomial
from stepgp.kernels.periodic import Periodic
from stepgp.kernels.positive import Ard, Positive, PositiveLike
from stepgp.kernels.priors import LogNormal
from stepgp.kernels.stationary import (
    RBF,
    Matern12,
    Matern32,
    Matern52,
    RationalQuadratic,
)

__all__ = [
    "RBF",
    "ActiveDims",
    "Ard",
    "Constant",
    "Kernel",
    "KernelGradient",
    "Linear",
    "LogNormal",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Polynomial",
    "Positive",
    "PositiveLike",
    "Product",
    "Pullback",
    "RationalQuadratic",
    "Sum",
]
