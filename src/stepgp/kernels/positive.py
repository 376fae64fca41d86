"""Positive quantities on a log scale: one for all features, one each, or each shrunk to a level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

import numpy as np

from stepgp._array.namespace import Floats
from stepgp.kernels.parametrised import Parametrised
from stepgp.kernels.priors import LogNormal

Ard = Literal["shrunk"] | bool

_LOG_RANGE = math.log(1e3)
_DEVIATION_RANGE = 10.0
"""Of z, with τ = ¼ a factor of 12: an inactive feature comes to rest before it."""


@final
@dataclass(frozen=True, repr=False)
class Positive(Parametrised):
    """Positive values v_j = exp((Bθ)_j), with B = [c·1, s·I] and independent normal θ.

    ========== === === ==================================== ==========================
    ard        c   s   log v_j                              prior of θ
    ========== === === ==================================== ==========================
    False      1   –   θ₀ (one value for every feature)     θ₀ ~ prior
    True       –   1   θ_j                                  θ_j ~ prior
    "shrunk"   1   τ   θ₀ + τ z_j                           θ₀ ~ prior, z_j ~ N(0, 1)
    ========== === === ==================================== ==========================

    So the three kinds of lengthscale differ in one linear map, and its transpose carries
    gradients back. `value` is the start (None: the kernel's default), `prior` is LogNormal, None
    (no prior on the level) or "default" (the kernel's), `fixed=True` removes it from the
    parameters. `size`, `theta` and `given` are filled in by the kernel.
    """

    value: float | Sequence[float] | Floats | None = None
    prior: LogNormal | Literal["default"] | None = "default"
    ard: Ard = False
    tau: float = 0.25
    fixed: bool = False
    name: str = "value"
    size: int | None = None
    theta: tuple[float, ...] | None = None
    given: bool = field(default=True, compare=False)
    """Whether start or prior are the user's: then `times` leaves them alone."""

    def __post_init__(self) -> None:
        if self.ard not in (False, True, "shrunk"):
            raise ValueError(
                f'{self.name}: ard got {self.ard!r}, expected False, True or "shrunk".'
            )
        prior: Any = self.prior
        if prior not in (None, "default") and not isinstance(prior, LogNormal):
            raise ValueError(
                f'{self.name}: prior got {self.prior!r}, expected a LogNormal, None or "default".'
            )
        if not (math.isfinite(self.tau) and self.tau > 0):
            raise ValueError(f"{self.name}: tau got {self.tau!r}, expected a positive number.")
        if self.value is None:
            return
        values = np.asarray(self.value, dtype=np.float64)
        if values.ndim > 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
            raise ValueError(
                f"{self.name} got {self.value!r}, expected a positive finite number, or a "
                "sequence of them with one entry per feature."
            )
        if self.ard is False and values.size > 1 and np.any(values != values[0]):
            raise ValueError(
                f"{self.name} got {values.size} different values but one is shared by all features "
                '(ard=False). Use ard=True or ard="shrunk" for one per feature.'
            )
        # A tuple keeps the dataclass comparable, hashable and plain to write to a file.
        plain = float(values) if values.ndim == 0 else tuple(values.tolist())
        object.__setattr__(self, "value", plain)

    def __repr__(self) -> str:
        if self.size is None:
            return "auto" if self.value is None else repr(self.value)
        shown = [f"{value:.4g}" for value in self.values]
        return shown[0] if self.size == 1 else f"[{', '.join(shown)}]"

    def resolved(self, size: int, *, value: float, prior: LogNormal) -> Positive:
        """With `size` values, and the defaults filled in; idempotent."""
        if self.size is None:
            start = np.asarray(value if self.value is None else self.value, dtype=np.float64)
            self._check_size(start.size if start.ndim else size, size)
            return replace(
                self,
                value=tuple(np.broadcast_to(start, (size,)).tolist()),
                prior=prior if self.prior == "default" else self.prior,
                size=size,
                given=self.value is not None or self.prior not in (None, "default"),
            )
        self._check_size(self.size, size)
        return self

    def times(self, factor: float) -> Positive:
        """Start, bounds and prior `factor` times as large where they were left open."""
        if self.given or self.fixed or self.theta is not None or factor == 1.0:
            return self
        prior = self.prior
        if isinstance(prior, LogNormal):
            prior = LogNormal(prior.mean + math.log(factor), prior.sd)
        start = np.asarray(self.value, dtype=np.float64)
        return replace(self, value=factor * start, prior=prior)

    def started(self, factors: Floats) -> Positive:
        """Only the starts that many times as large, (size,), where they were left open; one for
        all features as many times as the smallest."""
        if self.given or self.fixed or self.theta is not None or np.all(factors == 1.0):
            return self
        by, theta = np.log(factors), self._start()
        if self._kind is False:
            return self.with_params(theta + np.min(by))
        if self._kind is True:
            return self.with_params(theta + by)
        level = np.mean(by)
        reach = 0.9 * _DEVIATION_RANGE
        deviations = np.clip((by - level) / self._slope, -reach, reach)
        return self.with_params(theta + np.concatenate([[level], deviations]))

    def _check_size(self, got: int, size: int) -> None:
        if got != size:
            raise ValueError(
                f"{self.name} has {got} values, but the input has {size} features. Give one value "
                "per feature, or build a new kernel for the other input."
            )

    # ---- the linear map B and its transpose

    @property
    def _level(self) -> bool:
        return self._kind is not True

    @property
    def _kind(self) -> Ard:
        # With one feature a level and a deviation from it would be the same parameter twice.
        return False if self.size == 1 and self.ard == "shrunk" else self.ard

    @property
    def _slope(self) -> float:
        return self.tau if self._kind == "shrunk" else 1.0

    @property
    def log_values(self) -> Floats:
        """log v = Bθ, shape (size,)."""
        size = self._known_size()
        if self.theta is None or self.fixed:
            return np.log(np.broadcast_to(np.asarray(self.value, dtype=np.float64), (size,)))
        theta = np.asarray(self.theta)
        level = theta[0] if self._level else 0.0
        deviations = self._slope * theta[self._level :] if self._kind is not False else 0.0
        return np.broadcast_to(level + deviations, (size,))

    @property
    def values(self) -> Floats:
        """v = exp(Bθ), shape (size,)."""
        return np.exp(self.log_values)

    def pull(self, gradient: Floats) -> Floats:
        """Bᵀ applied to a gradient in log v: the gradient in θ."""
        if self.fixed:
            return np.zeros(0)
        full = np.broadcast_to(gradient, (self._known_size(),))
        level = full.sum(keepdims=True) if self._level else np.zeros(0)
        deviations = self._slope * full if self._kind is not False else np.zeros(0)
        return np.concatenate([level, deviations])

    def _known_size(self) -> int:
        if self.size is None:
            raise ValueError(
                f"{self.name} depends on the number of features, which is not known yet. Call "
                "kernel.for_features(n_features) first."
            )
        return self.size

    # ---- parameters

    def _start(self) -> Floats:
        logs = np.log(np.broadcast_to(np.asarray(self.value), (self._known_size(),)))
        level = np.asarray([logs.mean()]) if self._level else np.zeros(0)
        centre = logs.mean() if self._level else 0.0
        deviations = (logs - centre) / self._slope if self._kind is not False else np.zeros(0)
        return np.concatenate([level, deviations])

    @property
    def params(self) -> Floats:
        start = self._start()
        if self.fixed:
            return np.zeros(0)
        return start if self.theta is None else np.asarray(self.theta)

    def with_params(self, params: Floats) -> Positive:
        theta = np.asarray(params, dtype=np.float64)
        if theta.shape != self.params.shape or not np.all(np.isfinite(theta)):
            raise ValueError(
                f"{self.name}: parameters got {params!r}, expected {len(self.params)} finite "
                f"numbers for {self.param_names}."
            )
        return self if self.fixed else replace(self, theta=tuple(theta.tolist()))

    @property
    def param_names(self) -> tuple[str, ...]:
        if self.fixed:
            return ()
        size = self._known_size()
        level = (f"log_{self.name}",) if self._level else ()
        each = f"{self.name}_deviation" if self._level else f"log_{self.name}"
        indices = range(0 if self._kind is False else size)
        return level + tuple(f"{each}[{index}]" for index in indices)

    @property
    def bounds(self) -> Floats:
        """A factor of 1000 around the start for levels, six prior sd for deviations."""
        if self.fixed:
            return np.zeros((0, 2))
        start = self._start()
        reach = np.full(start.shape, _LOG_RANGE)
        if self._level:
            reach[1:] = _DEVIATION_RANGE
        return np.stack([start - reach, start + reach], axis=1)

    @property
    def units(self) -> Floats:
        """Each moves the vector log v by a length of one: 1/√size for a level, 1/s for the rest."""
        units = np.full(len(self.params), 1.0 / self._slope)
        if self._level:
            units[:1] = 1.0 / math.sqrt(self._known_size())
        return units

    # ---- prior

    def _prior(self) -> tuple[Floats, Floats]:
        """Mean and precision of every θ; precision 0 where there is no prior."""
        n_params = len(self.params)
        mean, precision = np.zeros(n_params), np.zeros(n_params)
        if isinstance(self.prior, LogNormal):
            mean[:], precision[:] = self.prior.mean, self.prior.sd**-2
        if self._level:
            mean[1:], precision[1:] = 0.0, 1.0
        return mean, precision

    def log_prior(self) -> float:
        mean, precision = self._prior()
        known = precision[precision > 0]
        constant = 0.5 * np.sum(np.log(known / (2 * np.pi)))
        return float(constant - 0.5 * np.sum(precision * (self.params - mean) ** 2))

    def log_prior_gradient(self) -> Floats:
        mean, precision = self._prior()
        return -precision * (self.params - mean)


PositiveLike = float | Sequence[float] | Floats | Positive | None


def as_positive(name: str, value: PositiveLike, *, ard: Ard = False) -> Positive:
    """A kernel's parameter from what the user gave; a Positive keeps its own sharing."""
    if isinstance(value, Positive):
        return replace(value, name=name)
    return Positive(value, ard=ard, name=name)


def scalar(
    name: str, value: PositiveLike, *, default: float, prior: LogNormal | None = None
) -> Positive:
    """A single positive parameter, independent of the number of features."""
    return as_positive(name, value).resolved(1, value=default, prior=prior or LogNormal())


def pulled(parts: Iterable[Positive], gradients: Iterable[Floats]) -> Floats:
    """The gradient in θ of all parts from their gradients in log values."""
    pieces = [part.pull(gradient) for part, gradient in zip(parts, gradients, strict=True)]
    return np.concatenate([np.zeros(0), *pieces])
