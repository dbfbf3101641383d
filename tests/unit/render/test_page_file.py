"""The page as a file: one, self-contained, safe."""

import json
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from zlib import decompress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.trial import Labels
from pytest_crmeval.render import page
from pytest_crmeval.render.markdown import report_page
from pytest_crmeval.render.page import in_script
from pytest_crmeval.report import files as reports
from tests.fakes import planned, trial
from tests.pages import FACTS, MARKUP, comparison, dialogue_of, failed_scores, keep, planned_case, rulings, trials_of

SOURCES = Path(page.__file__).parent / "templates"


class Reader(HTMLParser):
    """Notes the elements of a page, as a browser sees them, and what is inside its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._inside = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        """Note that a script ends."""
        self._inside = self._inside and tag != "script"

    def handle_data(self, data: str) -> None:
        """Note what a script says."""
        if self._inside:
            self.scripts[-1] += data


def shown(folder: Path, *trials: Any, **changes: Any) -> Reader:  # noqa: ANN401 (fields of a report)
    """Write the page of a run, and read it."""
    return Reader(page.write(keep(folder, trials, **changes), folder).read_text(encoding="utf-8"))


def dialogues(found: Reader) -> list[dict[str, Any]]:
    """Return the dialogues that are inside of a page."""
    return [output for text in found.scripts[1:-1] for output in json.loads(decompress(b64decode(text)))]


def test_page_is_one_file_without_external_requests(tmp_path: Path) -> None:
    found = shown(tmp_path, *trials_of(30), rulings=rulings())
    addresses = [value for _, attributes in found.tags for name, value in attributes.items() if name in {"src", "href"}]

    assert not [address for address in addresses if not str(address).startswith("#")]
    assert not re.search(r"https?://", (SOURCES / "page.js").read_text() + (SOURCES / "page.css").read_text())
    assert not {"link", "img", "iframe", "object", "base", "form[action]"} & {tag for tag, _ in found.tags}


def test_the_browser_runs_our_script_and_no_other(tmp_path: Path) -> None:
    found = shown(tmp_path, *trials_of(3))
    policy = next(str(each["content"]) for tag, each in found.tags if each.get("http-equiv"))
    digest = b64encode(sha256(found.scripts[-1].encode()).digest()).decode()

    assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy.split("style-src")[0]


def test_our_script_writes_text_and_never_markup() -> None:
    """There is no way in it to make markup from text."""
    script = (SOURCES / "page.js").read_text(encoding="utf-8")
    ways = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "srcdoc",
        "DOMParser",
    )

    assert [] == [way for way in ways if way in script]
    assert "</script" not in script.lower()


@pytest.mark.parametrize("evil", MARKUP)
def test_text_of_a_run_adds_no_elements_to_the_page(tmp_path: Path, evil: str) -> None:
    """The same elements as on the page of an honest run."""
    plain = "\u2028\u2029 x" if "\u2028" in evil else "x"  # as many lines
    honest = shown(tmp_path / "honest", _named(tmp_path, plain), rulings=rulings()[:1])
    gate = [replace(rulings()[0], gate=evil, explanation=evil)]
    found = shown(tmp_path / "evil", _named(tmp_path, evil), rulings=gate)

    assert [tag for tag, _ in honest.tags] == [tag for tag, _ in found.tags]
    assert [sorted(each) for _, each in honest.tags] == [sorted(each) for _, each in found.tags]
    assert evil == json.loads(found.scripts[0])["rows"][0][0]


def _named(folder: Path, name: str) -> Any:  # noqa: ANN401 (a trial)
    """Return a trial with a name everywhere."""
    for each in ("honest", "evil"):
        (folder / each).mkdir(exist_ok=True)
    return replace(
        trial(planned_case(name, name, suite=name), Verdict.FAILED),
        scores=failed_scores(name),
        labels=replace(trials_of(1)[0].labels, tags=(name,), category=name),
        transcript=dialogue_of(name),
    )


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_json_in_a_script_is_read_back_as_it_was(text: str) -> None:
    """And has no sign that a parser of HTML knows."""
    written = in_script({text: [text, f"</script>{text}<!--"]})

    assert {text: [text, f"</script>{text}<!--"]} == json.loads(written)
    assert not set(written) & set("<>&\u2028\u2029")


def test_a_small_run_has_its_dialogues_inside(tmp_path: Path) -> None:
    """One file is all that has to be sent; nothing lies beside it."""
    found = shown(tmp_path, *trials_of(9))
    output = dialogues(found)

    assert 9 == len(output)
    assert "Who is Acme?" == output[0]["turns"][0]["said"][0]["text"]
    assert not (tmp_path / "shown" / "page").exists()


def test_the_dialogue_of_before_stands_beside_a_changed_one(tmp_path: Path) -> None:
    """Found by the id of the baseline among the reports; without the baseline there is only this run's."""
    now, before = trials_of(6), trials_of(6, seed=9)
    keep(tmp_path, before, run="before")
    changed = comparison([now[0].planned.case], [])
    beside = dialogues(shown(tmp_path, *now, comparison=changed))
    (tmp_path / "before.json").unlink()
    alone = dialogues(shown(tmp_path, *now, comparison=changed))
    place = next(n for n, each in enumerate(beside) if each["key"] == now[0].planned.key)

    assert str(before[0].verdict) == beside[place]["before"]["verdict"]
    assert 1 == sum("before" in each for each in beside)
    assert 0 == sum("before" in each for each in alone)


@pytest.mark.parametrize(
    "trials",
    [(), (trial("one", Verdict.ERRORED),), (trial("one", Verdict.INVALID),), (trial("one"),)],
    ids=["nothing", "errored", "invalid", "one"],
)
def test_every_run_has_a_page(tmp_path: Path, trials: tuple[Any, ...]) -> None:
    """Also one in which nothing was played, and one of which there is no transcript."""
    found = shown(tmp_path, *trials)

    assert len(trials) == len(json.loads(found.scripts[0])["rows"])


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """Where it can't be, an earlier one stays, and no draft is left."""
    report = keep(tmp_path, trials_of(3))
    path = page.write(report, tmp_path)
    before = path.read_bytes()
    broken = replace(report, run={**report.run, "versions": {}}, standings=[replace(report.standings[0], by=None)])  # type: ignore[arg-type] # broken
    with pytest.raises(TypeError):
        page.write(broken, tmp_path)

    assert before == path.read_bytes()
    assert [] == list(tmp_path.glob("*.part"))


def test_a_report_that_was_renamed_finds_the_folder_of_its_run(tmp_path: Path) -> None:
    """By the id of the run; if that is gone, too, by its own name."""
    report = keep(tmp_path, trials_of(3))
    (tmp_path / "shown.json").rename(tmp_path / "other.json")

    assert tmp_path / "shown" == page.folder_beside(tmp_path / "other.json", report)
    (tmp_path / "shown").rename(tmp_path / "other")
    assert tmp_path / "other" == page.folder_beside(tmp_path / "other.json", report)
    assert report.trials == reports.load(tmp_path / "other.json").trials


def test_lone_surrogate_does_not_break_the_page(tmp_path: Path) -> None:
    """In a name, a label or a reason: no address can have it, and a report may."""
    half = "\ud83e"
    case = replace(planned_case(f"case{half}", f"gpt{half}", f"crm{half}"), key=f"test.py::test[{half}]")
    wrong = replace(trial(case, Verdict.FAILED), scores=failed_scores(half), labels=Labels(tags=(half,)))
    links = [output["href"] for tag, output in shown(tmp_path, wrong, rulings=rulings()).tags if tag == "a"]

    assert [link for link in links if link and "label=tag%3A%3F" in link]


def test_direction_characters_cannot_reverse_numbers(tmp_path: Path) -> None:
    """A name with a sign that writes from right to left would make 20 cases 02."""
    found = replace(keep(tmp_path, [trial("one")]), run={**FACTS, "parts": [{"left_out": {"q\u202e": {"x": 20}}}]})
    text = page.write(found, tmp_path).read_text(encoding="utf-8")

    assert "20 cases of q\\u202e skipped: x." in text
    assert "\u202e" not in text


def test_controls_are_marked_beside_other_subjects(tmp_path: Path) -> None:
    """The oracle is a control; an agent is not."""
    found = keep(tmp_path, [trial("one"), trial(planned("one", subject="gpt-4.1"))])
    contrasts = tuple(comparison([], [], subject).contrasts[0] for subject in ("oracle", "gpt-4.1"))
    report = replace(found, comparison=replace(comparison([], []), contrasts=contrasts))
    text = page.write(report, tmp_path).read_text(encoding="utf-8")

    assert "oracle (control)</th>" in text
    assert "gpt-4.1</th>" in text
    assert -1 < text.find("crm × gpt-4.1</th>") < text.find("crm × oracle (control)</th>")
    assert "| crm | oracle (control) |" in report_page(report)
    assert "| crm | gpt-4.1 |" in report_page(report)
