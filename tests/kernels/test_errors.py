"""Bad input names what was got and what to do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from stepgp.kernels import (
    RBF,
    ActiveDims,
    Constant,
    Kernel,
    Linear,
    LogNormal,
    Matern12,
    Matern52,
    Periodic,
    Polynomial,
    Positive,
    Product,
    RationalQuadratic,
    Sum,
)
from tests.kernels.cases import CASES, rows

WRONG: list[tuple[str, Callable[[], object], str]] = [
    ("zero lengthscale", lambda: RBF(0.0), "lengthscale got 0.0, expected a positive"),
    ("negative entry", lambda: Matern52([1.0, -2.0]), r"lengthscale got \[1.0, -2.0\]"),
    ("nan variance", lambda: RBF(variance=float("nan")), "variance got nan"),
    ("infinite period", lambda: Periodic(period=float("inf")), "period got inf"),
    ("negative alpha", lambda: RationalQuadratic(alpha=-1.0), "alpha got -1.0"),
    ("negative offset", lambda: Polynomial(offset=-1.0), "offset got -1.0"),
    ("empty lengthscale", lambda: RBF([]), r"lengthscale got \[\]"),
    ("a variance per feature", lambda: RBF(variance=[1.0, 2.0]), "variance got 2 different"),
    ("two equal variances", lambda: RBF(variance=[1.0, 1.0]), "variance has 2 values"),
    ("isotropic and different", lambda: RBF([1.0, 2.0], ard=False), "2 different values"),
    ("unknown ard", lambda: RBF(ard="both"), "ard got 'both'"),  # type: ignore[arg-type]
    ("zero tau", lambda: RBF(Positive(ard="shrunk", tau=0.0)), "tau got 0.0"),
    ("prior without width", lambda: LogNormal(0.0, 0.0), "sd=0.0"),
    ("prior nowhere", lambda: LogNormal(float("nan")), "mean=nan"),
    ("unknown prior", lambda: RBF(Positive(prior="flat")), "prior got 'flat'"),  # type: ignore[arg-type]
    ("degree 0", lambda: Polynomial(0), "degree got 0"),
    ("degree 1.5", lambda: Polynomial(1.5), "degree got 1.5"),  # type: ignore[arg-type]
    ("negative dim", lambda: ActiveDims(RBF(), (-1,)), r"dims got \(-1,\)"),
    ("dim twice", lambda: ActiveDims(RBF(), (1, 1)), r"dims got \(1, 1\)"),
    ("no dims", lambda: ActiveDims(RBF(), ()), "at least one"),
    ("half a dim", lambda: ActiveDims(RBF(), (0.5,)), r"dims got \(0.5,\)"),  # type: ignore[arg-type]
    ("dim beyond", lambda: ActiveDims(RBF(), (0, 3)).for_features(3), "3 features"),
    ("dim beyond the rows", lambda: ActiveDims(RBF(), (5,))(rows(2, 0), rows(2, 0)), "3 features"),
    ("empty sum", lambda: Sum(()), "at least one"),
    ("empty product", lambda: Product(()), "at least one"),
    ("zero factor", lambda: 0.0 * RBF(), "got 0.0, expected a positive"),
    ("no features", lambda: RBF().for_features(0), "got 0 features"),
    ("too many lengthscales", lambda: RBF([1.0, 2.0]).for_features(3), "has 2 values"),
    ("params too early", lambda: RBF().params, r"for_features\(n_features\)"),
    ("names too early", lambda: Linear().param_names, r"for_features\(n_features\)"),
    ("nan params", lambda: Constant().with_params(np.array([np.nan])), "expected 1 finite"),
]


@pytest.mark.parametrize(("act", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_clear_error(act: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        act()


def test_sum_with_something_else() -> None:
    with pytest.raises(TypeError, match="kernel or a positive number, got 'rbf'"):
        RBF() + "rbf"  # type: ignore[operator]
    with pytest.raises(TypeError, match="kernel or a positive number, got array"):
        np.ones(2) * RBF()  # type: ignore[operator]


@pytest.mark.parametrize("kernel", CASES.values(), ids=CASES.keys())
def test_shapes(kernel: Kernel) -> None:
    with pytest.raises(ValueError, match="shapes"):
        kernel(rows(3, 0), rows(3, 0, 2))
    with pytest.raises(ValueError, match="shapes"):
        kernel(np.zeros(3), rows(3, 0))
    with pytest.raises(ValueError, match="shapes"):
        kernel.diag(np.zeros(3))


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(),
        Matern12(ard=True),
        Periodic(ard=False),
        Linear(),
        Polynomial(),
        ActiveDims(RBF(), (0,)),
    ],
    ids=repr,
)
def test_wrong_feature_count(kernel: Kernel) -> None:
    resolved = kernel.for_features(2)
    with pytest.raises(ValueError, match="3 features"):
        resolved(rows(4, 0), rows(5, 0))
    with pytest.raises(ValueError, match="3 features"):
        (resolved + 1.0).for_features(3)
