"""Expectations and the whole row pass against torch, differentiated by its autograd."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from stepgp.cells import CellFamily, Hat
from stepgp.kernels import RBF
from stepgp.likelihoods import Bernoulli, Gaussian, StudentT
from stepgp.links import Identity, Sigmoid
from stepgp.model import LinearMean, expected_log_prob
from stepgp.model.rowpass import row_pass
from stepgp.model.rules import CellRule, ClosedForm, Rule
from tests.model.cases import CELLS, MEAN, PAIRS, VAR, Cells, coarse, every_cells
from tests.model.references import levels_of, log_probs
from tests.model.scenes import Scene, scene

torch: Any = pytest.importorskip("torch")

SOME = [p for p in PAIRS if p.link in (Sigmoid(), Identity(), p.likelihood.default_link())]


def masses(cells: CellFamily, mean: Any, var: Any) -> Any:
    """(n, K) from textbook formulas: differences of Φ, or of E(f − x)₊ = √v(φ(z) + zΦ(z))."""
    deviation = torch.sqrt(var)[:, None]
    if not isinstance(cells, Hat):
        edges = torch.as_tensor(cells.grid.edges)  # type: ignore[attr-defined]
        cdf = torch.special.ndtr((edges - mean[:, None]) / deviation)
        one = torch.ones_like(cdf[:, :1])
        return torch.diff(torch.cat([0.0 * one, cdf, one], dim=1), dim=1)
    nodes = torch.as_tensor(cells.nodes)
    z = (mean[:, None] - nodes) / deviation
    density = torch.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    ramp = deviation * (density + z * torch.special.ndtr(z))
    slope = torch.diff(ramp, dim=1) / torch.diff(nodes)
    one = torch.ones_like(slope[:, :1])
    # Ramps E(f − x)₊ fall with x: with slope −1 before the first node, with 0 after the last.
    return torch.diff(torch.cat([-one, slope, 0.0 * one], dim=1), dim=1)


@every_cells
def test_expectations(cells: Cells) -> None:
    family = coarse(cells)
    for pair in SOME:
        table = torch.as_tensor(log_probs(pair, levels_of(family, pair), pair.exposure))
        mean = torch.tensor(MEAN, requires_grad=True)
        var = torch.tensor(VAR, requires_grad=True)
        total = torch.sum(masses(family, mean, var) * table, dim=1)
        total.sum().backward()
        got = expected_log_prob(
            pair.likelihood, pair.link, family, pair.targets, MEAN, VAR, exposure=pair.exposure
        )
        size = np.max(np.abs(table.numpy()), axis=1)
        pairs = [
            (got.value, total.detach(), 1.0),
            (got.d_mean, mean.grad, np.sqrt(VAR)),
            (got.d_var, var.grad, VAR),
        ]
        for ours, theirs, unit in pairs:
            error = np.abs(ours - theirs.numpy()) * unit
            assert np.all(error <= 1e-10 * np.abs(ours) * unit + 1e-13 * size), pair


# ---- the whole pass


def squared_exponential(theta: Any, A: Any, B: Any) -> Any:
    """With one lengthscale per feature and a variance, all as logs."""
    scaled = (A[:, None] - B[None]) / torch.exp(theta[:-1])
    return torch.exp(theta[-1]) * torch.exp(-0.5 * (scaled**2).sum(-1))


def log_bernoulli(y: Any, level: Any, theta: Any) -> Any:
    return y * torch.log(level) + (1.0 - y) * torch.log1p(-level)


def log_gaussian(y: Any, level: Any, theta: Any) -> Any:
    z = (y - level) / torch.exp(theta[0])
    return -0.5 * z * z - theta[0] - 0.5 * math.log(2.0 * math.pi)


def log_student(y: Any, level: Any, theta: Any) -> Any:
    return torch.distributions.StudentT(torch.exp(theta[1]), level, torch.exp(theta[0])).log_prob(y)


MODELS = {
    "bernoulli": (Bernoulli(), Sigmoid(), log_bernoulli),
    "gaussian": (Gaussian(), Identity(), log_gaussian),
    "student": (StudentT(), Identity(), log_student),
}


def data_term(scene: Scene, log_prob: Any, leaves: dict[str, Any], *, exact: bool) -> Any:
    """Σ w E log p with (a, W) held, from kernel, mean, likelihood and inducing inputs."""
    block = scene.block
    X, y = torch.as_tensor(block.X), torch.as_tensor(block.y)
    a, W = torch.as_tensor(scene.q.weights), torch.as_tensor(scene.q.reduction)
    kzx = squared_exponential(leaves["kernel"], leaves["inducing"], X)
    mean = leaves["mean"][0] + X @ leaves["mean"][1:] + a @ kzx
    var = torch.exp(leaves["kernel"][-1]) - (kzx * (W @ kzx)).sum(0)
    if exact:  # Gaussian around f itself: the square adds the variance
        value = log_prob(y, mean, leaves["likelihood"])
        value = value - 0.5 * var * torch.exp(-2.0 * leaves["likelihood"][0])
    else:
        rule = scene.model.rule
        assert isinstance(rule, CellRule)
        points, weights = rule.cells.stencil()
        level = torch.as_tensor(scene.model.link(points) @ weights)
        table = log_prob(y[:, None], level, leaves["likelihood"])
        value = (masses(rule.cells, mean, var) * table).sum(1)
    return (torch.as_tensor(block.weight) * value).sum()


@pytest.mark.parametrize(
    ("name", "rule"), [*product(MODELS, CELLS), ("gaussian", "closed")], ids=str
)
def test_row_pass(name: str, rule: str) -> None:
    likelihood, link, log_prob = MODELS[name]
    chosen: Rule = ClosedForm() if rule == "closed" else CellRule(CELLS[rule](-6.0, 6.0, 25))
    made = scene(
        likelihood,
        link,
        rule=chosen,
        kernel=RBF(ard=True),
        mean_function=LinearMean(0.2, np.array([0.5, -0.4])),
        weights=True,
    )
    model = made.model
    leaves = {
        "kernel": model.kernel.params,
        "mean": model.mean_function.params,
        "likelihood": model.likelihood.params,
        "inducing": model.inducing,
    }
    leaves = {key: torch.tensor(value, requires_grad=True) for key, value in leaves.items()}
    total = data_term(made, log_prob, leaves, exact=rule == "closed")
    total.backward()
    sums = row_pass(model, made.q, made.block, gradient=True)
    assert sums.value == pytest.approx(total.item(), rel=1e-11)
    assert sums.gradient is not None
    for ours, key in (
        (sums.gradient.kernel, "kernel"),
        (sums.gradient.mean_function, "mean"),
        (sums.gradient.inducing, "inducing"),
        (sums.gradient.likelihood, "likelihood"),
    ):
        if key == "likelihood" and not likelihood.params.size:
            continue
        theirs = leaves[key].grad.numpy()
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10 * np.max(np.abs(theirs)))
