"""From what a user may pass as a likelihood to a Likelihood."""

from __future__ import annotations

from stepgp.likelihoods.base import Likelihood
from stepgp.likelihoods.binary import Bernoulli
from stepgp.likelihoods.counts import Poisson
from stepgp.likelihoods.real import Gaussian, StudentT


def resolve(likelihood: str | Likelihood) -> Likelihood:
    """A likelihood by name or as an object."""
    if isinstance(likelihood, Likelihood):
        return likelihood
    likelihoods: dict[str, Likelihood] = {
        "bernoulli": Bernoulli(),
        "gaussian": Gaussian(),
        "poisson": Poisson(),
        "student_t": StudentT(),
    }
    name = str(likelihood)
    if name in likelihoods:
        return likelihoods[name]
    raise ValueError(
        f"Unknown likelihood {likelihood!r}; expected one of {', '.join(likelihoods)}, or an "
        "object of stepgp.likelihoods such as Gaussian()."
    )
