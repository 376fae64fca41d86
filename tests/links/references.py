"""References of 17 digits for the links: g, log g and log(1 − g)."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal

# x, Φ(x), log Φ(x) by 50-digit arithmetic; below the range of float64 the first is "0".
NORMAL = (
    (-700.0, 0.0, -245007.470020909054),
    (-300.0, 0.0, -45006.6227321186634),
    (-37.5, 4.60535300958195484e-308, -707.668989317507191),
    (-20.0, 2.7536241186062337e-89, -203.917155371097264),
    (-8.0, 6.22096057427178412e-16, -35.0134371599145499),
    (-5.0, 2.86651571879193912e-7, -15.0649983939887257),
    (-3.0, 0.00134989803163009453, -6.60772622151034954),
    (-1.0, 0.158655253931457051, -1.84102164500926351),
    (-0.001, 0.499601057786088937, -0.693945383466965179),
    (0.0, 0.5, -0.693147180559945309),
    (0.3, 0.617911422188952633, -0.481410161588481205),
    (1.0, 0.841344746068542949, -0.17275377902344989),
    (2.5, 0.993790334674223865, -0.00622902548586000238),
    (4.0, 0.99996832875816688, -0.0000316717433774892639),
    (8.0, 0.999999999999999378, -6.22096057427178606e-16),
    (20.0, 1.0, -2.7536241186062337e-89),
    (37.5, 1.0, -4.60535300958195484e-308),
)

POINTS = (
    -700.0, -300.0, -40.0, -36.5, -30.0001, -29.9999, -12.5, -3.0, -0.7, -1e-3, 0.0, 1e-3, 0.4,
    0.6, 2.0, 5.0, 9.999, 10.001, 36.5, 40.0, 300.0, 700.0,
)  # fmt: skip

Function = Callable[[Decimal], Decimal]

LEVEL: dict[str, Function] = {
    "Identity": lambda x: x,
    "Sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "CLogLog": lambda x: 1 - (-x.exp()).exp(),
    "Exp": lambda x: x.exp(),
    "Softplus": lambda x: (1 + x.exp()).ln(),
}
LOG: dict[str, Function] = {
    "Sigmoid": lambda x: -(1 + (-x).exp()).ln(),
    "CLogLog": lambda x: (1 - (-x.exp()).exp()).ln(),
    "Exp": lambda x: x,
    "Softplus": lambda x: (1 + x.exp()).ln().ln(),
}
LOG_COMPLEMENT: dict[str, Function] = {
    "Sigmoid": lambda x: -(1 + x.exp()).ln(),
    "CLogLog": lambda x: -x.exp(),
}


def exact(function: Function, x: float) -> float:
    """The function with 800 digits, so that 1 − e^(−700) still has its own."""
    context = decimal.Context(prec=800, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])
    with decimal.localcontext(context):
        return float(function(Decimal(x)))
