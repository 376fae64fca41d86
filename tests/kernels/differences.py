"""Derivatives from values alone, as the reference of the closed-form ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def richardson(function: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    """The gradient by central differences of two steps, extrapolated: an error of O(step⁴)."""
    gradient = np.zeros_like(at)
    for index in np.ndindex(at.shape):

        def slope(step: float, index: tuple[int, ...] = index) -> float:
            up, down = at.copy(), at.copy()
            up[index] += step
            down[index] -= step
            return (function(up) - function(down)) / (2 * step)

        gradient[index] = (4 * slope(1e-3) - slope(2e-3)) / 3
    return gradient


def assert_gradient(got: np.ndarray, expected: np.ndarray, tolerance: float = 1e-7) -> None:
    assert got.shape == expected.shape
    scale = np.max(np.abs(expected), initial=1e-3)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)
