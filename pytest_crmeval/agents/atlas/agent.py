"""The agent ``atlas``: a student proposes calls, a teacher reviews those that change the CRM, and both learn."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pytest_crmeval.agents.atlas.learning import SeenConversation, pruned, revised, reward
from pytest_crmeval.agents.atlas.playbook_rules import uses_in
from pytest_crmeval.agents.atlas.reviewing import Proposal, Reviewed, review
from pytest_crmeval.agents.atlas.role_prompts import UnreadableError, student_instructions
from pytest_crmeval.agents.atlas.specs import AtlasSpec
from pytest_crmeval.agents.chat import system_prompt
from pytest_crmeval.agents.learner import ReviewedProposal, SessionSetup
from pytest_crmeval.agents.playbook import Playbook
from pytest_crmeval.domain.learning import Lesson, Review
from pytest_crmeval.domain.messages import Message, Reply, Tool, rules_apart
from pytest_crmeval.ports.chat_model import Prompt
from pytest_crmeval.ports.crm_calls import writes

HELD_BACK = Reply(
    text="I have not changed anything: I could not make sure that the change would be what you asked for."
)
_UNREAD = "The teacher's answer could not be read. Check each value against what the user said and the CRM shows."


class AtlasSession:
    """Plays one conversation with a playbook, and returns the lesson."""

    def __init__(self, name: str, spec: AtlasSpec, setup: SessionSetup, system: str) -> None:
        self.name = name
        self._spec = spec
        self._setup = setup
        self._system = system
        # Held-out cases are played by the student alone: a teacher would hide what the student has not learned.
        self._mode = "solo" if setup.held_out and spec.learning != "off" else spec.mode
        self._learning = "frozen" if setup.held_out and spec.learning == "on" else spec.learning
        self._reviews: Counter[str] = Counter()
        self._guidance: list[str] = []
        self._trouble: list[str] = []
        self._tools: Sequence[Tool] = ()
        self.lesson = Lesson(
            key=setup.key,
            learning=self._learning,
            mode=self._mode,
            student=setup.student,
            held_out=setup.held_out,
            position=self._playbook.played + (self._learning == "on"),
            entries=len(self._playbook.practices),
        )

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer as the student; calls that would change the CRM are reviewed by the teacher first."""
        self._tools = tools
        proposed = self._proposed(messages, tools)
        if self._mode == "solo" or not _changes(proposed):
            return proposed
        # Return the reply that student and teacher agree on; only in the mode ``coach`` may a change lack
        # approval
        said: list[str] = []
        for number in range(1, self._spec.retries + 1):
            found = self._reviewed(messages, proposed, said, number)
            if found.review in {Review.APPROVED, Review.TAKEN_OVER}:
                return found.instead or proposed
            said.append(found.guidance if found.review is Review.CORRECTED else _UNREAD)
            proposed = self._proposed(messages, tools, proposed, said)
            if not _changes(proposed):
                return proposed
        if self._mode == "coach":
            return proposed
        found = self._reviewed(messages, proposed, said, self._spec.retries + 1, last=True)
        if found.review in {Review.APPROVED, Review.TAKEN_OVER}:
            return found.instead or proposed
        self._reviews[Review.HELD_BACK] += 1
        return HELD_BACK

    def finished(self, messages: Sequence[Message]) -> Lesson:
        """Reward the conversation and learn from it, unless an answer is unreadable; ModelError if a model fails."""
        self.lesson = replace(
            self.lesson,
            uses=uses_in(self._playbook, messages),
            reviews=dict(self._reviews),
            guidance=tuple(self._guidance),
            trouble=tuple(self._trouble),
        )
        models, spec, problem = self._setup.models, self._spec, "not rewarded"
        try:
            if self.lesson.learns:
                found = reward(models["reward"], models["arbiter"], messages, spec.samples, spec.threshold)
                self._setup.log.rewarded(found)
                self.lesson, problem = replace(self.lesson, reward=found), "nothing was learned"
                seen = SeenConversation(messages=messages, tools=self._tools)
                self.lesson = revised(models["learner"], self.lesson, self._playbook, seen, most=spec.entries)
        except UnreadableError as error:
            self.lesson = self.unlearned(f"{problem}: {error}")
        return self.lesson

    def unlearned(self, why: str) -> Lesson:
        """Return the lesson of a conversation that could not be rewarded or learned from, with the reason."""
        lesson = pruned(self.lesson, self._playbook) if self.lesson.learns else self.lesson
        return replace(lesson, trouble=(*lesson.trouble, why))

    @property
    def _playbook(self) -> Playbook:
        return Playbook() if self._learning == "off" else self._setup.playbook

    def _proposed(
        self, messages: Sequence[Message], tools: Sequence[Tool], before: Reply | None = None, said: Sequence[str] = ()
    ) -> Reply:
        system = student_instructions(self._system, self._playbook, _asked_for(messages), before, said)
        rules, dialogue = rules_apart(messages)
        system = f"{system}\n\n{rules}" if rules else system
        return self._setup.models["student"].complete(Prompt(system=system, messages=dialogue, tools=tools)).reply

    def _reviewed(
        self, messages: Sequence[Message], proposed: Reply, said: Sequence[str], number: int, *, last: bool = False
    ) -> Reviewed:
        proposal = Proposal(
            messages=messages,
            tools=self._tools,
            reply=proposed,
            before=tuple(said),
            entries=self._playbook.fired_by(_asked_for(messages)),
            notes=self._playbook.teacher_notes,
        )
        helping = ("take_over",) if self._mode == "paired" else ()
        verdicts = ("approve", *helping) if last else ("approve", "correct", *helping)
        found = review(self._setup.models["teacher"], proposal, verdicts)
        self._reviews[found.review] += 1
        if found.review is Review.UNREADABLE:
            self._trouble.append(f"a review could not be read: {found.guidance}")
        elif found.guidance:
            self._guidance.append(found.guidance)
        self._setup.log.attempted(
            ReviewedProposal(
                turn=sum(message.speaker == "user" for message in messages),
                number=number,
                calls=proposed.calls,
                review=found.review,
                guidance=found.guidance,
                instead=found.instead.calls if found.instead else (),
            )
        )
        return found


@dataclass(frozen=True, kw_only=True)
class Atlas:
    """A student and a teacher, whose playbook grows with each conversation."""

    name: str
    spec: AtlasSpec
    system: str = field(default_factory=system_prompt, repr=False)

    @property
    def learns(self) -> bool:
        """Whether its conversations must be played one after the other."""
        return self.spec.learns

    def begin(self, setup: SessionSetup) -> AtlasSession:
        """Return the agent for one conversation."""
        return AtlasSession(self.name, self.spec, setup, self.system)

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Refuse: a conversation starts with the playbook of a run, see ``begin``."""
        del messages, tools
        raise RuntimeError(f"{self.name} only plays conversations that were started by the evaluate fixture")


def _changes(reply: Reply) -> bool:
    return any(writes(call.tool) for call in reply.calls)


def _asked_for(messages: Sequence[Message]) -> str:
    """Return the last utterance of the user."""
    return next((message.text for message in reversed(messages) if message.speaker == "user"), "")
