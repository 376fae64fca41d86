"""What the array API standard lacks."""

from __future__ import annotations

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy

__all__ = ["Array", "Floats", "like", "namespace", "to_numpy"]
