"""How much of all rows together falls into every cell: the adjoint of an expectation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy
from stepgp.cells.base import CellFamily
from stepgp.cells.windows import near_cells

Amounts = Callable[[Array, Array], Array]
"""(n indices of rows, (n, W) cells) ↦ what each row puts into each of these cells if it is there:
(R, n, W), or (R, n, 1) where that is the same for all cells."""


def totals(cells: CellFamily, mean: Array, var: Array, amounts: Amounts) -> Floats:
    """Σ_i w_k(μ_i, v_i) amount_rik, (R, K) NumPy.

    With the amounts T_r(y_i) these are the statistics of the levels, and the derivatives of
    Σ_i Σ_r T_r(y_i) E feature_r in the features of the cells. Cells beyond nine deviations get
    nothing; the outer ones of those within take what is left.
    """
    found = np.zeros((0, cells.n_cells))
    for rows, near in near_cells(cells.nodes, mean, var):
        index = like(rows, near)
        chosen = namespace(mean).take(mean, index), namespace(var).take(var, index)
        shares = to_numpy(cells.masses(*chosen, near) * amounts(index, near))
        if not len(found):
            found = np.zeros((len(shares), cells.n_cells))
        flat = to_numpy(near).astype(np.intp).ravel()
        for total, share in zip(found, shares, strict=True):
            total += np.bincount(flat, share.ravel(), cells.n_cells)
    return found
