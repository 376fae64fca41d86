"""Checks of single parameters: what was got, what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_integer(value: Any) -> bool:
    """Whether the value is an integer of Python or NumPy, and no bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def checked_integer(
    name: str, value: Any, *, at_least: int, at_most: int | None = None, otherwise: str = ""
) -> int:
    """An integer in that range; `otherwise` names what else the caller takes."""
    if not is_integer(value) or value < at_least or (at_most is not None and value > at_most):
        most = "" if at_most is None else f" and at most {at_most}"
        raise ValueError(
            f"{name} must be an integer of at least {at_least}{most}{otherwise}, got {value!r}."
        )
    return int(value)


def checked_positive(name: str, value: Any) -> float:
    """A positive finite number."""
    if not (is_integer(value) or _is_float(value)) or not 0 < value < np.inf:
        raise ValueError(f"{name} must be a positive finite number, got {value!r}.")
    return float(value)


def checked_boolean(name: str, value: Any) -> bool:
    """True or False."""
    if type(value) not in (bool, np.bool):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def checked_verbosity(value: Any) -> int:
    """0 or False for silence, anything above for a progress bar."""
    if isinstance(value, bool):
        return int(value)
    return checked_integer("verbose", value, at_least=0, otherwise=" or a bool")


def _is_float(value: Any) -> bool:
    return isinstance(value, float | np.floating)
