"""Trials between a worker and the controller."""

from typing import Any

import pytest

from pytest_crmeval.plugin.transit import Packing, Unpacking

TRIAL = {
    "case": "harbor",
    "reason": "it said \ud83d and Zo\u00eb",
    "scores": [{"name": "reply", "value": 0.5}],
    "seconds": 1.5,
}


def packed(data: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return what a worker sends of a report, as pytest has written it down."""
    hook = Packing().pytest_report_to_serializable()
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(data)
    sent: dict[str, Any] | None = ended.value.value
    return sent


def test_a_trial_is_one_piece_of_text_on_its_way() -> None:
    """And what it was when it has arrived."""
    report = {"nodeid": "test_crm.py::test", "crmeval_trial": TRIAL}
    sent = packed(dict(report))
    assert sent is not None

    assert isinstance(sent["crmeval_trial"], str)
    sent["crmeval_trial"].encode()  # execnet could not send half a surrogate pair

    Unpacking().pytest_report_from_serializable(sent)

    assert report == sent


@pytest.mark.parametrize("data", [None, {"nodeid": "test_other.py::test"}])
def test_reports_of_others_are_left_alone(data: dict[str, Any] | None) -> None:
    """They have no trial."""
    assert data == packed(data)
    if data:
        before = dict(data)
        Unpacking().pytest_report_from_serializable(data)

        assert before == data
