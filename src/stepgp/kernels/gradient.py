"""What a pullback through a kernel matrix gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from stepgp._array.namespace import Array, Floats


@final
@dataclass(frozen=True)
class KernelGradient:
    """Σ_ij adjoint_ij ∂k(a_i, b_j): in the parameters, (P,) NumPy, and in A, (a, D) like A."""

    params: Floats
    first: Array


Pullback = Callable[[Array], KernelGradient]


def joined(gradients: list[KernelGradient]) -> KernelGradient:
    """Of kernels that share A: parameters one after the other, gradients in A added up."""
    first = sum((gradient.first for gradient in gradients[1:]), gradients[0].first)
    return KernelGradient(np.concatenate([g.params for g in gradients]), first)
