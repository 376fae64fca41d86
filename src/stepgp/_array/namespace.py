"""Which array library holds an array, and the two crossings between it and NumPy."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from array_api_compat import array_namespace, device, is_numpy_array, is_torch_array
from array_api_compat import numpy as numpy_namespace

Array: TypeAlias = Any
"""An array of any library of the array API standard (NumPy, torch, array-api-strict)."""

Floats: TypeAlias = npt.NDArray[np.float64]
"""A NumPy array of float64: parameters, M×M algebra, results handed to users."""


def namespace(*arrays: Array) -> Any:
    """The array-API namespace of the arrays; Python scalars and None take part silently."""
    if all(
        type(array) is np.ndarray for array in arrays
    ):  # the common case, at a tenth of the cost
        return numpy_namespace
    return array_namespace(*(array for array in arrays if hasattr(array, "shape")))


def to_numpy(array: Array) -> Floats:
    """The array as NumPy float64 on the host."""
    if is_torch_array(array):
        array = array.detach().cpu()
    return np.asarray(array, dtype=np.float64)


def like(array: npt.ArrayLike, reference: Array) -> Array:
    """A NumPy array in the library, dtype and on the device of `reference`."""
    if is_numpy_array(reference):
        return np.asarray(array, dtype=reference.dtype)
    xp = namespace(reference)
    return xp.asarray(np.asarray(array), dtype=reference.dtype, device=device(reference))
