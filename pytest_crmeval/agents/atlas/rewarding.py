"""The reward: what a conversation was worth, as far as the agent's own side can see."""

from collections.abc import Mapping, Sequence

from pytest_crmeval.agents.atlas.asking import Arguments, asked, dialogue, form, prompt_for, share_in, text_in
from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.learning import Opinion, Reward
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.ports.chat_model import ChatModel

UNSURE = 0.30
"""A sample that is less sure than this wants an arbiter."""
_SHARE: Mapping[str, Json] = {"type": "integer", "minimum": 0, "maximum": 100}
FORM = form(
    "reward",
    "Say how well the conversation went.",
    {
        "reason": {"type": "string", "description": "At most 60 words: what decided."},
        "score": {**_SHARE, "description": "100: all that the user asked for was done, and told as it is."},
        "uncertainty": {**_SHARE, "description": "0: sure. 100: a guess."},
    },
)


def reward(small: ChatModel, arbiter: ChatModel, messages: Sequence[Message], samples: int, threshold: float) -> Reward:
    """Ask for several opinions, and for a last word where they don't agree, or are not sure.

    UnreadableError if one of them can't be read; ModelError if there is none to be had.
    """
    prompt = prompt_for("reward", FORM, {"dialogue": dialogue(messages)})
    found = Reward(samples=tuple(asked(small, prompt, _read) for _ in range(samples)))
    if found.spread <= threshold and all(sample.uncertainty <= UNSURE for sample in found.samples):
        return found
    opinions = "\n".join(f"- {sample.score:.2f}: {sample.reason}" for sample in found.samples)
    prompt = prompt_for("reward", FORM, {"dialogue": dialogue(messages), "opinions": opinions})
    return Reward(samples=found.samples, arbiter=asked(arbiter, prompt, _read))


def _read(arguments: Arguments) -> Opinion:
    score, uncertainty = share_in(arguments, "score"), share_in(arguments, "uncertainty")
    return Opinion(score=score, uncertainty=uncertainty, reason=text_in(arguments, "reason", longest=400))
