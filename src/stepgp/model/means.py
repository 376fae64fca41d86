"""The prior mean of the latent function: nothing, a constant, or a plane."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np

from stepgp._array.namespace import Array, Floats, like, namespace, to_numpy


class MeanFunction(ABC):
    """m(x), linear in its parameters."""

    @property
    @abstractmethod
    def params(self) -> Floats:
        """The free parameters, (P,)."""

    @property
    @abstractmethod
    def param_names(self) -> tuple[str, ...]:
        """A name for each parameter."""

    @property
    @abstractmethod
    def units(self) -> Floats:
        """Steps of comparable effect in every parameter, (P,): what an optimiser counts in."""

    @abstractmethod
    def with_params(self, params: Floats) -> MeanFunction:
        """The same mean function with other parameters."""

    def log_prior(self) -> float:
        return 0.0

    def log_prior_gradient(self) -> Floats:
        return np.zeros(len(self.params))

    @abstractmethod
    def for_features(self, n_features: int) -> MeanFunction:
        """The same mean function, sized for inputs with that many columns."""

    @abstractmethod
    def shifted(self, offset: float, unit: float = 1.0) -> MeanFunction:
        """A start at the level `offset`, where the family has one, for steps of size `unit`."""

    @abstractmethod
    def __call__(self, X: Array) -> Array:
        """m at every row, (n,)."""

    @abstractmethod
    def pullback(self, X: Array, adjoint: Array) -> Floats:
        """Gradient of Σ_i adjoint_i m(x_i) in the parameters, (P,)."""


@final
@dataclass(frozen=True)
class ZeroMean(MeanFunction):
    """m(x) = 0."""

    @property
    def params(self) -> Floats:
        return np.zeros(0)

    @property
    def param_names(self) -> tuple[str, ...]:
        return ()

    @property
    def units(self) -> Floats:
        return np.zeros(0)

    def with_params(self, params: Floats) -> ZeroMean:
        return self

    def for_features(self, n_features: int) -> ZeroMean:
        return self

    def shifted(self, offset: float, unit: float = 1.0) -> ZeroMean:
        return self

    def __call__(self, X: Array) -> Array:
        return 0.0 * X[:, 0]

    def pullback(self, X: Array, adjoint: Array) -> Floats:
        return np.zeros(0)


@final
@dataclass(frozen=True)
class ConstantMean(MeanFunction):
    """m(x) = c; once `shifted`, with the weak prior N(offset, (3·unit)²) on c.

    It decides nothing but where the data leave c to run off to infinity, as counts that are all 0.
    """

    constant: float = 0.0
    unit: float = 1.0
    centre: float | None = None

    @property
    def params(self) -> Floats:
        return np.array([self.constant])

    @property
    def units(self) -> Floats:
        return np.array([self.unit])

    @property
    def param_names(self) -> tuple[str, ...]:
        return ("mean_constant",)

    def with_params(self, params: Floats) -> ConstantMean:
        return replace(self, constant=float(params[0]))

    def for_features(self, n_features: int) -> ConstantMean:
        return self

    def shifted(self, offset: float, unit: float = 1.0) -> ConstantMean:
        return ConstantMean(offset, unit, offset)

    def log_prior(self) -> float:
        return _log_prior(self.constant, self.centre, self.unit)

    def log_prior_gradient(self) -> Floats:
        return np.array([_log_prior_slope(self.constant, self.centre, self.unit)])

    def __call__(self, X: Array) -> Array:
        return 0.0 * X[:, 0] + self.constant

    def pullback(self, X: Array, adjoint: Array) -> Floats:
        return np.array([float(namespace(adjoint).sum(adjoint))])


@final
@dataclass(frozen=True, eq=False)
class LinearMean(MeanFunction):
    """m(x) = c + βᵀx, c as in `ConstantMean`."""

    constant: float = 0.0
    slope: Floats = field(default_factory=lambda: np.zeros(0))
    unit: float = 1.0
    centre: float | None = None

    @property
    def params(self) -> Floats:
        return np.concatenate([[self.constant], self.slope])

    @property
    def units(self) -> Floats:
        return np.full(1 + len(self.slope), self.unit)

    @property
    def param_names(self) -> tuple[str, ...]:
        return ("mean_constant", *(f"mean_slope_{j}" for j in range(len(self.slope))))

    def with_params(self, params: Floats) -> LinearMean:
        return replace(self, constant=float(params[0]), slope=np.array(params[1:]))

    def for_features(self, n_features: int) -> LinearMean:
        if len(self.slope) == n_features:
            return self
        if len(self.slope):
            raise ValueError(
                f"LinearMean has {len(self.slope)} slopes, X has {n_features} columns."
            )
        return replace(self, slope=np.zeros(n_features))

    def shifted(self, offset: float, unit: float = 1.0) -> LinearMean:
        return replace(self, constant=offset, unit=unit, centre=offset)

    def log_prior(self) -> float:
        return _log_prior(self.constant, self.centre, self.unit)

    def log_prior_gradient(self) -> Floats:
        by_constant = _log_prior_slope(self.constant, self.centre, self.unit)
        return np.concatenate([[by_constant], np.zeros(len(self.slope))])

    def __call__(self, X: Array) -> Array:
        return X @ like(self.slope, X) + self.constant

    def pullback(self, X: Array, adjoint: Array) -> Floats:
        xp = namespace(adjoint)
        return np.concatenate([[float(xp.sum(adjoint))], to_numpy(adjoint @ X)])


_SPREAD = 3.0
"""Deviation of the prior of a constant, in its unit."""


def _log_prior(constant: float, centre: float | None, unit: float) -> float:
    return 0.0 if centre is None else -0.5 * ((constant - centre) / (_SPREAD * unit)) ** 2


def _log_prior_slope(constant: float, centre: float | None, unit: float) -> float:
    return 0.0 if centre is None else (centre - constant) / (_SPREAD * unit) ** 2


def resolve_mean(mean_function: str | MeanFunction) -> MeanFunction:
    """A mean function by name ("zero", "constant", "linear") or as an object."""
    named: dict[str, MeanFunction] = {
        "zero": ZeroMean(),
        "constant": ConstantMean(),
        "linear": LinearMean(),
    }
    if not isinstance(mean_function, str):
        return mean_function
    if mean_function not in named:
        raise ValueError(
            f"mean_function must be one of {sorted(named)} or a MeanFunction, "
            f"got {mean_function!r}."
        )
    return named[mean_function]
