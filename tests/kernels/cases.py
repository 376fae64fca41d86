"""Every kernel in every kind of sharing, away from its defaults, for the conformance tests."""

from __future__ import annotations

import numpy as np

from stepgp.kernels import (
    RBF,
    ActiveDims,
    Ard,
    Constant,
    Kernel,
    Linear,
    LogNormal,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Positive,
    RationalQuadratic,
    Sum,
)

N_FEATURES = 3
KINDS: dict[str, Ard] = {"isotropic": False, "ard": True, "shrunk": "shrunk"}


def _plain() -> dict[str, Kernel]:
    cases: dict[str, Kernel] = {}
    for kind, ard in KINDS.items():
        for family in (RBF, Matern12, Matern32, Matern52, RationalQuadratic):
            cases[f"{family.__name__}-{kind}"] = family(1.3, 0.8, ard=ard)
        cases[f"Periodic-{kind}"] = Periodic(1.1, 1.4, 2.2, ard=ard)
        cases[f"Linear-{kind}"] = Linear(0.7, ard=ard)
        cases[f"Polynomial-{kind}"] = Polynomial(3, 0.4, 0.9, ard=ard)
    cases["Polynomial-line"] = Polynomial(1)
    cases["Periodic-periods"] = Periodic(period=[1.7, 2.3, 3.1])
    cases["RBF-defaults"] = RBF()
    cases["RBF-start-per-feature"] = RBF([0.5, 1.0, 2.0])
    cases["RBF-fixed-variance"] = RBF(variance=Positive(2.0, fixed=True))
    cases["RBF-no-priors"] = RBF(Positive(prior=None, ard=True), Positive(prior=None))
    cases["RBF-own-prior"] = RBF(Positive(prior=LogNormal(0.3, 0.5), ard="shrunk", tau=0.5))
    cases["Constant"] = Constant(0.6)
    cases["ActiveDims"] = ActiveDims(RBF(), (2, 0))
    cases["ActiveDims-one"] = ActiveDims(Matern32(), (1,))
    cases["Sum"] = RBF() + Linear() + 0.5
    cases["Sum-one"] = Sum((Matern52(),))
    cases["Product"] = 2.0 * Matern52(ard=False) * Linear()
    cases["Nested"] = ActiveDims(RBF() + Periodic(), (0, 1)) * (Linear(ard=True) + 1.0) + Matern12()
    return cases


def _moved(kernel: Kernel, seed: int) -> Kernel:
    """At parameters that no default or symmetry makes special."""
    resolved = kernel.for_features(N_FEATURES)
    step = np.random.default_rng(seed).normal(scale=0.3, size=len(resolved.params))
    return resolved.with_params(resolved.params + step)


UNRESOLVED = _plain()
CASES = {name: _moved(kernel, seed) for seed, (name, kernel) in enumerate(UNRESOLVED.items())}


def rows(n_rows: int, seed: int, n_features: int = N_FEATURES) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n_rows, n_features))
