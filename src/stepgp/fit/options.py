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

_FEW = 500


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
    tolerance: float = 1e-4
    """Nats a row that the fit may leave on the table (see `gain_for` and `stages`)."""
    jitter: float = 1e-8
    largest_jitter: float = 1e-4
    seed: int = 0

    def gain_for(self, weight: float) -> float:
        """Nats a row that an iteration on rows of that total weight must gain to go on.

        A tenth of the tolerance, for gains come one after another; on fewer than 500 rows as
        much as would be the same number of nats in all (0.005 by default): nobody could tell.
        """
        return 0.1 * self.tolerance * max(1.0, _FEW / weight)
