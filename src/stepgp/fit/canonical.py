"""Rows in canonical form, so that weights equal repeats and the order of rows does not matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepgp._array.namespace import Floats


@dataclass(frozen=True, eq=False)
class CanonicalRows:
    """Distinct rows in lexicographic order, each with the total weight of its copies."""

    X: Floats
    y: Floats
    weight: Floats | None
    exposure: Floats | None
    merged: int
    """How many rows were copies of others."""


def canonical(
    X: Floats, y: Floats, weight: Floats | None, exposure: Floats | None
) -> CanonicalRows:
    """Zero weights dropped, identical (x, y, exposure) merged with summed weights, sorted."""
    table = np.column_stack([X, y] if exposure is None else [X, y, exposure])
    mass = np.ones(len(y)) if weight is None else weight
    if weight is not None:
        kept = weight > 0
        table, mass = table[kept], mass[kept]
    order = _order(table)
    table, mass = table[order], mass[order]
    first = np.ones(len(table), dtype=bool)
    first[1:] = np.any(table[1:] != table[:-1], axis=1)
    starts = np.flatnonzero(first)
    merged = len(table) - len(starts)
    if merged:
        table, mass = table[starts], np.add.reduceat(mass, starts)
    n_features = X.shape[1]
    return CanonicalRows(
        X=np.ascontiguousarray(table[:, :n_features]),
        y=np.ascontiguousarray(table[:, n_features]),
        weight=None if np.all(mass == 1.0) else mass,
        exposure=None if exposure is None else np.ascontiguousarray(table[:, -1]),
        merged=merged,
    )


def _order(table: Floats) -> np.ndarray:
    """Lexicographic order; the first column decides where it has no ties."""
    order = np.argsort(table[:, 0], kind="stable")
    if np.all(np.diff(table[order, 0]) > 0):
        return order
    return np.lexsort(table.T[::-1])
