"""Reports of tests in the memory of the controller."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_crmeval.controller.report_sharing import ReportSharing


def shared(sharing: ReportSharing, report: pytest.TestReport) -> Any:  # noqa: ANN401 (a report)
    """Return the report that pytest has made, after the hook."""
    hook = sharing.pytest_report_from_serializable({})
    next(hook)
    with pytest.raises(StopIteration) as ended:
        hook.send(report)
    return ended.value.value


def reports_of(test: str) -> Iterator[pytest.TestReport]:
    """Yield the reports of a test as they come from a worker: no two share an object."""
    for when in ("setup", "call", "teardown"):
        data = json.loads(
            json.dumps(
                {
                    "nodeid": f"test_crm.py::test[{test}]",
                    "location": ["test_crm.py", 3, f"test[{test}]"],
                    "keywords": {f"test[{test}]": 1, "conversations": 1, "a-tag-of-many": 1},
                    "outcome": "passed",
                    "longrepr": None,
                    "when": when,
                    "user_properties": [["crmeval_suite", "crm"], ["crmeval_case", test]],
                    "worker_id": "gw0",
                    "testrun_uid": "c5560ba69e564758abfbd61e9505114b",
                }
            )
        )
        yield pytest.TestReport(**data | {"location": tuple(data["location"])})


def test_reports_share_equal_values_to_save_memory() -> None:
    """Pytest keeps three reports of each test: without sharing, 50,000 tests need half a gigabyte."""
    sharing = ReportSharing()
    expected = [vars(report) for test in ("one", "two") for report in reports_of(test)]
    reports = [shared(sharing, report) for test in ("one", "two") for report in reports_of(test)]

    assert [list(state) for state in expected] == [list(vars(report)) for report in reports]
    assert [str(report.nodeid) for report in reports[::3]] == ["test_crm.py::test[one]", "test_crm.py::test[two]"]
    assert [report.user_properties[1][1] for report in reports] == ["one"] * 3 + ["two"] * 3
    assert len({id(report.keywords) for report in reports}) == 2
    assert len({id(word) for report in reports for word in report.keywords}) == 4
    assert all(report.location[2] is next(iter(report.keywords)) for report in reports)
    assert len({id(report.location[0]) for report in reports}) == 1
    assert len({id(report.user_properties[0]) for report in reports}) == 1
    assert len({id(report.testrun_uid) for report in reports}) == 1
    assert not sharing._running  # noqa: SLF001 (nothing is kept of a test that is over)


def test_report_shares_the_node_id_of_the_run() -> None:
    """A run of 50,000 tests has each id once."""
    known = "test_crm.py::test[one]"
    data = json.loads(json.dumps({"nodeid": known}))

    next(ReportSharing({known: known}.__getitem__).pytest_report_from_serializable(data))

    assert data["nodeid"] is known
