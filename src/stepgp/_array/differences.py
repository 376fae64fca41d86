"""Gradients in parameters where no formula is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stepgp._array.namespace import Array, Floats, namespace

_STEP = 0.02  # on log parameters; after the extrapolation both errors are about 1e-12


def richardson_gradient(function: Callable[[Floats], Array], at: Floats) -> Array:
    """∂function/∂at_p stacked along a new first axis, (P, …).

    Central differences D(h) have an error in even powers of h, so D(h), D(h/2) and D(h/4)
    combine to one of order h⁶ (Richardson).
    """
    if at.size == 0:
        value = function(at)
        return namespace(value).expand_dims(value, axis=0)[:0, ...]
    slopes = [_slope(function, at, index) for index in range(at.size)]
    return namespace(slopes[0]).stack(slopes, axis=0)


def _slope(function: Callable[[Floats], Array], at: Floats, index: int) -> Array:
    unit = np.zeros(at.size)
    unit[index] = 1.0

    def central(step: float) -> Array:
        return (function(at + step * unit) - function(at - step * unit)) / (2.0 * step)

    coarse, middle, fine = (central(_STEP / 2.0**level) for level in range(3))
    once_coarse = (4.0 * middle - coarse) / 3.0
    once_fine = (4.0 * fine - middle) / 3.0
    return (16.0 * once_fine - once_coarse) / 15.0
