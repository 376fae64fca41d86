"""Elementwise functions in the memory of their argument, where the library allows it."""

from __future__ import annotations

import numpy as np
from array_api_compat import is_numpy_array, is_torch_array

from stepgp._array.namespace import Array, namespace


def root_inplace(t: Array) -> Array:
    """√max(t, 0): a squared distance can come out a rounding error below 0."""
    if is_numpy_array(t):
        return np.sqrt(np.maximum(t, 0.0, out=t), out=t)
    if is_torch_array(t):
        return t.clamp_min_(0.0).sqrt_()
    xp = namespace(t)
    return xp.sqrt(xp.maximum(t, xp.asarray(0.0, dtype=t.dtype, device=t.device)))


def inverse_inplace(t: Array) -> Array:
    """1/t."""
    if is_numpy_array(t):
        return np.divide(1.0, t, out=t)
    if is_torch_array(t):
        return t.reciprocal_()
    return 1.0 / t
