"""Arguments of the public functions: what was got, what was expected, what to do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from array_api_compat import is_array_api_obj

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy


def checked_rows(**columns: Array) -> list[Array]:
    """The columns as real arrays of one shape (n,), `var` positive; ValueError where they are not.

    Lists become NumPy arrays, or arrays like the others; whole numbers become floats.
    """
    arrays = [column for column in columns.values() if is_array_api_obj(column)]
    found = [_real(name, column, arrays) for name, column in columns.items()]
    shapes = [tuple(column.shape) for column in found]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1:
        raise ValueError(
            f"{' and '.join(columns)} must all have the same shape (n,), one value for each row, "
            f"got shapes {', '.join(map(str, shapes))}. For a single row write np.array([value]); "
            "for one value in all rows np.full(n, value)."
        )
    for name, column in zip(columns, found, strict=True):
        _check_values(name, column)
    return found


def checked_marginals(mean: npt.ArrayLike, var: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Means and variances broadcast against each other, NumPy."""
    found = [np.asarray(_real(name, a, [])) for name, a in (("mean", mean), ("var", var))]
    for name, column in zip(("mean", "var"), found, strict=True):
        _check_values(name, column.ravel())
    centre, variance = np.broadcast_arrays(*(to_numpy(column) for column in found))
    return centre, variance


def _real(name: str, column: Array, others: list[Array]) -> Array:
    array = column if is_array_api_obj(column) else np.asarray(column)
    xp = namespace(array)
    try:
        known = xp.isdtype(array.dtype, ("real floating", "integral", "bool"))
    except TypeError:  # not a type of the library, such as NumPy's object
        known = False
    if not known:
        raise ValueError(
            f"{name} must hold real numbers, got {array.dtype}: convert it, for example with "
            "np.asarray(values, dtype=float)."
        )
    if others and not is_array_api_obj(column):
        return like(array, others[0])
    return array if xp.isdtype(array.dtype, "real floating") else xp.astype(array, xp.float64)


def _check_values(name: str, column: Array) -> None:
    xp = namespace(column)
    right = xp.isfinite(column)
    if name == "var":
        right = right & (column > 0)
    if not xp.all(right):
        row = int(np.argmin(np.asarray(to_numpy(right), dtype=bool)))
        raise ValueError(
            f"{name} must be {'positive and ' if name == 'var' else ''}finite, got "
            f"{float(column[row])} in row {row}: correct it or leave the row out."
        )
