"""What classifier and regressor share: parameters, the way to a fitted model, latent values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.estimators.defaults import (
    checked_kernel,
    inducing_inputs,
    number_of_inducing,
    number_of_threads,
    options_for,
)
from stepgp.estimators.progress import progress_bar
from stepgp.fit.canonical import canonical
from stepgp.fit.run import Fit, Prior, fit_rows
from stepgp.kernels import Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Affine, Identity, Link, resolve
from stepgp.model.fitted import FittedModel, Standardisation
from stepgp.model.inducing import InducingMethod
from stepgp.model.means import MeanFunction, resolve_mean
from stepgp.model.predictive import Predictive
from stepgp.rows.memory import BLOCK, MemoryRows


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Validated rows: inputs, targets, and weights and exposures where there are any."""

    X: Floats
    y: Floats
    weight: Floats | None = None
    exposure: Floats | None = None


class StepGPEstimator(BaseEstimator):
    """Parameters and fitted attributes that every estimator has; see the subclasses."""

    n_features_in_: int

    def __init__(
        self,
        *,
        kernel: Kernel | None = None,
        link: str | Link | Callable[[Any], Any] = "auto",
        mean_function: str | MeanFunction = "constant",
        n_inducing: int | str = "auto",
        inducing: InducingMethod | npt.ArrayLike = "kmeans++",
        n_cells: int | str = "auto",
        cells: CellFamily | None = None,
        standardize: bool = True,
        max_iter: int = 200,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.link = link
        self.mean_function = mean_function
        self.n_inducing = n_inducing
        self.inducing = inducing
        self.n_cells = n_cells
        self.cells = cells
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def latent(self, X: Any) -> tuple[Floats, Floats]:
        """Mean and variance of the latent function f at every row of X, (n,) each."""
        inputs = self._checked_inputs(X)
        return self._fitted().latent(inputs, n_jobs=number_of_threads(self.n_jobs, len(inputs)))

    # --- Fitting ---

    def _resolved_link(self, likelihood: Likelihood) -> Link:
        if isinstance(self.link, str) and self.link == "auto":
            return likelihood.default_link()
        link = resolve(self.link, support=likelihood.support)
        likelihood.check_link(link)
        return link

    def _fit_model(self, data: TrainingData, likelihood: Likelihood, link: Link) -> None:
        """Canonical rows, standardised, fitted; sets every fitted attribute."""
        rows = canonical(data.X, data.y, data.weight, data.exposure)
        n_features = data.X.shape[1]
        inputs, targets = Standardisation.none(n_features), Standardisation.none(1)
        if self.standardize:
            inputs = Standardisation.of(rows.X, rows.weight)
        if likelihood.location_scale and isinstance(link, Identity):
            targets = Standardisation.of(rows.y[:, None], rows.weight)
        y = targets.forward(rows.y[:, None])[:, 0]
        # Sorted rows are no sample of all: nested subsets are heads of a shuffled table.
        order = np.random.default_rng(self.random_state).permutation(len(y))
        memory = MemoryRows(
            inputs.forward(rows.X)[order],
            y[order],
            None if rows.weight is None else rows.weight[order],
            None if rows.exposure is None else rows.exposure[order],
            n_jobs=number_of_threads(self.n_jobs, -(-len(y) // BLOCK)),
        )
        n_inducing = number_of_inducing(self.n_inducing, len(y))
        prior = Prior(
            checked_kernel(self.kernel).for_features(n_features),
            resolve_mean(self.mean_function).for_features(n_features),
            likelihood.initial(y, rows.weight),
            link,
        )
        options = options_for(
            n_inducing=n_inducing,
            inducing=inducing_inputs(self.inducing, inputs, n_features),
            n_cells=self.n_cells,
            cells=self.cells,
            max_iter=self.max_iter,
            tolerance=self.tol,
            seed=self.random_state,
        )
        with progress_bar(verbose=self.verbose) as report:
            fit = fit_rows(memory, prior, options, report)
        self._keep(fit, inputs, targets)

    def _keep(self, fit: Fit, inputs: Standardisation, targets: Standardisation) -> None:
        shift, scale = float(targets.shift[0]), float(targets.scale[0])
        likelihood, link = fit.model.likelihood, fit.model.link
        if likelihood.location_scale:
            likelihood, link = likelihood.rescaled(shift, scale), Affine(link, shift, scale)
        self.fitted_ = FittedModel(
            inputs=inputs,
            kernel=fit.model.kernel,
            mean_function=fit.model.mean_function,
            inducing=fit.model.inducing,
            q=fit.q,
            likelihood=likelihood,
            link=link,
            cells=fit.cells,
        )
        self.kernel_ = fit.model.kernel
        self.likelihood_ = likelihood
        self.link_ = link
        self.inducing_ = inputs.backward(fit.model.inducing)
        # The density of standardised targets is `scale` times that of the user's.
        self.elbo_ = fit.elbo - float(np.log(scale))
        self.n_iter_ = len(fit.history)
        self.history_ = fit.history
        self.diagnostics_ = fit.diagnostics
        if not fit.diagnostics.outcome.is_sound:
            warnings.warn(fit.diagnostics.outcome.message, ConvergenceWarning, stacklevel=4)

    # --- Predicting ---

    def _fitted(self) -> FittedModel:
        check_is_fitted(self)
        return self.fitted_

    def _checked_inputs(self, X: Any) -> Floats:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=np.float64)

    def _predictive(self, X: Any, exposure: Floats | None = None) -> Predictive:
        inputs = self._checked_inputs(X)
        return self.fitted_.predictive(
            inputs, exposure=exposure, n_jobs=number_of_threads(self.n_jobs, len(inputs))
        )
