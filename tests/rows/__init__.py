"""Tests of stepgp.rows."""

from __future__ import annotations
