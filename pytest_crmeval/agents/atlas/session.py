"""One conversation: the student proposes, the teacher looks at what would be changed, and both learn from it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_crmeval.agents.atlas.asking import UnreadableError
from pytest_crmeval.agents.atlas.instructions import instructed
from pytest_crmeval.agents.atlas.reviewing import Proposal, Reviewed, review
from pytest_crmeval.agents.atlas.revising import Heard, pruned, revised
from pytest_crmeval.agents.atlas.rewarding import reward
from pytest_crmeval.agents.atlas.specs import AtlasSpec
from pytest_crmeval.agents.atlas.uses import uses_in
from pytest_crmeval.domain.calls import writes
from pytest_crmeval.domain.learning import Lesson, Review
from pytest_crmeval.domain.messages import Message, Reply, Tool
from pytest_crmeval.domain.playbook import Playbook
from pytest_crmeval.domain.prompt import Prompt
from pytest_crmeval.ports.learner import Attempt, Occasion

HELD_BACK = Reply(
    text="I have not changed anything: I could not make sure that the change would be what you asked for."
)
_UNREAD = "The teacher's answer could not be read. Check each value against what the user said and the CRM shows."


class AtlasSession:
    """Plays one conversation with the playbook as it is, and says what it has learnt from it."""

    def __init__(self, name: str, terms: AtlasSpec, occasion: Occasion, system: str) -> None:
        self.name = name
        self._terms = terms
        self._occasion = occasion
        self._system = system
        # What was learnt is measured by the student alone: a teacher at his side would hide what he does not know.
        self._mode = "solo" if occasion.held_out and terms.learning != "off" else terms.mode
        self._learning = "frozen" if occasion.held_out and terms.learning == "on" else terms.learning
        self._reviews: Counter[str] = Counter()
        self._guidance: list[str] = []
        self._trouble: list[str] = []
        self._tools: Sequence[Tool] = ()
        self.lesson = self._begun()

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Answer as the student does; what would change the CRM only after the teacher has seen it."""
        self._tools = tools
        proposed = self._proposed(messages, tools)
        if self._mode == "solo" or not _changes(proposed):
            return proposed
        return self._agreed(messages, tools, proposed)

    def finished(self, messages: Sequence[Message]) -> Lesson:
        """Have the conversation rewarded and learn from it; ModelError if a model can't be asked."""
        self.lesson = replace(
            self.lesson,
            uses=uses_in(self._playbook, messages),
            reviews=dict(self._reviews),
            guidance=tuple(self._guidance),
            trouble=tuple(self._trouble),
        )
        if self.lesson.learns:
            self._step(lambda lesson: self._rewarded(lesson, messages), "not rewarded")
        if self.lesson.reward:
            self._step(lambda lesson: self._revised(lesson, messages), "nothing was learnt")
        return self.lesson

    def unlearned(self, why: str) -> Lesson:
        """Return what is known of the conversation, though a model could not be asked about it."""
        lesson = pruned(self.lesson, self._playbook) if self.lesson.learns else self.lesson
        return replace(lesson, trouble=(*lesson.trouble, why))

    @property
    def _playbook(self) -> Playbook:
        return Playbook() if self._learning == "off" else self._occasion.playbook

    def _begun(self) -> Lesson:
        learns = self._learning == "on"
        return Lesson(
            key=self._occasion.key,
            learning=self._learning,
            mode=self._mode,
            student=self._occasion.student,
            held_out=self._occasion.held_out,
            position=self._playbook.played + learns,
            entries=len(self._playbook.practices),
        )

    def _proposed(
        self, messages: Sequence[Message], tools: Sequence[Tool], before: Reply | None = None, said: Sequence[str] = ()
    ) -> Reply:
        system = instructed(self._system, self._playbook, _asked_for(messages), before, said)
        return self._occasion.models["student"].complete(Prompt(system=system, messages=messages, tools=tools)).reply

    def _agreed(self, messages: Sequence[Message], tools: Sequence[Tool], proposed: Reply) -> Reply:
        """Return what student and teacher agree on; what nobody has approved is not done, unless he only coaches."""
        said: list[str] = []
        for number in range(1, self._terms.retries + 1):
            found = self._reviewed(messages, proposed, said, number)
            if found.review in {Review.APPROVED, Review.TAKEN_OVER}:
                return found.instead or proposed
            said.append(found.guidance if found.review is Review.CORRECTED else _UNREAD)
            proposed = self._proposed(messages, tools, proposed, said)
            if not _changes(proposed):
                return proposed
        return proposed if self._mode == "coach" else self._decided(messages, proposed, said)

    def _decided(self, messages: Sequence[Message], proposed: Reply, said: Sequence[str]) -> Reply:
        """Return what the teacher makes of the last proposal: it is his word, or nothing is done."""
        found = self._reviewed(messages, proposed, said, self._terms.retries + 1, last=True)
        if found.review in {Review.APPROVED, Review.TAKEN_OVER}:
            return found.instead or proposed
        self._reviews[Review.HELD_BACK] += 1
        return HELD_BACK

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
        found = review(self._occasion.models["teacher"], proposal, self._verdicts(last=last))
        self._note(messages, proposed, found, number)
        return found

    def _verdicts(self, *, last: bool) -> Sequence[str]:
        helping = ("take_over",) if self._mode == "paired" else ()
        return ("approve", *helping) if last else ("approve", "correct", *helping)

    def _note(self, messages: Sequence[Message], proposed: Reply, found: Reviewed, number: int) -> None:
        self._reviews[found.review] += 1
        if found.review is Review.UNREADABLE:
            self._trouble.append(f"a review could not be read: {found.guidance}")
        elif found.guidance:
            self._guidance.append(found.guidance)
        self._occasion.log.attempted(
            Attempt(
                turn=sum(message.speaker == "user" for message in messages),
                number=number,
                calls=proposed.calls,
                review=found.review,
                guidance=found.guidance,
                instead=found.instead.calls if found.instead else (),
            )
        )

    def _step(self, step: Callable[[Lesson], Lesson], otherwise: str) -> None:
        """Go on with the lesson; a role whose answer can't be read is told of, and nothing is made of it."""
        try:
            self.lesson = step(self.lesson)
        except UnreadableError as error:
            self.lesson = self.unlearned(f"{otherwise}: {error}")

    def _rewarded(self, lesson: Lesson, messages: Sequence[Message]) -> Lesson:
        models, terms = self._occasion.models, self._terms
        found = reward(models["reward"], models["arbiter"], messages, terms.samples, terms.threshold)
        self._occasion.log.rewarded(found)
        return replace(lesson, reward=found)

    def _revised(self, lesson: Lesson, messages: Sequence[Message]) -> Lesson:
        learner, most = self._occasion.models["learner"], self._terms.entries
        return revised(learner, lesson, self._playbook, Heard(messages=messages, tools=self._tools), most=most)


def _changes(reply: Reply) -> bool:
    return any(writes(call.tool) for call in reply.calls)


def _asked_for(messages: Sequence[Message]) -> str:
    """Return what the user said last."""
    return next((message.text for message in reversed(messages) if message.speaker == "user"), "")
