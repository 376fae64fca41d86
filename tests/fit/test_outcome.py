"""Every way a fit can end says why, and what to do."""

from __future__ import annotations

import pytest

from stepgp.fit import Outcome


@pytest.mark.parametrize("outcome", Outcome)
def test_cause_and_remedy(outcome: Outcome) -> None:
    assert len(outcome.cause) > 10
    assert outcome.cause[0].islower()
    assert not outcome.cause.endswith(".")
    if outcome is not Outcome.CONVERGED:
        assert len(outcome.remedy) > 10
    assert outcome.message.startswith(outcome.cause)
    assert outcome.remedy in outcome.message
    assert outcome.message.endswith(".")
    assert "; ." not in outcome.message


def test_which_fits_are_sound() -> None:
    assert {outcome for outcome in Outcome if outcome.is_sound} == {
        Outcome.CONVERGED,
        Outcome.STALLED,
    }


def test_causes_differ() -> None:
    assert len({outcome.cause for outcome in Outcome}) == len(Outcome)
