"""Binary classification with scikit-learn's contract."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from stepgp._array.namespace import Floats
from stepgp.estimators.base import StepGPEstimator
from stepgp.estimators.targets import TrainingData, two_classes
from stepgp.estimators.weights import checked_weights
from stepgp.likelihoods import Bernoulli


class StepGPClassifier(ClassifierMixin, StepGPEstimator):
    """Gaussian process classification of two classes.

    P(y = second class | x) = Σ_k w_k(x) g_k: the link g seen through cells, w_k the Gaussian mass
    of cell k under the posterior of the latent function at x.

    Parameters
    ----------
    kernel : Kernel or None, default None
        Prior covariance of the latent function on standardised inputs, from `stepgp.kernels`;
        None is `RBF()`, with one lengthscale per feature, shrunk towards a common one.
    link : str, Link or callable, default "auto"
        From latent values to the probability of the second class: "sigmoid" (which "auto" is),
        "probit", "cloglog", a `Link` of `stepgp.links`, or a function of an array.
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
        `stepgp.cells`; None adapts hats to the data.
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
    classes_ : array of shape (2,)
        The labels in sorted order.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where X has names that are all strings.
    elbo_ : float
        Evidence lower bound in nats per unit of weight.
    kernel_ : Kernel
        The kernel with fitted parameters, on standardised inputs.
    link_ : Link
        The link from latent values to probabilities.
    likelihood_ : Likelihood
        `Bernoulli()`.
    inducing_ : array of shape (M, n_features_in_)
        Optimised inducing inputs in the units of X.
    fitted_ : FittedModel
        All of the above with the posterior; what predictions come from.
    n_iter_ : int
        Accepted iterations of the optimiser.
    history_ : tuple of Progress
        What each of them reached, with the evaluations, passes over rows and seconds of the whole
        fit up to there.
    diagnostics_ : Diagnostics
        How the fit ended, its jitter and cells, and what a finer grid would change.

    See Also
    --------
    StepGPRegressor : Real targets and counts.
    sklearn.multiclass.OneVsRestClassifier : More than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stepgp import StepGPClassifier
    >>> iris = load_iris()
    >>> X, y = iris.data[50:], iris.target_names[iris.target[50:]]
    >>> model = StepGPClassifier().fit(X, y)
    >>> model.predict(X[:2])
    array(['versicolor', 'versicolor'], dtype='<U10')
    >>> model.predict_proba(X).shape
    (100, 2)
    """

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit to labels of two classes.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,)
            Labels of any sortable type.
        sample_weight : array-like of shape (n,) or None
            How many rows each row counts for: weight 2 is the row twice, weight 0 leaves it out.
            So the scale of the weights matters: doubling them all is twice as much data.

        Returns
        -------
        self
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        weight = checked_weights(sample_weight, len(y))
        classes, coded = two_classes(y, weight)
        self.classes_ = classes
        self._fit_model(TrainingData(X, coded, weight), Bernoulli())
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each class, (n, 2), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithm of the probability of each class, (n, 2), finite however small that is."""
        predictive = self._predictive(X)
        log = np.stack([predictive.log_prob(0.0), predictive.log_prob(1.0)], axis=1)
        # Rounding may take a sum of masses past one; metrics refuse such a probability.
        return np.minimum(log, 0.0)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The more probable class of every row, (n,)."""
        choice = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[choice]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        assert tags.classifier_tags is not None  # ClassifierMixin has set them
        tags.classifier_tags.multi_class = False
        return tags
