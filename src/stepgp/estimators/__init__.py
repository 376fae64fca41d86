"""Estimators for scikit-learn."""

from __future__ import annotations

from stepgp.estimators.classifier import StepGPClassifier
from stepgp.estimators.regressor import StepGPRegressor

__all__ = ["StepGPClassifier", "StepGPRegressor"]
