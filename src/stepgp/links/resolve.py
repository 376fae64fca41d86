"""From what a user may pass as a link to a Link."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepgp.links.base import Link
from stepgp.links.custom import CustomLink
from stepgp.links.feature import Support
from stepgp.links.fixed import CLogLog, Exp, Identity, Probit, Sigmoid, Softplus
from stepgp.links.smooth import Monotone, Smooth


def resolve(link: str | Link | Callable[[Any], Any], *, support: Support = Support.REAL) -> Link:
    """A link by name, as an object, or from a callable whose levels lie in `support`."""
    if isinstance(link, Link):
        return link
    if isinstance(link, str):
        return _named(link)
    if isinstance(link, type):
        raise TypeError(f"Got the class {link.__name__} as link; pass an object of it instead.")
    if callable(link):
        return CustomLink(link, support)
    raise TypeError(
        f"Got {link!r} as link; pass a name, an object of stepgp.links, or a callable from "
        "latent values to levels."
    )


def default_for(support: Support) -> Link:
    """The usual link onto a support."""
    match support:
        case Support.REAL:
            return Identity()
        case Support.POSITIVE:
            return Exp()
        case Support.UNIT:
            return Sigmoid()


def _named(name: str) -> Link:
    links: dict[str, Link] = {
        "identity": Identity(),
        "sigmoid": Sigmoid(),
        "probit": Probit(),
        "cloglog": CLogLog(),
        "exp": Exp(),
        "softplus": Softplus(),
        "learnt": Smooth(),
        "monotone": Monotone(),
    }
    if name not in links:
        raise ValueError(
            f"Unknown link {name!r}; expected one of {', '.join(links)}, an object of "
            "stepgp.links, or a callable."
        )
    return links[name]
