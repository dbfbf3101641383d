"""Trials between a worker and the controller."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_crmeval.channel.trial_transport import Packing, Unpacking

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


def unpacked(unpacking: Unpacking, data: dict[str, Any], report: object = None) -> Any:  # noqa: ANN401 (a report)
    """Return the report that pytest makes of ``data``."""
    hook = unpacking.pytest_report_from_serializable(data)
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(report)
    return ended.value.value


def reports_of(test: str) -> Iterator[pytest.TestReport]:
    """Yield the reports of a test as they come from a worker: no two have an object in common."""
    for when in ("setup", "call", "teardown"):
        data = json.loads(
            json.dumps(
                {
                    "nodeid": f"test_crm.py::test[{test}]",
                    "location": ["test_crm.py", 3, f"test[{test}]"],
                    "keywords": {test: 1, "conversations": 1, "a-tag-of-many": 1},
                    "outcome": "passed",
                    "longrepr": None,
                    "when": when,
                    "user_properties": [["crmeval_suite", "crm"], ["crmeval_case", test]],
                    "worker_id": "gw0",
                    "testrun_uid": "c5560ba69e564758abfbd61e9505114b",
                }
            )
        )
        yield pytest.TestReport(**data)


def test_reports_share_equal_values_to_save_memory() -> None:
    """Pytest keeps three reports of each test to the end: 50,000 tests took half a gigabyte."""
    unpacking = Unpacking()
    expected = [vars(report) for test in ("one", "two") for report in reports_of(test)]
    reports = [unpacked(unpacking, {}, report) for test in ("one", "two") for report in reports_of(test)]

    assert [list(state) for state in expected] == [list(vars(report)) for report in reports]
    assert [str(report.nodeid) for report in reports[::3]] == ["test_crm.py::test[one]", "test_crm.py::test[two]"]
    assert [report.user_properties[1][1] for report in reports] == ["one"] * 3 + ["two"] * 3
    assert len({id(report.keywords) for report in reports}) == 2
    assert len({id(word) for report in reports for word in report.keywords}) == 4
    assert len({id(report.user_properties[0]) for report in reports}) == 1
    assert len({id(report.testrun_uid) for report in reports}) == 1
    assert not unpacking._running  # noqa: SLF001 (nothing is kept of a test that is over)


def test_a_trial_is_one_piece_of_text_on_its_way() -> None:
    """And what it was when it has arrived."""
    report = {"nodeid": "test_crm.py::test", "crmeval_trial": TRIAL}
    sent = packed(dict(report))
    assert sent is not None

    assert isinstance(sent["crmeval_trial"], str)
    sent["crmeval_trial"].encode()  # execnet could not send half a surrogate pair

    unpacked(Unpacking(), sent)

    assert report == sent


@pytest.mark.parametrize("data", [None, {"nodeid": "test_other.py::test"}])
def test_reports_of_others_are_left_alone(data: dict[str, Any] | None) -> None:
    """They have no trial."""
    assert data == packed(data)
    if data:
        before = dict(data)
        unpacked(Unpacking(), data)

        assert before == data
