"""Tests of stepgp.links."""

from __future__ import annotations
