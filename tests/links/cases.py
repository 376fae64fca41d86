"""The links under test."""

from __future__ import annotations

import math

import numpy as np

from stepgp.links import (
    Affine,
    CLogLog,
    CustomLink,
    Exp,
    Identity,
    Link,
    Probit,
    Sigmoid,
    Softplus,
    Support,
)


def logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


LINKS: list[Link] = [
    Identity(),
    Sigmoid(),
    Probit(),
    CLogLog(),
    Exp(),
    Softplus(),
    CustomLink(logistic, Support.UNIT, lipschitz=0.25),
    CustomLink(math.atan, lipschitz=1.0),
]

DERIVED: list[Link] = [
    Affine(Identity(), shift=2.0, scale=3.0),
    Affine(Sigmoid(), shift=-1.0, scale=0.5),
]


def name(link: Link) -> str:
    if isinstance(link, CustomLink):
        return f"CustomLink({link.function.__name__})"
    if isinstance(link, Affine):
        return f"Affine({name(link.inner)})"
    return type(link).__name__
