"""Regression for any likelihood of the library, with scikit-learn's contract."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d, validate_data

from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.estimators.base import StepGPEstimator, TrainingData
from stepgp.estimators.weights import checked_exposure, checked_weights
from stepgp.kernels import Kernel
from stepgp.likelihoods import Likelihood, resolve
from stepgp.links import Link
from stepgp.model.inducing import InducingMethod
from stepgp.model.means import MeanFunction
from stepgp.model.predictive import Predictive


class StepGPRegressor(RegressorMixin, StepGPEstimator):
    """Gaussian process regression with the likelihood that the targets ask for.

    p(y | x) = Σ_k w_k(x) p(y | g_k): a finite mixture over cells, so that mean, density, cdf,
    quantiles and samples are finite sums. A Gaussian likelihood with identity link is exact.

    Parameters
    ----------
    likelihood : {"gaussian", "student_t", "poisson"} or Likelihood
        Distribution of a target given its level.
    link : str, Link or callable, default "auto"
        From latent values to levels: "identity", "exp", "softplus", "sigmoid", "probit",
        "cloglog", a `Link`, or a function; "auto" is the usual one for the likelihood.

    The other parameters and the attributes are those of `StepGPClassifier`. Targets of Gaussian
    and Student-t likelihoods are standardised internally; everything that comes out is in the
    user's units. Rows whose target is NaN are left out, with a warning.
    """

    def __init__(
        self,
        *,
        likelihood: str | Likelihood = "gaussian",
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
        super().__init__(
            kernel=kernel,
            link=link,
            mean_function=mean_function,
            n_inducing=n_inducing,
            inducing=inducing,
            n_cells=n_cells,
            cells=cells,
            standardize=standardize,
            max_iter=max_iter,
            tol=tol,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )
        self.likelihood = likelihood

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        exposure: npt.ArrayLike | None = None,
    ) -> Self:
        """Fit to inputs (n, D) and targets (n,); `exposure` multiplies the rate of counts."""
        likelihood = resolve(self.likelihood)
        X = validate_data(self, X, dtype=np.float64)
        targets = _numeric_targets(y, len(X))
        weight = checked_weights(sample_weight, len(X))
        rates = checked_exposure(
            exposure, len(X), taken=likelihood.takes_exposure, name=type(likelihood).__name__
        )
        data = _without_missing(TrainingData(X, targets, weight, rates))
        likelihood.check_targets(data.y)
        self._fit_model(data, likelihood, self._resolved_link(likelihood))
        return self

    def predict(
        self, X: Any, return_std: bool = False, exposure: npt.ArrayLike | None = None
    ) -> Any:
        """Predictive mean (n,), and standard deviation of y too if asked."""
        dist = self.predict_dist(X, exposure=exposure)
        return (dist.mean(), dist.std()) if return_std else dist.mean()

    def predict_dist(self, X: Any, exposure: npt.ArrayLike | None = None) -> Predictive:
        """The predictive distribution of every row."""
        likelihood = self._fitted().likelihood
        inputs = self._checked_inputs(X)
        rates = checked_exposure(
            exposure, len(inputs), taken=likelihood.takes_exposure, name=type(likelihood).__name__
        )
        return self._predictive(inputs, rates)

    def predict_quantiles(
        self,
        X: Any,
        quantiles: npt.ArrayLike = (0.05, 0.5, 0.95),
        exposure: npt.ArrayLike | None = None,
    ) -> Floats:
        """Predictive quantiles, (n, m)."""
        return self.predict_dist(X, exposure=exposure).quantile(quantiles)

    def predict_interval(
        self, X: Any, coverage: float = 0.9, exposure: npt.ArrayLike | None = None
    ) -> Floats:
        """Lower and upper end of the central predictive interval, (n, 2)."""
        return self.predict_dist(X, exposure=exposure).interval(coverage)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.Generator | None = 0,
        exposure: npt.ArrayLike | None = None,
    ) -> Floats:
        """Draws of y, independent across rows, (n, n_samples)."""
        return self.predict_dist(X, exposure=exposure).sample(n_samples, random_state)


def _numeric_targets(y: Any, n_rows: int) -> Floats:
    """Targets as floats (n,); NaN may stay, infinity may not."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    column = column_or_1d(y, warn=True)
    if column.shape != (n_rows,):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {[n_rows, len(column)]}."
        )
    if np.iscomplexobj(column):
        raise ValueError("Complex data not supported: y must hold real numbers.")
    try:
        targets = column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y must hold numbers, got an array of type {column.dtype}. "
            "For labels use StepGPClassifier."
        ) from error
    if np.isinf(targets).any():
        row = int(np.flatnonzero(np.isinf(targets))[0])
        raise ValueError(f"Input y contains infinity or a value too large, in row {row}.")
    return targets


def _without_missing(data: TrainingData) -> TrainingData:
    """The rows whose target is known."""
    known = ~np.isnan(data.y)
    if known.all():
        return data
    if not known.any():
        raise ValueError("Input y contains NaN in every row: there is nothing to fit.")
    missing = int(np.sum(~known))
    warnings.warn(
        f"{missing} of {len(known)} rows have no target (NaN) and are left out of the fit.",
        UserWarning,
        stacklevel=3,
    )
    return TrainingData(
        data.X[known],
        data.y[known],
        None if data.weight is None else data.weight[known],
        None if data.exposure is None else data.exposure[known],
    )
