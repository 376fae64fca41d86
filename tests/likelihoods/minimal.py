"""A user's own likelihood: only what is compulsory."""

from __future__ import annotations

from typing import Any

from stepgp._array import namespace
from stepgp.likelihoods import Likelihood
from stepgp.links import Support


class Exponential(Likelihood):
    """p(y | g) = e^(−y/g)/g."""

    support = Support.POSITIVE

    def log_prob(self, y: Any, level: Any) -> Any:
        return -y / level - namespace(level).log(level)

    def mean(self, level: Any) -> Any:
        return level

    def var(self, level: Any) -> Any:
        return level * level
