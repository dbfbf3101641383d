"""Trials in miniature: a CRM that answers from a list, and what one agent made of it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from uuid import NAMESPACE_OID, uuid5

from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.domain.conversation import Conversation, Seed, Turn
from pytest_crmeval.domain.expectation import Expectation, PublishedReply
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ErrorKind, Reply, Tool, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.state import State
from pytest_crmeval.ports.crm_calls import canonical
from pytest_crmeval.ports.scorer import Evidence
from tests.fakes import Reciting, call, calls, says

Answers = Sequence[tuple[ToolCall, ToolResult]]


def uid(name: str) -> str:
    """Return the id that goes by ``name``."""
    return str(uuid5(NAMESPACE_OID, name))


class ListedCrm:
    """A CRM that answers what is on its list, in whatever form it is asked; all else is not found."""

    tools: Sequence[Tool] = ()

    def __init__(self, answers: Answers, after: State | None = None) -> None:
        self._answers = [(canonical(asked), result) for asked, result in answers]
        self._after = after or {}

    @contextmanager
    def seeded(self, seed: Seed, now: datetime, salt: str = "", page_size: int = 0) -> Iterator[None]:
        """Start anew, which is no work."""
        del seed, now, salt, page_size
        yield

    def call(self, call: ToolCall) -> ToolResult:
        """Look it up."""
        return next((result for asked, result in self._answers if asked == canonical(call)), refused("Not found."))

    def snapshot(self) -> State:
        """Return what the CRM is said to hold at the end."""
        return self._after


def found(value: Json, note: str = "") -> ToolResult:
    """Return an answer of the CRM."""
    return ToolResult(value=value, note=note)


def refused(message: str, kind: ErrorKind = "not_found") -> ToolResult:
    """Return a refusal of the CRM."""
    return ToolResult(error=ToolError(kind=kind, message=message))


def asks(  # noqa: PLR0913 (each is another thing, and most are left out)
    utterance: str,
    expected: ToolCall,
    *,
    facts: Sequence[Json] | None = None,
    refusal: str | None = None,
    answer: PublishedReply | None = None,
    further: Sequence[ToolCall] = (),
    back: bool = False,
) -> Turn:
    """Return a turn; with ``refusal``, even an empty one, the CRM is to refuse; with ``back`` the reply asks back."""
    expectation = Expectation(
        call=expected,
        further=further,
        succeeds=refusal is None,
        refusal=refusal or "",
        facts=facts,
        asks=back,
        answer=answer,
    )
    return Turn(utterance=utterance, expectation=expectation)


def case_of(*turns: Turn, seed: Sequence[str] = ()) -> Conversation:
    """Return a conversation; ``seed`` are the ids of the rows that it starts with."""
    seeded: Seed = {"Client": {row_id: {} for row_id in seed}}
    return Conversation(id="one", fingerprint="f00d", turns=turns, seed=seeded)


def trial(
    case: Conversation,
    answers: Answers,
    *replies: Sequence[ToolCall] | str,
    after: State | None = None,
    reference_after: State | None = None,
) -> Evidence:
    """Return what happens when an agent makes these calls and says these words, one after the other."""
    given: list[Reply] = [says(reply) if isinstance(reply, str) else calls(*reply) for reply in replies]
    reference = replace(play_reference(case, Oracle(case), ListedCrm(answers)), after=reference_after or {})
    return observe(case, Reciting(*given), ListedCrm(answers, after), reference)


def row(kind: str, name: str, /, **columns: Json) -> Mapping[str, Json]:
    """Return a row as the CRM shows it."""
    return {f"{kind}_id": uid(name), **columns}


FLEET = row(
    "opportunity",
    "fleet",
    client_id=uid("harbor"),
    name="Fleet tracking rollout",
    stage="Proposal",
    amount=84000.0,
    close_date="2025-11-30",
    owner="Dana",
    probability=55,
    notes=None,
    created_at="2025-11-12T09:00:00+00:00",
)
HARBOR = row(
    "client",
    "harbor",
    name="Harbor Light Logistics",
    industry="Shipping",
    email="ops@harborlight.example",
    phone="+1 555 0101",
    address=None,
    status="Active",
    created_date="2025-11-12T09:00:00+00:00",
    owner=None,
)
MIRA = row(
    "contact",
    "mira",
    first_name="Mira",
    last_name="O'Brien",
    title="Head of Procurement",
    email="mira.obrien@harborlight.example",
    phone=None,
    client_id=uid("harbor"),
    notes=None,
)
SMALL_QUOTE = row(
    "quote",
    "small",
    opportunity_id=uid("fleet"),
    version="1.0",
    amount=75000.0,
    status="Draft",
    valid_until="2026-03-31",
    created_date="2025-11-12T09:00:00+00:00",
    quote_prefix=None,
)
LARGE_QUOTE = {**SMALL_QUOTE, "quote_id": uid("large"), "version": "2.0", "amount": 1200000.0, "status": "Sent"}
FIND_FLEET = call("opportunity_search", name="fleet tracking")
