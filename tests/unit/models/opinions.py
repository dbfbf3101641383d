"""What tests of the judge share: a small case, trials of it, and a model with scripted answers."""

from collections.abc import Mapping

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import Reply, ToolCall
from pytest_crmeval.domain.state import State
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.ports.chat_model import Completion, ModelError, ModelIdentity, Prompt
from pytest_crmeval.ports.scorer import Evidence
from tests.fakes import call
from tests.plays import FIND_FLEET, FLEET, Answers, asks, case_of, found, trial, uid

MOVE = call("modify_opportunity", opportunity_id=uid("fleet"), stage="Negotiation")
MOVED = {**FLEET, "stage": "Negotiation"}
CASE = case_of(
    asks("How far is the fleet tracking deal?", FIND_FLEET),
    asks("Move it to Negotiation.", MOVE),
    seed=[uid("fleet"), uid("harbor")],
)
ANSWERS: Answers = [(FIND_FLEET, found([FLEET])), (MOVE, found(MOVED))]
AFTER: State = {"opportunities": [MOVED]}


def played(reply: str = "It is at Proposal.", *, after: State = AFTER) -> Evidence:
    """Return a trial in which the agent makes the right calls and says this about the first one."""
    return trial(CASE, ANSWERS, [FIND_FLEET], reply, [MOVE], "Done.", after=after, reference_after=AFTER)


class Answering:
    """A model that gives its answers one after the other, the last one for ever, and remembers what it was asked."""

    def __init__(self, *answers: Completion | ModelError, model: str = "wise", **settings: Json) -> None:
        self._answers = list(answers)
        self.identity = ModelIdentity(provider="fake", model=model, settings=settings)
        self.prompts: list[Prompt] = []

    def complete(self, prompt: Prompt) -> Completion:
        """Answer, or fail."""
        self.prompts.append(prompt)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, ModelError):
            raise answer
        return answer


def answer(*grades: Mapping[str, Json], tool: str = "grade") -> Completion:
    """Return an answer that calls a tool, once for each of the given arguments."""
    calls = tuple(ToolCall(tool=tool, arguments=grade) for grade in grades)
    return Completion(reply=Reply(calls=calls), usage=Usage(calls=1), ending="calls" if calls else "said")
