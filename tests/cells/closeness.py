"""Comparisons whose tolerance differs from number to number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def assert_within(
    got: npt.ArrayLike, reference: npt.ArrayLike, tolerance: npt.ArrayLike, message: str = ""
) -> None:
    """|got − reference| ≤ tolerance everywhere, all three broadcast; NaN is never close."""
    error = np.abs(np.asarray(got) - np.asarray(reference))
    error, allowed = np.broadcast_arrays(error, tolerance)
    far = np.argwhere(~(error <= allowed))
    assert not len(far), (
        f"{message} {len(far)} of {error.size} are off, at {far[0]} by {error[tuple(far[0])]:.3g}, "
        f"where {allowed[tuple(far[0])]:.3g} is allowed"
    )
