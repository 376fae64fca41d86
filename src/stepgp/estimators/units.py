"""Standardised inputs and targets for the fit, and the way back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from stepgp._array.namespace import Floats
from stepgp.fit.canonical import CanonicalRows
from stepgp.likelihoods import Likelihood
from stepgp.links import Affine, Link
from stepgp.model.fitted import Standardisation

_LARGEST, _LARGEST_AS_IT_IS = 1e305, 1e50
"""Of inputs, standardised or not: powers of what a kernel sees must be numbers."""
_SMALLEST = 1e-140
"""Of deviations of targets, and the largest is its inverse."""


@dataclass(frozen=True, eq=False)
class Units:
    """Units in which inputs, and targets where the likelihood allows, are of order one.

    With y = shift + scale·t and the likelihood of t at the level h, the identity link is that of
    h itself: the latent function is standardised too. Any other link keeps its meaning, levels
    in the user's units: h = (g(f) − shift)/scale.
    """

    inputs: Standardisation
    targets: Standardisation

    @classmethod
    def of(cls, rows: CanonicalRows, likelihood: Likelihood, *, standardize: bool) -> Units:
        """Weighted means and deviations of the rows; targets of location–scale families only."""
        _check_room(rows.X, _LARGEST if standardize else _LARGEST_AS_IT_IS)
        inputs = Standardisation.none(rows.X.shape[1])
        targets = Standardisation.none(1)
        if standardize:
            inputs = Standardisation.of(rows.X, rows.weight)
        if likelihood.location_scale:
            own = likelihood.location_and_scale(rows.y, rows.weight)
            if own is None:
                targets = Standardisation.of(rows.y[:, None], rows.weight)
            else:
                targets = Standardisation.by(np.array(own[:1]), np.array(own[1:]))
            _check_spread(float(targets.scale[0]))
        return cls(inputs, targets)

    @property
    def shift(self) -> float:
        return float(self.targets.shift[0])

    @property
    def scale(self) -> float:
        return float(self.targets.scale[0])

    @property
    def log_density(self) -> float:
        """log p(y) − log p(t): what a log-density of standardised targets lacks."""
        return -float(np.log(self.scale))

    def standardised(self, y: Floats) -> Floats:
        """t = (y − shift)/scale."""
        return self.targets.forward(y[:, None])[:, 0]

    def into(self, likelihood: Likelihood, link: Link) -> tuple[Likelihood, Link]:
        """Likelihood and link of standardised targets; parameters in the user's units go along."""
        if not likelihood.location_scale:
            return likelihood, link
        shift, scale = -self.shift / self.scale, 1.0 / self.scale
        moved = link if link.standard else Affine(link, shift, scale)
        return likelihood.rescaled(shift, scale), moved

    def back(self, likelihood: Likelihood, link: Link) -> tuple[Likelihood, Link]:
        """Fitted likelihood and link in the user's units."""
        if not likelihood.location_scale:
            return likelihood, link
        moved = Affine(link, self.shift, self.scale) if link.standard else cast(Affine, link).inner
        return likelihood.rescaled(self.shift, self.scale), moved


def _check_room(X: Floats, largest: float) -> None:
    """Raise where differences of inputs, or powers of what is not standardised, may overflow."""
    beyond = np.abs(X) > largest
    if beyond.any():
        row, column = np.argwhere(beyond)[0]
        raise ValueError(
            f"Input X contains {X[row, column]:g} in column {column}; expected numbers between "
            f"-{largest:g} and {largest:g}, so that what is computed from them are numbers too. "
            "Divide that column by its largest value."
        )


def _check_spread(scale: float) -> None:
    """Raise where a variance in the user's units would overflow or vanish."""
    if not _SMALLEST <= scale <= 1.0 / _SMALLEST:
        raise ValueError(
            f"y has a standard deviation of {scale:.3g}; expected one between {_SMALLEST:g} and "
            f"{1.0 / _SMALLEST:g}, for its square must be a number too. Fit y in other units, "
            f"such as y / {scale:.0e}."
        )
