"""Regression for any likelihood of the library, with scikit-learn's contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import validate_data

from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.estimators.base import StepGPEstimator
from stepgp.estimators.checks import checked_boolean, checked_integer
from stepgp.estimators.defaults import seed_of
from stepgp.estimators.targets import (
    TrainingData,
    check_support,
    numeric_targets,
    without_missing,
)
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

    Targets of location–scale likelihoods (Gaussian, Student-t) are standardised for the fit;
    what goes in and what comes out is in the user's units. Rows whose target is NaN are left out
    of the fit, with a warning.

    Parameters
    ----------
    likelihood : str or Likelihood, default "gaussian"
        Distribution of a target given its level: "gaussian", "student_t", "poisson", "bernoulli",
        or an object, which may fix parameters, as `Gaussian(scale=0.1)` of `stepgp.likelihoods`;
        a subclass of `Likelihood` of your own needs `log_prob`, `mean` and `var` only.
    kernel : Kernel or None, default None
        Prior covariance of the latent function on standardised inputs, from `stepgp.kernels`;
        None is `RBF()`, with one lengthscale per feature, shrunk towards a common one.
    link : str, Link or callable, default "auto"
        From latent values to levels: "identity", "exp", "softplus", "sigmoid", "probit",
        "cloglog", a `Link` of `stepgp.links`, or a function of an array; "auto" is the usual one
        for the likelihood.
    mean_function : {"zero", "constant", "linear"} or MeanFunction, default "constant"
        Prior mean of the latent function.
    n_inducing : int or "auto", default "auto"
        Number of inducing inputs; "auto" is 100, or 200 from 20,000 rows on. There is never more
        than one for each distinct row.
    inducing : {"kmeans++", "greedy", "first"} or array-like of shape (M, D), default "kmeans++"
        Where they start: centres of clusters, the rows of largest conditional variance, the first
        rows, or given inputs. They are then optimised with the hyperparameters.
    n_cells : int or "auto", default "auto"
        Number of hat cells, 3 to 10,000; "auto" refines them until the ELBO settles.
    cells : CellFamily or None, default None
        Fixed cells for the latent function, as `Indicator(Grid.uniform(-5, 5, 100))` of
        `stepgp.cells`; None adapts hats to the data. With identity link the latent function is
        that of standardised targets.
    standardize : bool, default True
        Whether to bring every feature to mean 0 and standard deviation 1 (both weighted) first.
    max_iter : int, default 200
        Iterations of the optimiser, for each of its runs.
    tol : float, default 5e-4
        Nats a row that do not matter: an iteration must gain a tenth of it (what is left when none
        does may be several times as much), finer cells may change no more, and of large data the
        hyperparameters use as much as could still improve a prediction by it.
    n_jobs : int or None, default None
        Threads over blocks of 2,048 rows; -1 is every core, and so is None unless OMP_NUM_THREADS
        says less. Results do not depend on it.
    verbose : int, default 0
        A positive number shows a progress bar on stderr.
    random_state : int, RandomState, Generator or None, default 0
        Seeds the choice of inducing inputs: the same integer gives the same fit.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where X has names that are all strings.
    elbo_ : float
        Evidence lower bound in nats per unit of weight, for targets in the user's units.
    kernel_ : Kernel
        The kernel with fitted parameters, on standardised inputs.
    link_ : Link
        From latent values to levels in the user's units.
    likelihood_ : Likelihood
        The likelihood with fitted parameters, in the user's units.
    inducing_ : array of shape (M, n_features_in_)
        Optimised inducing inputs in the units of X.
    fitted_ : FittedModel
        All of the above with the posterior; what predictions come from.
    n_iter_ : int
        Accepted iterations of the optimiser.
    history_ : tuple of Progress
        What each of them reached, for targets as standardised for the fit, with the evaluations,
        passes over rows and seconds of the whole fit up to there.
    diagnostics_ : Diagnostics
        How the fit ended, its jitter and cells, and what a finer grid would change.

    See Also
    --------
    StepGPClassifier : Labels of two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from stepgp import StepGPRegressor
    >>> X = np.linspace(0.0, 6.0, 100)[:, None]
    >>> counts = np.random.default_rng(0).poisson(np.exp(1.0 + np.sin(X[:, 0])))
    >>> model = StepGPRegressor(likelihood="poisson").fit(X, counts)
    >>> model.predict(X).shape
    (100,)
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
        tol: float = 5e-4,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
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
        """Fit to numbers that the likelihood gives a probability.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,)
            Targets; rows where it is NaN are left out, with a warning.
        sample_weight : array-like of shape (n,) or None
            How many rows each row counts for: weight 2 is the row twice, weight 0 leaves it out.
            So the scale of the weights matters: doubling them all is twice as much data.
        exposure : array-like of shape (n,), number or None
            What multiplies the rate of each row (time at risk, area, population), for counts.

        Returns
        -------
        self
        """
        likelihood = resolve(self.likelihood)
        X = validate_data(self, X, dtype=np.float64)
        data = TrainingData(
            X,
            numeric_targets(y, len(X)),
            checked_weights(sample_weight, len(X)),
            checked_exposure(exposure, len(X), likelihood),
        )
        known = without_missing(data, stacklevel=2)
        check_support(likelihood, data.y)
        self._fit_model(known, likelihood)
        return self

    def predict(
        self, X: Any, return_std: bool = False, exposure: npt.ArrayLike | None = None
    ) -> Any:
        """Predictive mean of y (n,), or with `return_std` mean and standard deviation of y.

        `exposure`, (n,) or a number, multiplies rates; None predicts per unit of exposure.
        """
        with_std = checked_boolean("return_std", return_std)
        dist = self.predict_dist(X, exposure=exposure)
        return (dist.mean(), dist.std()) if with_std else dist.mean()

    def predict_dist(self, X: Any, exposure: npt.ArrayLike | None = None) -> Predictive:
        """The predictive distribution of y, with mean, std, log_prob, cdf, quantile and more."""
        return self._predictive(X, exposure)

    def predict_quantiles(
        self,
        X: Any,
        quantiles: npt.ArrayLike = (0.05, 0.5, 0.95),
        exposure: npt.ArrayLike | None = None,
    ) -> Floats:
        """Predictive quantiles of y, (n, m) for m levels in (0, 1), (n,) for a single number."""
        return self.predict_dist(X, exposure=exposure).quantile(quantiles)

    def predict_interval(
        self, X: Any, coverage: float = 0.9, exposure: npt.ArrayLike | None = None
    ) -> Floats:
        """Lower and upper end of the central predictive interval of y, (n, 2)."""
        return self.predict_dist(X, exposure=exposure).interval(coverage)

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
        exposure: npt.ArrayLike | None = None,
    ) -> Floats:
        """Draws of y, independent across rows, (n, n_samples)."""
        number = checked_integer("n_samples", n_samples, at_least=1)
        generator = np.random.default_rng(seed_of(random_state))
        return self.predict_dist(X, exposure=exposure).sample(number, generator)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        exposure: npt.ArrayLike | None = None,
    ) -> float:
        """R² of the predicted means, at the given exposures."""
        # As in scikit-learn, whose metrics take a while to import.
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X, exposure=exposure), sample_weight=sample_weight))
