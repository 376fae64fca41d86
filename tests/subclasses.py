"""The classes that conformance tests must list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType

import stepgp


def concrete_subclasses(base: type, package: ModuleType = stepgp) -> set[type]:
    """The classes below `base` that can be made, wherever in the package they are.

    Every module is imported first: a class in a file that no other imports counts too.
    """
    inside = f"{package.__name__}."
    for module in pkgutil.walk_packages(package.__path__, inside):
        importlib.import_module(module.name)
    return {
        found
        for found in _below(base)
        if not inspect.isabstract(found) and f"{found.__module__}.".startswith(inside)
    }


def _below(base: type) -> set[type]:
    children = base.__subclasses__()
    return set(children).union(*(_below(child) for child in children))
