"""Fitting: guarded E-steps inside L-BFGS on the hyperparameters."""

from __future__ import annotations

from stepgp.fit.options import Options, Prior
from stepgp.fit.outcome import Outcome
from stepgp.fit.run import Diagnostics, Fit, fit_rows

__all__ = ["Diagnostics", "Fit", "Options", "Outcome", "Prior", "fit_rows"]
