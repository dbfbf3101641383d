"""Whether a playbook is heard: which cues a conversation has had, and what became of what they say."""

from collections.abc import Iterator, Mapping, Sequence

from pytest_crmeval.domain.calls import TOOL_ALIASES
from pytest_crmeval.domain.learning import Entry, Use
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.domain.playbook import Playbook
from pytest_crmeval.domain.references import answered_in


def uses_in(playbook: Playbook, messages: Sequence[Message]) -> Mapping[str, Use]:
    """Return how each entry was used, turn by turn; those whose cue was not heard are absent."""
    turns = list(_turns(messages))
    found = {entry.id: _use(entry, turns) for entry in playbook.entries}
    return {name: use for name, use in found.items() if use.hits}


def _use(entry: Entry, turns: Sequence[Sequence[Message]]) -> Use:
    fired = [turn for turn in turns if entry.fires(turn[0].text)]
    made = [_results(entry.tool, turn) for turn in fired]
    return Use(
        hits=len(fired),
        adoptions=sum(any(results) for results in made),
        failures=sum(bool(results) and not any(results) for results in made),
    )


def _results(tool: str, turn: Sequence[Message]) -> list[bool]:
    """Return for each call of a tool whether the CRM did it."""
    return [not result.refused for call, result in answered_in(turn) if TOOL_ALIASES.get(call.tool, call.tool) == tool]


def _turns(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
    for start, end in zip(starts, [*starts[1:], len(messages)], strict=True):
        yield messages[start:end]
