"""The shape of the source: layers, cycles, file sizes, exports."""

from __future__ import annotations

import ast
import importlib
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"

# A part may import from parts of its own layer or a lower one, but no cycle may arise.
LAYERS = (
    {"_array"},
    {"cells", "kernels"},
    {"links", "likelihoods"},
    {"model"},
    {"rows"},
    {"fit", "persistence"},
    {"estimators", "inspect", "datasets"},
    {"paper", "cli"},
    {""},  # stepgp/__init__.py
    {"demo"},  # a program, written as its users write theirs
)
LAYER = {part: number for number, parts in enumerate(LAYERS) for part in parts}

# Lower or equal in the list, and still not to be seen: only `model` joins these.
STRANGERS = {
    "cells": {"kernels"},
    "kernels": {"cells"},
    "links": {"kernels", "likelihoods"},
    "likelihoods": {"cells", "kernels"},
}


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((SRC / "stepgp").rglob("*.py"))}
OTHERS = [p for folder in ("benchmarks", "tests") for p in sorted((ROOT / folder).rglob("*.py"))]


def part_of(module: str) -> str:
    """The name below `stepgp`, as in LAYERS: "kernels" for stepgp.kernels.base, "" for stepgp."""
    return [*module.split("."), ""][1]


def imports(tree: ast.AST) -> set[str]:
    """The modules of stepgp that a module imports, at its top or anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from package import module` names a module, `from module import thing` does not.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            found.update(name if name in MODULES else node.module for name in names)
    return {name for name in found if name.split(".")[0] == "stepgp"}


IMPORTS = {name: imports(ast.parse(path.read_text("utf-8"))) for name, path in MODULES.items()}


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Some cycle of the graph, as the nodes along it; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_source_is_found() -> None:
    assert "stepgp" in MODULES


@pytest.mark.parametrize("module", MODULES)
def test_no_upward_import(module: str) -> None:
    part = part_of(module)
    assert part in LAYER, f"{module}: give {part!r} a layer in {Path(__file__).name}"
    upward = {name for name in IMPORTS[module] if LAYER[part_of(name)] > LAYER[part]}
    assert not upward, f"{module} imports from a higher layer"
    strange = {name for name in IMPORTS[module] if part_of(name) in STRANGERS.get(part, set())}
    assert not strange, f"{module} imports what only `model` may join with it"


def test_no_module_imports_itself_by_a_detour() -> None:
    found = cycle(IMPORTS)
    assert not found, "modules import each other: " + " -> ".join(reversed(found))


def test_no_part_imports_itself_by_a_detour() -> None:
    graph: dict[str, set[str]] = {}
    for module, imported in IMPORTS.items():
        part = part_of(module)
        graph.setdefault(part, set()).update({part_of(name) for name in imported} - {part})
    found = cycle(graph)
    assert not found, "parts import each other: " + " -> ".join(reversed(found))


def test_cycles_are_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert set(pairwise(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}))) >= {("a", "c")}


def test_late_imports_are_found() -> None:
    late = "def f():\n    import stepgp.fit.loop\n    from stepgp import _array\n"
    assert imports(ast.parse(late)) == {"stepgp.fit.loop", "stepgp._array"}


@pytest.mark.parametrize(
    "path",
    [*MODULES.values(), *OTHERS],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_file_is_short(path: Path) -> None:
    lines = len(path.read_text("utf-8").splitlines())
    assert lines <= 300, "split it by idea"


@pytest.mark.parametrize(
    "package", [name for name, path in MODULES.items() if path.name == "__init__.py"]
)
def test_package_exports_explicitly(package: str) -> None:
    exported = importlib.import_module(package).__dict__.get("__all__")
    assert exported is not None, f"{package} has no __all__"
    assert len(set(exported)) == len(exported), "a name twice"
    missing = [name for name in exported if not hasattr(importlib.import_module(package), name)]
    assert not missing, "in __all__, but not there"


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in MODULES.values()}
    bare = [folder.name for folder in folders if not (folder / "__init__.py").is_file()]
    assert not bare, "without __init__.py"


def test_few_public_names() -> None:
    assert len(importlib.import_module("stepgp").__all__) <= 15
