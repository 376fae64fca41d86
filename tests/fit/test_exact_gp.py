"""With Gaussian noise and Z = X the model is the exact GP; with fewer Z it is Titsias' bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, stats

from stepgp.fit import Options, fit_rows
from stepgp.fit.objective import parameters_of, with_parameters
from stepgp.kernels import RBF, Kernel, Linear, Matern12, Matern32, Matern52
from stepgp.likelihoods import Gaussian
from stepgp.links import Affine, Identity, Link
from stepgp.model import ConstantMean, LinearMean, MeanFunction, ZeroMean
from stepgp.model.posterior import marginals
from stepgp.model.rowpass import Model
from stepgp.model.rules import ClosedForm
from stepgp.rows import MemoryRows
from tests.fit.problems import converged, drawn, options, prior
from tests.kernels.cases import CASES, N_FEATURES
from tests.model.scenes import inputs, moved

N = 50
ROWS = drawn(Gaussian(0.4), Identity(), n_rows=N)
NEW = inputs(30, 77)

KERNELS: dict[str, Kernel] = {
    "rbf": RBF(0.6, 1.2, ard=False),
    "matern12": Matern12(),
    "matern32": Matern32(ard=True),
    "matern52": Matern52(),
    "sum": Matern32(0.7) + Linear(),
}
MEANS: dict[str, MeanFunction] = {
    "zero": ZeroMean(),
    "constant": ConstantMean(0.4),
    "linear": LinearMean(-0.2, np.array([0.3, 0.5])),
}


def model(
    kernel: Kernel, mean: MeanFunction, Z: np.ndarray, noise: float = 0.3, link: Link | None = None
) -> Model:
    gaussian = Gaussian(noise, learn=("scale",))
    return Model(moved(kernel), mean, gaussian, link or Identity(), ClosedForm(), Z)


def noisy(made: Model, rows: MemoryRows) -> np.ndarray:
    """K + σ²/w."""
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    noise = made.likelihood.gaussian_noise
    assert noise is not None
    return made.kernel(rows.X, rows.X) + np.diag(noise / weight)


def log_marginal(made: Model, rows: MemoryRows) -> float:
    """log N(y | m(X), K + σ²I)."""
    mean = made.mean_function(rows.X)
    return float(stats.multivariate_normal(mean, noisy(made, rows)).logpdf(rows.y))


def conditional(made: Model, rows: MemoryRows, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of f at X given y, dense."""
    cross = made.kernel(rows.X, X)
    solved = linalg.solve(noisy(made, rows), cross, assume_a="pos")
    mean = made.mean_function(X) + solved.T @ (rows.y - made.mean_function(rows.X))
    return mean, made.kernel.diag(X) - np.sum(cross * solved, axis=0)


@pytest.mark.parametrize("mean", MEANS.values(), ids=MEANS.keys())
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_elbo_is_the_log_marginal_likelihood(kernel: Kernel, mean: MeanFunction) -> None:
    made = model(kernel, mean, ROWS.X.copy())
    step = converged(ROWS, made, jitter=1e-10).e_step
    assert step.elbo == pytest.approx(log_marginal(made, ROWS), rel=1e-6)


@pytest.mark.parametrize("kernel", CASES.values(), ids=CASES.keys())
def test_elbo_with_the_jitter_of_a_fit(kernel: Kernel) -> None:
    """For every kernel there is: a hundred times the jitter of the other tests here."""
    rows = drawn(Gaussian(0.4), Identity(), n_rows=N, n_features=N_FEATURES)
    made = Model(kernel, MEANS["constant"], Gaussian(0.3), Identity(), ClosedForm(), rows.X.copy())
    step = converged(rows, made, jitter=Options(1).jitter).e_step
    assert step.q.factor.jitter == Options(1).jitter
    assert step.elbo == pytest.approx(log_marginal(made, rows), rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())
def test_predictions_are_those_of_the_exact_gp(kernel: Kernel) -> None:
    made = model(kernel, MEANS["linear"], ROWS.X.copy())
    q = converged(ROWS, made, jitter=1e-10).e_step.q
    mean, var = marginals(q, made.kernel, made.mean_function, made.inducing, NEW)
    expected_mean, expected_var = conditional(made, ROWS, NEW)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(var, expected_var, rtol=1e-5, atol=1e-6)


def test_gradient_is_that_of_the_log_marginal_likelihood() -> None:
    """In kernel, mean and noise; in Z it is nil, as no other Z could do better."""
    made = model(KERNELS["matern52"], MEANS["linear"], ROWS.X.copy())
    at = converged(ROWS, made, jitter=1e-10)
    theta = parameters_of(made)

    def exact(step: np.ndarray) -> float:
        other = with_parameters(made, theta + step)
        priors = other.kernel.log_prior() + other.likelihood.log_prior()
        return (log_marginal(other, ROWS) + priors) / N

    n_hyper = len(theta) - made.inducing.size
    for index in range(n_hyper):
        unit = 1e-4 * np.eye(len(theta))[index]
        reference = (exact(unit) - exact(-unit)) / 2e-4
        assert at.gradient[index] == pytest.approx(reference, rel=1e-5, abs=1e-6)
    assert np.max(np.abs(at.gradient[n_hyper:])) < 1e-5


def test_weights_divide_the_noise() -> None:
    """A row of weight w is a row with noise σ²/w and a constant: w copies of it."""
    weight = np.random.default_rng(2).integers(1, 4, N).astype(float)
    rows = replace(ROWS, weight=weight)
    made = model(KERNELS["matern32"], MEANS["constant"], ROWS.X.copy())
    step = converged(rows, made, jitter=1e-10).e_step
    variance = made.likelihood.gaussian_noise
    constant = -0.5 * np.sum((weight - 1.0) * np.log(2 * np.pi * variance) + np.log(weight))
    assert step.elbo == pytest.approx(log_marginal(made, rows) + constant, rel=1e-6)
    got = marginals(step.q, made.kernel, made.mean_function, made.inducing, NEW)
    for one, other in zip(got, conditional(made, rows, NEW), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_an_affine_link_is_another_unit() -> None:
    made = model(KERNELS["matern32"], ZeroMean(), ROWS.X.copy(), link=Affine(Identity(), 1.0, 2.0))
    step = converged(ROWS, made, jitter=1e-10).e_step
    covariance = 4.0 * made.kernel(ROWS.X, ROWS.X) + 0.09 * np.eye(N)
    reference = stats.multivariate_normal(np.ones(N), covariance).logpdf(ROWS.y)
    assert step.elbo == pytest.approx(reference, rel=1e-6)


@pytest.mark.parametrize("n_inducing", [1, 6, 20])
def test_fewer_inducing_inputs_are_titsias_bound(n_inducing: int) -> None:
    """log N(y | m, Q + σ²I) − tr(K − Q)/2σ², Q = K_xz K_zz⁻¹ K_zx (Titsias 2009)."""
    made = model(KERNELS["matern32"], MEANS["linear"], inputs(n_inducing, 5))
    step = converged(ROWS, made, jitter=1e-10).e_step
    kzz, kzx = made.kernel(made.inducing, made.inducing), made.kernel(made.inducing, ROWS.X)
    Q = kzx.T @ linalg.solve(kzz + 1e-10 * np.mean(np.diag(kzz)) * np.eye(n_inducing), kzx)
    noise = made.likelihood.gaussian_noise
    mean = made.mean_function(ROWS.X)
    bound = stats.multivariate_normal(mean, Q + noise * np.eye(N)).logpdf(ROWS.y)
    bound -= 0.5 * (np.sum(made.kernel.diag(ROWS.X)) - np.trace(Q)) / noise
    assert step.elbo == pytest.approx(bound, rel=1e-7)
    assert step.elbo < log_marginal(made, ROWS)


def test_a_whole_fit_ends_at_its_exact_gp() -> None:
    """Z starts at X and may move: the ELBO stays a bound, and a tight one."""
    chosen = options(N, inducing=ROWS.X.copy(), jitter=1e-10)
    fit = fit_rows(ROWS, prior(Gaussian(), Identity()), chosen)
    exact = log_marginal(fit.model, ROWS)
    assert fit.elbo * N <= exact + 1e-6 * abs(exact)
    assert fit.elbo * N == pytest.approx(exact, rel=1e-4)
    args = fit.model.kernel, fit.model.mean_function, fit.model.inducing
    mean, var = marginals(fit.q, *args, NEW)
    expected_mean, expected_var = conditional(fit.model, ROWS, NEW)
    np.testing.assert_allclose(mean, expected_mean, atol=2e-3)
    np.testing.assert_allclose(var, expected_var, rtol=0.02, atol=1e-3)


def test_a_whole_fit_finds_the_noise() -> None:
    """400 rows with noise 0.4: the learnt one is near it."""
    rows = drawn(Gaussian(0.4), Identity(), n_rows=400, seed=5)
    fit = fit_rows(rows, prior(Gaussian(), Identity()), options(30))
    assert fit.model.likelihood.value("scale") == pytest.approx(0.4, rel=0.1)
