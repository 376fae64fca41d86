"""A link in other units against the link it wraps."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp.links import Affine, Exp, Feature, Identity, Link, Sigmoid
from stepgp.model.rules import Quadrature
from tests.links.cases import DERIVED, name

MEAN, VAR = np.array([-1.0, 0.0, 2.0]), np.array([0.1, 1.0, 0.5])


@pytest.mark.parametrize("link", DERIVED, ids=name)
def test_level_moves_with_the_units(link: Affine) -> None:
    x = np.linspace(-3.0, 3.0, 7)
    level = link(x)
    np.testing.assert_allclose(level, link.shift + link.scale * link.inner(x), rtol=1e-15)
    recovered = link.inverse(level)
    assert recovered is not None
    np.testing.assert_allclose(recovered, x, rtol=1e-9, atol=1e-9)
    slopes = np.abs(np.diff(link(np.linspace(-3.0, 3.0, 601))) / 0.01)
    assert link.lipschitz == pytest.approx(slopes.max(), rel=1e-4)


@pytest.mark.parametrize("feature", [Feature.VALUE, Feature.SQUARE])
@pytest.mark.parametrize("inner", [Identity(), Exp()], ids=name)
def test_closed_form_equals_quadrature(inner: Link, feature: Feature) -> None:
    link = Affine(inner, shift=2.0, scale=3.0)
    found = link.expected(feature, MEAN, VAR)
    assert found is not None
    wanted = Quadrature(60).features(link, (feature,), MEAN, VAR)
    for part in ("value", "d_mean", "d_var"):
        np.testing.assert_allclose(
            getattr(found, part), getattr(wanted, part)[:, 0], rtol=1e-8, atol=1e-8
        )


def test_no_closed_form_where_the_inner_link_has_none() -> None:
    assert Affine(Sigmoid(), 0.0, 1.0).expected(Feature.VALUE, MEAN, VAR) is None
    assert Affine(Identity(), 0.0, 1.0).expected(Feature.LOG, MEAN, VAR) is None


def test_image_of_a_gaussian() -> None:
    image = Affine(Identity(), shift=2.0, scale=3.0).image(MEAN, VAR)
    assert image is not None
    np.testing.assert_allclose(image[0], 2.0 + 3.0 * MEAN)
    np.testing.assert_allclose(image[1], 9.0 * VAR)
    assert Affine(Sigmoid(), 0.0, 1.0).image(MEAN, VAR) is None
