"""Array libraries and numerical derivatives, for conformance tests over lists."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import array_api_strict
import numpy as np

TO_LIBRARY: dict[str, Callable[[Any], Any]] = {
    "numpy": np.asarray,
    "array_api_strict": array_api_strict.asarray,
}
if importlib.util.find_spec("torch"):
    import torch

    TO_LIBRARY["torch"] = torch.asarray


def slope(function: Callable[[Any], Any], at: Any, step: float = 0.02) -> Any:
    """d function/d at by central differences, extrapolated to an error of order step⁸."""
    table = [
        (function(at + step / 2**k) - function(at - step / 2**k)) / (2.0 * step / 2**k)
        for k in range(4)
    ]
    for order in range(1, 4):
        factor = 4.0**order
        table = [(factor * fine - coarse) / (factor - 1.0) for coarse, fine in pairwise(table)]
    return table[0]
