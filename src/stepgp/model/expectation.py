"""Likelihood × link × rule: E log p(y | g(f)) for every row, with all its derivatives."""

from __future__ import annotations

from stepgp._array.namespace import Array, Floats, namespace, to_numpy
from stepgp.cells.base import CellFamily, Expectation
from stepgp.cells.checks import checked_rows
from stepgp.likelihoods import Likelihood
from stepgp.links import Link
from stepgp.model.rules import CellRule, LevelFunction, Rule


def expected_log_prob(
    likelihood: Likelihood,
    link: Link,
    cell_family: CellFamily,
    y: Array,
    mean: Array,
    var: Array,
    *,
    exposure: Array | None = None,
) -> Expectation:
    """Σ_k w_k(mean, var) log p(y | g_k) per row, and its derivatives in mean and var.

    y, mean, var and exposure are (n,), of any array library. The value is exact to 1e-10 of
    itself and 1e-11 nats.
    """
    if exposure is None:
        y, mean, var = checked_rows(y=y, mean=mean, var=var)
    else:
        y, mean, var, exposure = checked_rows(y=y, mean=mean, var=var, exposure=exposure)
    likelihood.check_targets(to_numpy(y))
    likelihood.check_link(link)
    return expect_rows(likelihood, link, CellRule(cell_family), y, exposure, mean, var)


def expect_rows(
    likelihood: Likelihood,
    link: Link,
    rule: Rule,
    y: Array,
    exposure: Array | None,
    mean: Array,
    var: Array,
) -> Expectation:
    """E log p(y | g(f)), f ~ N(mean, var).

    Where log p(y | g) = base(y) + Σ_r T_r(y) feature_r(g), only the R features are integrated,
    once for all rows alike; else the table of log p(y_i | g_k).
    """
    if not likelihood.features:
        return rule.rowwise(link, log_prob_table(likelihood, y, exposure), mean, var)
    expected = rule.features(link, likelihood.features, mean, var)
    return _of_features(likelihood, y, exposure, expected)


def expect_with_slopes(
    likelihood: Likelihood,
    link: Link,
    rule: Rule,
    y: Array,
    exposure: Array | None,
    mean: Array,
    var: Array,
) -> tuple[Expectation, Array]:
    """`expect_rows`, and ∂E log p(y | g(f))/∂ likelihood parameters, (P, n)."""
    xp = namespace(mean)
    if not likelihood.params.size:
        none = xp.zeros((0, *mean.shape), dtype=mean.dtype, device=mean.device)
        return expect_rows(likelihood, link, rule, y, exposure, mean, var), none
    if not likelihood.features:
        table = _table_with_slopes(likelihood, y, exposure)
        every = rule.rowwise(link, table, mean, var)
        own = Expectation(every.value[0, ...], every.d_mean[0, ...], every.d_var[0, ...])
        return own, every.value[1:, ...]
    expected = rule.features(link, likelihood.features, mean, var)
    d_statistics, d_base = likelihood.statistics_gradient(y, exposure)
    slopes = d_base + xp.sum(d_statistics * expected.value, axis=-1)
    return _of_features(likelihood, y, exposure, expected), slopes


def link_statistics(
    likelihood: Likelihood,
    link: Link,
    rule: Rule,
    y: Array,
    exposure: Array | None,
    mean: Array,
    var: Array,
    weight: Array,
) -> Floats:
    """∂ Σ_i weight_i E log p(y_i | g(f_i))/∂ the features of the cells' levels, (R, K).

    That is Σ_i weight_i w_ik T_r(y_i), all that a link can learn from; without features the
    derivative in the levels themselves, (1, K).
    """
    xp = namespace(mean)
    if likelihood.features:
        statistics = (likelihood.statistics(y, exposure) * weight[:, None]).T

        def amounts(level: Array, rows: Array | None = None) -> Array:
            return (statistics if rows is None else xp.take(statistics, rows, axis=1))[..., None]

    else:

        def amounts(level: Array, rows: Array | None = None) -> Array:
            targets, scale = _columns(y, exposure, rows)
            own = weight if rows is None else xp.take(weight, rows)
            slopes = likelihood.level_slope(targets, level * scale) * scale
            return (own[:, None] * slopes)[None, ...]

    return rule.totals(link, amounts, mean, var)


def level_bend(
    likelihood: Likelihood,
    link: Link,
    rule: Rule,
    y: Array,
    exposure: Array | None,
    mean: Array,
    var: Array,
    weight: Array,
) -> Floats:
    """Σ_i weight_i w_ik ∂² log p(y_i | g_k)/∂g_k², (K,)."""
    xp = namespace(mean)

    def amounts(level: Array, rows: Array | None = None) -> Array:
        targets, scale = _columns(y, exposure, rows)
        own = weight if rows is None else xp.take(weight, rows)
        bend = likelihood.support.slope(
            lambda moved: likelihood.level_slope(targets, moved), level * scale
        )
        return (own[:, None] * bend * scale**2)[None, ...]

    return rule.totals(link, amounts, mean, var)[0]


def _of_features(
    likelihood: Likelihood, y: Array, exposure: Array | None, expected: Expectation
) -> Expectation:
    """base(y) + Σ_r T_r(y) E feature_r."""
    xp = namespace(y)
    statistics = likelihood.statistics(y, exposure)
    return Expectation(
        likelihood.base(y, exposure) + xp.sum(statistics * expected.value, axis=-1),
        xp.sum(statistics * expected.d_mean, axis=-1),
        xp.sum(statistics * expected.d_var, axis=-1),
    )


def log_prob_table(likelihood: Likelihood, y: Array, exposure: Array | None) -> LevelFunction:
    """log p(y_i | e_i·level)."""

    def table(level: Array, rows: Array | None = None) -> Array:
        targets, scale = _columns(y, exposure, rows)
        return likelihood.log_prob(targets, level * scale)

    return table


def _table_with_slopes(likelihood: Likelihood, y: Array, exposure: Array | None) -> LevelFunction:
    """log p(y_i | e_i·level), then its derivative in every parameter."""

    def table(level: Array, rows: Array | None = None) -> Array:
        targets, scale = _columns(y, exposure, rows)
        own = likelihood.log_prob(targets, level * scale)
        slopes = likelihood.log_prob_gradient(targets, level * scale)
        return namespace(y).concat([own[None, ...], slopes], axis=0)

    return table


def _columns(y: Array, exposure: Array | None, rows: Array | None) -> tuple[Array, Array | float]:
    """Targets and exposures of the chosen rows as columns."""
    xp = namespace(y)
    chosen = y if rows is None else xp.take(y, rows)
    if exposure is None:
        return chosen[:, None], 1.0
    return chosen[:, None], (exposure if rows is None else xp.take(exposure, rows))[:, None]
