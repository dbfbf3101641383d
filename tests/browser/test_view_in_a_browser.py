"""`crmeval view` in a real browser: live pages, trends, comparisons, search; nothing that a run says is markup."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels, Trial
from pytest_crmeval.domain.wire import written_turn
from pytest_crmeval.journal.live import write
from pytest_crmeval.viewer.server import ViewServer
from tests.fakes import planned, trial
from tests.pages import MARKUP, dialogue_of, failed_scores, planned_case
from tests.postgres.processes import eventually
from tests.viewer import RunInProgress, keep_run, served

View = Callable[..., Page]
EVIL = "".join(MARKUP)


def trials_with(passing: int, subject: str = "mine") -> list[Trial]:
    """Return the trials of twelve cases, of which the first so many passed."""
    return [
        replace(
            trial(planned(f"case-{number}", subject=subject), Verdict.PASSED if number < passing else Verdict.FAILED),
            transcript=dialogue_of(f"Acme {number}"),
        )
        for number in range(12)
    ]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep three runs, one significantly worse than the one before, and one of which everything wants to be markup."""
    folder = tmp_path_factory.mktemp("view")
    for day, passing in enumerate((11, 12, 2), start=10):
        keep_run(folder, f"run-{day}", trials_with(passing), f"2026-11-{day}T02:00:00+00:00")
    hostile = Trial(
        planned=planned_case(f"a{EVIL}", f"b{EVIL}", suite=f"evil{EVIL}"),
        verdict=Verdict.FAILED,
        scores=failed_scores(f"turn 1: {EVIL}", f"{EVIL} expected '{EVIL}', actual '{EVIL}'"),
        labels=Labels(complexity=EVIL, category=EVIL, tags=(EVIL,), split=EVIL),
        notes=(EVIL,),
        transcript=dialogue_of(f"needle {EVIL}", value=[{EVIL: EVIL, "other": EVIL}]),
    )
    for day in (13, 14):
        keep_run(folder, f"run-{day}", [hostile], f"2026-11-{day}T02:00:00+00:00")
    return folder


@pytest.fixture(scope="module")
def server(reports: Path) -> Iterator[ViewServer]:
    """Serve these runs; all of them are in the index."""
    with served(reports) as made:
        eventually(lambda: made.site.is_indexed, "the index is complete")
        yield made


@pytest.fixture
def view(open_page: Callable[..., Page]) -> View:
    """Return a function that opens a page of a server."""
    return lambda server, place="", **more: open_page(server.url, place=place, server=server.url, **more)


def test_runs_lead_to_their_pages(server: ViewServer, view: View) -> None:
    """The page is the one that the run writes; a dialogue is loaded when a trial is opened."""
    page = view(server)
    page.get_by_role("link", name="run-12").click()
    page.locator("#trial-table tbody a").first.click()
    expect(page.locator("#trial .said.user").first).to_contain_text("Who is Acme")

    assert "run-12" in page.title()
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.locator("#live-runs tbody tr")).to_have_count(5)


def test_a_trend_marks_a_significant_change_and_leads_to_it(server: ViewServer, view: View) -> None:
    page = view(server, "trend")
    marked = page.locator(".dot.worse")
    expect(marked).to_have_count(1)
    page.locator("summary", has_text="mine").first.click()
    page.get_by_role("row", name="run-12").get_by_role("link").last.click()
    expect(page.locator("#baseline")).to_contain_text("worse")


def test_two_runs_are_compared_with_their_dialogues_side_by_side(server: ViewServer, view: View) -> None:
    page = view(server, "compare")
    page.get_by_label("Earlier run").select_option("run-10")
    page.get_by_label("Later run").select_option("run-12")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#baseline-title")).to_be_visible()
    page.get_by_role("link", name="Show these trials side by side").first.click()
    page.locator("#trial-table tbody a").first.click()
    expect(page.locator("#trial .side")).to_have_count(2)


def test_search_leads_to_the_dialogue(server: ViewServer, view: View) -> None:
    page = view(server, "search")
    page.get_by_label("Words").fill("acme 11")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_have_text("3 dialogues")
    expect(page.locator("mark").first).to_have_text("Acme")
    page.locator(".hits a").first.click()
    expect(page.locator("#trial-title")).to_contain_text("case-11")
    page.go_back()
    page.get_by_label("Words").fill("not anywhere")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_contain_text("No dialogue has all of these words")


def test_no_page_interprets_markup_in_the_text_of_a_run(server: ViewServer, view: View) -> None:
    """An alert, an error in the console, or a request elsewhere is trouble for the fixture."""
    for place in ("", "trend", "compare", "search?text=needle", "runs/run-13/", "runs/run-14/?baseline=run-13"):
        page = view(server, place)
        page.locator("main").wait_for()

        assert 0 == page.locator("img, b[onmouseover], iframe, object, script:not([src]):not([type])").count(), place
    page = view(server, "search?text=needle")
    assert MARKUP[0] in page.locator(".hits").inner_text()
    page.locator(".hits a").first.click()
    expect(page.locator("#trial")).to_contain_text(MARKUP[1])


def test_a_run_is_watched_until_it_ends(tmp_path: Path, view: View) -> None:
    """It appears in the list of runs by itself, in two tabs; its live page follows, and leads to its results."""
    with served(tmp_path) as server:
        listed = view(server)
        expect(listed.locator("#live-runs")).to_contain_text("No runs yet")
        with RunInProgress(tmp_path, "now", trials_with(2)) as run:
            run.play(3)
            expect(listed.locator("#live-runs")).to_contain_text("running")
            live = view(server, "runs/now/live")
            expect(live.locator("#live-run")).to_contain_text("3 of 12 cases")
            messages = written_turn(dialogue_of(EVIL).exchanges[0])["messages"]
            for said in (1, 4):  # the dialogue grows while it is open
                playing = {"key": "k", "suite": "crm", "subject": "mine", "case": "case-3", "since": time.time()}
                shown = messages[:said]  # type: ignore[index] # a list
                write(tmp_path / "now", "gw0", playing=[{**playing, "confidential": False, "messages": shown}])
                live.locator("summary", has_text="case-3").wait_for()
                if said == 1:
                    live.locator("summary", has_text="case-3").click()
                expect(live.locator(".playing .said")).to_have_count(said)
            expect(live.locator(".playing .text").first).to_have_text(f"Who is {EVIL}?")
            expect(live.locator(".playing .call").first).to_contain_text("client_search")
            expect(live.locator(".playing .refused")).to_contain_text("refused_by_rule")
            run.play(4)
            expect(live.locator("#live-run")).to_contain_text("7 of 12 cases")
            expect(live.locator(".hits li")).to_have_count(5)
            run.play(5)
            run.end()
            expect(live.get_by_role("status").filter(has_text="The run is")).to_contain_text("finished")
            expect(listed.locator(".state")).to_have_text("finished")
            live.get_by_role("link", name="Results").click()
            expect(live.locator("#count")).to_have_text("12 trials")


def test_a_tab_says_when_the_server_has_ended(tmp_path: Path, view: View) -> None:
    with served(tmp_path) as server:
        page = view(server, expects="ERR_")
        expect(page.locator("#connection")).to_be_empty()
    expect(page.locator("#connection")).to_contain_text("Not connected")


def test_a_damaged_report_is_announced(tmp_path: Path, view: View) -> None:
    keep_run(tmp_path, "nightly", trials_with(3))
    (tmp_path / "nightly.json").write_text('{"schema": "crmeval.report/1"')
    with served(tmp_path) as server:
        page = view(server, "runs/nightly/")
        expect(page.get_by_role("alert")).to_contain_text("made from the journal")
        expect(page.locator("#count")).to_have_text("12 trials")


@pytest.mark.parametrize("width", [375, 2560])
def test_no_page_scrolls_sideways(server: ViewServer, view: View, width: int) -> None:
    for place in ("", "trend", "compare", "search?text=acme", "runs/run-12/"):
        page = view(server, place, width=width)
        wide: list[int] = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")

        assert wide[0] <= wide[1], place


def test_an_annotation_is_seen_in_another_tab_and_on_the_page(tmp_path: Path, view: View) -> None:
    """What is typed stays text; the agreement of people with the scorers is computed at once."""
    keep_run(tmp_path, "nightly", trials_with(3))
    with served(tmp_path) as server:
        one, two = (view(server, "runs/nightly/#case?suite=crm&subject=mine&case=case-7") for _ in range(2))
        one.get_by_label("Note").fill(EVIL)
        one.get_by_role("button", name="Disagree").click()
        expect(one.locator("#trial").get_by_role("status")).to_have_text("Saved")
        expect(one.locator(".annotations")).to_contain_text("disagrees")
        two.reload()
        expect(two.locator(".people")).to_contain_text("people agree with 0 of 1 verdict")
        expect(two.locator(".annotations .text")).to_contain_text(MARKUP[0])


def test_an_address_that_names_another_trial_replaces_the_open_one(server: ViewServer, view: View) -> None:
    page = view(server, "runs/run-12/#case?suite=crm&subject=mine&case=case-7")
    expect(page.locator("#trial-body .side")).to_contain_text("Acme 7")

    page.evaluate("location.hash = '#case?suite=crm&subject=mine&case=case-8'")

    expect(page.locator("#trial-title")).to_contain_text("case-8")
    expect(page.locator("#trial-body .side")).to_contain_text("Acme 8")
