"""Binary classification with scikit-learn's contract."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from stepgp._array.namespace import Floats
from stepgp.estimators.base import StepGPEstimator, TrainingData
from stepgp.estimators.weights import checked_weights
from stepgp.likelihoods import Bernoulli


class StepGPClassifier(ClassifierMixin, StepGPEstimator):
    """Gaussian process classification of two classes, with honest probabilities.

    P(y = second class | x) = Σ_k w_k(x) g_k: the link g seen through cells, w_k the Gaussian mass
    of cell k under the posterior of the latent function at x.

    Parameters
    ----------
    kernel : Kernel or None
        Prior covariance on standardised inputs; None is `RBF()` with one lengthscale per feature,
        shrunk towards a common one.
    link : str, Link or callable, default "auto"
        "sigmoid" (auto), "probit", "cloglog", a `Link`, or a function from latent values to
        probabilities.
    mean_function : {"zero", "constant", "linear"} or MeanFunction
        Prior mean of the latent function.
    n_inducing : int or "auto"
        Inducing inputs; "auto" is 100, or 200 from 20,000 rows on, at most one a row.
    inducing : {"kmeans++", "greedy", "first"} or array (M, D)
        Where they start; they are then optimised with the hyperparameters.
    n_cells : int or "auto"
        Number of hat cells; "auto" refines until the ELBO settles.
    cells : CellFamily or None
        Fixed cells, as `Indicator(Grid.uniform(-5, 5, 100))`; None adapts hats to the data.
    standardize : bool
        Whether inputs are brought to mean 0 and standard deviation 1 (weighted) first.
    max_iter : int
        Iterations of the optimiser, for each of its runs.
    tol : float
        Stop when an iteration gains less than this many nats a row, or 0.01 nats in all.
    n_jobs : int or None
        Threads over blocks of 4,096 rows; None takes every core.
    verbose : int
        A positive number shows a progress bar.
    random_state : int
        Seeds the choice of inducing inputs; the same number gives the same fit.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    elbo_ : float
        Evidence lower bound per unit of weight, in nats.
    kernel_, link_, likelihood_ : fitted objects
    inducing_ : array (M, D), in the units of X
    n_iter_, history_ : accepted iterations and what each reached
    diagnostics_ : Diagnostics
        Outcome, jitter, cells, what a finer grid would change.
    """

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit to inputs (n, D) and labels of two classes (n,)."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        weight = checked_weights(sample_weight, len(y))
        classes, coded = np.unique(y, return_inverse=True)
        present = np.unique(coded if weight is None else coded[weight > 0])
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"got {len(classes)} classes. Fit one against the rest with "
                "sklearn.multiclass.OneVsRestClassifier."
            )
        if len(present) < 2:
            raise ValueError(
                f"StepGPClassifier needs rows of 2 classes, got 1 class: {classes[present[0]]!r}."
            )
        self.classes_ = classes
        likelihood = Bernoulli()
        self._fit_model(
            TrainingData(X, coded.astype(np.float64), weight),
            likelihood,
            self._resolved_link(likelihood),
        )
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (n, 2), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of the probability of each class, finite however small that is."""
        predictive = self._predictive(X)
        return np.stack([predictive.log_prob(0.0), predictive.log_prob(1.0)], axis=1)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The more probable class of every row, (n,)."""
        choice = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[choice]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        assert tags.classifier_tags is not None  # ClassifierMixin has set them
        tags.classifier_tags.multi_class = False
        return tags
