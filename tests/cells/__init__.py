"""Tests of stepgp.cells."""

from __future__ import annotations
