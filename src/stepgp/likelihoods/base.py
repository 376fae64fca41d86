"""The contract of a likelihood: log p(y | level) and moments, knowing no cells and no GP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self, final

import numpy as np
import numpy.typing as npt

from stepgp._array import Array, Floats
from stepgp._array.differences import richardson_gradient
from stepgp.links import Feature, Link, Support, default_for


class Likelihood(ABC):
    """The distribution of a target given a level g = link(f).

    Compulsory: `log_prob`, `mean`, `var`; with these a model fits and predicts. `cdf` adds
    quantiles, `sample` adds draws, the split into features makes it faster and exact in the
    tails. Targets and levels broadcast against each other: y (n, 1) and level (K,) or (n, K).
    """

    discrete: bool = False
    """Whether targets are whole numbers."""
    support: Support = Support.REAL
    """Where levels live."""
    takes_exposure: bool = False
    """Whether an exposure e multiplies the level: a rate g becomes e·g."""
    location_scale: bool = False
    """Whether p(y | g) = p₀((y − g)/s)/s, so that targets may be standardised."""
    features: tuple[Feature, ...] = ()
    """The features of log p(y | g) = base(y) + Σ_r T_r(y) · feature_r(g); empty: no split."""
    targets: str = "finite numbers"
    """What `valid_targets` accepts, for messages."""

    @abstractmethod
    def log_prob(self, y: Array, level: Array) -> Array:
        """log p(y | level)."""

    @abstractmethod
    def mean(self, level: Array) -> Array:
        """E(y | level)."""

    @abstractmethod
    def var(self, level: Array) -> Array:
        """Var(y | level)."""

    def default_link(self) -> Link:
        """The usual link onto the support of the level."""
        return default_for(self.support)

    @final
    def check_link(self, link: Link) -> None:
        """Raise ValueError where the link gives levels this likelihood cannot take."""
        if not self.support.contains(link.support):
            raise ValueError(
                f"The link {link!r} gives levels in {link.support}, but {type(self).__name__} "
                f"takes levels in {self.support}. Use {self.default_link()!r}, another link with "
                f"that support, or CustomLink(function, Support.{self.support.name})."
            )

    # --- Targets ---

    def valid_targets(self, y: npt.NDArray[np.generic]) -> npt.NDArray[np.bool_]:
        """Which targets have a probability."""
        return np.isfinite(y)

    @final
    def check_targets(
        self, y: npt.NDArray[np.generic], missing: npt.NDArray[np.bool_] | None = None
    ) -> None:
        """Raise ValueError naming the first row whose target has no probability.

        Rows that are `missing` need none.
        """
        wrong = ~self.valid_targets(y)
        invalid = np.flatnonzero(wrong if missing is None else wrong & ~missing)
        if invalid.size:
            row = int(invalid[0])
            raise ValueError(
                f"Target {y[row]} in row {row} has no probability under {type(self).__name__}, "
                f"which expects {self.targets} ({invalid.size} of {y.shape[0]} rows are not). "
                "Correct or drop these rows, or choose another likelihood."
            )

    # --- Exponential-family split ---

    def statistics(self, y: Array, exposure: Array | None = None) -> Array:
        """T(y), (n, R): one column per feature."""
        raise self._missing("statistics(y, exposure)", "its features")

    def base(self, y: Array, exposure: Array | None = None) -> Array:
        """The part of log p(y | g) without g, (n,)."""
        raise self._missing("base(y, exposure)", "its features")

    # --- Parameters: unconstrained, NumPy ---

    @property
    def params(self) -> Floats:
        """What is learnt, unconstrained (logarithms of positive things), (P,)."""
        return np.zeros(0)

    def with_params(self, params: Floats) -> Self:
        """The same likelihood with other parameters."""
        if params.size:
            raise ValueError(f"{type(self).__name__} has no parameters, got {params.size}.")
        return self

    @property
    def param_names(self) -> tuple[str, ...]:
        return tuple(f"param_{index}" for index in range(self.params.size))

    @property
    def bounds(self) -> Floats:
        """The range of each parameter for the optimiser, (P, 2)."""
        return np.tile([-np.inf, np.inf], (self.params.size, 1))

    def log_prior(self) -> float:
        return 0.0

    def log_prior_gradient(self) -> Floats:
        return np.zeros(self.params.size)

    def log_prob_gradient(self, y: Array, level: Array) -> Array:
        """∂ log p(y | level)/∂ params, (P, …)."""
        return richardson_gradient(
            lambda params: self.with_params(params).log_prob(y, level), self.params
        )

    def level_slope(self, y: Array, level: Array) -> Array:
        """∂ log p(y | level)/∂ level, of the shape of both together: what learnt links ask for.

        By differences in the unit of the support: the level, its logarithm or its log-odds.
        """
        return self.support.slope(lambda moved: self.log_prob(y, moved), level)

    def statistics_gradient(self, y: Array, exposure: Array | None = None) -> tuple[Array, Array]:
        """(∂T/∂ params, (P, n, R); ∂base/∂ params, (P, n))."""
        return (
            richardson_gradient(
                lambda params: self.with_params(params).statistics(y, exposure), self.params
            ),
            richardson_gradient(
                lambda params: self.with_params(params).base(y, exposure), self.params
            ),
        )

    def initial(self, y: Floats, weight: Floats | None = None) -> Self:
        """The same likelihood with a rough start, from data, of what was left open."""
        return self

    def location_and_scale(self, y: Floats, weight: Floats | None) -> tuple[float, float] | None:
        """What targets of a location–scale family are standardised by; None: mean and deviation."""
        return None

    def rescaled(self, shift: float, scale: float) -> Self:
        """The likelihood of shift + scale·y at the level shift + scale·g."""
        raise self._missing("rescaled(shift, scale)", "standardised targets")

    @property
    def gaussian_noise(self) -> float | None:
        """σ² where p(y | g) = N(y | g, σ²); else None."""
        return None

    # --- Output: NumPy and SciPy ---

    def cdf(self, y: Floats, level: Floats) -> Floats:
        """P(Y ≤ y | level)."""
        raise self._missing("cdf(y, level)", "cdf, quantiles and intervals")

    def sample(self, level: Floats, generator: np.random.Generator) -> Floats:
        """One draw for each level."""
        raise self._missing("sample(level, generator)", "samples")

    @final
    def _missing(self, method: str, purpose: str) -> NotImplementedError:
        return NotImplementedError(
            f"{type(self).__name__} does not define {method}, which {purpose} need: define it "
            "(stepgp.likelihoods.Likelihood states what it returns)."
        )
