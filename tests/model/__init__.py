"""Tests of stepgp.model."""

from __future__ import annotations
