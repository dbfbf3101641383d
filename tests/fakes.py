"""Fakes of the ports, and the small values that tests are made of."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import count

from pytest_crmeval.domain.conversation import Conversation, Seed, Turn
from pytest_crmeval.domain.expectation import Expectation, PublishedReply
from pytest_crmeval.domain.interval import wilson
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.state import TABLES, Row, State
from pytest_crmeval.domain.trial import Labels, PlannedCase, Trial
from pytest_crmeval.journal.figures import Figure

_NUMBERS = count()


class PaperCrm:
    """A CRM on paper: it notes every call and numbers its answers; ``refuse`` is refused.

    ``trials`` are the rows and the clock of every trial that it was used for.
    """

    tools: Sequence[Tool] = (Tool(name="write", description="Write a row.", parameters={"type": "object"}),)

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.trials: list[tuple[Seed, datetime]] = []

    @contextmanager
    def seeded(self, seed: Seed, now: datetime, salt: str = "", page_size: int = 0) -> Iterator[None]:
        """Start with an empty sheet."""
        del salt, page_size
        self.trials.append((seed, now))
        self.calls.clear()
        yield

    def call(self, call: ToolCall) -> ToolResult:
        """Note the call, and answer with the number of the note."""
        self.calls.append(call)
        if call.tool == "refuse":
            return ToolResult(error=ToolError(kind="refused_by_rule", message="not on a Sunday"))
        return ToolResult(value={"id": f"row-{len(self.calls)}"})

    def snapshot(self) -> State:
        """Return the notes."""
        return {"notes": [{"note_id": str(number), "content": call.tool} for number, call in enumerate(self.calls)]}


class Reciting:
    """An agent that gives its replies one after the other, the last one for ever, and remembers what it was shown."""

    name = "reciting"

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.shown: list[Sequence[Message]] = []
        self.tools: Sequence[Tool] = ()

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Recite."""
        self.shown.append(messages)
        self.tools = tools
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


def call(tool: str, **arguments: Json) -> ToolCall:
    """Return a call."""
    return ToolCall(tool=tool, arguments=arguments)


def calls(*made: ToolCall) -> Reply:
    """Return a reply that makes calls."""
    return Reply(calls=made)


def says(text: str) -> Reply:
    """Return a reply in words."""
    return Reply(text=text)


def turn(
    utterance: str,
    expected: ToolCall | None = None,
    *,
    succeeds: bool = True,
    facts: Sequence[Json] | None = None,
    answer: PublishedReply | None = None,
) -> Turn:
    """Return a turn; by default its answer key is to write."""
    expectation = Expectation(call=expected or call("write"), succeeds=succeeds, facts=facts, answer=answer)
    return Turn(utterance=utterance, expectation=expectation)


def conversation(*turns: Turn | str, seed: Seed | None = None, expected_state: State | None = None) -> Conversation:
    """Return a conversation of turns, or of utterances whose answer key does not matter."""
    made = tuple(turn(given) if isinstance(given, str) else given for given in turns)
    return Conversation(id="one", fingerprint="f00d", turns=made, seed=seed or {}, expected_state=expected_state or {})


def new(key: str, **columns: Json) -> Row:
    """Return a row with a generated id that no other row has."""
    return {key: f"generated-{next(_NUMBERS)}", **columns}


def seed_of(state: State) -> dict[str, dict[str, Row]]:
    """Return the seed that a state comes from."""
    return {
        entity: {str(row[key]): {name: row[name] for name in row if name != key} for row in state.get(table, ())}
        for entity, (table, key) in TABLES.items()
    }


def planned(case: str = "one", *, suite: str = "crm", subject: str = "oracle") -> PlannedCase:
    """Return a case that a run means to play."""
    key = f"test_{suite}.py::test_conversation[{subject}-{case}]"
    return PlannedCase(key=key, suite=suite, subject=subject, case=case, spec="oracle", fingerprint="f00d")


def share(passed: int, failed: int) -> Figure:
    """Return the pass rate of cases that were tried once."""
    return Figure(value=passed / (passed + failed), interval=wilson(passed, passed + failed))


def trial(
    case: str | PlannedCase = "one",
    verdict: Verdict = Verdict.PASSED,
    *,
    scores: Mapping[str, float] | None = None,
    seconds: float = 0.5,
) -> Trial:
    """Return how a case went; an errored or invalid one has a reason and no scores."""
    case = case if isinstance(case, PlannedCase) else planned(case)
    if verdict is Verdict.ERRORED:
        return Trial.errored(case, "ConnectionError: no route to model", seconds)
    if verdict is Verdict.INVALID:
        return Trial.invalid(case, "cases.jsonl:1: one: turn 1: nobody tells it", Labels(complexity="simple"))
    values = scores or {"state": 1.0 if verdict is Verdict.PASSED else 0.0}
    found = tuple(Score(name=name, value=value) for name, value in values.items())
    return Trial(planned=case, verdict=verdict, scores=found, seconds=seconds)
