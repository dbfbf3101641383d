"""Learning from a conversation: its reward, and the changes of the playbook."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from pytest_crmeval.agents.atlas.playbook_rules import (
    LONGEST_NOTES,
    LONGEST_TEXT,
    MOST_CUES,
    EntryContext,
    ineffective,
    objection,
    particulars,
    values_in,
)
from pytest_crmeval.agents.atlas.role_prompts import (
    Arguments,
    UnreadableError,
    answer_tool,
    ask,
    dialogue,
    in_line,
    prompt_for,
    share_in,
    text_in,
)
from pytest_crmeval.agents.playbook import Playbook, Practice
from pytest_crmeval.domain.cutting import cut
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import REPLY, Lesson, PlaybookEntry, Reward, RewardOpinion
from pytest_crmeval.domain.messages import Message, Tool
from pytest_crmeval.domain.wire import encoded
from pytest_crmeval.ports.chat_model import ChatModel

UNSURE = 0.30
"""If a sample has more uncertainty than this, the arbiter is asked."""
_SHARE: Mapping[str, Json] = {"type": "integer", "minimum": 0, "maximum": 100}
REWARD_FORM = answer_tool(
    "reward",
    "Score how well the conversation went.",
    {
        "reason": {"type": "string", "description": "At most 60 words: what decided the score."},
        "score": {
            **_SHARE,
            "description": "100: everything that the user asked for was done, and reported truthfully.",
        },
        "uncertainty": {**_SHARE, "description": "0: sure. 100: a guess."},
    },
)
MOST_NEW = 4
_TEXT: Mapping[str, Json] = {"type": "string"}
_ENTRY: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "cue": {
            "type": "array",
            "items": _TEXT,
            "description": "Words or phrases that a user says; one of them is enough.",
        },
        "action": {**_TEXT, "description": "What to do then, as an instruction."},
        "tool": {**_TEXT, "description": f"The tool that the action is about, or {REPLY!r}."},
        "effect": {**_TEXT, "description": "What it improves."},
        "scope": {**_TEXT, "description": "Where it applies, and where it does not."},
    },
    "required": ["cue", "action", "tool", "effect", "scope"],
    "additionalProperties": False,
}
REVISION_FORM = answer_tool(
    "revise",
    "Revise the playbook after the conversation; changing nothing is a good answer.",
    {
        "entries": {"type": "array", "items": _ENTRY, "description": f"New entries, at most {MOST_NEW}."},
        "drop": {"type": "array", "items": _TEXT, "description": "Ids of entries that are wrong or useless."},
        "student_notes": {
            **_TEXT,
            "description": f"Notes that the student always sees, at most {LONGEST_NOTES} characters.",
        },
        "teacher_notes": {
            **_TEXT,
            "description": f"Notes that the teacher always sees, at most {LONGEST_NOTES} characters.",
        },
    },
)


def reward(small: ChatModel, arbiter: ChatModel, messages: Sequence[Message], samples: int, threshold: float) -> Reward:
    """Ask for several opinions, and the arbiter if they disagree or are not sure.

    UnreadableError if one of them can't be read; ModelError if a model can't be asked.
    """
    prompt = prompt_for("reward", REWARD_FORM, {"dialogue": dialogue(messages)})
    found = Reward(samples=tuple(ask(small, prompt, _opinion) for _ in range(samples)))
    if found.spread <= threshold and all(sample.uncertainty <= UNSURE for sample in found.samples):
        return found
    opinions = "\n".join(f"- {sample.score:.2f}: {sample.reason}" for sample in found.samples)
    prompt = prompt_for("reward", REWARD_FORM, {"dialogue": dialogue(messages), "opinions": opinions})
    return Reward(samples=found.samples, arbiter=ask(arbiter, prompt, _opinion))


def _opinion(arguments: Arguments) -> RewardOpinion:
    score, uncertainty = share_in(arguments, "score"), share_in(arguments, "uncertainty")
    return RewardOpinion(score=score, uncertainty=uncertainty, reason=text_in(arguments, "reason", longest=400))


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """The changes that a learner proposes, before the gates."""

    entries: Sequence[PlaybookEntry]
    drop: Sequence[str]
    student_notes: str
    teacher_notes: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenConversation:
    """The conversation as the agent saw it."""

    messages: Sequence[Message]
    tools: Sequence[Tool]

    @property
    def context(self) -> EntryContext:
        """The context that entries are checked against."""
        return EntryContext(
            tools={tool.name for tool in self.tools},
            values=values_in(self.messages, " ".join(map(repr, self.tools))),
            utterances=[message.text for message in self.messages if message.speaker == "user"],
        )


def revised(model: ChatModel, lesson: Lesson, playbook: Playbook, seen: SeenConversation, *, most: int) -> Lesson:
    """Return the lesson with the changes of the playbook that pass the gates.

    Ineffective entries are dropped, whatever the learner says. UnreadableError if its answer can't be read; ModelError
    if it can't be asked.
    """
    counted, reward = playbook.practised(lesson), lesson.reward
    shown = {
        "tools": ", ".join(tool.name for tool in seen.tools),
        "playbook": "\n".join(encoded(practice.to_dict()).decode() for practice in counted.practices),
        "student-notes": counted.student_notes,
        "teacher-notes": counted.teacher_notes,
        "dialogue": dialogue(seen.messages),
        "reviews": "\n".join(lesson.guidance),
        "reward": f"{reward.score:.2f}: {reward.reason}" if reward else "",
    }
    prompt = prompt_for("learner", REVISION_FORM, shown)
    known = {entry.id for entry in playbook.entries}
    revision = ask(model, prompt, lambda arguments: _revision(arguments, lesson.position, known))
    unwanted = {name: "the learner rejects it as wrong or useless" for name in revision.drop if name in known}
    lesson = replace(lesson, dropped={**unwanted, **ineffective(counted)})
    return _gated(lesson, revision, playbook, seen.context, most)


def pruned(lesson: Lesson, playbook: Playbook) -> Lesson:
    """Return the lesson with the ineffective entries dropped, for when the learner can't be asked."""
    return replace(lesson, dropped=ineffective(playbook.practised(lesson)))


def _gated(lesson: Lesson, revision: Revision, playbook: Playbook, context: EntryContext, most: int) -> Lesson:
    left = [practice for practice in playbook.practices if practice.entry.id not in lesson.dropped]
    added: list[PlaybookEntry] = []
    refused: list[str] = []
    for entry in revision.entries:
        so_far = replace(playbook, practices=(*left, *(Practice.of(new) for new in added)))
        if why := objection(entry, so_far, context, most):
            refused.append(f"{cut(entry.action, 80)}: {why}")
        else:
            added.append(entry)
    for name in ("student_notes", "teacher_notes"):
        text = getattr(revision, name)
        if text != getattr(playbook, name):
            why = particulars([text], context)
            lesson = replace(lesson, **({"trouble": (*lesson.trouble, f"{name}: {why}")} if why else {name: text}))
    return replace(lesson, added=tuple(added), refused=tuple(refused))


def _revision(arguments: Arguments, position: int, known: Collection[str]) -> Revision:
    entries = _list_in(arguments, "entries")
    if len(entries) > MOST_NEW:
        raise UnreadableError(f"at most {MOST_NEW} entries are allowed")
    # The run that this playbook comes from has also counted from 1.
    names = (name for number in count(1) if (name := f"p{position}.{number}") not in known)
    return Revision(
        entries=tuple(_entry(entry, name, position) for entry, name in zip(entries, names, strict=False)),
        drop=tuple(map(str, _list_in(arguments, "drop"))),
        student_notes=text_in(arguments, "student_notes", longest=LONGEST_NOTES),
        teacher_notes=text_in(arguments, "teacher_notes", longest=LONGEST_NOTES),
    )


def _entry(record: Json, name: str, position: int) -> PlaybookEntry:
    if not isinstance(record, Mapping):
        raise UnreadableError("an entry must be an object")
    cue = _list_in(record, "cue")
    texts = {
        field: in_line(text_in(record, field, longest=2 * LONGEST_TEXT))
        for field in ("action", "tool", "effect", "scope")
    }
    return PlaybookEntry(
        id=name, cue=tuple(in_line(str(words)) for words in cue[: MOST_CUES + 1]), born=position, **texts
    )


def _list_in(arguments: Arguments, name: str) -> Sequence[Json]:
    value = arguments.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise UnreadableError(f"{name} must be a list")
    return value
