"""Links: from latent values to levels of a likelihood."""

from __future__ import annotations

from stepgp.links.affine import Affine
from stepgp.links.base import Link
from stepgp.links.custom import CustomLink
from stepgp.links.feature import Feature, Support
from stepgp.links.fixed import CLogLog, Exp, Identity, Probit, Sigmoid, Softplus
from stepgp.links.free import Free, Ridge
from stepgp.links.learnt import LearntLink
from stepgp.links.resolve import default_for, resolve
from stepgp.links.smooth import Monotone, Smooth

__all__ = [
    "Affine",
    "CLogLog",
    "CustomLink",
    "Exp",
    "Feature",
    "Free",
    "Identity",
    "LearntLink",
    "Link",
    "Monotone",
    "Probit",
    "Ridge",
    "Sigmoid",
    "Smooth",
    "Softplus",
    "Support",
    "default_for",
    "resolve",
]
