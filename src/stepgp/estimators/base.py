"""What classifier and regressor share: parameters, the way to a fitted model, latent values."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.estimators.defaults import number_of_threads
from stepgp.estimators.progress import progress_bar
from stepgp.estimators.settings import Settings
from stepgp.estimators.targets import TrainingData
from stepgp.estimators.units import Units
from stepgp.estimators.weights import checked_exposure
from stepgp.fit.canonical import canonical
from stepgp.fit.options import Prior
from stepgp.fit.run import Fit, fit_rows
from stepgp.kernels import Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.fitted import FittedModel
from stepgp.model.inducing import InducingMethod
from stepgp.model.means import MeanFunction
from stepgp.model.predictive import Predictive
from stepgp.rows.memory import MemoryRows


class StepGPEstimator(BaseEstimator, ABC):
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
        tol: float = 5e-4,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
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

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit to inputs (n, D) and targets (n,)."""

    def latent(self, X: Any) -> tuple[Floats, Floats]:
        """Posterior mean and variance of the latent function f at every row.

        `link_` maps values of f to levels (probabilities, rates, means) in the user's units.

        Parameters
        ----------
        X : array-like of shape (n, D)

        Returns
        -------
        mean, var : arrays of shape (n,)
        """
        inputs = self._checked_inputs(X)
        return self.fitted_.latent(inputs, n_jobs=number_of_threads(self.n_jobs, len(inputs)))

    def level_band(self, X: Any, coverage: float = 0.95) -> Floats:
        """Credible band of the level g(f(x)) at every row: probability, rate or mean.

        How well the level itself is known, not where targets will fall (for that, quantiles and
        intervals). It counts the uncertainty of f and, given f, that of a learnt link; the link
        should be monotone.

        Parameters
        ----------
        X : array-like of shape (n, D)
        coverage : float, default 0.95

        Returns
        -------
        band : array of shape (n, 2)
        """
        inputs = self._checked_inputs(X)
        n_jobs = number_of_threads(self.n_jobs, len(inputs))
        return self.fitted_.level_band(inputs, coverage, n_jobs=n_jobs)

    # --- Fitting ---

    def _fit_model(self, data: TrainingData, likelihood: Likelihood) -> None:
        """Canonical rows, standardised, fitted; sets every fitted attribute."""
        rows = canonical(data.X, data.y, data.weight, data.exposure)
        settings = Settings.of(vars(self), likelihood, rows.X.shape)
        units = Units.of(rows, likelihood, standardize=settings.standardize)
        start, link = units.into(likelihood.initial(rows.y, rows.weight), settings.link)
        # Sorted rows are no sample of all: nested subsets are heads of a shuffled table.
        order = np.random.default_rng(settings.seed).permutation(len(rows.y))
        memory = MemoryRows(
            units.inputs.forward(rows.X)[order],
            units.standardised(rows.y)[order],
            None if rows.weight is None else rows.weight[order],
            None if rows.exposure is None else rows.exposure[order],
            n_jobs=settings.n_jobs,
        )
        prior = Prior(settings.kernel, settings.mean_function, start, link)
        with progress_bar(verbose=settings.verbose) as report:
            options = settings.options(units, data.counted().X)
            fit = fit_rows(memory, prior, options, report)
        self._keep(fit, units)

    def _keep(self, fit: Fit, units: Units) -> None:
        likelihood, link = units.back(fit.model.likelihood, fit.model.link)
        self.fitted_ = FittedModel(
            inputs=units.inputs,
            kernel=fit.model.kernel,
            mean_function=fit.model.mean_function,
            inducing=fit.model.inducing,
            q=fit.q,
            likelihood=likelihood,
            link=link,
            cells=fit.cells,
            cells_grow=self.cells is None,
        )
        self.kernel_ = fit.model.kernel
        self.likelihood_ = likelihood
        self.link_ = link
        self.inducing_ = units.inputs.backward(fit.model.inducing)
        self.elbo_ = fit.elbo + units.log_density
        self.n_iter_ = len(fit.history)
        self.history_ = fit.history
        self.diagnostics_ = replace(
            fit.diagnostics,
            constant_log_prob=fit.diagnostics.constant_log_prob + units.log_density,
        )
        if not fit.diagnostics.outcome.is_sound:
            warnings.warn(fit.diagnostics.outcome.message, ConvergenceWarning, stacklevel=4)

    # --- Predicting ---

    def _checked_inputs(self, X: Any) -> Floats:
        check_is_fitted(self)
        # One memory layout: BLAS rounds differently in another.
        return validate_data(self, X, reset=False, dtype=np.float64, order="C")

    def _predictive(self, X: Any, exposure: npt.ArrayLike | None = None) -> Predictive:
        inputs = self._checked_inputs(X)
        rates = checked_exposure(exposure, len(inputs), self.fitted_.likelihood)
        return self.fitted_.predictive(
            inputs, exposure=rates, n_jobs=number_of_threads(self.n_jobs, len(inputs))
        )
