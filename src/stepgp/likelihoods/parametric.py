"""Positive parameters of a likelihood, learnt on the log scale under weak log-normal priors."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, final

import numpy as np

from stepgp._array import Array, Floats, namespace
from stepgp.likelihoods.base import Likelihood


@final
@dataclass(frozen=True)
class Positive:
    """A positive parameter θ with the prior log θ ~ N(log typical, spread²)."""

    name: str
    typical: float
    """The start where data give none, and the median of the prior."""
    spread: float
    low: float
    high: float
    """The range for the optimiser."""
    above: float = 0.0
    """Values at or below this are errors."""


@dataclass(frozen=True)
class Parametric(Likelihood, ABC):
    """A likelihood whose fields named in `parameters` are a value or None.

    None means open: learnt, from a start taken from the data. A value is held fixed unless
    `learn` names it; then it is the start.
    """

    parameters: ClassVar[tuple[Positive, ...]]
    learn: tuple[str, ...] | None = field(default=None, kw_only=True, repr=False)

    @final
    def __post_init__(self) -> None:
        names = [p.name for p in self.parameters]
        learn = [n for n in names if self._given(n) is None] if self.learn is None else self.learn
        unknown = set(learn) - set(names)
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no parameter {sorted(unknown)[0]!r} to learn; "
                f"expected some of {', '.join(names)}."
            )
        # A later copy with values in place of None must still know what is learnt.
        object.__setattr__(self, "learn", tuple(learn))
        for parameter in self.parameters:
            value = self._given(parameter.name)
            if value is not None and not parameter.above < value < math.inf:
                raise ValueError(
                    f"{type(self).__name__} got {parameter.name}={value!r}; expected a finite "
                    f"number above {parameter.above:g}, or None to learn it."
                )

    @final
    def _given(self, name: str) -> float | None:
        return getattr(self, name)

    @final
    def value(self, name: str) -> float:
        """The value of a parameter; its typical value while it is open."""
        given = self._given(name)
        if given is not None:
            return float(given)
        return next(p.typical for p in self.parameters if p.name == name)

    @property
    @final
    def learnt(self) -> tuple[Positive, ...]:
        return tuple(p for p in self.parameters if p.name in (self.learn or ()))

    @property
    @final
    def params(self) -> Floats:
        """log θ of what is learnt."""
        return np.array([math.log(self.value(p.name)) for p in self.learnt])

    @final
    def with_params(self, params: Floats) -> Self:
        if params.shape != (len(self.learnt),):
            raise ValueError(
                f"{self!r} has {len(self.learnt)} parameters, got an array of shape {params.shape}."
            )
        values = {p.name: float(np.exp(v)) for p, v in zip(self.learnt, params, strict=True)}
        return replace(self, **values)

    @property
    @final
    def param_names(self) -> tuple[str, ...]:
        return tuple(f"log_{p.name}" for p in self.learnt)

    @property
    @final
    def bounds(self) -> Floats:
        return np.log(np.array([[p.low, p.high] for p in self.learnt]).reshape(-1, 2))

    @final
    def log_prior(self) -> float:
        """Σ log N(log θ | log typical, spread²)."""
        z = self._prior_scores()
        return float(sum(-0.5 * z * z - np.log(self._spreads()) - 0.5 * math.log(2.0 * math.pi)))

    @final
    def log_prior_gradient(self) -> Floats:
        return -self._prior_scores() / self._spreads()

    @final
    def _stack_learnt(self, slopes: dict[str, Array], one: Array) -> Array:
        """The slopes of what is learnt along a new first axis; `one` has the shape of a slope."""
        xp = namespace(one)
        if not self.learnt:
            return xp.expand_dims(one, axis=0)[:0, ...]
        return xp.stack([slopes[p.name] for p in self.learnt], axis=0)

    @final
    def _spreads(self) -> Floats:
        return np.array([p.spread for p in self.learnt])

    @final
    def _prior_scores(self) -> Floats:
        return (self.params - np.log([p.typical for p in self.learnt])) / self._spreads()
