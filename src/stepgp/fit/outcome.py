"""How a fit can end, each way with its cause and its remedy."""

from __future__ import annotations

from enum import Enum


class Outcome(Enum):
    """The end of a fit; `value` is (cause, remedy).

    All but NO_POSTERIOR are found in the diagnostics of a fit. Where that is how it ended there
    is no fit: `fit_rows` raises NotPositiveDefinite with its message.
    """

    CONVERGED = ("the objective stopped rising", "")
    ITERATION_LIMIT = (
        "the objective still rose after max_iter iterations",
        "raise max_iter",
    )
    STALLED = (
        "no step along the search direction raised the objective",
        "usually harmless; if the fit looks poor, scale the inputs or try another random_state",
    )
    NO_POSTERIOR = (
        "no stable posterior was found at the starting hyperparameters",
        "check for targets far outside what the likelihood expects, or try another link",
    )
    WORSE_THAN_CONSTANT = (
        "every start ended below the best model that ignores X",
        "the inputs may carry no information on y; try another kernel or more inducing inputs",
    )
    AT_A_BOUND = (
        "the objective still rose where a parameter of the kernel reached the end of its range",
        "start it nearer to where it wants to be, for example RBF(variance=1e6), or scale the "
        "inputs",
    )
    CELLS_TOO_COARSE = (
        "the likelihood is narrower than the cells that it is seen through, so noise is "
        "overestimated",
        "raise n_cells, or use a likelihood with more noise or a link with a smaller range",
    )

    @property
    def cause(self) -> str:
        return self.value[0]

    @property
    def remedy(self) -> str:
        return self.value[1]

    @property
    def message(self) -> str:
        """One sentence for a warning or a report."""
        return f"{self.cause}; {self.remedy}." if self.remedy else f"{self.cause}."

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"

    @property
    def is_sound(self) -> bool:
        """Whether the fit can be used without a second look."""
        return self in (Outcome.CONVERGED, Outcome.STALLED)
