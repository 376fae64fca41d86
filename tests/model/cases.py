"""Every family of cells, and every likelihood with every link that fits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from stepgp.cells import CellFamily, Grid, Hat, Indicator
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from tests.likelihoods.cases import CASES
from tests.likelihoods.minimal import Exponential
from tests.links.cases import DERIVED, LINKS, name

Cells = Callable[[float, float, int], CellFamily]


def uneven(low: float, high: float, n_cells: int) -> Grid:
    """Cells twice as wide on the right as on the left."""
    t = np.linspace(0.0, 1.0, n_cells - 1)
    return Grid(low + (high - low) * t * (2.0 + t) / 3.0, "midpoint")


CELLS: dict[str, Cells] = {
    "step-upper": lambda low, high, n: Indicator(Grid.uniform(low, high, n, "upper")),
    "step-midpoint": lambda low, high, n: Indicator(Grid.uniform(low, high, n, "midpoint")),
    "step-average": lambda low, high, n: Indicator(Grid.uniform(low, high, n, "average")),
    "step-uneven": lambda low, high, n: Indicator(uneven(low, high, n)),
    "hat": lambda low, high, n: Hat(Grid.uniform(low, high, n, "midpoint")),
    "hat-uneven": lambda low, high, n: Hat(uneven(low, high, n)),
}


@dataclass(frozen=True)
class Pair:
    """A likelihood, a link onto its levels, and targets."""

    likelihood: Likelihood
    link: Link
    targets: np.ndarray

    def __str__(self) -> str:
        fields = ", ".join(f"{k}={v}" for k, v in vars(self.likelihood).items() if v)
        return f"{type(self.likelihood).__name__}({fields}) {name(self.link)}"

    @property
    def exposure(self) -> np.ndarray | None:
        """One for each target, where the likelihood takes them."""
        if not self.likelihood.takes_exposure:
            return None
        return np.linspace(0.3, 2.5, len(self.targets))


def targets_for(likelihood: Likelihood, given: np.ndarray) -> np.ndarray:
    """Six targets; those of real likelihoods without the one at 10⁴, which drowns the digits."""
    return np.resize(given[np.abs(given) < 5e3], 6).astype(np.float64)


PAIRS = [
    Pair(likelihood, link, targets_for(likelihood, targets))
    for likelihood, targets in [
        *((case.likelihood, case.targets) for case in CASES),
        (Exponential(), np.array([0.02, 0.7, 3.0])),
    ]
    for link in [*LINKS, *DERIVED]
    if likelihood.support.contains(link.support)
]

MEAN = np.array([-2.0, -0.6, 0.1, 0.9, 1.8, 0.5])
VAR = np.array([0.3, 1.0, 0.04, 0.5, 2e-4, 4.0])

every_cells = pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS.keys())
every_pair = pytest.mark.parametrize("pair", PAIRS, ids=str)


def coarse(cells: Cells) -> CellFamily:
    """A dozen cells on a stretch that some rows leave; log g and log(1 − g) keep 11 digits."""
    return cells(-4.0, 2.5, 12)


def arrays(convert: Callable[[Any], Any], *given: np.ndarray | None) -> list[Any]:
    """The arrays in another library; None stays."""
    return [None if array is None else convert(array) for array in given]
