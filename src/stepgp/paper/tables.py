"""The paper's two tables beside ours, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from stepgp._array.namespace import Floats
from stepgp.paper.experiment import Scores
from stepgp.paper.published import PUBLISHED, Cell

_COLUMNS = ("data", "model", "log-likelihood", "published", "", "F1 or RMSE", "published", "s")
_WIDTHS = (10, 9, 17, 17, 4, 15, 15, 7)


def header() -> str:
    """The first line, and one under it."""
    line = _line(_COLUMNS)
    return f"{line}\n{'-' * len(line)}"


def row(data: str, model: str, scores: Scores) -> str:
    """One cell of Table 1 or 2: ours, the paper's, and + where ours has the better mean."""
    ours = cell(scores)
    theirs = PUBLISHED.get((data, model)) or best_published(data)
    return _line(
        (
            data,
            model,
            _with_sd(ours.log_likelihood, ours.log_likelihood_sd),
            _with_sd(theirs.log_likelihood, theirs.log_likelihood_sd),
            "+" if ours.log_likelihood > theirs.log_likelihood else "",
            _with_sd(ours.metric, ours.metric_sd),
            _with_sd(theirs.metric, theirs.metric_sd),
            f"{scores.seconds:.1f}",
        )
    )


def cell(scores: Scores) -> Cell:
    """Means and standard deviations over the folds."""

    def summary(values: Floats) -> tuple[float, float]:
        return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0

    return Cell(*summary(scores.log_likelihood), *summary(scores.metric))


def best_published(data: str) -> Cell:
    """The column of the best log-likelihood: what models that the paper lacks are held against."""
    return max(_columns_of(data), key=lambda cell: cell.log_likelihood)


def _columns_of(data: str) -> Iterator[Cell]:
    return (cell for (name, _), cell in PUBLISHED.items() if name == data)


def _with_sd(mean: float, sd: float) -> str:
    return f"{mean:.3f} ± {sd:.3f}"


def _line(texts: Iterable[str]) -> str:
    return " ".join(f"{text:>{width}s}" for text, width in zip(texts, _WIDTHS, strict=True))
