"""Results of solution files on disk: in order, complete as far as they go, and found again."""

from pathlib import Path, PurePath

import pytest

from pytest_crmeval.domain.file_outcome import TestVerdict
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.journal.solutions.outcomes import Checkpoint, Defect, SolutionOutcome, TestOutcome, Ungradable
from pytest_crmeval.journal.solutions.places import found_before, place_of, run_of
from pytest_crmeval.journal.solutions.records import OUTPUT, REASON, record_of
from pytest_crmeval.journal.solutions.results import EarlierResults, ResultsError, ResultsWriter, earlier_results
from pytest_crmeval.render.solution_results import write_text

HEAD: JsonObject = {"fingerprint": "f", "checkpoint": "checkpoint-1", "lines": 4, "file": "s.jsonl"}
PLACE = PurePath("eval_checkpoint_1/eval_s.jsonl")


def judged(line: int, verdict: TestVerdict = TestVerdict.ACCEPTED, problem: str = "") -> SolutionOutcome:
    """Return the outcome of a line."""
    return SolutionOutcome(problem=problem or f"p{line}", line=line, sample=0, verdict=verdict)


def written(path: Path, *outcomes: SolutionOutcome | Ungradable, complete: bool = True, **head: str) -> Path:
    """Write complete results."""
    results = ResultsWriter.begin(path, {**HEAD, **head})
    for outcome in outcomes:
        results.add(outcome)
    results.end({"complete": complete})
    return path


def test_lines_are_written_at_once_and_sorted_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / PLACE
    results = ResultsWriter.begin(path, HEAD)
    for line in (2, 4, 1, 3):
        results.add(judged(line))
        assert line == list(EarlierResults(path).lines())[-1]["line"]
    assert "checkpoint-1 s: 4 of 4 graded" == EarlierResults(path).progress

    results.end({"complete": True})

    found = EarlierResults(path)
    assert [1, 2, 3, 4] == [record["line"] for record in found.records()]
    assert ({"complete": True}, "") == (found.end(), found.progress)
    assert ["eval_s.jsonl"] == [each.name for each in path.parent.iterdir()]


def test_sandbox_failures_are_not_kept(tmp_path: Path) -> None:
    """The others are, and are counted as if they had been graded now."""
    bad = Ungradable(defect=Defect.TRUNCATED, line=3, detail="cut")
    broken, skipped = judged(2, TestVerdict.JUDGE_ERROR), judged(4, TestVerdict.SKIPPED)
    first = EarlierResults(written(tmp_path / "a" / PLACE, judged(1), broken, bad, skipped, complete=False))

    second = ResultsWriter.begin(tmp_path / "b" / PLACE, HEAD, first)
    second.close()

    assert {1, 3} == second.known()
    assert ({"AC": 1}, {"truncated": 1}) == (second.count.verdicts, second.count.ungradable)


def test_resumed_file_is_complete_at_every_moment(tmp_path: Path) -> None:
    """Its old results exist until the new ones contain everything that is kept of them."""
    path = written(tmp_path / PLACE, judged(1), judged(2, TestVerdict.JUDGE_ERROR), complete=False)

    results = ResultsWriter.begin(path, HEAD, EarlierResults(path))
    results.add(judged(2))
    results.end({"complete": True})

    assert ["AC", "AC"] == [record["verdict"] for record in EarlierResults(path).records()]


@pytest.mark.parametrize("rest", [b"", b"{", b"\0\0\0\n", b"[1]\n", b'{"line": 9'])
def test_results_end_where_they_are_torn(tmp_path: Path, rest: bytes) -> None:
    """Half a line, or garbage of a disk, is ignored; what comes before it counts."""
    path = written(tmp_path / PLACE, judged(1), judged(2))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + rest)

    found = EarlierResults(path)

    assert ([1], None) == ([record["line"] for record in found.records()], found.end())


@pytest.mark.parametrize("content", [b"", b"{}\n", b"no json\n", b'{"schema": "other"}\n'])
def test_invalid_results_are_skipped(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "eval_s.jsonl"
    path.write_bytes(content)

    assert earlier_results(path) is None
    assert earlier_results(tmp_path / "gone.jsonl") is None
    with pytest.raises(ResultsError, match="not the results of a solution file"):
        EarlierResults(path)


def test_output_of_a_program_does_not_affect_a_terminal(tmp_path: Path) -> None:
    """Neither in the text file nor in the reason of a trial; the same applies to the name of its problem."""
    hostile = "\x1b]0;mine\x07é\x1b[2J\u202e"
    outcomes: list[SolutionOutcome | Ungradable] = [
        SolutionOutcome(problem=hostile, line=1, sample=0, verdict=TestVerdict.JUDGE_ERROR, reason=hostile),
        Ungradable(defect=Defect.UNSUPPORTED, line=2, problem=hostile, detail=hostile),
    ]
    head = {"problems": ["p.jsonl"], "sandbox": "paper"}
    results = ResultsWriter.begin(tmp_path / PLACE, {**HEAD, **head})
    for outcome in outcomes:
        results.add(outcome)
    results.end({"complete": False})
    text = write_text(EarlierResults(results.path), results.count.outcome(step=1, results="r")).read_text(
        encoding="utf-8"
    )

    assert all(line.isprintable() for line in [*text.splitlines(), results.count.trouble])
    assert 4 == text.count(r"\x1b]0;mine\x07é\x1b[2J\u202e")


def test_outputs_and_reasons_are_shortened(tmp_path: Path) -> None:
    test = TestOutcome(verdict=TestVerdict.WRONG_ANSWER, kind="official", reason="r" * 9999, output="\ud800" * 9999)
    outcome = SolutionOutcome(problem="p", line=1, sample=0, verdict=TestVerdict.WRONG_ANSWER, tests=[test])

    record = record_of(outcome)["tests"][0]

    assert len(record["reason"]) < REASON + 30
    assert len(record["output"]) < OUTPUT + 30
    assert "p" == next(EarlierResults(written(tmp_path / PLACE, outcome)).records())["problem"]


def test_complete_results_are_found_before_newer_incomplete_ones(tmp_path: Path) -> None:
    written(tmp_path / "old" / PLACE, judged(1))
    written(tmp_path / "part" / PLACE, judged(1), complete=False)
    written(tmp_path / "other" / PLACE, judged(1), fingerprint="g")
    (tmp_path / "latest").symlink_to("old")

    found = found_before(tmp_path, "now", PLACE, "f")

    assert found is not None
    assert "old" == run_of(tmp_path, found)
    assert found_before(tmp_path, "now", PLACE, "h") is None


def test_incomplete_results_of_the_same_run_are_used(tmp_path: Path) -> None:
    written(tmp_path / "now" / PLACE, judged(1), complete=False)
    written(tmp_path / "newer" / PLACE, judged(1), complete=False)

    runs = [found_before(tmp_path, run, PLACE, "f") for run in ("now", "then")]

    assert ["now", "newer"] == [run_of(tmp_path, found) for found in runs if found]


@pytest.mark.parametrize(
    ("name", "step", "file", "expected"),
    [
        ("checkpoint-49", 49, "Qwen__x__test", "eval_checkpoint_49/eval_Qwen__x__test.jsonl"),
        ("final", None, "s", "eval_final/eval_s.jsonl"),
    ],
)
def test_results_have_the_names_that_scripts_expect(name: str, step: int | None, file: str, expected: str) -> None:
    assert expected == place_of(Checkpoint(name=name, step=step), file).as_posix()


def test_unusual_names_have_their_own_paths() -> None:
    """No two share one, and none is outside the folder of the run."""
    names = ["a/b", "a b", "../x", "a*", "", "Ä"]

    places = {place_of(Checkpoint(name=name, step=None), name) for name in names}

    assert len(names) == len(places)
    assert all(2 == len(place.parts) and ".." not in place.parts for place in places)
