"""Tests of stepgp._array."""

from __future__ import annotations
