"""Gaussian processes for data that is not Gaussian, with the inverse link seen through cells."""

from __future__ import annotations

from stepgp import cells, kernels, likelihoods, links, model, rows
from stepgp.estimators import StepGPClassifier, StepGPRegressor

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
