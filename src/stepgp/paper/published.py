"""What the paper's tables say, erratum 11 corrected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """Means and standard deviations over ten folds."""

    log_likelihood: float
    log_likelihood_sd: float
    metric: float
    """F1 in classification, RMSE in regression."""
    metric_sd: float


PUBLISHED: dict[tuple[str, str], Cell] = {
    ("banana", "SFGP"): Cell(-0.26, 0.02, 0.876, 0.019),
    ("banana", "SFGP-l"): Cell(-0.258, 0.022, 0.876, 0.019),
    ("banana", "GPyTorch"): Cell(-0.272, 0.019, 0.872, 0.014),
    ("heart", "SFGP"): Cell(-0.397, 0.083, 0.822, 0.075),
    ("heart", "SFGP-l"): Cell(-0.402, 0.091, 0.816, 0.085),
    ("heart", "GPyTorch"): Cell(-0.441, 0.091, 0.819, 0.071),
    ("diabetes", "SFGP"): Cell(-0.241, 0.096, 0.912, 0.073),
    ("diabetes", "SFGP-l"): Cell(-0.233, 0.091, 0.916, 0.067),
    ("diabetes", "GPyTorch"): Cell(-0.608, 0.307, 0.703, 0.263),
    ("cancer", "SFGP"): Cell(-0.093, 0.033, 0.961, 0.031),
    ("cancer", "SFGP-l"): Cell(-0.085, 0.033, 0.962, 0.02),
    ("cancer", "GPyTorch"): Cell(-0.155, 0.069, 0.954, 0.025),
    ("boston", "SFGP-l"): Cell(-0.859, 1.099, 0.451, 0.296),
    ("boston", "SFGP-Prior"): Cell(-0.7, 0.491, 0.471, 0.284),
    ("boston", "GPyTorch"): Cell(-0.853, 0.419, 0.508, 0.269),
    ("concrete", "SFGP-l"): Cell(-0.394, 0.241, 0.348, 0.076),
    ("concrete", "SFGP-Prior"): Cell(-0.473, 0.179, 0.32, 0.096),
    ("concrete", "GPyTorch"): Cell(-0.733, 0.109, 0.401, 0.114),
    ("winered", "SFGP-l"): Cell(-1.205, 0.081, 0.807, 0.071),
    ("winered", "SFGP-Prior"): Cell(-1.236, 0.097, 0.842, 0.117),
    ("winered", "GPyTorch"): Cell(-1.226, 0.107, 0.802, 0.064),
    ("winewhite", "SFGP-l"): Cell(-1.237, 0.083, 0.831, 0.071),
    ("winewhite", "SFGP-Prior"): Cell(-1.239, 0.071, 0.839, 0.07),
    ("winewhite", "GPyTorch"): Cell(-1.277, 0.127, 0.831, 0.074),
}
"""(data set, column) ↦ what was printed."""
