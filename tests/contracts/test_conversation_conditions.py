"""What a conversation can require of the CRM and of its user: rules, pages, trouble, and reactions."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_crmeval.agents.chat import ChatAgent, system_prompt
from pytest_crmeval.conversations.consistency import inconsistencies
from pytest_crmeval.conversations.dataset.files import conversation_from
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.conversations.scorers.named import SCORERS
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.ports.chat_model import Completion, Prompt
from pytest_crmeval.ports.crm import Crm, SeedError
from pytest_crmeval.ports.scorer import Evidence
from tests.crm_world import uid

NAMES = [f"Quarry {number:02}" for number in range(45)]
DEAL = uid("deal")
CHANGE = {"tool": "modify_opportunity", "arguments": {"opportunity_id": DEAL, "amount": 50}}
CASE: dict[str, Any] = {
    "conversation_id": "conditions",
    "policy": "Discounts above 10 % are not allowed.",
    "page_size": 20,
    "initial_entities": {
        "seed_tables": {
            "Client": {"columns": ["client_id", "name", "owner"], "rows": [[uid(n), n, None] for n in NAMES]},
            "Opportunity": {
                "columns": ["opportunity_id", "client_id", "name", "amount"],
                "rows": [[DEAL, uid(NAMES[7]), "Crusher belts", 40000]],
            },
        }
    },
    "trouble": [
        {"kind": "outage", "turn": 1, "tool": "modify_opportunity", "calls": 2},
        {"kind": "change", "turn": 2, **CHANGE},
        {"kind": "lock", "turn": 3, "record": DEAL, "by": "Ines Moreau"},
    ],
    "turns": [
        {
            "turn_id": 1,
            "user_utterance": "Crusher belts is at 41,000 now.",
            "expected_tool": "modify_opportunity",
            "expected_args": {"opportunity_id": DEAL, "amount": 41000},
        },
        {
            "turn_id": 2,
            "user_utterance": "What is Crusher belts worth?",
            "expected_tool": "view_opportunity_details",
            "expected_args": {"opportunity_id": DEAL},
            "reply_facts": [50],
        },
        {
            "turn_id": 3,
            "user_utterance": "Set it to 60,000.",
            "expected_tool": "modify_opportunity",
            "expected_args": {"opportunity_id": DEAL, "amount": 60000},
            "expect_success": False,
            "expected_error_substring": "Ines Moreau is editing it",
        },
        {
            "turn_id": 4,
            "user_utterance": "The owner of a quarry changes.",
            "expected_tool": "",
            "reply_asks": True,
        },
        {
            "turn_id": 5,
            "user_utterance": "Quarry 44 goes to Petra Lind.",
            "if_written": "I had not said which one!",
            "if_not_asked": "Well?",
            "expected_tool": "modify_client",
            "expected_args": {"client_id": uid("Quarry 44"), "owner": "Petra Lind"},
        },
    ],
}


def case_with(**changes: object) -> Conversation:
    """Return the case with some fields changed."""
    return conversation_from(json.dumps({**CASE, **changes}).encode(), Path("conditions.jsonl"), 1)


def played(crm: Crm, agent: Any, case: Conversation) -> Evidence:  # noqa: ANN401 (any agent)
    """Play a case."""
    return observe(case, agent, crm, play_reference(case, Oracle(case), crm))


class Hasty(Oracle):
    """Plays like the oracle, but in turn 4 does what it should ask about, or says that everything is done."""

    def __init__(self, case: Conversation, fourth: Reply) -> None:
        super().__init__(case)
        self._fourth = fourth

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer the fourth turn without asking."""
        if sum(message.speaker == "user" for message in messages) == 4:
            return self._fourth if messages[-1].speaker == "user" else Reply(text="Done.")
        return super().reply(messages, tools)


def test_the_oracle_passes_in_spite_of_all_trouble(crm: Crm) -> None:
    case = case_with()
    reference = play_reference(case, Oracle(case), crm)
    evidence = observe(case, Oracle(case), crm, reference)

    assert () == case.defects
    assert [] == list(inconsistencies(case, reference))
    assert ["", "", ""] == [SCORERS[name](case, evidence).reason for name in ("state", "calls", "reply")]
    turns = evidence.transcript.exchanges
    errors = [[result.error and result.error.kind for _, result in turn.calls] for turn in turns]
    assert [["timeout", "timeout", None], [None], ["conflict"], [], [None]] == errors


@pytest.mark.parametrize(
    ("fourth", "heard"),
    [
        (Reply(text="Which quarry, and who is the new owner?"), "Quarry 44 goes to Petra Lind."),
        (Reply(text="Please tell me which quarry."), "Quarry 44 goes to Petra Lind."),
        (Reply(text="Noted. Is there anything else?"), "Well?"),
        (
            Reply(calls=[ToolCall(tool="modify_client", arguments={"client_id": uid("Quarry 00"), "owner": "Me"})]),
            "I had not said which one!",
        ),
    ],
)
def test_the_user_reacts_to_what_the_agent_did_in_the_turn_before(crm: Crm, fourth: Reply, heard: str) -> None:
    case = case_with()
    evidence = played(crm, Hasty(case, fourth), case)

    assert heard == evidence.transcript.exchanges[4].messages[0].text
    assert SCORERS["calls"](case, evidence).passed is (not fourth.calls)


def test_long_results_come_in_pages(crm: Crm) -> None:
    seed = case_with().seed

    def names(**arguments: str) -> tuple[list[str], str]:
        result = crm.call(ToolCall(tool="client_search", arguments=arguments))
        assert isinstance(result.value, list)
        return [row["name"] for row in result.value], result.note

    with crm.seeded(seed, case_with().now, page_size=20):
        first, note = names()
        assert NAMES[:20] == first
        assert "Rows 1 to 20 of 45. For the next page, make the same call with the cursor 'after-20'." == note
        assert NAMES[20:40] == names(cursor="after-20")[0]
        assert (NAMES[40:], "Rows 41 to 45 of 45.") == names(cursor="after-40")
        assert ([], "There are only 45 rows.") == names(cursor="after-60")
        assert (["Quarry 44"], "") == names(name="44")
        listed = crm.call(ToolCall(tool="list_clients", arguments={"cursor": "after-40"}))
        assert isinstance(listed.value, dict)
        assert 5 == len(listed.value)
        refused = crm.call(ToolCall(tool="client_search", arguments={"cursor": "2"})).error
        assert refused
        assert "Cursor must be taken from the note of the previous page, for example 'after-20'." == refused.message
        paged = {tool.name for tool in crm.tools if "cursor" in str(tool.parameters)}
    with crm.seeded(seed, case_with().now):
        assert 45 == len(names()[0])
        assert not any("cursor" in str(tool.parameters) for tool in crm.tools)
    assert {"client_search", "list_notes"} <= paged
    assert paged.isdisjoint({"summarize_opportunities", "modify_client", "quote_prefixes"})


def test_the_rules_of_the_company_follow_the_system_prompt(crm: Crm) -> None:
    prompts: list[Prompt] = []

    class Model:
        identity = None

        def complete(self, prompt: Prompt) -> Completion:
            prompts.append(prompt)
            return Completion(reply=Reply(text="Done."), usage=Usage())

    played(crm, ChatAgent(name="chat", model=Model()), case_with())  # type: ignore[arg-type] # all that it needs

    assert f"{system_prompt()}\n\nDiscounts above 10 % are not allowed." == prompts[0].system
    assert ["user"] == [message.speaker for message in prompts[0].messages]


def test_a_change_that_the_crm_refuses_makes_a_case_invalid(crm: Crm) -> None:
    arguments = {"opportunity_id": DEAL, "amount": -1}
    change = {"kind": "change", "turn": 2, "tool": "modify_opportunity", "arguments": arguments}

    with pytest.raises(SeedError, match="trouble: turn 2: modify_opportunity: Amount must be greater than zero"):
        play_reference(case_with(trouble=[change]), Oracle(case_with()), crm)


def test_tables_are_another_form_of_the_same_rows() -> None:
    rows = {uid(name): {"name": name} for name in NAMES}
    deal = {DEAL: {"client_id": uid(NAMES[7]), "name": "Crusher belts", "amount": 40000}}
    long = case_with(initial_entities={"seed_data": {"Client": rows, "Opportunity": deal}})

    assert long.fingerprint == case_with().fingerprint
    assert long.seed == case_with().seed
