"""The page of a run in a real browser, opened from the disk as people open it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from pytest_crmeval.domain.file_outcome import FileOutcome, TestVerdict
from pytest_crmeval.domain.judgement import Grade, JudgeAnswer, Judgement, Statement, StatementAnswer
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Labels, Trial
from pytest_crmeval.journal.solutions.outcomes import SolutionOutcome, TestOutcome
from pytest_crmeval.journal.solutions.results import ResultsWriter
from pytest_crmeval.render import page as pages
from tests.pages import MARKUP, comparison, dialogue_of, failed_scores, keep, planned_case, rulings, trials_of

Open = Callable[..., Page]
CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")
EVIL = "".join(MARKUP)
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


def hostile() -> Trial:
    """Return a trial of which everything wants to be markup."""
    return Trial(
        planned=planned_case(f"a{EVIL}", f"b{EVIL}", suite="evil"),
        verdict=Verdict.FAILED,
        scores=failed_scores(f"turn 1: {EVIL}", f"{EVIL} expected '{EVIL}', actual '{EVIL}'", f"x missing: {EVIL}"),
        labels=Labels(complexity=EVIL, category=EVIL, tags=(EVIL,), split=EVIL),
        judgement=Judgement(
            grades=(Grade(answers=(StatementAnswer(answer=JudgeAnswer.FALSE, reason=EVIL),)),),
            statements=(Statement(turn=1, quote=EVIL),),
        ),
        notes=(EVIL,),
        transcript=dialogue_of(EVIL, value=[{EVIL: EVIL, "other": EVIL}]),
    )


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of a small run with a baseline, gates, and a trial that means ill."""
    folder = tmp_path_factory.mktemp("reports")
    now, before = trials_of(240), trials_of(240, seed=8)
    keep(folder, before, run="before")
    pairs = [(one, two) for one, two in zip(now, before, strict=True) if one.planned.subject == "claude"]
    failing = [one.planned.case for one, two in pairs if two.passed and not one.passed]
    passing = [one.planned.case for one, two in pairs if one.passed and not two.passed]
    evil = [replace(ruling, gate=f"{ruling.gate} {EVIL}", explanation=EVIL) for ruling in rulings()[:1]]
    changed = replace(comparison(failing, passing), missing=(EVIL,))
    report = keep(folder, [*now, hostile()], rulings=[*rulings(), *evil], comparison=changed)
    return pages.write(report, folder)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of 3,600 trials whose reasons are long, and whose dialogues don't fit into it."""
    folder = tmp_path_factory.mktemp("large")
    long = dialogue_of(*(f"Firm {number} of many, {'with words ' * 40}" for number in range(3)))
    trials = [replace(trial, transcript=long) for trial in trials_of(3_600, words=200)]
    return pages.write(keep(folder, trials), folder)


def column(page: Page, name: str) -> list[str]:
    """Return what the table of trials shows in a column."""
    return page.locator(f"#trial-table tbody td.{name}").all_inner_texts()


def filters(page: Page) -> Locator:
    """Return what the list of trials is narrowed with."""
    return page.get_by_role("search")


def count(page: Page) -> str:
    """Return how many trials the page says that it shows."""
    return page.locator("#count").inner_text()


def says(page: Page, output: str | re.Pattern[str]) -> None:
    """Wait until the page says so of its trials: what a link leads to is shown a moment later."""
    expect(page.locator("#count")).to_have_text(output)


def width_of(page: Page) -> tuple[int, int]:
    """Return how wide the page is, and how wide the window."""
    wide: list[int] = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    return wide[0], wide[1]


def opened(page: Page) -> Page:
    """Wait until a trial is shown."""
    page.locator("#trial-body .side").first.wait_for()
    return page


def test_page_opens_from_disk_without_any_request(shown: Path, open_page: Open) -> None:
    """No errors in the console either, which the fixture looks for; and all sections are there."""
    page = open_page(shown)
    headings = page.locator("main h2").all_inner_texts()

    assert "shown · crmeval" == page.title()
    assert ["Overview", "Compared with the baseline", "crm", "evil", "Trials", "Run"] == headings
    assert "241 trials" == count(page)


def test_page_shows_text_of_a_run_without_interpreting_markup(shown: Path, open_page: Open) -> None:
    """Names, labels, gates, reasons and whole dialogues stay text; an alert would be trouble for the fixture."""
    page = open_page(shown)
    ours = page.locator("script:not([type])").count()
    page.locator("#filter-suite").select_option("evil")
    page.locator("#trial-table tbody a").click()
    output = opened(page).locator("#trial").inner_text()
    page.evaluate("document.querySelectorAll('#trial details').forEach((each) => { each.open = true; })")

    assert (1, 0) == (ours, page.locator("img, b[onmouseover], iframe, object").count())
    assert all(text in output for text in (*MARKUP[:4], MARKUP[5]))
    assert f"Who is {MARKUP[0]}" in output
    assert MARKUP[1] in page.locator("#trial .result th").first.inner_text()


def test_a_name_with_half_an_emoji_is_linked_to(tmp_path: Path, open_page: Open) -> None:
    """Also in a browser of before 2023, which can't mend text by itself; a whole one stays as it is."""
    judged = FileOutcome(verdicts={"AC": 1}, samples=((1, 1, 1),), results="eval/\N{ROBOT FACE}\ud83e.txt")
    report = keep(tmp_path, [Trial(planned=planned_case("a", "b"), verdict=Verdict.PASSED, solutions=judged)])
    page = open_page(pages.write(report, tmp_path))
    page.evaluate("delete String.prototype.toWellFormed")
    page.locator("#trial-table tbody a").click()

    link = opened(page).locator("#trial-body .wrong a").get_attribute("href")
    assert "shown/eval/%F0%9F%A4%96%EF%BF%BD.txt" == link


def test_columns_sort_up_and_down(shown: Path, open_page: Open) -> None:
    """By number, not by letter; and the head says so to those who can't see the arrow."""
    page = open_page(shown)
    head = page.locator("#trial-table").get_by_role("columnheader", name="Cost")
    head.get_by_role("button").click()
    rising = [float(cell.strip("$")) for cell in column(page, "cost")]
    before = head.get_attribute("aria-sort")
    head.get_by_role("button").click()
    falling = [float(cell.strip("$")) for cell in column(page, "cost") if cell.startswith("$")]

    assert sorted(rising) == rising
    assert sorted(falling, reverse=True) == falling
    assert rising[0] < falling[0]
    assert ("ascending", "descending") == (before, head.get_attribute("aria-sort"))


def test_failed_trials_are_listed_first(shown: Path, open_page: Open) -> None:
    """That is what people open the page for."""
    assert {"✗ failed"} == set(column(open_page(shown), "verdict")[:50])


def test_search_and_filters_narrow_the_list(shown: Path, open_page: Open) -> None:
    """Words in any order, together with a subject, a verdict and a label; all of it can be taken back."""
    page = open_page(shown)
    filters(page).get_by_role("searchbox").fill("0007 deal")
    by_words = set(column(page, "case"))
    filters(page).get_by_role("searchbox").fill("")
    filters(page).get_by_label("Subject").select_option("claude")
    filters(page).get_by_label("Verdict").select_option("passed")
    filters(page).get_by_label("Label").select_option(label="refusal")
    shares = (set(column(page, "subject")), set(column(page, "verdict")))
    narrowed = count(page)
    page.get_by_role("button", name="Clear").click()
    says(page, "241 trials")

    assert {"deal-medium-0007"} == by_words
    assert ({"claude"}, {"✓ passed"}) == shares
    assert narrowed.endswith(" of 241 trials")
    assert 0 < int(narrowed.split()[0]) < 80


def test_a_figure_leads_to_its_trials(shown: Path, open_page: Open) -> None:
    """A cell of the heat map shows as many trials as it was taken from."""
    page = open_page(shown)
    cell = page.locator("td[title^='gpt-4.1, refusal']")
    cases = str(cell.get_attribute("title")).split(" of ")[1].split()[0]
    cell.get_by_role("link").click()

    says(page, f"{cases} of 241 trials")
    assert {"gpt-4.1"} == set(column(page, "subject"))


def test_pages_of_the_list(shown: Path, open_page: Open) -> None:
    """A hundred at a time: the browser has no more to draw, and the reader none to scroll."""
    page = open_page(shown)
    first = column(page, "case")
    page.get_by_role("button", name="Forward").click()
    page.get_by_role("button", name="Forward").click()

    assert (100, 41) == (len(first), len(column(page, "case")))
    assert page.get_by_role("button", name="Forward").is_disabled()
    assert "201\N{EN DASH}241 of 241" == page.locator("#page-range").inner_text()


def test_a_trial_opens_by_keyboard_and_gives_the_focus_back(shown: Path, open_page: Open) -> None:
    """Enter opens, Tab stays inside, J goes on to the next one, Escape closes."""
    page = open_page(shown)
    link = page.locator("#trial-table tbody a").first
    link.focus()
    page.keyboard.press("Enter")
    first = opened(page).locator("#trial-title").inner_text()
    inside = []
    for _ in range(30):
        page.keyboard.press("Tab")
        inside.append(
            page.evaluate(
                "document.activeElement.closest('dialog') !== null || document.activeElement === document.body"
            )
        )
    page.keyboard.press("j")
    second = page.locator("#trial-title").inner_text()
    page.keyboard.press("Escape")

    assert all(inside)
    assert first != second
    assert not page.locator("#trial").is_visible()
    assert page.evaluate("document.activeElement.closest('#trial-table') !== null")


def test_only_scrolling_elements_get_keyboard_focus(shown: Path, open_page: Open) -> None:
    """On a large screen the overview fits; on a small one its comparison has to be scrolled."""
    looked = "(each) => [each.tabIndex === 0, each.scrollWidth > each.clientWidth]"
    stops = f"[...document.querySelectorAll('main .scroll')].map({looked})"
    large: list[list[bool]] = open_page(shown).evaluate(stops)
    small: list[list[bool]] = open_page(shown, width=375).evaluate(stops)

    assert all(stop == wide for stop, wide in (*large, *small))
    assert sum(stop for stop, _ in large) < sum(stop for stop, _ in small)


def test_a_link_can_be_followed_again(shown: Path, open_page: Open) -> None:
    """Though the address does not change; one that makes no sense is passed over."""
    page = open_page(shown, place="#100%")
    link = page.locator("td[title^='gpt-4.1, refusal'] a")
    link.click()
    says(page, re.compile(r"^\d+ of 241 trials$"))
    first = count(page)
    page.get_by_role("button", name="Clear").click()
    says(page, "241 trials")
    link.click()

    says(page, first)


def test_the_first_stop_of_the_keyboard_skips_to_the_results(shown: Path, open_page: Open) -> None:
    """And what has the focus is seen to have it."""
    page = open_page(shown)
    page.keyboard.press("Tab")
    name, outline = page.evaluate(
        "[document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]"
    )
    page.keyboard.press("Enter")

    assert ("Skip to the results", "solid") == (name, outline)
    assert "main" == page.evaluate("document.activeElement.id")


def test_a_trial_is_a_readable_dialogue(shown: Path, open_page: Open) -> None:
    """What was said, called, refused and found, what is wrong with it, and what the judge thinks."""
    page = open_page(shown)
    filters(page).get_by_label("Subject").select_option("gpt-4.1")
    page.locator("#trial-table tbody a").first.click()
    body = opened(page).locator("#trial-body")
    body.locator("details.result summary").first.click()
    output = body.inner_text()
    thoughts = body.locator("details.thoughts").first

    assert "Who is Acme?" in output
    assert "I wonder about Acme." not in output
    thoughts.locator("summary").click()
    assert "I wonder about Acme." in thoughts.inner_text()
    assert '→ client_search(name="Acme")' in output
    assert "← refused_by_rule: not for Acme" in output
    assert "amount\t8280.5" in body.locator("details.result table").first.inner_text()
    assert "calls: not made: client_search(name='Acme')" in body.locator(".turn .faults").first.inner_text()
    missing, changed = (body.locator(".rows table").nth(place).inner_text() for place in (0, 1))
    assert missing.startswith("client missing state\nColumn\tExpected\nname\topportunities-")
    assert re.fullmatch(r"contact Ada \(\d+\) state\nColumn\tExpected\tActual\ntitle\tCTO\tCFO", changed)
    assert "It did what was asked." in output


def test_changed_trial_is_shown_side_by_side_with_its_baseline(shown: Path, open_page: Open) -> None:
    """Both dialogues, each with its own verdict; chosen by a link of the comparison."""
    page = open_page(shown)
    page.get_by_role("link", name="Show these trials side by side").first.click()
    changes = set(column(page, "change"))
    page.locator("#trial-table tbody a").first.click()
    sides = opened(page).locator("#trial .side")

    assert {"newly failing"} == changes
    assert ["This run", "Baseline"] == sides.locator("> h3").all_inner_texts()
    assert ["✗ failed", "✓ passed"] == [sides.nth(n).locator(".line .chip").first.inner_text() for n in (0, 1)]
    assert 2 == page.locator("#trial").get_by_text("Who is Acme?").count()


def test_a_trial_shows_its_faults_first_and_folds_turns_without_one(tmp_path: Path, open_page: Open) -> None:
    """Ids are short, and copied as a whole; what differs between two values is marked."""
    row = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    scores = (
        Score(
            name="state",
            value=0.0,
            reason=f"quotes Q ({row}): status expected 'Approved by Ada', actual 'Approved by Bob'",
        ),
        Score(name="calls", value=0.5, reason="turn 2: not made: client_search(name='Acme')"),
    )
    wrong = replace(hostile(), scores=scores, transcript=dialogue_of("One", f"Two {row}", "Three"))
    page = open_page(pages.write(keep(tmp_path, [wrong]), tmp_path))
    page.locator("#trial-table tbody a").click()
    body = opened(page).locator("#trial-body")
    folded = body.locator(".turn > details:not([open]) > summary").all_inner_texts()

    assert ["Ada", "Bob"] == body.locator(".wrong mark").all_inner_texts()
    assert ["Turn 1 no fault · Who is One?", "Turn 3 no fault · Who is Three?"] == folded
    assert body.evaluate("(each) => each.querySelector('.wrong').offsetTop < each.querySelector('.turn').offsetTop")
    assert "3f2504e0…" in body.locator(".turn.faulty").inner_text()
    assert body.get_by_role("button", name=f"Copy {row}").count() > 1


def test_search_without_results_shows_a_message(shown: Path, open_page: Open) -> None:
    page = open_page(shown)
    filters(page).get_by_role("searchbox").fill("nothing has this")
    says(page, "No trial matches. Clear the filters to see all 241.")


def test_a_cause_leads_to_its_trials_and_to_an_example(shown: Path, open_page: Open) -> None:
    page = open_page(shown)
    cause = page.locator(".reasons li", has_text="client_search not called").first
    trials = cause.locator(".count").inner_text()
    cause.get_by_role("link", name="Show").click()
    says(page, f"{trials} of 241 trials")
    example = cause.get_by_role("link").first
    case = example.inner_text()
    example.click()

    assert "not made: client_search(name='Acme')" in opened(page).locator(".turn .faults").first.inner_text()
    assert case in page.locator("#trial-title").inner_text()


def test_a_checkpoint_is_measured_and_shows_programs_with_their_failed_tests(tmp_path: Path, open_page: Open) -> None:
    """What was expected, what the program printed and its source, as text; nothing was required, so it did not pass."""
    judged = FileOutcome(verdicts={"WA": 1}, samples=((1, 0, 1),), results="eval_1/eval_s.jsonl")
    scores = (Score(name="pass@1", value=0.0, threshold=0.0),)
    trial = Trial(planned=planned_case("a", "b"), verdict=Verdict.PASSED, scores=scores, solutions=judged)
    report = keep(tmp_path, [trial])
    wrong = TestVerdict.WRONG_ANSWER
    test = TestOutcome(verdict=wrong, kind="official", reason="wrong", input="4 2", expected="YES", output=MARKUP[0])
    results = ResultsWriter.begin(tmp_path / str(report.run["id"]) / judged.results, {"checkpoint": "b"})
    program = f"print('{MARKUP[0]}')"
    results.add(SolutionOutcome(problem="1/B", line=1, sample=0, verdict=wrong, tests=[test], program=program))
    results.end({"complete": True})
    page = open_page(pages.write(report, tmp_path))
    verdicts = column(page, "verdict")
    page.locator("#trial-table tbody a").click()
    shown = opened(page).locator("#trial .program")

    assert ["· measured"] == verdicts
    assert "1/B wrong answer line 1, test 1 of 1 (official)" == shown.locator("summary").inner_text()
    assert ["4 2", "YES", MARKUP[0], program] == shown.locator("pre").all_inner_texts()


@SCHEMES
@pytest.mark.parametrize("width", [375, 1280])
def test_every_text_can_be_read(shown: Path, open_page: Open, scheme: str, width: int) -> None:
    """A contrast of 4.5 at least, on a large screen and on a small one, with a trial open and without."""
    page = open_page(shown, scheme=scheme, width=width)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    whole: Mapping[str, list[str]] = page.evaluate(CONTRAST)
    page.get_by_role("link", name="Show these trials side by side").first.click()
    page.locator("#trial-table tbody a").first.click()
    page = opened(page)
    page.evaluate("document.querySelectorAll('#trial details').forEach((each) => { each.open = true; })")
    trial: Mapping[str, list[str]] = page.evaluate(CONTRAST)

    assert ([], []) == (whole["found"], trial["found"])
    assert int(str(whole["looked"])) > 300


@pytest.mark.parametrize("width", [375, 800])
def test_a_small_screen_does_not_scroll_sideways(shown: Path, open_page: Open, width: int) -> None:
    """Neither the page with everything open, nor a trial with words that have no end."""
    page = open_page(shown, width=width)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    whole = width_of(page)
    page.locator("#filter-suite").select_option("evil")
    page.locator("#trial-table tbody a").click()
    inner = opened(page).evaluate("document.getElementById('trial').scrollWidth")

    assert (width, width) == whole
    assert inner <= width


def test_long_names_of_scores_and_half_an_emoji_leave_the_page_whole(tmp_path: Path, open_page: Open) -> None:
    """Nothing pushes a wide page beyond its width, and what can't be an address is none."""
    solved = FileOutcome(verdicts={"AC": 1}, samples=((1, 1, 1),), results="half-\ud83e/verdicts.jsonl")
    scores = tuple(Score(name=f"{name}-{'x' * 300}", value=0.0) for name in "abc")
    trial = replace(hostile(), scores=scores, solutions=solved)
    page = open_page(pages.write(keep(tmp_path, [trial]), tmp_path))
    whole = width_of(page)
    page.locator("#trial-table tbody a").click()

    expect(opened(page).get_by_role("link", name="verdicts.jsonl")).to_be_visible()
    assert (1280, 1280) == whole


def test_light_and_dark_can_be_chosen(shown: Path, open_page: Open) -> None:
    page = open_page(shown, scheme="dark")
    button = page.get_by_role("button", name="Theme")
    colours = [page.evaluate("getComputedStyle(document.body).backgroundColor")]
    for _ in range(3):
        button.click()
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    system, light, dark, again = colours

    assert (dark, dark) == (system, again)
    assert light != dark
    assert "Theme: system" == button.inner_text()


def test_the_page_prints_without_what_is_only_for_screens(shown: Path, open_page: Open) -> None:
    """Everything that was folded is open."""
    page = open_page(shown)
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")

    assert not page.locator("#filters").is_visible()
    assert not page.locator("nav.sections").is_visible()
    assert 0 == page.locator("details:not([open])").count()


def test_thousands_of_trials_are_one_small_file(large: Path) -> None:
    """Under 2 MB, whatever the reasons say; the dialogues lie beside it."""
    assert large.stat().st_size < 2_000_000
    assert list((large.with_suffix("") / "page").glob("*.js"))


def test_the_dialogues_beside_a_page_are_loaded_when_they_are_wanted(large: Path, open_page: Open) -> None:
    """From the disk, where a page may read no file: the first trial and the last one."""
    page = open_page(large)
    loaded = page.locator("script[src]").count()
    page.locator("#trial-table").get_by_role("columnheader", name="Case").get_by_role("button").click()
    page.locator("#trial-table tbody a").first.click()
    output = opened(page).locator("#trial-body .turn").first.inner_text()
    last = open_page(large, place="#trial-3599")

    assert "3,600 trials" == count(page)
    assert (0, 1) == (loaded, page.locator("script[src]").count())
    assert "Firm 0 of many" in output
    assert 3 == opened(last).locator("#trial-body .turn").count()


def test_page_without_its_files_names_what_is_missing(large: Path, tmp_path: Path, open_page: Open) -> None:
    """Figures and reasons are there; the dialogues are in the folder that was left behind."""
    alone = tmp_path / "alone.html"
    alone.write_bytes(large.read_bytes())
    page = open_page(alone, expects="ERR_FILE_NOT_FOUND")
    page.locator("#trial-table tbody a").first.click()
    page.get_by_text("The dialogues are missing").wait_for()

    assert page.locator("#trial-body .chip").first.is_visible()
