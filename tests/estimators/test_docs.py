"""What the documentation says is there is there, and what is there is documented."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from typing import Any

import pytest

from stepgp import StepGPClassifier, StepGPRegressor
from stepgp.estimators import classifier as classifier_module
from stepgp.estimators import regressor as regressor_module
from tests.estimators.data import BINARY, X

BOTH = pytest.mark.parametrize("kind", [StepGPClassifier, StepGPRegressor])


def entries(kind: Any, section: str) -> list[str]:
    """The names that a numpydoc section of a docstring describes."""
    text = inspect.getdoc(kind) or ""
    body = re.search(rf"{section}\n-+\n(.*?)(\n\n\S[^\n]*\n---|\Z)", text, re.DOTALL)
    assert body is not None, f"no section {section}"
    return re.findall(r"^(\w+) :", body.group(1), re.MULTILINE)


@BOTH
def test_parameters_are_documented_in_order(kind: Any) -> None:
    assert entries(kind, "Parameters") == list(inspect.signature(kind).parameters)


@BOTH
def test_defaults_are_documented(kind: Any) -> None:
    text = inspect.getdoc(kind) or ""
    for name, parameter in inspect.signature(kind).parameters.items():
        default = re.search(rf"^{name} : .*default (\S+)$", text, re.MULTILINE)
        assert default is not None, name
        assert ast.literal_eval(default.group(1)) == parameter.default, name


@BOTH
def test_fitted_attributes_are_documented(kind: Any) -> None:
    model = kind().fit(X, BINARY)
    there = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    documented = set(entries(kind, "Attributes"))
    assert documented - {"feature_names_in_"} == there


@BOTH
def test_public_methods_are_documented(kind: Any) -> None:
    own = [name for name in dir(kind) if not name.startswith("_") and "stepgp" in _home(kind, name)]
    assert {"fit", "predict", "latent"} <= set(own)
    assert [name for name in own if not inspect.getdoc(getattr(kind, name))] == []


@pytest.mark.parametrize("module", [classifier_module, regressor_module])
def test_examples(module: Any) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def _home(kind: Any, name: str) -> str:
    return getattr(getattr(kind, name), "__module__", "")
