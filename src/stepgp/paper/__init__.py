"""The experiments of the paper that this library grew from: data, models, tables."""

from __future__ import annotations

from stepgp.paper.data import NAMES, Dataset, load
from stepgp.paper.experiment import Scores, cross_validate
from stepgp.paper.presets import MODELS

__all__ = ["MODELS", "NAMES", "Dataset", "Scores", "cross_validate", "load"]
