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


def mass_rows(cells: CellFamily, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    return np.array([[float(m) for m in masses(cells, *row)] for row in _pairs(mean, var)])


def log_mass_rows(cells: CellFamily, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    return np.array([[log(m) for m in masses(cells, *row)] for row in _pairs(mean, var)])


def _pairs(mean: np.ndarray, var: np.ndarray) -> list[tuple[float, float]]:
    return list(zip(mean.tolist(), var.tolist(), strict=True))
