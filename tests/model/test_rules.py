"""Cells, closed forms and quadrature: three rules for one expectation, and its parameters."""

from __future__ import annotations

import numpy as np
import pytest

from stepgp._array import to_numpy
from stepgp.cells import Grid, Hat
from stepgp.likelihoods import Bernoulli, Gaussian, Likelihood, Poisson, StudentT
from stepgp.links import Affine, Exp, Feature, Identity, Link, Probit, Sigmoid, Softplus
from stepgp.model.expectation import expect_rows, expect_with_slopes, log_prob_table
from stepgp.model.rules import (
    CellRule,
    ClosedForm,
    Quadrature,
    Rule,
    feature_levels,
    has_closed_form,
)
from tests.links.helpers import TO_LIBRARY, slope
from tests.model.cases import CELLS, MEAN, PAIRS, VAR, Pair, arrays, coarse
from tests.model.references import levels_of, true_expectation
from tests.subclasses import concrete_subclasses

CLOSED = [pair for pair in PAIRS if has_closed_form(pair.link, pair.likelihood.features)]
LEARNT = [pair for pair in PAIRS if pair.likelihood.params.size]
SPLIT = [pair for pair in PAIRS if pair.likelihood.features]
SMOOTH = [pair for pair in PAIRS if isinstance(pair.likelihood, Bernoulli | Poisson)]
each_smooth = pytest.mark.parametrize("pair", SMOOTH, ids=str)
each_closed = pytest.mark.parametrize("pair", CLOSED, ids=str)
each_learnt = pytest.mark.parametrize("pair", LEARNT, ids=str)
each_split = pytest.mark.parametrize("pair", SPLIT, ids=str)


def expected(pair: Pair, rule: Rule, mean: np.ndarray, var: np.ndarray):
    return expect_rows(pair.likelihood, pair.link, rule, pair.targets, pair.exposure, mean, var)


def test_all_rules_are_here() -> None:
    assert concrete_subclasses(Rule) == {CellRule, ClosedForm, Quadrature}


# ---- which pairs have a closed form


def test_pairs_with_a_closed_form() -> None:
    assert {(type(p.likelihood), type(p.link)) for p in CLOSED} == {
        (Gaussian, Identity),
        (Gaussian, Affine),
        (Gaussian, Exp),
        (Poisson, Exp),
    }


@pytest.mark.parametrize(
    ("likelihood", "link"),
    [
        (StudentT(), Identity()),  # no features: nothing to integrate once for all rows
        (Poisson(), Softplus()),  # E log softplus(f) is no formula of another link
        (Bernoulli(), Probit()),  # E Φ(f) is one, E log Φ(f) is not
        (Gaussian(), Affine(Sigmoid(), 0.0, 2.0)),
    ],
    ids=str,
)
def test_no_pair_borrows_a_closed_form(likelihood: Likelihood, link: Link) -> None:
    assert not has_closed_form(link, likelihood.features)


def test_closed_form_refuses_tables() -> None:
    with pytest.raises(TypeError, match="use cells"):
        expected(Pair(StudentT(), Identity(), np.zeros(6)), ClosedForm(), MEAN, VAR)
    with pytest.raises(TypeError, match="use cells"):
        expect_with_slopes(StudentT(), Identity(), ClosedForm(), np.zeros(6), None, MEAN, VAR)


# ---- closed forms


@each_closed
def test_closed_form_is_the_integral(pair: Pair) -> None:
    reference = true_expectation(pair, MEAN, VAR, pair.exposure)
    np.testing.assert_allclose(expected(pair, ClosedForm(), MEAN, VAR).value, reference, rtol=1e-11)


@each_closed
def test_closed_form_equals_quadrature(pair: Pair) -> None:
    closed, many = (expected(pair, r, MEAN, VAR) for r in (ClosedForm(), Quadrature(80)))
    np.testing.assert_allclose(closed.value, many.value, rtol=1e-11)
    size = np.max(np.abs(closed.value))
    np.testing.assert_allclose(closed.d_mean, many.d_mean, rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(closed.d_var, many.d_var, rtol=1e-9, atol=1e-9 * size)


@each_closed
def test_fine_hats_approach_the_closed_form(pair: Pair) -> None:
    """Quadratically: four times as near with twice the cells."""
    mean, var = 0.5 * MEAN, np.clip(VAR, 0.01, 0.3)
    closed = expected(pair, ClosedForm(), mean, var).value
    errors = [
        expected(pair, CellRule(Hat(Grid.uniform(-6.0, 6.0, n))), mean, var).value - closed
        for n in (400, 800)
    ]
    np.testing.assert_allclose(errors[0] / errors[1], 4.0, rtol=0.1)


# ---- quadrature


@each_smooth
def test_quadrature_is_the_integral(pair: Pair) -> None:
    var = np.minimum(VAR, 1.0)
    reference = true_expectation(pair, MEAN, var, pair.exposure)
    np.testing.assert_allclose(
        expected(pair, Quadrature(60), MEAN, var).value, reference, rtol=1e-8
    )
    default = expected(pair, Quadrature(), MEAN, var).value
    np.testing.assert_allclose(default, reference, rtol=1e-4)


@each_smooth
def test_derivatives_of_quadrature(pair: Pair) -> None:
    """E[h z]/√v and E[h(z² − 1)]/2v are those of the integral, once there are enough points."""
    rule = Quadrature(60)
    var = np.minimum(VAR, 0.5)
    got = expected(pair, rule, MEAN, var)
    by_mean = slope(lambda t: expected(pair, rule, MEAN + t, var).value, 0.0)
    by_log_var = slope(lambda t: expected(pair, rule, MEAN, var * np.exp(t)).value, 0.0)
    size = np.max(np.abs(got.value))
    np.testing.assert_allclose(got.d_mean, by_mean, rtol=1e-6, atol=1e-8 * size)
    np.testing.assert_allclose(got.d_var * var, by_log_var, rtol=1e-6, atol=1e-8 * size)


# ---- features or a table


@each_split
def test_features_equal_the_table(pair: Pair) -> None:
    """Integrating R features, or the whole table of log p(y_i | g_k): the same number."""
    table = log_prob_table(pair.likelihood, pair.targets, pair.exposure)
    var = np.minimum(VAR, 0.3)  # where no level has rounded to 0 or 1
    rules = [CellRule(coarse(cells)) for cells in CELLS.values()] + [Quadrature(5)]
    for rule in rules:
        split, whole = expected(pair, rule, MEAN, var), rule.rowwise(pair.link, table, MEAN, var)
        size = np.abs(split.value)
        np.testing.assert_allclose(whole.value, split.value, rtol=1e-9)
        for part in ("d_mean", "d_var"):
            error = np.abs(getattr(whole, part) - getattr(split, part))
            assert np.all(error <= 1e-8 * np.abs(getattr(split, part)) + 1e-11 * size / var)
        average = rule.rowwise(pair.link, table, MEAN, var).value
        np.testing.assert_allclose(average, split.value, rtol=1e-9)


@each_split
def test_feature_levels_are_features_of_levels(pair: Pair) -> None:
    """Also where a level is an average: log ĝ, not the average of log g; ĝ², not that of g²."""
    for cells in CELLS.values():
        family = coarse(cells)
        levels = levels_of(family, pair)
        functions = {
            Feature.VALUE: levels,
            Feature.SQUARE: levels**2,
            Feature.LOG: np.log(np.abs(levels)),
            Feature.LOG_COMPLEMENT: np.log1p(-np.minimum(levels, 0.9999999)),
        }
        for feature in pair.likelihood.features:
            got = feature_levels(family, pair.link, feature)
            np.testing.assert_allclose(got, functions[feature], rtol=1e-9)


# ---- parameters of the likelihood


@each_learnt
def test_slopes_in_parameters_are_differences(pair: Pair) -> None:
    rules: list[Rule] = [CellRule(coarse(cells)) for cells in CELLS.values()]
    rules += [Quadrature(10), *([ClosedForm()] if pair in CLOSED else [])]
    model, size = pair.likelihood, pair.likelihood.params.size
    for rule in rules:
        args = model, pair.link, rule, pair.targets, pair.exposure, MEAN, VAR
        together, got = expect_with_slopes(*args)
        alone = expect_rows(*args)
        for part in ("value", "d_mean", "d_var"):
            wanted = getattr(alone, part)
            np.testing.assert_allclose(getattr(together, part), wanted, rtol=1e-12, atol=1e-14)
        assert got.shape == (size, 6)
        for index, unit in enumerate(np.eye(size)):

            def moved(t: float, unit: np.ndarray = unit, rule: Rule = rule) -> np.ndarray:
                other = Pair(model.with_params(model.params + t * unit), pair.link, pair.targets)
                return expected(other, rule, MEAN, VAR).value

            reference = slope(moved, 0.0)
            scale = np.abs(expected(pair, rule, MEAN, VAR).value)
            error = np.abs(got[index] - reference)
            assert np.all(error <= 1e-7 * np.abs(reference) + 1e-11 * scale + 1e-9), rule


def test_nothing_to_learn_gives_no_slopes() -> None:
    rule = CellRule(coarse(CELLS["hat"]))
    y = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    for model, link in ((Bernoulli(), Sigmoid()), (StudentT(0.5, 4.0), Identity())):
        assert expect_with_slopes(model, link, rule, y, None, MEAN, VAR)[1].shape == (0, 6)


def test_slopes_take_exposure() -> None:
    """A likelihood without features meets e·g, too."""

    class OwnCounts(Likelihood):
        def __init__(self, log_factor: float) -> None:
            self.log_factor = log_factor

        takes_exposure = True
        support = Poisson.support

        @property
        def params(self) -> np.ndarray:
            return np.array([self.log_factor])

        def with_params(self, params: np.ndarray) -> OwnCounts:
            return OwnCounts(float(params[0]))

        def log_prob(self, y: np.ndarray, level: np.ndarray) -> np.ndarray:
            return Poisson().log_prob(y, np.exp(self.log_factor) * level)

        mean = var = Poisson.mean

    y, exposure = np.arange(6.0), np.linspace(0.3, 2.5, 6)
    rule = CellRule(coarse(CELLS["hat"]))
    _, got = expect_with_slopes(OwnCounts(0.2), Exp(), rule, y, exposure, MEAN, VAR)
    poisson = expect_rows(Poisson(), Exp(), rule, y, exposure * np.exp(0.2), MEAN, VAR)
    own = expect_rows(OwnCounts(0.2), Exp(), rule, y, exposure, MEAN, VAR)
    np.testing.assert_allclose(own.value, poisson.value, rtol=1e-12)
    levels = rule.features(Exp(), (Feature.VALUE,), MEAN, VAR).value[:, 0]
    np.testing.assert_allclose(got[0], y - exposure * np.exp(0.2) * levels, rtol=1e-7)


# ---- array libraries


@pytest.mark.parametrize("library", [name for name in TO_LIBRARY if name != "numpy"])
@pytest.mark.parametrize("kind", ["cells", "closed", "quadrature"])
def test_libraries_agree(kind: str, library: str) -> None:
    rules: dict[str, Rule] = {
        "cells": CellRule(coarse(CELLS["hat"])),
        "closed": ClosedForm(),
        "quadrature": Quadrature(),
    }
    # Quadrature divides by √v and 2v what libraries round differently in log p.
    ulp = 1e-15 if kind == "quadrature" else 0.0
    rounding = {"value": 0.0, "d_mean": ulp / np.sqrt(VAR), "d_var": ulp / (2.0 * VAR)}
    rule = rules[kind]
    for pair in CLOSED if kind == "closed" else PAIRS:
        y, mean, var, exposure = arrays(TO_LIBRARY[library], pair.targets, MEAN, VAR, pair.exposure)
        got = expect_rows(pair.likelihood, pair.link, rule, y, exposure, mean, var)
        reference = expected(pair, rule, MEAN, VAR)
        for part in ("value", "d_mean", "d_var"):
            assert type(getattr(got, part)) is type(mean)
            wanted = getattr(reference, part)
            gap = np.abs(to_numpy(getattr(got, part)) - wanted)
            size = np.max(np.abs(wanted))
            assert np.all(gap <= 1e-11 * np.abs(wanted) + 1e-12 * size + rounding[part]), pair
        if pair.likelihood.params.size:
            _, slopes = expect_with_slopes(pair.likelihood, pair.link, rule, y, exposure, mean, var)
            assert type(slopes) is type(mean)
            _, numpy_slopes = expect_with_slopes(
                pair.likelihood, pair.link, rule, pair.targets, pair.exposure, MEAN, VAR
            )
            np.testing.assert_allclose(
                to_numpy(slopes), numpy_slopes, rtol=1e-10, atol=1e-11, err_msg=str(pair)
            )
