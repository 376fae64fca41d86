"""The parameters of an estimator, checked and resolved for rows of a given size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.estimators.checks import (
    checked_boolean,
    checked_integer,
    checked_positive,
    checked_verbosity,
)
from stepgp.estimators.defaults import (
    checked_cells,
    checked_kernel,
    checked_link,
    checked_mean,
    inducing_inputs,
    number_of_inducing,
    number_of_threads,
    seed_of,
)
from stepgp.estimators.units import Units
from stepgp.fit.options import Options
from stepgp.kernels import Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.inducing import InducingMethod, first_rows
from stepgp.model.means import MeanFunction
from stepgp.rows.memory import BLOCK


@dataclass(frozen=True, eq=False)
class Settings:
    """What a fit needs to know besides the rows."""

    kernel: Kernel
    link: Link
    mean_function: MeanFunction
    cells: CellFamily | None
    n_cells: int | None
    standardize: bool
    max_iter: int
    tolerance: float
    n_jobs: int
    verbose: int
    seed: int
    n_inducing: int
    inducing: InducingMethod | Floats
    """A method's name, or inducing inputs in the units of X."""

    @classmethod
    def of(
        cls, parameters: dict[str, Any], likelihood: Likelihood, shape: tuple[int, int]
    ) -> Settings:
        """From the attributes that an estimator's `__init__` sets, for distinct rows (n, D)."""
        n_rows, n_features = shape
        cells, n_cells = checked_cells(parameters["cells"], parameters["n_cells"])
        return cls(
            kernel=checked_kernel(parameters["kernel"]).for_features(n_features),
            link=checked_link(parameters["link"], likelihood),
            mean_function=checked_mean(parameters["mean_function"]).for_features(n_features),
            cells=cells,
            n_cells=n_cells,
            standardize=checked_boolean("standardize", parameters["standardize"]),
            max_iter=checked_integer("max_iter", parameters["max_iter"], at_least=1),
            tolerance=checked_positive("tol", parameters["tol"]),
            n_jobs=number_of_threads(parameters["n_jobs"], -(-n_rows // BLOCK)),
            verbose=checked_verbosity(parameters["verbose"]),
            seed=seed_of(parameters["random_state"]),
            n_inducing=number_of_inducing(parameters["n_inducing"], n_rows),
            inducing=inducing_inputs(parameters["inducing"], parameters["n_inducing"], n_features),
        )

    def options(self, units: Units, X: Floats) -> Options:
        """The options of a fit in those units to rows whose inputs come in that order."""
        inducing = self.inducing
        if isinstance(inducing, str) and inducing == "first":
            # Of the rows as the user ordered them, not as a fit does.
            inducing = first_rows(X, self.n_inducing)
        if not isinstance(inducing, str):
            inducing = units.inputs.forward(inducing)
        return Options(
            n_inducing=self.n_inducing,
            inducing=inducing,
            cells=self.cells,
            n_cells=self.n_cells,
            max_iter=self.max_iter,
            tolerance=self.tolerance,
            seed=self.seed,
        )
