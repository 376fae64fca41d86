"""A new class is noticed wherever it is written."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.subclasses import concrete_subclasses

INIT = """
from abc import ABC, abstractmethod

class Base(ABC):
    @abstractmethod
    def method(self): ...

class Seen(Base):
    def method(self): ...
"""
HIDDEN = """
from newcomers import Base, Seen

class Half(Base):
    pass

class Hidden(Half):
    def method(self): ...

class Below(Seen):
    pass
"""


@pytest.fixture
def newcomers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package with files that its __init__ does not import."""
    for name, text in (("__init__", INIT), ("deeper/__init__", ""), ("deeper/hidden", HIDDEN)):
        path = tmp_path / "newcomers" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("newcomers")
    for name in [name for name in sys.modules if name.split(".")[0] == "newcomers"]:
        del sys.modules[name]


def test_files_that_nothing_imports_are_read(newcomers: ModuleType) -> None:
    assert {cls.__name__ for cls in newcomers.Base.__subclasses__()} == {"Seen"}
    found = concrete_subclasses(newcomers.Base, newcomers)
    assert {cls.__name__ for cls in found} == {"Seen", "Hidden", "Below"}


def test_classes_of_other_packages_do_not_count(newcomers: ModuleType) -> None:
    type("Elsewhere", (newcomers.Seen,), {"__module__": "newcomers_of_others"})
    found = concrete_subclasses(newcomers.Base, newcomers)
    assert "Elsewhere" not in {cls.__name__ for cls in found}
