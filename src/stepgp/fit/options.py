"""What a user chooses of a fit: the model, and how to go about it."""

from __future__ import annotations

from dataclasses import dataclass

from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.kernels import Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.inducing import InducingMethod
from stepgp.model.means import MeanFunction


@dataclass(frozen=True)
class Prior:
    """The prior of f and the likelihood of y given f."""

    kernel: Kernel
    mean_function: MeanFunction
    likelihood: Likelihood
    link: Link


@dataclass(frozen=True)
class Options:
    """How to fit, where the model leaves a choice."""

    n_inducing: int
    inducing: InducingMethod | Floats = "kmeans++"
    cells: CellFamily | None = None
    """Fixed cells; None adapts hats to the data."""
    n_cells: int | None = None
    """A fixed number of hats; None refines until the ELBO settles."""
    max_iter: int = 200
    tolerance: float = 1e-5
    """Stop when an iteration gains less than this many nats a row …"""
    fewest: int = 5_000
    """… or than it would be on this many rows: 0.05 nats in all, which nobody could tell apart."""
    jitter: float = 1e-8
    seed: int = 0

    def tolerance_for(self, weight: float) -> float:
        """Nats a row that an iteration on rows of that total weight must gain."""
        return self.tolerance * max(1.0, self.fewest / weight)
