"""Where rows live; every source is the same reduction over blocks."""

from __future__ import annotations

from stepgp.rows.memory import MemoryRows

__all__ = ["MemoryRows"]
