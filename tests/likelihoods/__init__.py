"""Tests of stepgp.likelihoods."""

from __future__ import annotations
