"""The student proposes, the teacher looks first, and both learn from it."""

import json
from collections.abc import Mapping

import pytest

from pytest_crmeval.agents.atlas.agent import HELD_BACK
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import Review
from pytest_crmeval.domain.messages import Reply, ToolError, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.ports.chat_model import Cause, ModelError
from tests.unit.agents.atlas.roles import (
    APPROVE,
    ASKED,
    BETTER,
    CORRECT,
    GOOD,
    LOOK,
    NOTHING,
    TAKE_OVER,
    TOOLS,
    WRITE,
    Role,
    School,
    entry,
    playbook,
)

PLAYED = (
    *ASKED,
    agent_says(BETTER),
    crm_says([ToolResult(value={"id": "1"})]),
    agent_says(Reply(text="Done.")),
)
UNSURE: Mapping[str, Json] = {"reason": "who knows", "score": 90, "uncertainty": 60}
BAD: Mapping[str, Json] = {"reason": "forgotten", "score": 10, "uncertainty": 10}
GARBAGE = Reply(text="Looks fine to me!")
NEW: Mapping[str, Json] = {
    **NOTHING,
    "entries": [
        {
            "cue": ["add"],
            "action": "Give create_client the status that the user names.",
            "tool": "create_client",
            "effect": "No status is forgotten",
            "scope": "new clients",
        }
    ],
    "student_notes": "Look twice.",
}


def test_calls_that_only_read_are_not_reviewed() -> None:
    """Nothing can be spoilt by it."""
    school = School(student=Role(LOOK))

    assert LOOK == school.begin().reply(ASKED, TOOLS)
    assert 0 == school.asked("teacher")


def test_approved_calls_are_made_as_proposed() -> None:
    """After the teacher has seen the dialogue, the tools and the calls."""
    school = School()

    assert WRITE == school.begin().reply(ASKED, TOOLS)
    assert "Add Harbor Foods, please." in school.shown("teacher")
    assert "Find clients." in school.shown("teacher")
    assert [Review.APPROVED] == [attempt.review for attempt in school.log.attempts]


def test_a_corrected_student_proposes_again() -> None:
    school = School(student=Role(WRITE, BETTER), teacher=Role(CORRECT, APPROVE))

    assert BETTER == school.begin().reply(ASKED, TOOLS)
    assert "They were not made" in school.shown("student")
    assert "The status is missing." in school.shown("student")
    assert "The status is missing." in school.shown("teacher")


def test_student_may_replace_its_proposal_by_reads() -> None:
    school = School(student=Role(WRITE, LOOK), teacher=Role(CORRECT))

    assert LOOK == school.begin().reply(ASKED, TOOLS)
    assert 1 == school.asked("teacher")


def test_a_teacher_takes_over() -> None:
    """His calls are made in place of the student's."""
    school = School(teacher=Role(TAKE_OVER))

    assert BETTER.calls == list(school.begin().reply(ASKED, TOOLS).calls)
    assert [Review.TAKEN_OVER] == [attempt.review for attempt in school.log.attempts]


def test_corrections_come_to_an_end() -> None:
    """At the last review there is nothing to correct any more: he approves, or does it himself."""
    school = School("atlas?retries=2", teacher=Role(CORRECT, CORRECT, TAKE_OVER))
    reply = school.begin().reply(ASKED, TOOLS)
    last = school.roles["teacher"].prompts[-1].tools[0].parameters["properties"]

    assert BETTER.calls == list(reply.calls)
    assert isinstance(last, Mapping)
    assert {"type": "string", "enum": ["approve", "take_over"]} == last["verdict"]


def test_a_review_that_can_not_be_read_is_asked_for_again() -> None:
    """With what is wrong with it, once."""
    school = School(teacher=Role(GARBAGE, APPROVE))

    assert WRITE == school.begin().reply(ASKED, TOOLS)
    assert "Your last answer could not be used" in school.shown("teacher")


@pytest.mark.parametrize(
    "answer",
    [
        GARBAGE,
        {"verdict": "fine"},
        {"verdict": "correct", "guidance": " "},
        {"verdict": "take_over", "calls": []},
        {"verdict": "take_over", "calls": [{"tool": "drop_tables", "arguments": {}}]},
        {"verdict": "take_over", "calls": ["create_client"]},
        {"verdict": "approve", "guidance": 7},
        {},
    ],
    ids=str,
)
def test_unreadable_review_approves_nothing(answer: Reply | Mapping[str, Json]) -> None:
    school = School("atlas?retries=1", teacher=Role(answer))
    session = school.begin()

    assert HELD_BACK == session.reply(ASKED, TOOLS)
    lesson = session.finished(PLAYED)
    assert {Review.UNREADABLE: 2, Review.HELD_BACK: 1} == lesson.reviews
    assert lesson.trouble[0].startswith("a review could not be read")


def test_a_coach_only_advises() -> None:
    school = School("atlas?mode=coach&retries=1", teacher=Role(CORRECT))

    assert WRITE == school.begin().reply(ASKED, TOOLS)
    assert "take_over" not in str(school.roles["teacher"].prompts[0].tools)


def test_student_without_playbook_and_teacher_gets_the_common_prompt() -> None:
    """So a student alone is the same as the model itself."""
    school = School("atlas?mode=solo&learning=off")
    school.begin(playbook(entry(), student_notes="Look twice.")).reply(ASKED, TOOLS)

    assert "You work in a CRM." == school.roles["student"].prompts[0].system
    assert 0 == school.asked("teacher")


def test_a_cue_calls_an_entry_to_mind() -> None:
    """Only those that fit what the user says now."""
    school = School()
    other = entry("p2.1", cue=("delete",), action="Ask before anything is deleted.")
    school.begin(playbook(entry(), other, student_notes="Look twice.")).reply(ASKED, TOOLS)

    assert "Give create_client the status" in school.shown("student")
    assert "Look twice." in school.shown("student")
    assert "Ask before" not in school.shown("student")


def test_a_conversation_is_rewarded_and_learnt_from() -> None:
    """The lesson says what is new; the playbook after it has it."""
    school = School(learner=Role(NEW), teacher=Role(CORRECT, APPROVE), student=Role(WRITE, BETTER))
    session = school.begin(playbook(played=4))
    session.reply(ASKED, TOOLS)

    lesson = session.finished(PLAYED)

    assert ["p5.1"] == [new.id for new in lesson.added]
    assert (5, "Look twice.", ("The status is missing.",)) == (lesson.position, lesson.student_notes, lesson.guidance)
    assert "The status is missing." in school.shown("learner")
    assert [0.9] == [reward.score for reward in school.log.rewards]


def test_text_of_models_is_cleaned_before_it_is_stored() -> None:
    """Half a surrogate pair would not come through xdist's wire, NUL into no database, an escape into the terminal."""
    rude = "Give\x00 it \ud800 <b>a\x1b[2J status</b>\nat once'; --"
    fresh = {**{name: value for name, value in entry().to_dict().items() if name not in {"id", "born"}}, "action": rude}
    revision: Mapping[str, Json] = {**NOTHING, "entries": [fresh], "student_notes": f"- {rude}", "drop": ["\ud800"]}
    correct: Mapping[str, Json] = {"verdict": "correct", "guidance": rude}
    reward: Mapping[str, Json] = {**GOOD, "reason": rude}
    session = School(teacher=Role(correct), reward=Role(reward), learner=Role(revision)).begin()
    session.reply(ASKED, TOOLS)
    lesson = session.finished(PLAYED)

    assert ["Give it <b>a [2J status</b> at once'; --"] == [each.action for each in lesson.added]
    assert "- Give it <b>a [2J status</b>\nat once'; --" == lesson.student_notes
    kept = json.dumps(lesson.to_dict(), ensure_ascii=False)
    assert kept.encode()
    assert [] == [escape for escape in ("\\u0000", "\\u001b") if escape in kept]


def test_text_of_servers_is_cleaned_before_it_is_stored() -> None:
    lesson = School().begin().unlearned("nothing was learned: \ud800")

    assert ["nothing was learned: \\ud800"] == lesson.to_dict()["trouble"]


def test_an_entry_has_a_name_of_its_own() -> None:
    """Also where the playbook is from another run, which has counted from 1, too."""
    fresh = {name: value for name, value in entry().to_dict().items() if name not in {"id", "born"}}
    again = {**fresh, "action": "Ask for the status that the user has left out."}
    school = School(learner=Role({**NOTHING, "entries": [fresh, again]}))
    inherited = playbook(entry("p1.1", action="Say what was created, and nothing else."))
    session = school.begin(inherited)
    session.reply(ASKED, TOOLS)
    lesson = session.finished(PLAYED)

    assert ["p1.2", "p1.3"] == [each.id for each in lesson.added]


@pytest.mark.parametrize(
    ("samples", "arbiters"),
    [((GOOD, GOOD, GOOD), 0), ((GOOD, BAD, GOOD), 1), ((GOOD, UNSURE, GOOD), 1)],
    ids=["they agree", "they don't", "one is not sure"],
)
def test_an_arbiter_is_asked_when_opinions_differ(samples: tuple[Mapping[str, Json], ...], arbiters: int) -> None:
    """His word counts, and theirs are kept."""
    school = School(reward=Role(*samples), arbiter=Role({"reason": "half", "score": 50, "uncertainty": 0}))
    reward = school.begin().finished(PLAYED).reward

    assert reward
    assert (arbiters, 3) == (school.asked("arbiter"), len(reward.samples))
    assert (0.5 if arbiters else 0.9) == pytest.approx(reward.score)


def test_a_reward_that_can_not_be_read_teaches_nothing() -> None:
    school = School(reward=Role(GARBAGE))
    lesson = school.begin().finished(PLAYED)

    assert (None, 0) == (lesson.reward, school.asked("learner"))
    assert lesson.trouble[-1].startswith("not rewarded: it made 0 calls")


def test_a_learner_that_can_not_be_read_changes_nothing() -> None:
    """The reward counts all the same."""
    lesson = School(learner=Role(GARBAGE)).begin().finished(PLAYED)

    assert lesson.reward
    assert ((), None) == (lesson.added, lesson.student_notes)
    assert lesson.trouble[-1].startswith("nothing was learned")


def test_unavailable_model_is_raised_and_the_reward_is_kept() -> None:
    """It is raised; what is known until then is not lost."""
    session = School(learner=Role(ModelError(Cause.QUOTA, "no money"))).begin()

    with pytest.raises(ModelError):
        session.finished(PLAYED)
    lesson = session.unlearned("nothing was learned: no money")
    assert lesson.reward
    assert ("nothing was learned: no money",) == lesson.trouble


@pytest.mark.parametrize("terms", ["atlas?learning=frozen", "atlas?learning=off"])
def test_agent_that_does_not_learn_calls_no_model_after_the_conversation(terms: str) -> None:
    """No reward, no learner, and the playbook stays as it is."""
    school = School(terms)
    lesson = school.begin(playbook(entry())).finished(PLAYED)

    assert (0, 0) == (school.asked("reward"), school.asked("learner"))
    assert playbook(entry()) == playbook(entry()).after(lesson)


def test_held_out_case_is_played_by_the_student_alone() -> None:
    school = School()
    session = school.begin(playbook(entry()), held_out=True)
    session.reply(ASKED, TOOLS)
    lesson = session.finished(PLAYED)

    assert ("solo", "frozen", False) == (lesson.mode, lesson.learning, lesson.learns)
    assert "Give create_client the status" in school.shown("student")
    assert (0, 0) == (school.asked("teacher"), school.asked("reward"))


def test_a_cue_is_adopted_when_its_tool_is_called() -> None:
    refused = crm_says([ToolResult(error=ToolError(kind="conflict", message="no"))])
    again = (*PLAYED, user_says("Add it again."), agent_says(WRITE), refused, user_says("And add nothing."))
    book = playbook(entry(), entry("p2.1", cue=("delete",)))
    uses = School().begin(book).finished(again).uses

    assert {"p1.1": (3, 1, 1)} == {name: (use.hits, use.adoptions, use.failures) for name, use in uses.items()}
