"""The contract of a link: from latent values to levels of a likelihood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import final

import numpy as np
import numpy.typing as npt

from stepgp._array import Array, Floats, namespace, to_numpy
from stepgp.cells.base import Expectation
from stepgp.links.feature import Feature, Support
from stepgp.links.inverse import monotone_inverse


class Link(ABC):
    """A function g of the latent value, elementwise, with values in `support`.

    Compulsory: `__call__` and `support`. Override `log` and `log_complement` where log(g(x))
    would lose digits, `expected` where E g under a Gaussian has a closed form.
    """

    support: Support
    lipschitz: float | None = None
    """The largest |g′|, or None where it is unbounded or unknown (Theorem 1 needs it)."""

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
