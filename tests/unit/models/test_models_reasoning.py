"""Which models think, what their requests say about it, and how much room their answers have."""

from typing import Any

import pytest

from pytest_crmeval.domain.messages import Reply, ToolCall, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.reasoning import claude_parameters, claude_version, refuses_temperature
from pytest_crmeval.models.retrying_model import carried_in
from pytest_crmeval.models.specs import ModelSpec, SpecError
from pytest_crmeval.ports.chat_model import Completion, ModelCall, ModelIdentity, Prompt

ADAPTIVE = {"type": "adaptive", "display": "summarized"}
VERSIONS = {
    "claude-sonnet-4-5-20250929": (4, 5),
    "claude-3-7-sonnet-20250219": (3, 7),
    "claude-opus-4-20250514": (4, 0),
    "claude-sonnet-5": (5, 0),
    "anthropic/claude-sonnet-5.5": (5, 5),
    "us.anthropic.claude-opus-4-6-v1:0": (4, 6),
    "claude-haiku-4-5@20251001": (4, 5),
    "claude-mythos-preview": None,
    "gpt-4.1": None,
}


def test_version_of_a_claude_model_is_read_from_its_name() -> None:
    """On all platforms; a date is not a version."""
    assert VERSIONS == {model: claude_version(model) for model in VERSIONS}


@pytest.mark.parametrize(
    ("spec", "limit", "seconds"),
    [
        ("openai:gpt-4.1", 800, 120),
        ("openai:gpt-4.1-mini", 800, 120),
        ("anthropic:claude-sonnet-4-5-20250929", 800, 120),
        ("anthropic:claude-opus-4-8", 800, 120),
        ("openai:gpt-5-chat-latest", 800, 120),
        ("openai:llama3", 800, 120),
        ("anthropic:claude-sonnet-5-5", 16_000, 300),
        ("anthropic:claude-sonnet-5?effort=none", 800, 120),
        ("anthropic:claude-opus-4-8?effort=low", 16_000, 300),
        ("anthropic:claude-sonnet-4-5?effort=medium", 8_800, 300),
        ("anthropic:claude-sonnet-4-5?thinking=4000", 4_800, 300),
        ("openai:o3", 16_000, 300),
        ("openai:gpt-6-luna", 16_000, 300),
        ("openai:gpt-6-luna?effort=none", 800, 120),
        ("openai:openai/gpt-5.2", 16_000, 300),
        ("openai:gpt-6-luna?thinking=2000", 2_800, 300),
        ("openai:deepseek/deepseek-r1", 16_000, 300),
        ("vllm:Qwen/Qwen3-8B", 16_000, 300),
        ("ollama:qwen3:8b", 16_000, 300),
        ("vllm:Qwen/Qwen3-30B-A3B-Instruct-2507", 800, 120),
        ("vllm:Qwen/Qwen3-30B-A3B-Thinking-2507", 16_000, 300),
        ("vllm:zai-org/GLM-4.6", 16_000, 300),
        ("xai:grok-4", 16_000, 300),
        ("xai:grok-4-fast-non-reasoning", 800, 120),
        ("groq:llama-3.3-70b-versatile", 800, 120),
        ("openai:gpt-6-luna?max_output_tokens=900&timeout=9", 900, 9),
    ],
)
def test_models_that_think_have_room_and_time_for_it(spec: str, limit: int, seconds: float) -> None:
    """By default or because they are asked to; what the spec says takes precedence."""
    parsed = ModelSpec.parse(spec)

    assert (limit, seconds) == (parsed.output_limit, parsed.seconds)
    assert limit == parsed.identity.settings["max_output_tokens"]


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "sent"),
    [
        ("claude-sonnet-4-5", "", 0, {}),
        ("claude-sonnet-4-5", "none", 0, {}),
        ("claude-sonnet-4-5", "low", 0, {"thinking": {"type": "enabled", "budget_tokens": 2_000}}),
        ("claude-sonnet-4-5", "", 5_000, {"thinking": {"type": "enabled", "budget_tokens": 5_000}}),
        ("claude-opus-4-8", "high", 0, {"thinking": ADAPTIVE, "output_config": {"effort": "high"}}),
        ("claude-sonnet-5-5", "", 0, {"thinking": ADAPTIVE}),
        ("claude-sonnet-5-5", "max", 0, {"thinking": ADAPTIVE, "output_config": {"effort": "max"}}),
        ("claude-haiku-5-5", "none", 0, {"thinking": {"type": "disabled"}}),
        ("claude-x", "", 0, {}),
    ],
)
def test_anthropic_gets_the_form_that_the_version_knows(
    model: str, effort: str, thinking: int, sent: dict[str, Any]
) -> None:
    """Thinking tokens up to 4.5, efforts since 4.6; models since version 5 think unless they are asked not to."""
    assert sent == claude_parameters(model, effort, thinking)


def test_claude_refuses_a_temperature_while_it_thinks_and_since_version_4_7() -> None:
    """Other models are asked with it, and may refuse it themselves."""
    refusing = [("claude-opus-4-7", "", 0), ("claude-sonnet-5-5", "", 0), ("claude-sonnet-4-5", "low", 0)]
    taking = [("claude-sonnet-4-5", "", 0), ("claude-opus-4-6", "none", 0), ("gpt-5", "high", 0), ("claude-x", "", 0)]

    assert [True] * 3 == [refuses_temperature(*asked) for asked in refusing]
    assert [False] * 4 == [refuses_temperature(*asked) for asked in taking]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("openai:o3?effort=hard", "effort=hard: must be none, minimal, low, medium, high, xhigh or max"),
        ("anthropic:claude-opus-5-5?effort=minimal", "effort=minimal: Claude's lowest efforts are none and low"),
        ("anthropic:claude-sonnet-4-5?thinking=99", "thinking=99: must be a whole number from 1024"),
        ("anthropic:claude-sonnet-5-5?thinking=2000", "itself decides how much to think; use ?effort="),
        ("anthropic:claude-sonnet-4-5?thinking=2000&max_output_tokens=2000", "must exceed the 2000 tokens"),
        ("openai:o3?effort=low&thinking=2000", "effort and thinking can't be combined"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(spec: str, why: str) -> None:
    """Before anything is played."""
    with pytest.raises(SpecError, match=why.replace("?", r"\?")):
        ModelSpec.parse(spec)


MODEL = ModelIdentity(provider="anthropic", model="claude-sonnet-5-5")
HELLO, NOTE = user_says("Hello"), ToolCall(tool="note", arguments={"text": "x"})
FIRST = Prompt(system="S", messages=[HELLO])
REPLY = Reply(text="One moment.", calls=(NOTE,), thoughts="Hm.")
ANSWERED = ModelCall(
    identity=MODEL, prompt=FIRST, completion=Completion(reply=REPLY, usage=Usage(), carried=[{"type": "thinking"}])
)
SAID = agent_says(Reply(text="One moment.", calls=(NOTE,)))
DONE = crm_says([ToolResult(value=1)])


def test_thoughts_are_carried_to_the_place_of_their_message() -> None:
    """Between the steps of a turn, and across turns."""
    later = Prompt(system="S", messages=[HELLO, SAID, DONE, agent_says(Reply(text="Done.")), user_says("Thanks")])

    assert {1: [{"type": "thinking"}]} == carried_in(later, MODEL, [ANSWERED])


@pytest.mark.parametrize(
    ("prompt", "identity"),
    [
        (Prompt(system="Another", messages=[HELLO, SAID, DONE]), MODEL),
        (Prompt(system="S", messages=[user_says("Hi"), SAID, DONE]), MODEL),
        (Prompt(system="S", messages=[HELLO, agent_says(Reply(text="One moment.")), DONE]), MODEL),
        (Prompt(system="S", messages=[HELLO, SAID, DONE]), ModelIdentity(provider="anthropic", model="claude-opus-5")),
        (FIRST, MODEL),
    ],
)
def test_thoughts_of_another_dialogue_or_model_are_not_carried(prompt: Prompt, identity: ModelIdentity) -> None:
    """Providers refuse thoughts if anything before them has changed."""
    assert {} == carried_in(prompt, identity, [ANSWERED])
