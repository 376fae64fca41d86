"""What users may pass as a link, and the errors of what they may not."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.links import CustomLink, Feature, Identity, Link, Sigmoid, Support, default_for, resolve
from tests.links.cases import LINKS, logistic, name
from tests.links.helpers import TO_LIBRARY


@pytest.mark.parametrize(
    "link", [k for k in LINKS if not isinstance(k, CustomLink)], ids=lambda link: name(link)
)
def test_names(link: Link) -> None:
    assert resolve(name(link).lower()) == link
    assert resolve(link) is link


def test_a_callable_takes_the_support_asked_for() -> None:
    assert resolve(logistic, support=Support.UNIT) == CustomLink(logistic, Support.UNIT)
    assert resolve(logistic).support is Support.REAL


@pytest.mark.parametrize("support", Support)
def test_default_link_fills_the_support(support: Support) -> None:
    assert default_for(support).support is support


def test_errors_say_what_to_pass() -> None:
    with pytest.raises(ValueError, match="Unknown link 'logistic'; expected one of identity, sig"):
        resolve("logistic")
    with pytest.raises(TypeError, match="class Sigmoid as link; pass an object"):
        resolve(Sigmoid)
    with pytest.raises(TypeError, match="Got 3 as link; pass a name"):
        resolve(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("link", "feature", "support"),
    [
        (Identity(), Feature.LOG, "POSITIVE"),
        (CustomLink(np.exp), Feature.LOG, "POSITIVE"),
        (CustomLink(np.exp, Support.POSITIVE), Feature.LOG_COMPLEMENT, "UNIT"),
    ],
)
def test_a_feature_outside_its_domain_is_an_error(
    link: Link, feature: Feature, support: str
) -> None:
    message = re.escape(f"CustomLink(function, Support.{support})")
    with pytest.raises(ValueError, match=message):
        link.feature(feature, np.zeros(3))


@pytest.mark.parametrize("library", TO_LIBRARY)
@pytest.mark.parametrize(
    "function",
    [np.tanh, math.tanh, lambda x: 0.25 if x < 0 else 0.75, lambda x: np.where(x < 0, 0.25, 0.75)],
    ids=["numpy", "scalar", "branch", "where"],
)
def test_any_callable_in_any_library(function: object, library: str) -> None:
    x = np.array([[-1.5, 0.5], [0.1, 3.0]])
    link = CustomLink(function)  # type: ignore[arg-type]
    reference = [[function(v) for v in row] for row in x]  # type: ignore[operator]
    got = link(TO_LIBRARY[library](x))
    assert type(got) is type(TO_LIBRARY[library](x))
    np.testing.assert_allclose(to_numpy(got), reference, rtol=1e-15)


def test_custom_links_are_checked() -> None:
    x = np.array([-1.0, 0.5, 2.0])
    with pytest.raises(ValueError, match=re.escape("gives -1 at -1, but its levels must lie in")):
        CustomLink(lambda v: v, Support.POSITIVE)(x)
    with pytest.raises(ValueError, match=re.escape("gives 2 at 2, but its levels must lie in (0,")):
        CustomLink(abs, Support.UNIT)(x * np.array([0.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="gives nan at 0.5"):
        CustomLink(lambda v: np.where(v == 0.5, np.nan, v))(x)
    with pytest.raises(ValueError, match=re.escape("shape () for an input of shape (3,)")):
        CustomLink(np.sum)(x)
    with pytest.raises(ZeroDivisionError):
        CustomLink(lambda v: 1 / 0)(x)
    with pytest.raises(ValueError, match="of my own"):
        CustomLink(_refuse)(x)


def _refuse(x: float) -> float:
    raise ValueError("of my own")
