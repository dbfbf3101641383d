"""The output of ``crmeval lint``: text and JSON."""

from collections.abc import Iterator

from pytest_crmeval.conversations.dataset.findings import FindingKind
from pytest_crmeval.conversations.lint.lint import Lint
from pytest_crmeval.domain.formats import headed
from pytest_crmeval.domain.json import JsonObject

SCHEMA = "crmeval.lint/1"
_DIVERSITY = {
    "utterances": "distinct utterances, ignoring ids",
    "templates": "distinct turns (utterance, tool and arguments), ignoring ids",
    "conversation_shapes": "distinct conversations, ignoring ids",
    "tool_sequences": "distinct sequences of tools",
    "conversations_that_never_write": "conversations without a write",
}


def document(lint: Lint) -> JsonObject:
    """Return the result as JSON; it has every kind of problem, found or not."""
    return {
        **headed(SCHEMA),
        "files": lint.files,
        "conversations": lint.conversations,
        "turns": lint.turns,
        "invalid": lint.invalid,
        "reproducible_responses": lint.reproducible,
        "diversity": lint.diversity.to_dict(),
        "kinds": {
            kind.label: {
                "invalid": kind.invalid,
                "meaning": kind.meaning,
                "turns": len(count.turns),
                "conversations": len(count.lines),
                "examples": [
                    {
                        "file": place.file,
                        "line": place.line,
                        "case": place.case or None,
                        "turn": finding.turn or None,
                        "text": finding.text,
                    }
                    for place, finding in count.examples
                ],
            }
            for kind, count in lint.counts.items()
        },
    }


def lines(lint: Lint) -> Iterator[str]:
    """Yield the lines of the text output: first what makes a case invalid, then by frequency."""
    found = [kind for kind in FindingKind if lint.counts[kind].lines]
    found.sort(key=lambda kind: (not kind.invalid, -len(lint.counts[kind].lines)))
    for invalid, head in ((True, "Invalid: no agent can pass these cases"), (False, "Suspicious, but can be passed")):
        kinds = [kind for kind in found if kind.invalid == invalid]
        if kinds:
            yield f"{head}:"
            yield ""
        for kind in kinds:
            count = lint.counts[kind]
            turns = f"{_many(len(count.turns), 'turn')} in " if count.turns else ""
            yield f"{kind.label}: {turns}{_many(len(count.lines), 'conversation')}"
            yield f"    {kind.meaning}"
            for place, finding in count.examples:
                case = place.case if place.case.isprintable() else repr(place.case)
                where = ", ".join(filter(None, (case, f"turn {finding.turn}" if finding.turn else "")))
                yield f"    {place.file}:{place.line}: {where and f'{where}: '}{finding.text}"
            yield ""
    figures = lint.diversity.to_dict()
    yield f"{_many(len(lint.files), 'file')}, {_many(lint.conversations, 'conversation')}, {_many(lint.turns, 'turn')}"
    for name, meaning in _DIVERSITY.items():
        yield f"{figures[name]:>7}  {meaning}"
    yield f"{lint.diversity.reads:>7}  turns without a write ({lint.diversity.read_share:.1%})"
    yield f"{lint.reproducible:>7}  expected responses that an agent could give word for word"
    yield f"{lint.invalid:>7}  invalid conversations"


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
