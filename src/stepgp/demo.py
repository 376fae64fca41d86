"""`make demo`: fit, cross-validate and draw, on a data set that ships with scikit-learn."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold

from stepgp import StepGPClassifier
from stepgp._array.namespace import Floats

PICTURE = Path("demo.png")
# Table 1 of the paper, row cancer: mean and standard deviation over 10 folds.
PAPER = {
    "paper, SFGP": ((-0.093, 0.033), (0.961, 0.031)),
    "paper, SFGP-l": ((-0.085, 0.033), (0.962, 0.020)),
    "paper, GPyTorch": ((-0.155, 0.069), (0.954, 0.025)),
}


def main() -> None:
    """Cross-validate on the paper's folds, print its table with ours, save a picture."""
    data = load_breast_cancer()
    X, malignant = data.data, (data.target == 0).astype(int)
    begun = time.perf_counter()
    log_likelihood, f1, probability = cross_validate(X, malignant)
    seconds = time.perf_counter() - begun
    print("Breast cancer, 569 rows, 30 features, 10 folds as in the paper (no shuffling)\n")
    print(f"{'':18s}{'held-out log-likelihood':>28s}{'F1':>20s}")
    ours = {"stepgp, defaults": (summary(log_likelihood), summary(f1))}
    for name, scores in {**PAPER, **ours}.items():
        (ll, ll_sd), (score, score_sd) = scores
        print(f"{name:18s}{f'{ll:.3f} ± {ll_sd:.3f}':>28s}{f'{score:.3f} ± {score_sd:.3f}':>20s}")
    print(f"\n10 fits and predictions in {seconds:.1f} s.")
    draw(malignant, probability, PICTURE)
    print(f"Picture: {PICTURE.resolve()}")


def cross_validate(X: Floats, y: np.ndarray) -> tuple[Floats, Floats, Floats]:
    """Log-likelihood and F1 of every fold, and the held-out probability of every row."""
    log_likelihood: list[float] = []
    f1: list[float] = []
    probability = np.empty(len(y))
    for train, test in KFold(10).split(X):
        classifier = StepGPClassifier().fit(X[train], y[train])
        log_proba = classifier.predict_log_proba(X[test])
        log_likelihood.append(float(np.mean(log_proba[np.arange(len(test)), y[test]])))
        f1.append(float(f1_score(y[test], classifier.predict(X[test]))))
        probability[test] = np.exp(log_proba[:, 1])
    return np.array(log_likelihood), np.array(f1), probability


def summary(values: Floats) -> tuple[float, float]:
    """Mean and standard deviation over the folds."""
    return float(values.mean()), float(values.std(ddof=1))


def draw(y: np.ndarray, probability: Floats, path: Path) -> None:
    """Held-out probabilities by true class, and how often they come true."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("The picture needs matplotlib: pip install stepgp[plot]") from error
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    bins = np.linspace(0.0, 1.0, 21)
    for label, name, colour in ((0, "benign", "#0072B2"), (1, "malignant", "#D55E00")):
        left.hist(probability[y == label], bins=bins, color=colour, alpha=0.7, label=name)
    left.set(
        xlabel="held-out probability of malignant",
        ylabel="tumours (log scale)",
        yscale="log",
        title="Who is who, and how sure",
    )
    left.legend(frameon=False)
    edges = np.linspace(0.0, 1.0, 6)
    group = np.clip(np.digitize(probability, edges) - 1, 0, 4)
    count = np.bincount(group, minlength=5)
    said = np.bincount(group, weights=probability, minlength=5) / count
    seen = np.bincount(group, weights=y, minlength=5) / count
    error = 2.0 * np.sqrt(said * (1.0 - said) / count)
    inside = np.minimum(error, [seen, 1.0 - seen])  # a share ends at 0 and at 1
    right.plot([0, 1], [0, 1], color="0.7", linewidth=1, zorder=0, label="perfectly calibrated")
    right.errorbar(
        said, seen, yerr=inside, fmt="o", color="#0072B2", capsize=3, label="5 groups ± 2 se"
    )
    right.set(
        xlabel="mean predicted probability",
        ylabel="share malignant",
        xlim=(-0.03, 1.03),
        ylim=(-0.03, 1.03),
        title="Calibration of held-out probabilities",
    )
    right.legend(frameon=False, loc="upper left")
    figure.savefig(str(path), dpi=120)  # pyright: ignore[reportUnknownMemberType]


if __name__ == "__main__":
    main()
