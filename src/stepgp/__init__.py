"""Gaussian processes for data that is not Gaussian, with the inverse link seen through cells."""

from __future__ import annotations

from importlib.metadata import version

from stepgp import cells, kernels, likelihoods, links, model, rows
from stepgp.estimators import StepGPClassifier, StepGPRegressor

__version__ = version("stepgp")

__all__ = [
    "StepGPClassifier",
    "StepGPRegressor",
    "cells",
    "kernels",
    "likelihoods",
    "links",
    "model",
    "rows",
]
