"""Where to start θ: of lengthscales from long to short, the one that explains a few rows best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepgp._array.linalg import NotPositiveDefinite
from stepgp.fit.journal import Journal
from stepgp.fit.objective import Evaluation, Precision, State, evaluate
from stepgp.kernels import Kernel
from stepgp.rows.memory import MemoryRows

_FACTORS = (1.0, 3.0, 9.0, 27.0)
"""How much shorter than usual. A function that varies faster than its kernel looks like noise
to it, and no gradient leads from there to the truth: sin over five periods is lost from one."""
_ENOUGH = Precision(tolerance=0.01, share=0.0)
_PASSES = 12


def starts_of(kernel: Kernel) -> tuple[Kernel, ...]:
    """Kernels to start from; of one whose lengthscales are given, a second with all less by e."""
    kernels = tuple(kernel.shortened(factor) for factor in _FACTORS)
    if kernels[0] != kernels[1]:
        return kernels
    lowest, _ = kernel.bounds.T
    return kernel, kernel.with_params(np.maximum(kernel.params - 1.0, lowest))


def ranked(rows: MemoryRows, states: Sequence[State], journal: Journal) -> list[State]:
    """The states with q(u) of these rows, best objective first; those that have none are left out.

    A state is its own start: no row has been seen yet.
    """
    found: list[Evaluation] = []
    for state in states:
        try:
            evaluation = evaluate(
                rows,
                state.model,
                state,
                _ENOUGH,
                damped=True,
                max_passes=_PASSES,
                gradient=False,
            )
        except NotPositiveDefinite:
            continue
        found.append(journal.evaluated(evaluation))
    found.sort(key=lambda evaluation: -evaluation.objective)
    return [evaluation.state for evaluation in found]
