"""What `crmeval view` answers: runs, trends, comparisons, search; from its index, and without it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Trial
from pytest_crmeval.journal import transcripts
from pytest_crmeval.journal.ids import INDEXES
from pytest_crmeval.journal.reader import latest_trials
from pytest_crmeval.report.compare import compare
from pytest_crmeval.report.files import load, save
from pytest_crmeval.report.tables import p_value
from pytest_crmeval.viewer.index_file import NAME
from pytest_crmeval.viewer.site import Site
from tests.fakes import planned, trial
from tests.pages import dialogue_of
from tests.viewer import RunInProgress, filled, keep_run, site_of

CASES = tuple(f"case-{number:02d}" for number in range(20))


def trials_with(passing: int, *, subject: str = "mine", words: str = "Acme") -> list[Trial]:
    """Return the trials of twenty cases, of which the first so many passed."""
    return [
        replace(
            trial(planned(case, subject=subject), Verdict.PASSED if number < passing else Verdict.FAILED),
            transcript=dialogue_of(f"{words} {case}"),
        )
        for number, case in enumerate(CASES)
    ]


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Keep three runs; the last is significantly worse than the one before."""
    folder = tmp_path / "reports"
    for day, passing in enumerate((18, 19, 8), start=10):
        keep_run(folder, f"run-{day}", trials_with(passing), f"2026-11-{day}T02:00:00+00:00")
    return folder


def shown(site: Site, path: str = "", **query: str) -> str:
    """Return the text of a page that must be there."""
    found = site.answer(path, query)
    assert 200 == found.status, found.content.decode()
    return found.content.decode()


def in_order(text: str, *parts: str) -> bool:
    """Whether all parts are in a text, one after the other."""
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def test_runs_are_listed_newest_first_with_the_figures_of_their_reports(reports: Path) -> None:
    with site_of(reports) as site:
        page = shown(site)
    (summary,) = load(reports / "run-12.json").standings
    figure = summary.figures["pass_rate"]

    assert in_order(page, "run-12", "run-11", "run-10")
    assert f"<b>{figure.value:.3f}</b> <small>{figure.low:.3f} to {figure.high:.3f}</small>" in page


def test_only_changed_files_are_read_again(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with site_of(reports) as site:
        shown(site)
    read: list[str] = []

    def noted(folder: Path) -> Mapping[str, Any]:
        read.append(folder.name)
        return {}

    monkeypatch.setattr("pytest_crmeval.viewer.catalogue.current_head", noted)
    keep_run(reports, "run-13", trials_with(20), "2026-11-13T02:00:00+00:00")
    with site_of(reports) as site:
        page = shown(site)

    assert ["run-13"] == read
    assert in_order(page, "run-13", "run-12")


@pytest.mark.parametrize("damage", ["deleted", "damaged", "not writable"])
def test_the_index_may_be_lost(reports: Path, damage: str) -> None:
    """It is made again, or kept in memory; the pages are the same."""
    with site_of(reports) as site:
        before = shown(filled(site), "trend")
    path = reports / INDEXES / NAME
    for each in path.parent.iterdir():
        each.unlink()
    if damage == "damaged":
        path.write_bytes(b"not a database" * 1000)
    if damage == "not writable":
        path.parent.rmdir()
        path.parent.write_text("a file, where the folder should be")
    with site_of(reports) as site:
        after = shown(filled(site), "trend")

    assert before.split("<main")[1].split("</main>")[0] == after.split("<main")[1].split("</main>")[0]
    assert (damage == "not writable") == ("the index is not kept" in after)


def test_a_trend_marks_what_compare_finds_significant(reports: Path) -> None:
    with site_of(reports) as site:
        page = shown(filled(site), "trend")
    (contrast,) = compare(load(reports / "run-12.json"), load(reports / "run-11.json")).contrasts

    assert contrast.significant
    assert 1 == page.count('class="dot worse"')
    assert 0 == page.count('class="dot better"')
    assert f'<td class="number">{escape(p_value(contrast.p_holm))}</td>' in page


def test_controls_have_no_trend(reports: Path) -> None:
    keep_run(reports, "run-13", trials_with(20, subject="oracle"), "2026-11-13T02:00:00+00:00")
    with site_of(reports) as site:
        assert "run-13" not in shown(filled(site), "trend")


def test_two_runs_are_compared_on_the_page_of_the_later_one(reports: Path) -> None:
    with site_of(reports) as site:
        answer = site.answer("compare", {"before": "run-10", "after": "run-12"})
        page = shown(site, "runs/run-12/", baseline="run-10")
        dialogue = site.answer("runs/run-12/trial", {**identity("case-15"), "baseline": "run-10"})

    assert (303, "/token/runs/run-12/?baseline=run-10#baseline") == (answer.status, answer.location)
    assert "Compared with the baseline" in page
    assert "passed" == json.loads(dialogue.content)["before"]["verdict"]


def identity(case: str, subject: str = "mine", repeat: int = 1) -> dict[str, str]:
    """Return what finds a trial."""
    return {"suite": "crm", "subject": subject, "case": case, "trial": str(repeat)}


def test_repeats_are_shown_beside_those_of_the_runs_own_baseline(tmp_path: Path) -> None:
    """Each beside the same repeat; without the baseline alone."""
    before, after = (
        [
            replace(each, planned=replace(each.planned, trial=repeat, key=f"{each.planned.key} {repeat}"))
            for repeat, passing in enumerate(passes, start=1)
            for each in trials_with(passing)
        ]
        for passes in ((20, 19), (2, 2))
    )
    baseline = keep_run(tmp_path, "before", before)
    report = keep_run(tmp_path, "after", after)
    save(replace(report, comparison=compare(report, baseline, source="before")), tmp_path / "after.json")
    with site_of(tmp_path) as site:
        first, second = (
            json.loads(site.answer("runs/after/trial", identity("case-19", repeat=repeat)).content) for repeat in (1, 2)
        )
    (tmp_path / "before" / "trials.jsonl").write_text("damaged\n")
    (tmp_path / "before.json").write_text("damaged")
    with site_of(tmp_path) as site:
        alone = json.loads(site.answer("runs/after/trial", identity("case-19")).content)

    assert ("passed", "failed") == (first["before"]["verdict"], second["before"]["verdict"])
    assert alone["turns"]
    assert "before" not in alone


def test_a_dialogue_is_found_by_what_it_is_when_the_list_has_changed(reports: Path) -> None:
    with site_of(reports) as site:
        found = site.answer("runs/run-12/trial", {**identity("case-03"), "number": "999"})
        gone = site.answer("runs/run-12/trial", {**identity("case-99"), "number": "3"})

    assert "Who is Acme case-03?" in found.content.decode()
    assert 404 == gone.status


def search(site: Site, text: str, **more: str) -> list[str]:
    """Return the runs and cases in which words are found."""
    page = shown(site, "search", text=text, **more)
    return [line.split('"')[0] for line in page.split('href="/token/runs/')[1:]]


def test_search_finds_dialogues_that_have_all_words(reports: Path) -> None:
    keep_run(reports, "run-13", trials_with(20, words="Terrazza Inns, ada@example.com"), "2026-11-13T02:00:00+00:00")
    with site_of(reports) as site:
        filled(site)
        assert 20 == len(search(site, "inns TERRAZ"))
        assert ["run-13/#case?suite=crm&amp;subject=mine&amp;case=case-07&amp;trial=1"] == search(site, "terrazza 07")
        assert 20 == len(search(site, "ada@example.com", suite="crm"))
        assert [] == search(site, "ada@example.com", verdict="failed")
        assert [] == search(site, "terrazza acme")
        assert "No dialogue has all of these words" in shown(site, "search", text='nothing" OR "acme')
        assert 50 == len(search(site, "acme"))  # of sixty: the others are on the next page
        assert 10 == len(search(site, "acme", page="1"))


def test_search_follows_what_is_played_again_and_deleted(reports: Path) -> None:
    with site_of(reports) as site:
        filled(site)
    again = replace(trials_with(8)[0], transcript=dialogue_of("Zebra"))
    transcripts.write(reports / "run-12/transcripts", again)
    journal = reports / "run-12/trials.jsonl"
    journal.write_text(journal.read_text() + json.dumps({"trial": again.to_dict()}) + "\n")
    for path in sorted((reports / "run-11").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (reports / "run-11").rmdir()
    (reports / "run-11.json").unlink()
    with site_of(reports) as site:
        filled(site)
        assert 1 == len(search(site, "zebra"))
        assert {"run-10", "run-12"} == {found.split("/")[0] for found in search(site, "acme")}


def test_confidential_dialogues_are_neither_indexed_nor_shown(reports: Path) -> None:
    secret = replace(trials_with(20)[0], transcript=dialogue_of("Xylophone"))
    keep_run(reports, "run-13", [secret])
    transcripts.write(reports / "run-13/transcripts", secret, canary="canary")
    with site_of(reports) as site:
        filled(site)
        assert [] == search(site, "xylophone")
        detail = json.loads(site.answer("runs/run-13/trial", identity("case-00")).content)
    assert True is detail["closed"]
    assert not any("ylophone" in path.read_bytes().decode("latin-1") for path in (reports / INDEXES).iterdir())


def test_a_damaged_report_is_replaced_by_the_journal(reports: Path) -> None:
    """The page says so; a run that can't be read at all has a page with the reason, and is listed."""
    (reports / "run-12.json").write_text((reports / "run-12.json").read_text()[:-2000])
    (reports / "run-11.json").write_text("{}")
    (reports / "run-11/trials.jsonl").write_text("not a journal\n")
    with site_of(reports) as site:
        page = shown(site, "runs/run-12/")
        broken = site.answer("runs/run-11/", {})
        listed = shown(site)

    assert "made from the journal" in page
    assert "case-07" in page
    assert (422, True) == (broken.status, "not a line of a journal" in broken.content.decode())
    assert "not a line of a journal" in listed


def test_only_json_files_in_the_folder_of_a_run_are_served(reports: Path) -> None:
    (reports / "run-12/run.log").write_text("log")
    (reports / "run-12/out.json").symlink_to(reports / "run-11.json")
    path = transcripts.file_of(reports / "run-12", trials_with(1)[0])
    assert path
    with site_of(reports) as site:
        there = site.answer(f"runs/run-12/files/{path.relative_to(reports / 'run-12')}", {})
        others = ("../run-11.json", "run.log", "out.json", "none.json", "/etc/passwd", "..", "transcripts")
        statuses = {site.answer(f"runs/run-12/files/{other}", {}).status for other in others}

    assert (200, path.read_bytes()) == (there.status, there.content)
    assert {404} == statuses


def test_pages_that_do_not_exist(reports: Path) -> None:
    paths: Sequence[str] = (
        "nothing",
        "runs/other/",
        "runs/../run-12/",
        "static/none.css",
        "static/../site.py",
        "runs//",
    )
    with site_of(reports) as site:
        assert {404} == {site.answer(path, {}).status for path in paths}


def test_a_run_in_progress_is_shown_from_its_journal(tmp_path: Path) -> None:
    """Its page has the trials so far; the version of its live page changes when a trial ends."""
    with site_of(tmp_path) as site, RunInProgress(tmp_path, "now", trials_with(2)) as run:
        run.play(3)
        listed, live, page = shown(site), shown(site, "runs/now/live"), shown(site, "runs/now/")
        before = site.version({"run": "now"})
        run.play(2)
        after = site.version({"run": "now"})
        run.end()
        over = shown(site, "runs/now/live")

    assert 'href="/token/runs/now/live"' in listed
    assert in_order(live, "running", "3 of 20 cases", "0.667", "Latest failures", "case-02")
    assert "This run is in progress" in page
    assert before != after
    assert "The run is stopped." in over


def test_latest_trials_are_read_from_the_end_of_a_journal(tmp_path: Path) -> None:
    """A part of a line at either end is skipped."""
    with RunInProgress(tmp_path, "now", trials_with(2)) as run:
        run.play(20)
        journal = tmp_path / "now/trials.jsonl"
        whole = [each.planned.case for each in latest_trials(journal)]
        with journal.open("ab") as file:
            file.write(b'{"trial": {"key"')
        part = [each.planned.case for each in latest_trials(journal, room=journal.stat().st_size // 2)]

    assert list(reversed(CASES)) == whole
    assert part == whole[: len(part)]
    assert 3 < len(part) < 20
    assert [] == latest_trials(tmp_path / "none.jsonl")
