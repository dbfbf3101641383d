"""What is OpenAI's own: two APIs, two names for one limit, and servers that only speak alike."""

import json
from typing import Any

import pytest

from pytest_crmeval.domain.messages import Reply, ToolCall, ToolResult, agent_says, crm_says, user_says
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.models.sdks.openai import openai_backend
from pytest_crmeval.models.specs import ModelSpec
from pytest_crmeval.models.usage_meter import UsageMeter, opened
from pytest_crmeval.ports.chat_model import Cause, ModelError, Prompt
from tests.providers.answers import Answer, Malformed, Refuse, Say, Status
from tests.providers.loopback import Loopback
from tests.providers.mocking import Mocked

KEY = "sk-canary-77e0b1c9d2"
ELSEWHERE = "http://vllm.example/v1"
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
HELLO = Prompt(system="", messages=[user_says("Hello")])
ONLY_RESPONSES = Status(404, "This model is only supported in v1/responses and not in v1/chat/completions.")


def ask(spec: str = "openai:gpt-4.1", prompt: Prompt = HELLO, base_url: str = "") -> Reply:
    """Ask once."""
    return openai_backend(ModelSpec.parse(spec), KEY, base_url).attempt(prompt, 20.0).completion.reply


def refusal(*answers: Answer, spec: str = "openai:gpt-4.1") -> Cause:
    """Return why an attempt fails."""
    with Mocked(answers), pytest.raises(ModelError) as caught:
        ask(spec)
    return caught.value.cause


def answered(record: dict[str, Any]) -> Malformed:
    """Return an answer of these very words."""
    return Malformed(json.dumps(record).encode())


def choice(finish: str = "stop", **message: Any) -> Malformed:  # noqa: ANN401 (JSON)
    """Return an answer of Chat Completions, without usage."""
    return answered({"choices": [{"finish_reason": finish, "message": {"role": "assistant", **message}}]})


def output(*items: dict[str, Any], status: str = "completed", **more: Any) -> Malformed:  # noqa: ANN401 (JSON)
    """Return an answer of Responses, without usage."""
    return answered({"status": status, "output": list(items), **more})


class TestApi:
    """Which API is spoken."""

    @pytest.mark.parametrize(
        ("spec", "path"),
        [
            ("openai:gpt-4.1", CHAT),
            ("openai:gpt-4.1?api=responses", RESPONSES),
            ("openai:o1-pro", RESPONSES),
            ("openai:gpt-5-pro-2025-10-06", RESPONSES),
            ("openai:gpt-5.1-codex-mini", RESPONSES),
            ("openai:o3-deep-research", RESPONSES),
            ("openai:computer-use-preview", RESPONSES),
            ("openai:o1-pro?api=chat", CHAT),
        ],
    )
    def test_api_is_chosen_by_model_and_spec(self, spec: str, path: str) -> None:
        """The spec has the last word."""
        with Mocked([Say("Hi")]) as server:
            ask(spec)

        assert [path] == [seen.path for seen in server.seen]

    def test_other_servers_are_asked_by_chat_completions(self) -> None:
        """Whatever their models are called."""
        with Mocked([Say("Hi")]) as server:
            ask("openai:google/gemini-2.5-pro", base_url=ELSEWHERE)

        assert [CHAT] == [seen.path for seen in server.seen]

    def test_a_server_that_wants_the_other(self) -> None:
        """A server that wants the other."""
        meter = UsageMeter()
        with Mocked([ONLY_RESPONSES, Say("Hi")]) as server, opened(meter):
            backend = openai_backend(ModelSpec.parse("openai:gpt-4.9"), KEY, "")
            replies = [backend.attempt(HELLO, 20.0).completion.reply.text for _ in range(2)]

        assert ["Hi", "Hi"] == replies
        assert [CHAT, RESPONSES, RESPONSES] == [seen.path for seen in server.seen]
        assert ["gpt-4.9 is only supported in v1/responses, which was used instead"] == meter.notes

    def test_api_chosen_in_the_spec_is_not_changed(self) -> None:
        """The error says what to choose."""
        assert Cause.UNKNOWN_MODEL is refusal(ONLY_RESPONSES, Say("Hi"), spec="openai:gpt-4.9?api=chat")


class TestTokens:
    """How the limit of an answer is called."""

    def limits(self, *answers: Answer, base_url: str = "") -> list[list[str]]:
        """Return how it was called in each request."""
        with Mocked(answers) as server:
            ask(base_url=base_url)
        return [[name for name in seen.body if "tokens" in name] for seen in server.seen]

    def test_openai_gets_max_completion_tokens(self) -> None:
        """By its new name."""
        assert [["max_completion_tokens"]] == self.limits(Say("Hi"))

    def test_other_servers_get_max_tokens(self) -> None:
        """By its old one, which every server knows."""
        assert [["max_tokens"]] == self.limits(Say("Hi"), base_url=ELSEWHERE)

    def test_a_server_that_knows_the_other_name(self) -> None:
        """It gets the other."""
        words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens'."
        refused = Status(400, words, param="max_tokens", kind="unsupported_parameter")

        assert [["max_tokens"], ["max_completion_tokens"]] == self.limits(refused, Say("Hi"), base_url=ELSEWHERE)

    def test_a_server_that_knows_neither(self) -> None:
        """It gets none."""
        refused = [
            Status(400, f"{name}: extra fields not permitted") for name in ("max_tokens", "max_completion_tokens")
        ]

        assert [["max_tokens"], ["max_completion_tokens"], []] == self.limits(*refused, Say("Hi"), base_url=ELSEWHERE)

    @pytest.mark.parametrize(
        "refused",
        [
            Status(
                400,
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 5 instead.",
                kind="integer_below_min_value",
                param="max_output_tokens",
            ),
            Status(400, "Invalid 'max_output_tokens': below minimum value. Expected >= 16", param="max_output_tokens"),
        ],
    )
    def test_a_limit_that_is_too_small_is_not_given_up(self, refused: Status) -> None:
        """Who wants short answers does not want to pay for long ones."""
        spec = "openai:gpt-4.1?api=responses&max_output_tokens=5"

        assert Cause.BAD_REQUEST is refusal(refused, Say("Hi"), spec=spec)

    def test_a_prompt_that_is_too_long(self) -> None:
        """It is no fault of the limit."""
        words = "'max_tokens' is too large: 800. This model's maximum context length is 4096 tokens"

        assert Cause.BAD_REQUEST is refusal(Status(400, words), Say("Hi"))


class TestChat:
    """What Chat Completions, and servers that are like it, answer."""

    def test_response_without_usage_counts_as_one_call(self) -> None:
        """Nothing was counted, but a call was made."""
        with Mocked([choice(content="Hi")]):
            backend = openai_backend(ModelSpec.parse("openai:gpt-4.1"), KEY, "")
            completion = backend.attempt(HELLO, 20.0).completion

        assert (Reply(text="Hi"), Usage(calls=1)) == (completion.reply, completion.usage)

    def test_content_in_parts(self) -> None:
        """Some servers send it so."""
        with Mocked([choice(content=[{"type": "text", "text": "Hi "}, {"type": "text", "text": "there"}])]):
            assert Reply(text="Hi there") == ask()

    def test_arguments_that_are_an_object(self) -> None:
        """Some servers send them so."""
        call = {"type": "function", "function": {"name": "find", "arguments": {"name": "Ada"}}}
        with Mocked([choice("tool_calls", content=None, tool_calls=[call])]):
            assert (ToolCall(tool="find", arguments={"name": "Ada"}),) == ask().calls

    def test_a_call_without_arguments(self) -> None:
        """There are none."""
        call = {"type": "function", "function": {"name": "find", "arguments": ""}}
        with Mocked([choice("tool_calls", content=None, tool_calls=[call])]):
            assert (ToolCall(tool="find"),) == ask().calls

    def test_a_model_that_only_thought(self) -> None:
        """It said nothing, which is its own fault."""
        with Mocked([choice("novelty", content=None, reasoning_content="Hm.")]):
            assert Reply(thoughts="Hm.") == ask()

    @pytest.mark.parametrize("message", [{}, {"content": None}, {"content": ""}, {"content": None, "tool_calls": []}])
    def test_a_model_that_stopped_with_nothing_to_say(self, message: dict[str, Any]) -> None:
        """However a server writes nothing."""
        with Mocked([choice(**message)]):
            assert Reply() == ask()

    @pytest.mark.parametrize("finish", ["tool_calls", ""])
    @pytest.mark.parametrize("content", ["", None])
    def test_empty_reply_that_is_incomplete_is_malformed(self, finish: str, content: str | None) -> None:
        """It broke off before anything was said."""
        assert Cause.MALFORMED is refusal(choice(finish, content=content))

    @pytest.mark.parametrize("content", ["I have added the", "", None])
    @pytest.mark.parametrize(
        "broken",
        [
            {"finish_reason": "error"},
            {"finish_reason": "abort"},
            {"finish_reason": "cancelled"},
            {"finish_reason": "stop", "error": {"code": 502, "message": "upstream is gone"}},
        ],
    )
    def test_interrupted_completion_is_retried_and_paid_for(self, broken: dict[str, Any], content: str | None) -> None:
        """It is asked for again, and was paid for."""
        usage = {"prompt_tokens": 100, "completion_tokens": 4}
        half = answered({"choices": [{**broken, "message": {"content": content}}], "usage": usage})
        with Mocked([half]), pytest.raises(ModelError) as caught:
            ask()

        assert (Cause.OVERLOADED, True) == (caught.value.cause, caught.value.is_retried)
        assert Usage(input=100, output=4, calls=1) == caught.value.usage

    def test_no_choice_is_malformed(self) -> None:
        """No choice is malformed."""
        assert Cause.MALFORMED is refusal(answered({"choices": []}))

    def test_an_answer_that_was_filtered(self) -> None:
        """The provider took it away."""
        assert Cause.FILTERED is refusal(choice("content_filter", content=None))

    @pytest.mark.parametrize(
        "message",
        [
            {"content": 5},
            {"content": None, "tool_calls": 7},
            {"content": None, "tool_calls": [{"function": {"name": None}}]},
        ],
    )
    def test_invalid_message_is_malformed(self, message: dict[str, Any]) -> None:
        """It is not guessed at."""
        assert Cause.MALFORMED is refusal(choice(**message))


class TestResponses:
    """What Responses answers."""

    SPEC = "openai:gpt-4.1?api=responses"

    def test_items_of_other_kinds_are_not_the_reply(self) -> None:
        """Thoughts are separated; searches and unknown items are ignored."""
        said = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}, {"type": "novelty"}]}
        with Mocked([output({"type": "reasoning", "content": "text"}, said, {"type": "novelty", "name": 7})]):
            assert Reply(text="Hi", thoughts="text") == ask(self.SPEC)

    @pytest.mark.parametrize(
        ("code", "cause"),
        [
            ("server_error", Cause.OVERLOADED),
            ("rate_limit_exceeded", Cause.RATE_LIMITED),
            ("invalid_prompt", Cause.FILTERED),
        ],
    )
    def test_a_response_that_failed(self, code: str, cause: Cause) -> None:
        """It comes with status 200."""
        failed = output(status="failed", error={"code": code, "message": "sorry"})

        assert cause is refusal(failed, spec=self.SPEC)

    def test_an_answer_that_was_filtered(self) -> None:
        """The provider took it away."""
        filtered = output(status="incomplete", incomplete_details={"reason": "content_filter"})

        assert Cause.FILTERED is refusal(filtered, spec=self.SPEC)

    @pytest.mark.parametrize("status", ["novelty", None])
    def test_empty_reply_that_is_incomplete_is_malformed(self, status: str | None) -> None:
        """It was not completed."""
        assert Cause.MALFORMED is refusal(answered({"status": status, "output": []}), spec=self.SPEC)

    @pytest.mark.parametrize("status", ["in_progress", "cancelled", "queued"])
    @pytest.mark.parametrize("text", ["I have added the", ""])
    def test_interrupted_response_is_retried_and_paid_for(self, status: str, text: str) -> None:
        """It is asked for again, and was paid for."""
        said = [{"type": "message", "content": [{"type": "output_text", "text": text}]}] if text else []
        half = output(*said, status=status, usage={"input_tokens": 100, "output_tokens": 4})
        with Mocked([half]), pytest.raises(ModelError) as caught:
            ask(self.SPEC)

        assert (Cause.OVERLOADED, True) == (caught.value.cause, caught.value.is_retried)
        assert Usage(input=100, output=4, calls=1) == caught.value.usage

    def test_a_server_that_wants_to_keep_everything_is_not_given_in_to(self) -> None:
        """It is a refusal like any other."""
        refused = Status(400, "store: false is not supported", param="store")

        assert Cause.BAD_REQUEST is refusal(refused, Say("Hi"), spec=self.SPEC)

    def test_responses_are_not_stored_at_the_provider(self) -> None:
        """And schemas are not made strict there."""
        with Mocked([Say("Hi")]) as server:
            ask(self.SPEC)

        assert server.seen[0].body["store"] is False


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_refusal_is_what_the_model_says(api: str) -> None:
    """And no error."""
    with Mocked([Refuse("I'd rather not.")]):
        completion = (
            openai_backend(ModelSpec.parse(f"openai:gpt-4.1?api={api}"), KEY, "").attempt(HELLO, 20.0).completion
        )

    assert (Reply(text="I'd rather not."), "refusal") == (completion.reply, completion.ending)


class TestBrokenArguments:
    """What a model wrote that was no JSON goes back to it."""

    TEXT = '{"name": "Ada'
    PROMPT = Prompt(
        system="",
        messages=[
            user_says("Go"),
            agent_says(Reply(calls=[ToolCall(tool="find", arguments=TEXT)])),  # type: ignore[arg-type] # models do that
            crm_says([ToolResult(value=1)]),
        ],
    )

    def sent(self, base_url: str) -> str:
        """Return the arguments as they were sent."""
        with Mocked([Say("Hi")]) as server:
            ask(prompt=self.PROMPT, base_url=base_url)
        return str(server.seen[0].body["messages"][1]["tool_calls"][0]["function"]["arguments"])

    def test_invalid_arguments_are_sent_back_to_openai_as_written(self) -> None:
        """Word for word."""
        assert self.TEXT == self.sent("")

    def test_invalid_arguments_are_sent_back_to_other_servers_in_an_object(self) -> None:
        """In an object: their templates fail at anything else."""
        assert {"arguments": self.TEXT} == json.loads(self.sent(ELSEWHERE))


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (Status(429, "You exceeded your current quota", kind="insufficient_quota"), Cause.QUOTA),
        (Status(429, "Rate limit reached", kind="rate_limit_exceeded"), Cause.RATE_LIMITED),
        (Status(400, "Billing hard limit has been reached", kind="billing_hard_limit_reached"), Cause.QUOTA),
        (Status(400, "The requested model 'x' does not exist.", kind="model_not_found"), Cause.UNKNOWN_MODEL),
        (Status(400, "Your prompt was flagged", kind="invalid_prompt"), Cause.FILTERED),
        (Status(400, "The response was filtered", kind="content_filter"), Cause.FILTERED),
        (Status(400, "too long", kind="context_length_exceeded", param="messages"), Cause.BAD_REQUEST),
    ],
)
def test_error_codes_take_precedence_over_the_status(status: Status, cause: Cause) -> None:
    """A limit of money is not a limit of speed."""
    assert cause is refusal(status)


def test_a_parameter_that_the_server_behind_a_gateway_refuses_is_left_out() -> None:
    raw = {"error": {"message": "Unsupported parameter: 'temperature'.", "param": "temperature"}}
    told = {"message": "Provider returned error", "code": 400, "metadata": {"raw": json.dumps(raw)}}
    refused = Status(400, body=json.dumps({"error": told}).encode())
    with Loopback([refused, Say("Hi")]) as server:
        ask(base_url=server.openai_url)

    assert [True, False] == ["temperature" in seen.body for seen in server.seen]


def test_server_without_keys_gets_a_placeholder_key() -> None:
    """The SDK insists on one."""
    with Mocked([Say("Hi")]) as server:
        openai_backend(ModelSpec.parse("openai:llama"), "", ELSEWHERE).attempt(HELLO, 20.0)

    assert "Bearer no-key" == server.seen[0].headers["authorization"]


def test_the_environment_does_not_move_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who makes the backend has read it already."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with Mocked([Say("Hi")]) as server:
        ask()

    assert "api.openai.com" == server.seen[0].headers["host"]


@pytest.mark.parametrize("key", ["sk-schlüssel", "sk-two\nlines"])
def test_invalid_key_is_neither_sent_nor_shown(key: str) -> None:
    """And not shown."""
    with pytest.raises(ModelError) as caught:
        openai_backend(ModelSpec.parse("openai:gpt-4.1"), key, "")

    assert Cause.AUTHENTICATION is caught.value.cause
    assert "OPENAI_API_KEY" in str(caught.value)
    assert key not in str(caught.value)
