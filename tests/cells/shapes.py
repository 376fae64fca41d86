"""What each family of cells stands for: its weight functions, said without their formulas."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepgp.cells import CellFamily, Hat, Indicator

Function = Callable[[float], float]


@dataclass(frozen=True)
class Piece:
    """A stretch [low, high) of the line on which a weight runs linearly from `left` to `right`."""

    low: float
    high: float
    left: float
    right: float


class Shape(ABC):
    """One family's weight functions, as pieces and as the function that values on them make."""

    jumps: bool
    """Whether the functions jump at the knots, or only bend."""

    @abstractmethod
    def knots(self, cells: CellFamily) -> np.ndarray:
        """Where the functions jump or bend."""

    @abstractmethod
    def pieces(self, cells: CellFamily) -> list[list[Piece]]:
        """The support of each cell's weight function."""

    @abstractmethod
    def function(self, cells: CellFamily, values: np.ndarray) -> Function:
        """f ↦ Σ_k values_k weight_k(f)."""

    @abstractmethod
    def torch_expectation(self, torch: Any, knots: Any, values: Any, mean: Any, var: Any) -> Any:
        """The textbook formula, (n,), for torch to differentiate."""


class Step(Shape):
    jumps = True

    def knots(self, cells: CellFamily) -> np.ndarray:
        assert isinstance(cells, Indicator)
        return cells.grid.edges

    def pieces(self, cells: CellFamily) -> list[list[Piece]]:
        ends = [-math.inf, *self.knots(cells).tolist(), math.inf]
        return [[Piece(*ends[k : k + 2], 1.0, 1.0)] for k in range(len(ends) - 1)]

    def function(self, cells: CellFamily, values: np.ndarray) -> Function:
        edges = self.knots(cells)
        return lambda f: float(values[np.searchsorted(edges, f, side="right")])

    def torch_expectation(self, torch: Any, knots: Any, values: Any, mean: Any, var: Any) -> Any:
        below = torch.special.ndtr((knots - mean[:, None]) / torch.sqrt(var)[:, None])
        nothing = torch.zeros_like(below[:, :1])
        below = torch.cat([nothing, below, nothing + 1], dim=1)
        return torch.diff(below, dim=1) @ values


class Line(Shape):
    jumps = False

    def knots(self, cells: CellFamily) -> np.ndarray:
        return cells.nodes

    def pieces(self, cells: CellFamily) -> list[list[Piece]]:
        x = self.knots(cells).tolist()
        found: list[list[Piece]] = [[] for _ in x]
        found[0].append(Piece(-math.inf, x[0], 1.0, 1.0))
        for k in range(len(x) - 1):
            found[k].append(Piece(x[k], x[k + 1], 1.0, 0.0))
            found[k + 1].append(Piece(x[k], x[k + 1], 0.0, 1.0))
        found[-1].append(Piece(x[-1], math.inf, 1.0, 1.0))
        return found

    def function(self, cells: CellFamily, values: np.ndarray) -> Function:
        nodes = self.knots(cells)
        return lambda f: float(np.interp(f, nodes, values))

    def torch_expectation(self, torch: Any, knots: Any, values: Any, mean: Any, var: Any) -> Any:
        deviation = torch.sqrt(var)[:, None]
        z = (mean[:, None] - knots) / deviation
        density = torch.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
        ramps = deviation * (density + z * torch.special.ndtr(z))  # E(f − x)₊
        slopes = torch.diff(values) / torch.diff(knots)
        return values[0] + (ramps[:, :-1] - ramps[:, 1:]) @ slopes


SHAPES: dict[type[CellFamily], Shape] = {Indicator: Step(), Hat: Line()}


def shape(cells: CellFamily) -> Shape:
    return SHAPES[type(cells)]
