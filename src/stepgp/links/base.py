"""The contract of a link: from latent values to levels of a likelihood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from stepgp._array import Array, Floats, namespace, to_numpy
from stepgp._array.differences import richardson_gradient
from stepgp.cells.base import Expectation
from stepgp.links.feature import Feature, Support
from stepgp.links.inverse import monotone_inverse


def deviations(coverage: float) -> float:
    """z with P(|Z| ≤ z) = coverage for a standard normal Z."""
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must lie strictly between 0 and 1, got {coverage!r}.")
    return float(ndtri(0.5 + 0.5 * coverage))


class Link(ABC):
    """A function g of the latent value, elementwise, with values in `support`.

    Compulsory: `__call__` and `support`. Override `log` and `log_complement` where log(g(x))
    would lose digits, `expected` where E g under a Gaussian has a closed form.
    """

    support: Support
    lipschitz: float | None = None
    """The largest |g′|, or None where it is unbounded or unknown (Theorem 1 needs it)."""
    standard: bool = False
    """Whether targets of location–scale families are standardised below it: levels h of
    (y − shift)/scale instead of the user's own."""

    @abstractmethod
    def __call__(self, x: Array) -> Array:
        """g(x)."""

    def log(self, x: Array) -> Array:
        """log g(x)."""
        return namespace(x).log(self(x))

    def log_complement(self, x: Array) -> Array:
        """log(1 − g(x))."""
        return namespace(x).log1p(-self(x))

    def inverse(self, level: npt.ArrayLike) -> Floats | None:
        """x with g(x) = level (NumPy), or None where the link cannot be inverted."""
        return monotone_inverse(lambda x: to_numpy(self(x)), level)

    def expected(self, feature: Feature, mean: Array, var: Array) -> Expectation | None:
        """E feature(g(f)), f ~ N(mean, var), with its derivatives; None without a closed form."""
        return None

    def image(self, mean: Floats, var: Floats) -> tuple[Floats, Floats] | None:
        """Mean and variance of g(f), f ~ N(mean, var), where g(f) is Gaussian; else None."""
        return None

    # --- Parameters of links that are learnt: unconstrained, NumPy

    @property
    def params(self) -> Floats:
        """What is learnt, (P,)."""
        return np.zeros(0)

    def with_params(self, params: Floats) -> Self:
        """The same link with other parameters."""
        if params.size:
            raise ValueError(f"{type(self).__name__} has no parameters, got {params.size}.")
        return self

    @property
    def bounds(self) -> Floats:
        """The range of each parameter for the optimiser, (P, 2)."""
        return np.tile([-np.inf, np.inf], (self.params.size, 1))

    def log_prior(self) -> float:
        return 0.0

    def log_prior_gradient(self) -> Floats:
        return np.zeros(self.params.size)

    def pull(self, feature: Feature, points: Floats, adjoint: Floats) -> Floats:
        """Gradient of Σ_k adjoint_k feature(g(point_k)) in the parameters, (P,)."""
        slopes = richardson_gradient(
            lambda params: self.with_params(params).feature(feature, points), self.params
        )
        return to_numpy(slopes) @ adjoint

    def completed(self, default: Link) -> Link:
        """With the usual link of a likelihood as its reference, where it was given none."""
        return self

    def placed(self, centre: float, reach: float) -> Link:
        """With its parameters at a start for latent values centre ± reach, where it has any."""
        return self

    def conditioned(
        self, points: Floats, features: tuple[Feature, ...], statistics: Floats
    ) -> Link:
        """The same link with parameters in whose unit the rows see every direction alike.

        `statistics`, (R, K), are the derivatives of Σ_i w_ik log p(y_i | g) in the features of the
        level at each point.
        """
        return self

    def informed(
        self, points: Floats, features: tuple[Feature, ...], statistics: Floats, bend: Floats
    ) -> Link:
        """With what the rows say about its parameters, where it has any.

        Σ_i w_ik log p(y_i | g) has the derivatives `statistics`, (R, K), in the features of the
        level at each point, and `bend`, (K,), is its second derivative in the level itself where
        there are no features to say so.
        """
        return self

    def band(self, x: npt.ArrayLike, coverage: float = 0.95, *, var: npt.ArrayLike = 0.0) -> Floats:
        """Pointwise band of g(f), f ~ N(x, var), for a monotone link, (n, 2).

        With var = 0 that of g(x) itself, which has no width where nothing of the link is learnt.
        """
        at, reach = np.asarray(x, dtype=np.float64), deviations(coverage) * np.sqrt(var)
        ends = [to_numpy(self(at + side * reach)) for side in (-1.0, 1.0)]
        return np.sort(np.stack(ends, axis=-1), axis=-1)

    @final
    @np.errstate(over="ignore")  # eˣ and g² may pass the largest float: infinite is what they are
    def feature(self, feature: Feature, x: Array) -> Array:
        """The feature of the level at x, from x itself."""
        if not feature.domain.contains(self.support):
            raise ValueError(
                f"{feature.value} needs levels in {feature.domain}, but the link {self!r} gives "
                f"levels in {self.support}. Choose a link with that support, or name the support "
                f"of your own function: CustomLink(function, Support.{feature.domain.name})."
            )
        match feature:
            case Feature.VALUE:
                return self(x)
            case Feature.SQUARE:
                level = self(x)
                return level * level
            case Feature.LOG:
                return self.log(x)
            case Feature.LOG_COMPLEMENT:
                return self.log_complement(x)
