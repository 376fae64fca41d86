"""Tests of stepgp.fit."""

from __future__ import annotations
