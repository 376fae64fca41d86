"""A Gaussian seen through a grid of cells."""

from __future__ import annotations

from stepgp.cells.base import CellFamily, Expectation
from stepgp.cells.bounds import (
    cells_for,
    concave_bound,
    exp_error,
    expect_several,
    lipschitz_bound,
)
from stepgp.cells.grid import Grid
from stepgp.cells.hat import Hat
from stepgp.cells.indicator import Indicator

__all__ = [
    "CellFamily",
    "Expectation",
    "Grid",
    "Hat",
    "Indicator",
    "cells_for",
    "concave_bound",
    "exp_error",
    "expect_several",
    "lipschitz_bound",
]
