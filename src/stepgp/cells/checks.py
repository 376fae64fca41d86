"""Arguments of the public functions: what was got, what was expected, what to do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from array_api_compat import is_array_api_obj

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy


def checked_rows(**columns: Array) -> list[Array]:
    """The columns as real arrays of one shape (n,), finite, and positive but for `mean` and `y`.

    Lists become arrays like the others, or NumPy's; whole numbers become floats.
    """
    arrays = [column for column in columns.values() if is_array_api_obj(column)]
    model = next((a for a in arrays if _is_real(a)), arrays[0] if arrays else np.zeros(1))
    found = [_floats(name, column, model) for name, column in columns.items()]
    shapes = [tuple(column.shape) for column in found]
    if len(set(shapes)) > 1 or len(shapes[0]) != 1:
        raise ValueError(
            f"{', '.join(columns)} must have one shape (n,), a value for each row, got shapes "
            f"{', '.join(map(str, shapes))}. Write np.array([value]) for a single row, "
            "np.full(n, value) for one value in all rows."
        )
    for name, column in zip(columns, found, strict=True):
        _check_values(name, column)
    return found


def checked_marginals(mean: npt.ArrayLike, var: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Means and variances broadcast against each other, NumPy."""
    columns = {"mean": mean, "var": var}
    found = [to_numpy(_floats(name, column, np.zeros(1))) for name, column in columns.items()]
    for name, column in zip(columns, found, strict=True):
        _check_values(name, column.ravel())
    centre, variance = np.broadcast_arrays(*found)
    return centre, variance


def _is_real(array: Array) -> bool:
    return bool(namespace(array).isdtype(array.dtype, "real floating"))


def _floats(name: str, column: Array, model: Array) -> Array:
    """The column as it is, or where it is a list or holds whole numbers in the type of `model`."""
    array = column if is_array_api_obj(column) else np.asarray(column)
    xp = namespace(array)
    if xp.isdtype(array.dtype, "real floating") and array is column:
        return array
    if not xp.isdtype(array.dtype, ("real floating", "integral", "bool")):
        raise ValueError(
            f"{name} must hold real numbers, got {array.dtype}: convert it, for example with "
            "np.asarray(values, dtype=float)."
        )
    if array is not column:
        return like(array, model) if _is_real(model) else array.astype(np.float64)
    return xp.astype(array, model.dtype if _is_real(model) else xp.float64)


def _check_values(name: str, column: Array) -> None:
    xp, positive = namespace(column), name not in ("mean", "y")
    right = xp.isfinite(column)
    if positive:
        right = right & (column > 0)
    if not xp.all(right):
        row = int(xp.argmin(xp.astype(right, column.dtype)))
        raise ValueError(
            f"{name} must be {'positive and ' if positive else ''}finite, got "
            f"{float(column[row])} in row {row}: correct it or leave the row out."
        )
