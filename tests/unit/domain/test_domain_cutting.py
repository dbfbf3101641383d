"""Text is shortened in one place, and secrets are redacted first."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from _pytest._io.saferepr import SafeRepr

from pytest_crmeval.compat import redact_reprs
from pytest_crmeval.domain import cutting
from pytest_crmeval.domain.cutting import cut, cut_bytes, cut_end, cut_middle, printable, use_redactor
from pytest_crmeval.domain.explanation import Pen, explanation
from pytest_crmeval.domain.messages import Message, Reply, ToolCall, agent_says
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.models.sdks.errors import Target, excerpt
from pytest_crmeval.player.questions import LONGEST as LONGEST_ANSWER
from pytest_crmeval.render import progress_table as board
from pytest_crmeval.solutions.problem import OutputComparison as ComparisonOfOutputs
from pytest_crmeval.solutions.referee import difference

KNOWN = "swordfish of seven seas, 4711"
AWS = "AKIAIOSFODNN7EXAMPLE"
SOURCE = Path(cutting.__file__).parents[1]
ASKED = Target(provider="openai", model="m", address="http://host", key_name="KEY", key="")


@pytest.fixture(autouse=True)
def _known_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register one secret by its value during a test."""
    monkeypatch.setattr(cutting._Process, "redactor", None)  # noqa: SLF001 (put back after the test)
    use_redactor(Redactor([KNOWN]))


def pieces(secret: str) -> Iterator[str]:
    """Yield every part of a secret that is long enough to be recognised."""
    return (secret[start : start + 6] for start in range(len(secret) - 5))


def list_of(text: str) -> object:
    """Return a list with a text in it."""
    return [text]


def dict_of(text: str) -> object:
    """Return an object with a text in it."""
    return {"note": text}


def explained(text: str) -> str:
    """Return the explanation of a trial in which an agent says and calls this."""
    called = Reply(text=text, calls=[ToolCall(tool="find", arguments={"note": text})])
    messages = (Message(speaker="user", text=text), agent_says(called))
    return "\n".join(explanation(Transcript(exchanges=(Exchange(messages=messages),)), [], Pen()))


@pytest.mark.parametrize("secret", [KNOWN, AWS])
@pytest.mark.parametrize(
    ("shorten", "longest"),
    [
        pytest.param(lambda text: cut(text, 60), 60, id="cut"),
        pytest.param(lambda text: cut(text, 60, ""), 60, id="cut without a mark"),
        pytest.param(lambda text: cut_middle(text, 60), 60, id="middle"),
        pytest.param(printable, cutting.LONGEST, id="printable"),
        pytest.param(lambda text: board.cut(text, 60), 60, id="names in tables"),
        pytest.param(explained, 240, id="tool arguments"),
        pytest.param(explained, 1_000, id="speech"),
        pytest.param(lambda text: excerpt(text, ASKED), 200, id="excerpt of an error"),
        pytest.param(lambda text: repr(cut(text, LONGEST_ANSWER, "")), LONGEST_ANSWER, id="answer of a question"),
    ],
)
def test_no_part_of_a_secret_remains_wherever_the_text_is_cut(
    secret: str, shorten: Callable[[str], str], longest: int
) -> None:
    """The secret is moved across the cut, character by character."""
    places = range(max(0, longest - 2 * len(secret)), longest + 2)
    shown = "\n".join(shorten(f"{'x' * before} {secret} {'y' * 400}") for before in places)

    assert [] == [piece for piece in pieces(secret) if piece in shown]


@pytest.mark.parametrize("secret", [KNOWN, AWS])
def test_no_part_of_a_secret_remains_if_only_the_end_of_a_text_is_shown(secret: str) -> None:
    shown = "\n".join(cut_end(f"{'x' * 400} {secret} {'y' * after}", 60) for after in range(62))

    assert [] == [piece for piece in pieces(secret) if piece in shown]


@pytest.mark.parametrize("secret", [KNOWN, AWS])
@pytest.mark.parametrize("filler", ["x", "😀"])
def test_no_part_of_a_secret_remains_in_the_output_of_a_program(secret: str, filler: str) -> None:
    """Output is bytes, of which only the beginning is decoded; a character may have four."""
    places = range(60 - 2 * len(secret), 62)
    printed = [f"{filler * before} {secret} {filler * 20_000}".encode() for before in places]
    printed += [f"{secret} ".encode() * 2_000]  # almost nothing is left of the beginning
    shown = [cut_bytes(output, 60) for output in printed]

    assert [] == [piece for piece in pieces(secret) if piece in "\n".join(shown)]
    assert {61} == set(map(len, shown))


def test_reason_for_a_wrong_answer_has_no_part_of_a_secret() -> None:
    """The wrong word is shortened."""
    word = "swordfish-of-seven-seas-" * 3
    use_redactor(Redactor([word]))

    reason = difference(b"1", f"{'😀' * 50}{word}".encode(), ComparisonOfOutputs())

    assert "😀" in reason
    assert [] == [piece for piece in pieces(word) if piece in reason]


def test_key_of_several_lines_is_redacted_before_lines_are_omitted() -> None:
    """The number of lines of a turn is limited as well."""
    body = "\n".join(f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{number:04}" for number in range(200))
    text = explained(f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----")

    assert "MIIEvQIBADAN" not in text
    assert "[redacted]" in text


@pytest.mark.parametrize("secret", [KNOWN, AWS])
@pytest.mark.parametrize("made", [str, list_of, dict_of, str.encode])
def test_no_part_of_a_secret_remains_in_reprs_that_pytest_shortens(secret: str, made: Callable[[str], object]) -> None:
    """Arguments and locals of tracebacks, operands of assertions."""
    undo = redact_reprs(Redactor([KNOWN]).text)
    try:
        shown = "".join(
            SafeRepr(240, use_ascii=ascii_).repr(made(f"{'x' * before} {secret} {'y' * after}"))
            for ascii_ in (False, True)
            for before in range(60, 180)
            for after in (0, 60, 120, 200)
        )
    finally:
        undo()

    assert [] == [piece for piece in pieces(secret) if piece in shown]


def test_shortened_reprs_without_a_secret_are_unchanged() -> None:
    """The same holds after redaction is turned off."""
    values = ["x" * 300, ["x" * 300] * 9, {"a": "b" * 300}, KNOWN, object]
    before = [SafeRepr(240).repr(value) for value in values]
    undo = redact_reprs(Redactor([AWS]).text)
    try:
        assert before == [SafeRepr(240).repr(value) for value in values]
    finally:
        undo()

    assert before == [SafeRepr(240).repr(value) for value in values]


ALLOWED = {
    "domain/cutting.py": "the one place",
    "models/sdks/encoding.py": "the name of a tool, as an API takes it",
    "cli/listing.py": "a date",
    "report/compare.py": "a commit",
    "render/comparison.py": "a commit",
    "render/page/baseline.py": "a commit",
    "render/page/heat.py": "a plural",
    "render/markdown.py": "a first letter",
    "models/judge/cache.py": "a digest",
    "domain/paths.py": "the name of a file",
    "conversations/scorers/reply.py": "what is read, not what is shown",
    "conversations/scorers/mentions.py": "what is read, not what is shown",
    "conversations/dataset/knowledge.py": "what is compared, not what is shown",
}


def slices_of_text(path: Path) -> Iterator[str]:
    """Yield the expressions of a module that seem to shorten a text: ``f"{text[:9]}"``, ``{text!r:.9}``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FormattedValue):
            cuts = [part for part in ast.walk(node.value) if _is_head(part)]
            spec = ast.unparse(node.format_spec)[2:-1] if node.format_spec else ""
            innocent = any(word in ast.unparse(node.value) for word in (".join(", "hexdigest"))  # a list, a digest
            if (cuts and not innocent) or (spec.startswith(".") and spec[1:].isdecimal()):
                yield f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node.value)}"
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and "decode(" in ast.unparse(node):
            yield f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Attribute) and node.attr == "shorten":
            yield f"{path.relative_to(SOURCE)}:{node.lineno}: shorten"


def _is_head(node: ast.AST) -> bool:
    """Return whether a part of an expression is ``something[:n]``, and not a list of such things that are joined."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.lower is None


def test_no_other_module_shortens_text() -> None:
    """``cut`` redacts secrets first; a slice does not."""
    modules = [
        path
        for path in SOURCE.rglob("*.py")
        if str(path.relative_to(SOURCE)) not in ALLOWED and "generator" not in path.parts
    ]

    assert [] == [place for path in modules for place in slices_of_text(path)]
