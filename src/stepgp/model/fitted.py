"""A fitted model that predicts, in the units of the user's inputs and targets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from stepgp._array.blockwise import blockwise
from stepgp._array.namespace import Floats
from stepgp.cells.base import CellFamily
from stepgp.kernels import Kernel
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.means import MeanFunction
from stepgp.model.posterior import Posterior, marginals
from stepgp.model.predictive import GaussianPredictive, MixturePredictive, Predictive

_BLOCK = 4_096


@dataclass(frozen=True, eq=False)
class Standardisation:
    """x ↦ (x − shift)/scale, column by column."""

    shift: Floats
    scale: Floats

    @classmethod
    def of(cls, columns: Floats, weight: Floats | None) -> Standardisation:
        """Weighted mean and standard deviation; a constant column is only shifted."""
        # In units of the largest value, so that no square overflows or vanishes.
        unit = np.max(np.abs(columns), axis=0, initial=0.0)
        unit = np.where(unit > 0.0, unit, 1.0)
        relative = columns / unit
        centre = np.average(relative, axis=0, weights=weight)
        spread = np.sqrt(np.average((relative - centre) ** 2, axis=0, weights=weight))
        return cls.by(unit * centre, unit * spread)

    @classmethod
    def by(cls, shift: Floats, scale: Floats) -> Standardisation:
        """A column whose scale is nothing is only shifted."""
        # Rounding leaves a constant column a deviation of a few ulp of its value.
        constant = scale <= 1e-14 * np.maximum(np.abs(shift), 1e-300)
        return cls(shift, np.where(constant, 1.0, scale))

    @classmethod
    def none(cls, n_columns: int) -> Standardisation:
        return cls(np.zeros(n_columns), np.ones(n_columns))

    def forward(self, columns: Floats) -> Floats:
        return (columns - self.shift) / self.scale

    def backward(self, columns: Floats) -> Floats:
        return self.shift + self.scale * columns


def predicts_gaussian(likelihood: Likelihood, link: Link) -> bool:
    """Whether p(y) is N(y | E g(f), Var g(f) + σ²), without cells."""
    return likelihood.gaussian_noise is not None and link.image(np.zeros(1), np.ones(1)) is not None


@dataclass(frozen=True, eq=False)
class FittedModel:
    """q(f) on standardised inputs, with likelihood, link and cells in the user's units."""

    inputs: Standardisation
    kernel: Kernel
    mean_function: MeanFunction
    inducing: Floats
    q: Posterior
    likelihood: Likelihood
    link: Link
    cells: CellFamily
    cells_grow: bool = True
    """Whether rows that look beyond these cells see more of them, or their own."""

    def latent(self, X: Floats, *, n_jobs: int = 1) -> tuple[Floats, Floats]:
        """Mean and variance of f at every row; ValueError where they are no finite numbers."""
        blocks = [X[start : start + _BLOCK] for start in range(0, len(X), _BLOCK)]
        with blockwise():
            if n_jobs == 1 or len(blocks) == 1:
                parts = [self._block(block) for block in blocks]
            else:
                with ThreadPoolExecutor(n_jobs) as pool:
                    parts = list(pool.map(self._block, blocks))
        mean, var = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        _check_finite(mean, var)
        return mean, var

    def predictive(
        self, X: Floats, *, exposure: Floats | None = None, n_jobs: int = 1
    ) -> Predictive:
        """p(y) at every row."""
        mean, var = self.latent(X, n_jobs=n_jobs)
        with np.errstate(over="ignore"):  # told by `_check_finite`
            image, noise = self.link.image(mean, var), self.likelihood.gaussian_noise
        if image is not None and noise is not None:
            _check_finite(*image)
            return GaussianPredictive(image[0], np.sqrt(image[1] + noise))
        return MixturePredictive(
            self.likelihood, self.link, self.cells, mean, var, exposure, self.cells_grow
        )

    def level_band(self, X: Floats, coverage: float, *, n_jobs: int = 1) -> Floats:
        """Pointwise band of the level g(f(x)) at every row, (n, 2): of f and of a learnt link."""
        mean, var = self.latent(X, n_jobs=n_jobs)
        return self.link.band(mean, coverage, var=var)

    def _block(self, X: Floats) -> tuple[Floats, Floats]:
        with np.errstate(over="ignore", invalid="ignore"):  # told by `_check_finite`
            inputs = self.inputs.forward(X)
            return marginals(self.q, self.kernel, self.mean_function, self.inducing, inputs)


def _check_finite(mean: Floats, var: Floats) -> None:
    wrong = ~(np.isfinite(mean) & np.isfinite(var))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"Row {row} of X lies so far out that its latent value has mean {mean[row]:g} and "
            f"variance {var[row]:g}; both must be finite ({np.sum(wrong)} of {len(mean)} rows are "
            "not). Correct, clip or drop these rows."
        )
