"""Kernel, likelihood, link and cells joined: posterior, expectation, row pass, predictive."""

from __future__ import annotations

from stepgp.model.expectation import expected_log_prob
from stepgp.model.means import ConstantMean, LinearMean, MeanFunction, ZeroMean
from stepgp.model.predictive import GaussianPredictive, MixturePredictive, Predictive

__all__ = [
    "ConstantMean",
    "GaussianPredictive",
    "LinearMean",
    "MeanFunction",
    "MixturePredictive",
    "Predictive",
    "ZeroMean",
    "expected_log_prob",
]
