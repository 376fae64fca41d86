"""Masses of any family in 60-digit arithmetic, from the pieces of its weight functions."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

from stepgp.cells import CellFamily
from tests._array.exact import CONTEXT, density, log, probability
from tests.cells.shapes import Piece, shape


def masses(cells: CellFamily, mean: float, var: float) -> list[Decimal]:
    """E weight_k(f), f ~ N(mean, var)."""
    with localcontext(CONTEXT):
        centre, deviation = Decimal(mean), Decimal(var).sqrt()
        pieces = shape(cells).pieces(cells)
        return [sum(_expectation(piece, centre, deviation) for piece in own) for own in pieces]  # type: ignore[misc]


def _expectation(piece: Piece, centre: Decimal, deviation: Decimal) -> Decimal:
    """∫ (left + rise (f − low)) N(f) df over [low, high), rise the slope of the piece.

    ∫ (f − low) N(f) df = (μ − low) ΔF − √v Δφ (paper, Lemma 1 with erratum 1).
    """
    low, high = Decimal(piece.low), Decimal(piece.high)
    a, b = (low - centre) / deviation, (high - centre) / deviation
    mass = probability(a, b)
    if piece.left == piece.right:
        return Decimal(piece.left) * mass
    rise = (Decimal(piece.right) - Decimal(piece.left)) / (high - low)
    beyond_low = (centre - low) * mass - deviation * (density(b) - density(a))
    return Decimal(piece.left) * mass + rise * beyond_low


def slopes(cells: CellFamily, mean: float, var: float) -> list[tuple[Decimal, Decimal]]:
    """∂/∂mean and ∂/∂var of the masses."""
    with localcontext(CONTEXT):
        centre, deviation = Decimal(mean), Decimal(var).sqrt()
        found: list[tuple[Decimal, Decimal]] = []
        for own in shape(cells).pieces(cells):
            parts = [_slopes(piece, centre, deviation) for piece in own]
            found.append((sum(p[0] for p in parts), sum(p[1] for p in parts)))
        return found


def _slopes(piece: Piece, centre: Decimal, deviation: Decimal) -> tuple[Decimal, Decimal]:
    """With h = left + rise (f − low) on [low, high) and 0 elsewhere, a and b its ends in √v from μ:

    ∂/∂μ = (left φ(a) − right φ(b))/√v + rise ΔF, and ∂/∂v = ½ ∂²/∂μ²
    = ½ (left aφ(a) − right bφ(b))/v − ½ rise Δφ/√v.
    """
    low, high = Decimal(piece.low), Decimal(piece.high)
    left, right = Decimal(piece.left), Decimal(piece.right)
    a, b = (low - centre) / deviation, (high - centre) / deviation
    rise = Decimal(0) if left == right else (right - left) / (high - low)
    by_mean = (left * density(a) - right * density(b)) / deviation + rise * probability(a, b)
    at_a, at_b = (z * density(z) if z.is_finite() else Decimal(0) for z in (a, b))
    by_var = (left * at_a - right * at_b) / deviation - rise * (density(b) - density(a))
    return by_mean, by_var / (2 * deviation)


def slope_rows(
    cells: CellFamily, mean: np.ndarray, var: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(
        [[[float(s) for s in pair] for pair in slopes(cells, *row)] for row in _pairs(mean, var)]
    )
    return table[..., 0], table[..., 1]


def mass_rows(cells: CellFamily, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    return np.array([[float(m) for m in masses(cells, *row)] for row in _pairs(mean, var)])


def log_mass_rows(cells: CellFamily, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    return np.array([[log(m) for m in masses(cells, *row)] for row in _pairs(mean, var)])


def _pairs(mean: np.ndarray, var: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(mean.tolist(), var.tolist(), strict=True))
