"""Replies that were labelled true or false by hand, and how the scorer `reply` judges them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pytest_crmeval.conversations.calibration.tally import AgentAccuracy, Miss, Share, share_of
from pytest_crmeval.conversations.calibration.variants import with_reply
from pytest_crmeval.conversations.oracle import Oracle
from pytest_crmeval.conversations.play import observe, play_reference
from pytest_crmeval.domain.conversation import Conversation
from pytest_crmeval.domain.messages import Message, Reply, Tool, ToolCall
from pytest_crmeval.ports.crm import Crm
from pytest_crmeval.ports.scorer import Evidence

Faults = Callable[[Conversation, Evidence], Sequence[str]]
"""Returns for each turn of a trial what is wrong with its reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTurn:
    """The calls of one turn, and replies to it that are known to be true or false."""

    steps: Sequence[Sequence[ToolCall]] = ()
    """The calls of each step."""
    true: Sequence[str] = ()
    false: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledPlay:
    """A conversation with the calls of one play of it, and labelled replies."""

    case: Conversation
    turns: Sequence[LabelledTurn]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReply:
    """How one labelled reply was judged."""

    case: str
    turn: int
    text: str
    is_true: bool
    fault: str
    """What the scorer found wrong with it; empty if nothing."""

    @property
    def right(self) -> bool:
        """Whether the scorer agrees with the label."""
        return self.is_true is (not self.fault)


class Replayer:
    """An agent that makes the calls of a labelled play, and gives the first true reply of each turn."""

    name = "replayer"

    def __init__(self, turns: Sequence[LabelledTurn]) -> None:
        self._turns = turns

    def reply(self, messages: Sequence[Message], tools: Sequence[Tool]) -> Reply:
        """Return the calls of the next step, or the first true reply of the turn."""
        del tools
        starts = [place for place, message in enumerate(messages) if message.speaker == "user"]
        turn = self._turns[len(starts) - 1]
        step = sum(message.speaker == "agent" for message in messages[starts[-1] :])
        if step < len(turn.steps):
            return Reply(calls=tuple(turn.steps[step]))
        return Reply(text=next(iter(turn.true), "Done."))


def played(plays: Sequence[LabelledPlay], crm: Crm) -> Iterator[tuple[LabelledPlay, Evidence]]:
    """Make the calls of each play on a CRM, and yield the play with its evidence."""
    for play in plays:
        reference = play_reference(play.case, Oracle(play.case), crm)
        yield play, observe(play.case, Replayer(play.turns), crm, reference)


def labelled_shares(name: str, replies: Iterable[JudgedReply]) -> Sequence[Share]:
    """Return how many false replies were caught, and how many true ones accepted."""
    tallies = {is_true: AgentAccuracy(kind=name) for is_true in (False, True)}
    for reply in replies:
        miss = None if reply.right else Miss(case=reply.case, turn=reply.turn, what=reply.text, reason=reply.fault)
        tallies[reply.is_true].add(reply.case, miss)
    return [
        share_of(f"labelled false replies, {name}, caught", [tallies[False]]),
        share_of(f"labelled true replies, {name}, accepted", [tallies[True]]),
    ]


def judge_replies(play: LabelledPlay, evidence: Evidence, faults: Faults) -> Iterator[JudgedReply]:
    """Yield how ``faults`` judges each labelled reply; all other turns have their first true reply."""
    for number, turn in enumerate(play.turns, start=1):
        for is_true, texts in ((True, turn.true), (False, turn.false)):
            for text in texts:
                fault = faults(play.case, with_reply(evidence, number, text))[number - 1]
                yield JudgedReply(case=play.case.id, turn=number, text=text, is_true=is_true, fault=fault)
