"""The normal distribution in 60-digit arithmetic, far beyond the range of float64."""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from functools import cache

CONTEXT = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
INFINITY = Decimal("Infinity")
_SQRT_2PI = Decimal("2.50662827463100050241576528481104525300698674060993831662992357634229")


@cache
def density(z: Decimal) -> Decimal:
    """φ(z)."""
    with localcontext(CONTEXT):
        return (-z * z / 2).exp() / _SQRT_2PI if z.is_finite() else Decimal(0)


@cache
def tail(t: Decimal) -> Decimal:
    """Φ(−t), t ≥ 0: ½ − φ(t) Σ t²ⁿ⁺¹/(2n+1)!!, past 6 φ(t)/(t + 1/(t + 2/(t + 3/(t + …))))."""
    with localcontext(CONTEXT):
        if not t.is_finite():
            return Decimal(0)
        if t < 6:
            term = total = t
            order = 1
            while term > Decimal("1e-62"):
                order += 2
                term = term * t * t / order
                total += term
            return Decimal("0.5") - density(t) * total
        fraction = t
        for order in range(20 + int(600 / t), 0, -1):
            fraction = t + order / fraction
        return density(t) / fraction


def cdf(z: Decimal) -> Decimal:
    """Φ(z)."""
    with localcontext(CONTEXT):
        return tail(-z) if z < 0 else 1 - tail(z)


def probability(low: Decimal, high: Decimal) -> Decimal:
    """Φ(high) − Φ(low), each end in its own tail."""
    with localcontext(CONTEXT):
        if low >= 0:
            return tail(low) - tail(high)
        if high <= 0:
            return tail(-high) - tail(-low)
        return 1 - tail(-low) - tail(high)


def log(x: Decimal) -> float:
    with localcontext(CONTEXT):
        return float(x.ln())


def log_probability(low: Decimal, high: Decimal) -> float:
    """log(Φ(high) − Φ(low)); by its series where the interval holds almost everything."""
    with localcontext(CONTEXT):
        missing = tail(-low) + tail(high) if low <= 0 <= high else Decimal(1)
        if missing > Decimal("1e-9"):
            return log(probability(low, high))
        return -float(sum(missing**order / order for order in range(1, 7)))
