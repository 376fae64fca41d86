"""The likelihoods under test, each beside SciPy's distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT


@dataclass(frozen=True)
class Case:
    likelihood: Likelihood
    reference: Callable[[Any], Any]
    """From levels to a frozen distribution of SciPy."""
    targets: np.ndarray = field(repr=False)
    levels: np.ndarray = field(repr=False)

    def log_prob(self, y: np.ndarray, level: np.ndarray) -> np.ndarray:
        frozen = self.reference(level)
        return frozen.logpmf(y) if self.likelihood.discrete else frozen.logpdf(y)

    def __str__(self) -> str:
        learnt = " and ".join(self.likelihood.param_names)
        return f"{self.likelihood!r} learning {learnt}" if learnt else repr(self.likelihood)


REAL_TARGETS = np.array([-40.0, -2.0, -0.3, 0.0, 0.8, 3.0, 1e4])
REAL_LEVELS = np.array([-3.0, -0.2, 0.0, 1.0, 5.0])


def student(df: float, scale: float) -> Callable[[Any], Any]:
    return lambda level: stats.t(df, loc=level, scale=scale)


CASES = [
    Case(Bernoulli(), stats.bernoulli, np.array([0.0, 1.0, 1.0]), np.array([0.001, 0.3, 0.5, 0.9])),
    Case(
        Poisson(),
        stats.poisson,
        np.array([0.0, 1.0, 2.0, 7.0, 40.0, 900.0]),
        np.array([1e-3, 0.4, 1.0, 12.0, 800.0]),
    ),
    Case(Gaussian(), lambda g: stats.norm(g, 0.3), REAL_TARGETS, REAL_LEVELS),
    Case(Gaussian(2.5), lambda g: stats.norm(g, 2.5), REAL_TARGETS, REAL_LEVELS),
    Case(
        Gaussian(0.7, learn=("scale",)),
        lambda g: stats.norm(g, 0.7),
        REAL_TARGETS,
        REAL_LEVELS,
    ),
    Case(StudentT(), student(4.0, 0.3), REAL_TARGETS, REAL_LEVELS),
    Case(StudentT(0.5, 1.5), student(1.5, 0.5), REAL_TARGETS, REAL_LEVELS),
    Case(StudentT(df=50.0), student(50.0, 0.3), REAL_TARGETS, REAL_LEVELS),
    Case(
        StudentT(2.0, 900.0, learn=("scale", "df")),
        student(900.0, 2.0),
        REAL_TARGETS,
        REAL_LEVELS,
    ),
]
