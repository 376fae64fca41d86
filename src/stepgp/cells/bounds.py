"""How far a function on cells is from the function it stands for (paper, Theorems 1 to 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from stepgp._array.namespace import Floats, to_numpy
from stepgp._array.special import normal_cdf_pdf
from stepgp.cells.checks import checked_marginals
from stepgp.cells.grid import Grid, Rule
from stepgp.cells.hat import Hat

_LARGEST_PRODUCT = 100_000


def lipschitz_bound(
    grid: Grid, mean: npt.ArrayLike, var: npt.ArrayLike, lipschitz: float = 1.0
) -> Floats:
    """Theorem 1, corrected: a bound on E(g(f) − ĝ(f))², f ~ N(μ, σ²), g Λ-Lipschitz.

    Λ² Σ_k E[(f − x_k)² ; l_k ≤ f < u_k]
      = Λ² (μ² + σ² − 2 Σ_k x_k [μ ΔF_k − σ² Δp_k − ½ x_k ΔF_k]),
    where the paper prints σ Δp_k (erratum 1). Summed here about μ, with φ = σ p:
    σ² + Σ_k (μ − x_k)² ΔF_k − 2 (μ − x_k) σ Δφ_k. It bounds the error of the link, not that of
    the ELBO (erratum 10), and on a fixed range it does not vanish with K (erratum 2).
    """
    _check_positive("lipschitz", lipschitz)
    centre, deviation, edges = _broadcast(mean, var, grid)
    cdf, density = _cdf_pdf_with_ends((edges - centre) / deviation)
    mass, rise = np.diff(cdf, axis=-1), np.diff(density, axis=-1)
    points, weights = grid.stencil()
    total = deviation[..., 0] ** 2
    for weight, point in zip(weights, points.T, strict=True):
        offset = centre - point
        total += weight * np.sum(offset**2 * mass - 2.0 * offset * deviation * rise, axis=-1)
    return lipschitz**2 * total


def exp_error(grid: Grid, mean: npt.ArrayLike, var: npt.ArrayLike) -> Floats:
    """Theorem 2: E(exp f − êxp f)² in closed form, f ~ N(μ, σ²).

    Σ_k e^{2μ+2σ²} ΔΦ_k(−2σ) − 2 c_k e^{μ+σ²/2} ΔΦ_k(−σ) + c_k² ΔΦ_k(0), where ΔΦ_k(s) is the
    normal probability of cell k, standardised and moved by s, and c_k the cell's level.
    """
    centre, deviation, edges = _broadcast(mean, var, grid)
    z = (edges - centre) / deviation
    mass, tilted, twice = (
        np.diff(_cdf_pdf_with_ends(z - moved)[0], axis=-1)
        for moved in (0.0, deviation, 2.0 * deviation)
    )
    points, weights = grid.stencil()
    level = np.exp(points) @ weights
    half_var = 0.5 * deviation**2
    square = np.exp(2.0 * centre + 4.0 * half_var) * twice
    square -= 2.0 * level * np.exp(centre + half_var) * tilted
    square += level**2 * mass
    return np.maximum(np.sum(square, axis=-1), 0.0)


def expect_several(
    function: Callable[..., npt.ArrayLike],
    levels: Sequence[npt.ArrayLike],
    masses: Sequence[npt.ArrayLike],
) -> Floats:
    """Theorem 3: E h(ĝ₁(f₁), …, ĝ_C(f_C)) for independent latents, a sum over all K₁⋯K_C cells.

    `function` is called once with C arrays that broadcast to (K₁, …, K_C); `masses[c]` is
    (n, K_c). The result is (n,).
    """
    tables = [np.asarray(level, dtype=np.float64) for level in levels]
    cells = math.prod(len(table) for table in tables)
    if cells > _LARGEST_PRODUCT:
        raise ValueError(
            f"{len(tables)} latents with {[len(t) for t in tables]} cells make {cells} "
            f"combinations, more than {_LARGEST_PRODUCT}: use fewer cells, fewer latents, or a "
            "likelihood with structure (softmax, heteroscedastic Gaussian)."
        )
    values = np.asarray(function(*np.meshgrid(*tables, indexing="ij", sparse=True)), dtype=float)
    values = np.broadcast_to(values, tuple(len(table) for table in tables))
    weights = [to_numpy(mass) for mass in masses]
    rest = np.broadcast_to(values, (len(weights[0]), *values.shape))
    for weight in reversed(weights):
        rest = np.einsum("n...k,nk->n...", rest, weight)
    return rest


def concave_bound(
    hat: Hat,
    mean: npt.ArrayLike,
    var: npt.ArrayLike,
    *,
    curvature: float,
    slope: float,
) -> Floats:
    """A bound on |E h(f) − Σ_k w_k h(x_k)| per row, for hat cells.

    Between nodes h lies within (Δ_j²/8)·max|h″| of its interpolant (above it, where h is
    concave: then E log p is bounded below by its cells); beyond the span the interpolant is
    constant, so h can leave it by at most max|h′| times the distance:
    Σ_j P(x_j ≤ f < x_{j+1}) Δ_j²/8 · curvature + slope · E[(x_1 − f)₊ + (f − x_K)₊].
    For a Bernoulli likelihood with sigmoid link, curvature = ¼ and slope = 1.
    """
    _check_positive("curvature", curvature)
    _check_positive("slope", slope)
    centre, deviation, nodes = _broadcast(mean, var, Grid(hat.nodes))
    z = (nodes - centre) / deviation
    cdf, density = normal_cdf_pdf(z)
    inside = np.sum(np.diff(cdf, axis=-1) * np.diff(hat.nodes) ** 2 / 8.0, axis=-1)
    below = density[..., 0] + z[..., 0] * cdf[..., 0]
    above = density[..., -1] - z[..., -1] * normal_cdf_pdf(-z[..., -1])[0]
    return curvature * inside + slope * deviation[..., 0] * (below + above)


def cells_for(
    tolerance: float,
    mean: npt.ArrayLike,
    var: npt.ArrayLike,
    *,
    lipschitz: float = 1.0,
    rule: Rule = "midpoint",
    largest: int = 16_384,
) -> Grid:
    """The coarsest uniform grid (K a power of two) with Theorem 1's bound ≤ `tolerance`.

    The bound holds on every row. Range and number of cells grow together: on a fixed range the
    tails leave a floor.
    """
    _check_positive("tolerance", tolerance)
    n_cells = 8
    while n_cells <= largest:
        for deviations in (4.0, 6.0, 8.0, 12.0):
            grid = Grid.covering(mean, var, n_cells, deviations=deviations, rule=rule)
            if np.max(lipschitz_bound(grid, mean, var, lipschitz)) <= tolerance:
                return grid
        n_cells *= 2
    raise ValueError(
        f"No uniform grid of up to {largest} cells brings the bound under {tolerance:g}: "
        "ask for a larger tolerance, or cut the rows into groups of similar mean and variance."
    )


def _broadcast(
    mean: npt.ArrayLike, var: npt.ArrayLike, grid: Grid
) -> tuple[Floats, Floats, Floats]:
    """Mean and deviation with a trailing axis for cells, and the edges."""
    centre, variance = checked_marginals(mean, var)
    return centre[..., None], np.sqrt(variance)[..., None], grid.edges


def _cdf_pdf_with_ends(z: Floats) -> tuple[Floats, Floats]:
    """Φ and φ at the edges, with their values 0, 1 and 0, 0 at ∓∞."""
    cdf, density = normal_cdf_pdf(z)
    ends = [(0, 0)] * (z.ndim - 1)
    cdf = np.pad(cdf, [*ends, (1, 0)])
    return np.pad(cdf, [*ends, (0, 1)], constant_values=1.0), np.pad(density, [*ends, (1, 1)])


def _check_positive(name: str, value: float) -> None:
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be positive and finite, got {value}.")
