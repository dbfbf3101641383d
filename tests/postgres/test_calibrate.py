"""``crmeval calibrate``: the command, on a real server."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.cli import main
from tests.projects import case


@pytest.fixture
def calibrate(given_server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:  # noqa: ANN401 (a function)
    """Return a function that calibrates cases and returns status, output and complaints."""
    del given_server

    def run(*cases: dict[str, Any], options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        path = tmp_path / "cases.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in cases), encoding="utf-8")
        status = main(["calibrate", str(path), "--tries", "2", *options])
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


def test_a_sound_suite(calibrate: Any) -> None:  # noqa: ANN401 (a function)
    """Figures for people, and for programs."""
    status, told, _ = calibrate(case("one"), case("two"))

    assert (0, "2 conversations") == (status, told.splitlines()[0])
    document = json.loads(calibrate(case("one"), options=("--format", "json"))[1])
    assert {"oracle": 1.0, "mute": 0.0, "parrot": 0.0} == document["passed"]
    assert (True, 0) == (document["holds"], document["invalid"])


def test_what_nobody_can_pass_is_left_out(calibrate: Any) -> None:  # noqa: ANN401 (a function)
    """A seed that does not fit, a fact that nobody knows."""
    misfit = case("misfit", initial_entities={"seed_data": {"Client": {f"{7:032x}": {"name": 7}}}})
    unsaid = case("unsaid")
    unsaid["turns"][0]["reply_facts"] = ["Zebra"]

    status, told, _ = calibrate(case("one"), misfit, unsaid)

    assert 0 == status
    assert ["2 invalid conversations are left out", "", "1 conversations"] == told.splitlines()[:3]
    status, _, complaint = calibrate(misfit, unsaid)
    assert (2, "crmeval: no case can be passed by anybody: crmeval lint tells why\n") == (status, complaint)


def test_scores_that_can_not_be_believed_are_status_1(calibrate: Any) -> None:  # noqa: ANN401 (a function)
    """The reply alone does not tell whether anything was done."""
    assert 1 == calibrate(case("one"), options=("--scorer", "reply"))[0]
