"""What may go into a playbook, and what has to go."""

from dataclasses import replace
from typing import Any

import pytest

from pytest_crmeval.agents.atlas.playbook_rules import (
    HEARD,
    TRIED,
    EntryContext,
    ineffective,
    objection,
    particulars,
    values_in,
)
from pytest_crmeval.agents.playbook import Playbook, Practice, Rewards
from pytest_crmeval.domain.learning import REPLY
from pytest_crmeval.domain.messages import Reply, ToolCall, agent_says
from tests.unit.agents.atlas.roles import entry, playbook

HERE = EntryContext(
    tools={"create_client"},
    values={"harbor foods"},
    utterances=["Add Harbor Foods, please."],
)


def test_general_and_actionable_entry_is_accepted() -> None:
    """About a tool, or about the words to the user."""
    assert "" == objection(entry(), Playbook(), HERE, most=5)
    assert "" == objection(entry(tool=REPLY, action="Name every record that was changed."), Playbook(), HERE, most=5)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"action": "Careful"}, "actionability"),
        ({"effect": ""}, "actionability"),
        ({"tool": "drop_tables"}, "actionability"),
        ({"cue": ()}, "cue: must be 1 to 6"),
        ({"cue": ("a",)}, "cue: must be 1 to 6"),
        ({"cue": ("x" * 41,)}, "cue: must be 1 to 6"),
        ({"cue": ("add" + "!" * 40,)}, "cue: must be 1 to 6"),
        ({"cue": ("delete",)}, "the user did not say it in this conversation"),
        ({"cue": ("ad",)}, "cue"),
        ({"action": "Create Harbor Foods with its status first."}, "generality: 'harbor foods'"),
        ({"scope": "client 320850ba-e717-4603-8fc8-7411aaafd8d3"}, "generality"),
        ({"effect": "mail goes to ada@ada.example"}, "generality: 'ada@ada.e'"),
        ({"action": "Set the close date to 2026-03-01 at once."}, "generality"),
        ({"action": "Never go above 12,500 in a quote."}, "generality"),
        ({"action": "Do it. " * 40}, "length: the action"),
        ({"scope": "new " * 60}, "length: the scope"),
    ],
    ids=str,
)
def test_the_rest_is_not(changes: dict[str, Any], told: str) -> None:
    assert told in objection(entry(**changes), Playbook(), HERE, most=5)


def test_nothing_is_written_twice() -> None:
    """However it is spelt."""
    again = entry("p9.1", action="GIVE create_client the status, that the user names!")

    assert "already in the playbook: p1.1" == objection(again, playbook(entry()), HERE, most=5)


def test_a_playbook_can_be_full() -> None:
    """It is read with every request."""
    other = entry("p1.2", action="Search before a client is created.")

    assert "the playbook is full" == objection(entry(), playbook(other), HERE, most=1)


def test_notes_hold_in_general_too() -> None:
    """They are read with every request of every user."""
    assert "" == particulars(["Give the status with each new client."], HERE)
    assert "generality" in particulars(["Harbor Foods is active."], HERE)


def test_values_in_tool_descriptions_are_not_specific_to_a_conversation() -> None:
    """Only what is not in anybody's description."""
    call = ToolCall(tool="create_client", arguments={"name": "Harbor Foods", "status": "Active", "tags": ["Q4"]})

    assert {"harbor foods"} == values_in([agent_says(Reply(calls=[call]))], "status: Active or Inactive")


def practice(**counts: Any) -> Playbook:  # noqa: ANN401 (of a practice)
    """Return a playbook with one entry that has done so."""
    return Playbook(practices=(replace(Practice.of(entry()), **counts),))


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"since": TRIED - 1}, ""),
        ({"since": TRIED}, "its cue matched in 0 of 10 conversations"),
        ({"since": TRIED, "fired": 1}, ""),
        (
            _harmful := {"heard": Rewards(count=HEARD, total=1.0), "unheard": Rewards(count=HEARD, total=4.0)},
            "0.60 lower",
        ),
        ({**_harmful, "unheard": Rewards(count=HEARD - 1, total=4.0)}, ""),
        ({"heard": Rewards(count=9, total=9.0), "unheard": Rewards(count=9, total=1.0)}, ""),
    ],
    ids=str,
)
def test_ineffective_entry_is_removed(counts: dict[str, Any], told: str) -> None:
    found = ineffective(practice(**counts)).get("p1.1", "")

    assert (told in found) is True
    assert bool(told) is bool(found)
