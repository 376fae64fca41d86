"""What has unconstrained parameters, bounds and a prior; and what is composed of such parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from stepgp._array.namespace import Floats


class Parametrised(ABC):
    """P unconstrained parameters θ (logarithms of positive quantities) with bounds and a prior."""

    @property
    @abstractmethod
    def params(self) -> Floats:
        """θ, shape (P,)."""

    @abstractmethod
    def with_params(self, params: Floats) -> Self:
        """The same object at another θ."""

    @property
    @abstractmethod
    def param_names(self) -> tuple[str, ...]:
        """One name per parameter."""

    @property
    @abstractmethod
    def bounds(self) -> Floats:
        """Lowest and highest θ for an optimiser, shape (P, 2)."""

    @property
    @abstractmethod
    def units(self) -> Floats:
        """Steps of comparable effect in every θ, shape (P,): what an optimiser should count in."""

    @abstractmethod
    def log_prior(self) -> float:
        """log p(θ), normalised; parameters without a prior add 0."""

    @abstractmethod
    def log_prior_gradient(self) -> Floats:
        """d log p(θ) / dθ, shape (P,)."""


class Compound(Parametrised):
    """Parameters concatenated from parts, in order."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Parametrised, ...]:
        """What carries the parameters."""

    @abstractmethod
    def with_parts(self, parts: Sequence[Any]) -> Self:
        """The same object with other parts, in the order of `parts`."""

    def part_label(self, index: int) -> str:
        """Prefix of the parameter names of one part."""
        return ""

    @property
    def params(self) -> Floats:
        return _joined([part.params for part in self.parts])

    def with_params(self, params: Floats) -> Self:
        sizes = [len(part.params) for part in self.parts]
        values = np.asarray(params, dtype=np.float64)
        if values.shape != (sum(sizes),):
            raise ValueError(
                f"{type(self).__name__}.with_params got shape {values.shape}, expected "
                f"({sum(sizes)},): one value for each of {self.param_names}."
            )
        pieces = np.split(values, np.cumsum(sizes)[:-1])
        parts = [part.with_params(piece) for part, piece in zip(self.parts, pieces, strict=True)]
        return self.with_parts(parts)

    @property
    def param_names(self) -> tuple[str, ...]:
        return tuple(
            self.part_label(index) + name
            for index, part in enumerate(self.parts)
            for name in part.param_names
        )

    @property
    def bounds(self) -> Floats:
        return np.concatenate([np.zeros((0, 2)), *(part.bounds for part in self.parts)])

    @property
    def units(self) -> Floats:
        return _joined([part.units for part in self.parts])

    def log_prior(self) -> float:
        return sum((part.log_prior() for part in self.parts), 0.0)

    def log_prior_gradient(self) -> Floats:
        return _joined([part.log_prior_gradient() for part in self.parts])


def _joined(pieces: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *pieces])
