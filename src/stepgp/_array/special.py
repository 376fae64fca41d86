"""Special functions that the array API standard lacks, on arrays of any of its libraries.

Everything about the normal distribution rests on one function, the Mills ratio
R(t) = Φ(−t)/φ(t): one rational function with positive coefficients, accurate to 5e-16
relative for every t ≥ 0. So Φ and φ cost one exponential, no branch, and the left tail keeps
its relative digits down to underflow.
"""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import is_numpy_array, is_torch_array
from scipy import special as scipy_special

from stepgp._array.namespace import Array, namespace

_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)
_HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
_FAR = 60.0  # φ(60) and Φ(−60) are 0 in float64; beyond it t² and t¹⁰ would only overflow

# Minimax rational of R on [0, ∞), degrees 9 and 10, from a 60-digit reweighted least squares in
# t = 3(1+x)/(1−x). Equal leading coefficients give R → 1/t.
_MILLS_NUMERATOR = (
    1.0,
    25.370580812170588874,
    318.38494160102965086,
    2546.3733005092362827,
    14167.932179531710249,
    56608.25561565459096,
    162282.26946019618974,
    322872.1228482823318,
    407968.31080026342069,
    254044.27512720335093,
)
_MILLS_DENOMINATOR = (
    1.0,
    25.370580812169924133,
    319.38494160136022644,
    2571.7438812651149093,
    14484.317125930880541,
    59103.887511027310206,
    175823.43990730155367,
    374641.14513339979397,
    545027.9303762383585,
    487241.22508710755984,
    202698.00488435101739,
)


def _polynomial(t: Array, coefficients: tuple[float, ...]) -> Array:
    """Horner's rule with a monic leading term, in one buffer."""
    value = t + coefficients[1]
    for coefficient in coefficients[2:]:
        value *= t
        value += coefficient
    return value


def mills_ratio(t: Array) -> Array:
    """R(t) = Φ(−t)/φ(t) for every t ≥ 0; far out, where t¹⁰ would overflow, it is 1/t."""
    xp = namespace(t)
    limit = float(xp.finfo(t.dtype).max) ** (1.0 / 11.0)
    ratio = _mills_rational(xp.clip(t, max=limit))
    ratio *= limit / xp.clip(t, min=limit)
    return ratio


def _mills_rational(t: Array) -> Array:
    ratio = _polynomial(t, _MILLS_NUMERATOR)
    ratio /= _polynomial(t, _MILLS_DENOMINATOR)
    return ratio


def capped(t: Array) -> Array:
    """t where t² is a float; beyond, the largest such number."""
    xp = namespace(t)
    root = 0.999 * math.sqrt(float(xp.finfo(t.dtype).max))
    return xp.clip(t, min=-root, max=root)


def ramp_ratio(t: Array) -> Array:
    """E(Z − t)₊/φ(t) = 1 − t R(t) for Z ~ N(0, 1), t ≥ 0; its asymptotic series past t = 50."""
    xp = namespace(t)
    far = t > 50.0
    u = 1.0 / xp.where(far, t, xp.ones_like(t))
    u = u * u
    series = u * (1.0 - u * (3.0 - u * (15.0 - u * (105.0 - u * 945.0))))
    return xp.where(far, series, 1.0 - t * mills_ratio(t))


def exp_inplace(x: Array) -> Array:
    """exp(x), in the memory of x where the library allows it."""
    if is_torch_array(x):
        return x.exp_()
    if is_numpy_array(x) and x.ndim:
        return np.exp(x, out=x)
    return namespace(x).exp(x)


def normal_tail(t: Array) -> tuple[Array, Array]:
    """(Φ(−t), φ(t)) for t ≥ 0, both with full relative accuracy."""
    xp = namespace(t)
    t = xp.minimum(t, xp.asarray(_FAR, dtype=t.dtype))
    density = t * t
    density *= -0.5
    density = exp_inplace(density)
    density *= _INV_SQRT_2PI
    tail = _mills_rational(t)
    tail *= density
    return tail, density


def normal_cdf_pdf(z: Array) -> tuple[Array, Array]:
    """(Φ(z), φ(z)); the left tail of Φ keeps its relative digits."""
    xp = namespace(z)
    tail, density = normal_tail(xp.abs(z))
    return xp.where(z < 0, tail, 1.0 - tail), density


def normal_remainder_pdf(z: Array) -> tuple[Array, Array]:
    """(Φ(z) − [z ≥ 0], φ(z)): how far Φ is from a step, with its digits in both tails."""
    xp = namespace(z)
    tail, density = normal_tail(xp.abs(z))
    return xp.where(z < 0, tail, -tail), density


def log_normal_cdf(z: Array) -> Array:
    """log Φ(z): −z²/2 − log√2π + log R(−z) on the left, log1p(−Φ(−z)) on the right.

    Finite for every z: −z²/2 ends at the lowest float.
    """
    xp = namespace(z)
    t = capped(xp.abs(z))
    ratio = mills_ratio(t)
    exponent = -0.5 * t * t - _HALF_LOG_2PI
    left = exponent + xp.log(ratio)
    right = xp.log1p(-xp.exp(exponent) * ratio)
    return xp.where(z < 0, left, right)


def log_normal_cdf_difference(low: Array, high: Array) -> Array:
    """log(Φ(high) − Φ(low)) for low ≤ high (either may be infinite).

    On one side of zero both ends are reflected to the left tail, where
    log Φ(b) + log1p(−exp(log Φ(a) − log Φ(b))) loses nothing and
    log Φ(a) − log Φ(b) = (b−a)(b+a)/2 + log R(−a)/R(−b); an interval around zero is
    1 − Φ(a) − Φ(−b).
    """
    xp = namespace(low, high)
    reflect = low > 0
    low, high = xp.where(reflect, -high, low), xp.where(reflect, -low, high)
    a, b = xp.abs(low), xp.abs(high)
    infinite = xp.isinf(a)
    a = xp.where(infinite, xp.ones_like(a), capped(a))
    b_tail = xp.where(xp.isinf(b), xp.asarray(_FAR, dtype=b.dtype), capped(b))
    ratio_a, ratio_b = mills_ratio(a), mills_ratio(b_tail)
    drop = xp.log(ratio_a) - xp.log(ratio_b) + 0.5 * (b_tail - a) * (b_tail + a)
    share = xp.where(infinite, xp.zeros_like(drop), xp.exp(xp.minimum(drop, xp.zeros_like(drop))))
    one_sided = -0.5 * b_tail * b_tail - _HALF_LOG_2PI + xp.log(ratio_b) + _log1m(share)
    tail_a = xp.where(infinite, xp.zeros_like(a), normal_tail(a)[0])
    around = _log1m(tail_a + normal_tail(b_tail)[0])
    return xp.where(high <= 0, one_sided, around)


def _log1m(share: Array) -> Array:
    """log(1 − share), −inf at one without a floating-point warning."""
    xp = namespace(share)
    proper = share < 1
    value = xp.log1p(-xp.where(proper, share, xp.zeros_like(share)))
    return xp.where(proper, value, xp.full_like(value, -math.inf))


def softplus(x: Array) -> Array:
    """log(1 + eˣ) without overflow, and eˣ to full relative accuracy on the left."""
    xp = namespace(x)
    return xp.maximum(x, xp.zeros_like(x)) + xp.log1p(xp.exp(-xp.abs(x)))


def log_sigmoid(x: Array) -> Array:
    """log 1/(1 + e⁻ˣ) = −softplus(−x)."""
    return -softplus(-x)


def log1mexp(x: Array) -> Array:
    """log(1 − e⁻ˣ) for x > 0; the switch at log 2 keeps both ends accurate (Mächler 2012)."""
    xp = namespace(x)
    far = x > math.log(2.0)
    right = xp.where(far, x, xp.ones_like(x))
    return xp.where(far, xp.log1p(-xp.exp(-right)), xp.log(-xp.expm1(-x)))


def logsumexp(x: Array, *, axis: int = -1) -> Array:
    """log Σ eˣ along an axis; a slice that is all −inf gives −inf, not NaN."""
    xp = namespace(x)
    top = xp.max(x, axis=axis, keepdims=True)
    finite = xp.isfinite(top)
    shift = xp.where(finite, top, xp.zeros_like(top))
    total = xp.sum(xp.exp(x - shift), axis=axis, keepdims=True)
    total = xp.log(xp.where(finite, total, xp.ones_like(total)))
    return xp.squeeze(xp.where(finite, shift + total, top), axis=axis)


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_SHIFT = 8  # Stirling's series at x + 8 has an error below 1e-15


def log_gamma(x: Array) -> Array:
    """log Γ(x) for x > 0."""
    if is_numpy_array(x):
        return scipy_special.gammaln(x)
    xp = namespace(x)
    if is_torch_array(x):
        return x.lgamma()
    product = x
    for step in range(1, _SHIFT):
        product = product * (x + step)
    y = x + _SHIFT
    series = xp.zeros_like(x)
    for coefficient in reversed(_STIRLING):
        series = series / (y * y) + coefficient
    return (y - 0.5) * xp.log(y) - y + _HALF_LOG_2PI + series / y - xp.log(product)


def digamma(x: Array) -> Array:
    """ψ(x) = d log Γ(x)/dx for x > 0."""
    if is_numpy_array(x):
        return scipy_special.digamma(x)
    if is_torch_array(x):
        return x.digamma()
    xp = namespace(x)
    shifted = xp.zeros_like(x)
    for step in range(_SHIFT):
        shifted = shifted - 1.0 / (x + step)
    y = x + _SHIFT
    series = xp.zeros_like(x)
    for power in range(len(_STIRLING), 0, -1):
        series = series / (y * y) + (2 * power - 1) * _STIRLING[power - 1]
    return shifted + xp.log(y) - 0.5 / y - series / (y * y)
