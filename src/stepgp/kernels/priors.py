"""Log-normal priors of positive parameters, as normal densities of their logarithms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class LogNormal:
    """log x ~ N(mean, sd²); the density is that of log x, the parameter the optimiser moves."""

    mean: float = 0.0
    sd: float = 1.5

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and math.isfinite(self.sd) and self.sd > 0):
            raise ValueError(
                f"LogNormal got mean={self.mean!r}, sd={self.sd!r}; expected a finite mean and a "
                "finite positive sd, both of log x. Use prior=None for no prior."
            )


def lengthscale_prior(n_features: int) -> LogNormal:
    """log ℓ ~ N(½ log D + .7, 1.5²): distances between standardised rows grow like √D."""
    return LogNormal(0.5 * math.log(n_features) + 0.7, 1.5)


def lengthscale_start(n_features: int) -> float:
    """log ℓ = ½ log D + .5, a little below the prior's centre: short enough to see structure."""
    return math.exp(0.5 * math.log(n_features) + 0.5)
