"""Likelihoods: log p(y | level), moments, cdf and draws."""

from __future__ import annotations

from stepgp.likelihoods.base import Likelihood
from stepgp.likelihoods.binary import Bernoulli
from stepgp.likelihoods.counts import Poisson
from stepgp.likelihoods.parametric import Parametric, Positive
from stepgp.likelihoods.real import Gaussian, StudentT
from stepgp.likelihoods.resolve import resolve

__all__ = [
    "Bernoulli",
    "Gaussian",
    "Likelihood",
    "Parametric",
    "Poisson",
    "Positive",
    "StudentT",
    "resolve",
]
