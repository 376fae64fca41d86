"""Linear interpolation between values at knots, constant beyond them, and its adjoint."""

from __future__ import annotations

import numpy as np

from stepgp._array import Floats


def interpolate(knots: Floats, values: Floats, x: Floats) -> Floats:
    """The piecewise linear function through (knots, values) at x, of any shape."""
    return np.interp(x, knots, values)


def interpolate_adjoint(knots: Floats, x: Floats, adjoint: Floats) -> Floats:
    """∂ Σ_i adjoint_i d(x_i)/∂ values, (J,)."""
    segment = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    share = np.clip((x - knots[segment]) / (knots[segment + 1] - knots[segment]), 0.0, 1.0)
    total = np.zeros(len(knots))
    np.add.at(total, segment, (1.0 - share) * adjoint)
    np.add.at(total, segment + 1, share * adjoint)
    return total


def interpolation_matrix(knots: Floats, x: Floats) -> Floats:
    """B, (n, J), with d(x_i) = Σ_j B_ij d_j."""
    return np.stack([interpolate(knots, row, x) for row in np.eye(len(knots))], axis=-1)
