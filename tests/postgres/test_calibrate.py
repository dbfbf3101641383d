"""``crmeval calibrate``: the command, on a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.cli import main
from tests.projects import ADA, case


@pytest.fixture
def calibrate(given_server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:  # noqa: ANN401 (a function)
    """Return a function that calibrates cases and returns status, output and error output."""
    del given_server

    def run(*cases: dict[str, Any], options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        path = tmp_path / "cases.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in cases), encoding="utf-8")
        status = main(["calibrate", *([str(path)] if cases else []), "--tries", "2", *_labelled(tmp_path), *options])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


def _labelled(folder: Path) -> Iterator[str]:
    """Yield the options that name an open and a sealed set of labelled replies, of one conversation each."""
    calls = [[{"tool": "create_new_client", "arguments": ADA}]]
    replies = {"true": ["Ada Ltd is added.", "Done."], "false": ["Ada Ltd could not be added.", "I deleted Ada Ltd."]}
    turn = {"user": "Add Ada Ltd, ada@ada.example, active.", "calls": calls, **replies}
    for name in ("sealed-9", "open-9"):
        path = folder / f"{name}.jsonl"
        path.write_text(json.dumps({"conversation": case("labelled"), "turns": [turn]}) + "\n", encoding="utf-8")
        yield from ("--replies", str(path))


def test_labelled_replies_are_reported_separately(calibrate: Any) -> None:  # noqa: ANN401 (a function)
    """Sealed and open sets, without a suite or after the generated flaws; not if `reply` is not a scorer."""
    names = [
        *("labelled false replies, sealed sets, caught", "labelled true replies, sealed sets, accepted"),
        *("labelled false replies, open sets, caught", "labelled true replies, open sets, accepted"),
    ]
    status, shown, _ = calibrate()
    assert (0, names) == (status, [line[:48].strip() for line in shown.splitlines()[1:]])
    assert [["2", "2"]] * 4 == [line[48:].split()[:2] for line in shown.splitlines()[1:]], shown

    shares = json.loads(calibrate(case("one"), options=("--format", "json"))[1])["shares"]
    generated = ["flaws in calls and state, caught", "generated false replies, caught"]
    assert {*generated, *names} <= {share["name"] for share in shares}
    assert all(share["interval"][0] <= share["share"] <= share["interval"][1] for share in shares if share["tried"])
    assert "labelled" not in calibrate(case("one"), options=("--scorer", "state"))[1]


def test_sound_suite_is_reported(calibrate: Any) -> None:  # noqa: ANN401 (a function)
    """As text and as JSON."""
    status, shown, _ = calibrate(case("one"), case("two"))

    assert (0, "2 conversations") == (status, shown.splitlines()[0])
    document = json.loads(calibrate(case("one"), options=("--format", "json"))[1])
    assert {"oracle": 1.0, "mute": 0.0, "parrot": 0.0} == document["passed"]
    assert (True, 0) == (document["holds"], document["invalid"])


def test_cases_that_no_agent_can_pass_are_skipped(calibrate: Any) -> None:  # noqa: ANN401 (a function)
    misfit = case("misfit", initial_entities={"seed_data": {"Client": {f"{7:032x}": {"name": 7}}}})
    unsaid = case("unsaid")
    unsaid["turns"][0]["reply_facts"] = ["Zebra"]

    status, shown, _ = calibrate(case("one"), misfit, unsaid)

    assert 0 == status
    assert ["2 invalid conversations were skipped", "", "1 conversations"] == shown.splitlines()[:3]
    status, _, complaint = calibrate(misfit, unsaid)
    assert (2, "crmeval: no agent can pass any of these cases; crmeval lint shows why\n") == (status, complaint)


def test_unsound_scores_are_status_1(calibrate: Any) -> None:  # noqa: ANN401 (a function)
    """The reply alone does not show whether anything was done."""
    assert 1 == calibrate(case("one"), options=("--scorer", "reply"))[0]
