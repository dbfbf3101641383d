"""What was found in files of conversations, for people and for programs."""

from collections.abc import Iterator

from pytest_crmeval.conversations.dataset.findings import Finding, Kind
from pytest_crmeval.conversations.lint.lint import Lint, Place
from pytest_crmeval.domain.json import Json, JsonObject

SCHEMA = "crmeval.lint/1"
_DIVERSITY = {
    "utterances": "different utterances, ids aside",
    "templates": "different tools, utterances and arguments, ids aside",
    "conversation_shapes": "different conversations, ids aside",
    "tool_sequences": "different sequences of tools",
    "conversations_that_never_write": "conversations that never write",
}


def document(lint: Lint) -> JsonObject:
    """Return what was found as JSON primitives; every kind is there, found or not."""
    return {
        "schema": SCHEMA,
        "files": lint.files,
        "conversations": lint.conversations,
        "turns": lint.turns,
        "invalid": lint.invalid,
        "reproducible_responses": lint.reproducible,
        "diversity": lint.diversity.to_dict(),
        "kinds": {kind.label: _kind(lint, kind) for kind in Kind},
    }


def _kind(lint: Lint, kind: Kind) -> JsonObject:
    count = lint.counts[kind]
    return {
        "invalid": kind.invalid,
        "meaning": kind.meaning,
        "turns": len(count.turns),
        "conversations": len(count.lines),
        "examples": [_example(place, finding) for place, finding in count.examples],
    }


def _example(place: Place, finding: Finding) -> dict[str, Json]:
    return {
        "file": place.file,
        "line": place.line,
        "case": place.case or None,
        "turn": finding.turn or None,
        "text": finding.text,
    }


def lines(lint: Lint) -> Iterator[str]:
    """Yield what was found as a person wants to read it: what makes a case invalid first, then by frequency."""
    found = [kind for kind in Kind if lint.counts[kind].lines]
    found.sort(key=lambda kind: (not kind.invalid, -len(lint.counts[kind].lines)))
    for invalid, head in ((True, "Nobody can pass a case with"), (False, "Irregular, but it can be passed")):
        kinds = [kind for kind in found if kind.invalid == invalid]
        if kinds:
            yield f"{head}:"
            yield ""
            for kind in kinds:
                yield from _section(lint, kind)
    yield from _totals(lint)


def _section(lint: Lint, kind: Kind) -> Iterator[str]:
    count = lint.counts[kind]
    turns = f"{_many(len(count.turns), 'turn')} of " if count.turns else ""
    yield f"{kind.label}: {turns}{_many(len(count.lines), 'conversation')}"
    yield f"    {kind.meaning}"
    for place, finding in count.examples:
        yield f"    {place.file}:{place.line}: {_who(place.case, finding.turn)}{finding.text}"
    yield ""


def _who(case: str, turn: int) -> str:
    name = case if case.isprintable() else repr(case)
    parts = ", ".join(part for part in (name, f"turn {turn}" if turn else "") if part)
    return parts and f"{parts}: "


def _totals(lint: Lint) -> Iterator[str]:
    figures = lint.diversity.to_dict()
    yield f"{_many(len(lint.files), 'file')}, {_many(lint.conversations, 'conversation')}, {_many(lint.turns, 'turn')}"
    for name, meaning in _DIVERSITY.items():
        yield f"{figures[name]:>7}  {meaning}"
    yield f"{lint.diversity.reads:>7}  turns that only read ({lint.diversity.read_share:.1%})"
    yield f"{lint.reproducible:>7}  expected responses that a truthful agent could give to the letter"
    yield f"{lint.invalid:>7}  invalid conversations"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
