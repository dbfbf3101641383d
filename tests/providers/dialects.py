"""How OpenAI and Anthropic word requests, answers and errors."""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol

from tests.providers.answers import Speech, Status

Body = dict[str, Any]

_CREATED = 1_700_000_000
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Dialect(Protocol):
    """One way to word it all."""

    request_id: str
    """The header that answers have their id in."""

    def last_user_text(self, body: Body) -> str:
        """Return what the user said last."""
        ...

    def results(self, body: Body) -> Sequence[str]:
        """Return the texts of the tool results that end the dialogue."""
        ...

    def tools(self, body: Body) -> Sequence[str]:
        """Return the names of the tools on offer."""
        ...

    def answer(self, speech: Speech, model: str, number: int) -> Body:
        """Return the body of an answer; ``number`` makes its ids."""
        ...

    def error(self, status: Status) -> Body:
        """Return the body of an error."""
        ...


class _OpenAI:
    request_id = "x-request-id"

    def error(self, status: Status) -> Body:
        kind = _KINDS.get(status.code, "server_error")
        error = {"message": status.message, "type": kind, "param": status.param or None, "code": status.kind or None}
        return {"error": error}


class Chat(_OpenAI):
    """OpenAI's Chat Completions."""

    _endings: Mapping[str, str] = {"calls": "tool_calls", "length": "length"}

    def last_user_text(self, body: Body) -> str:
        """Return what the user said last."""
        return next((_text(said["content"]) for said in reversed(body["messages"]) if said["role"] == "user"), "")

    def results(self, body: Body) -> Sequence[str]:
        """Return the texts of the tool results that end the dialogue."""
        found = takewhile(lambda said: said["role"] == "tool", reversed(body["messages"]))
        return [_text(said["content"]) for said in found][::-1]

    def tools(self, body: Body) -> Sequence[str]:
        """Return the names of the tools on offer."""
        return [tool["function"]["name"] for tool in body.get("tools", ())]

    def answer(self, speech: Speech, model: str, number: int) -> Body:
        """Return the body of an answer."""
        ending = self._endings.get(speech.ending, "stop")
        choice = {"index": 0, "message": self._message(speech, number), "logprobs": None, "finish_reason": ending}
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": _CREATED,
            "model": model,
            "choices": [] if speech.ending == "nothing" else [choice],
            "usage": self._usage(speech),
            "service_tier": "default",
            "system_fingerprint": "fp_loopback",
        }

    def _message(self, speech: Speech, number: int) -> Body:
        refused = speech.ending == "refusal"
        message: Body = {
            "role": "assistant",
            "content": None if refused else speech.text or None,
            "refusal": speech.text if refused else None,
            "annotations": [],
        }
        if speech.calls:
            message["tool_calls"] = [
                {
                    "id": f"call_{number}_{index}",
                    "type": "function",
                    "function": {"name": name, "arguments": _argument_text(given)},
                }
                for index, (name, given) in enumerate(speech.calls)
            ]
        return message

    def _usage(self, speech: Speech) -> Body:
        tokens = speech.usage
        return {
            "prompt_tokens": tokens.input,
            "completion_tokens": tokens.output,
            "total_tokens": tokens.input + tokens.output,
            "prompt_tokens_details": {
                "cached_tokens": tokens.cached,
                "cache_write_tokens": tokens.written,
                "audio_tokens": 0,
            },
            "completion_tokens_details": {
                "reasoning_tokens": tokens.reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


class Responses(_OpenAI):
    """OpenAI's Responses."""

    def last_user_text(self, body: Body) -> str:
        """Return what the user said last."""
        if isinstance(body["input"], str):
            return body["input"]
        return next((_text(item["content"]) for item in reversed(body["input"]) if item.get("role") == "user"), "")

    def results(self, body: Body) -> Sequence[str]:
        """Return the texts of the tool results that end the dialogue."""
        if isinstance(body["input"], str):
            return []
        found = takewhile(lambda item: item.get("type") == "function_call_output", reversed(body["input"]))
        return [_text(item["output"]) for item in found][::-1]

    def tools(self, body: Body) -> Sequence[str]:
        """Return the names of the tools on offer."""
        return [tool["name"] for tool in body.get("tools", ())]

    def answer(self, speech: Speech, model: str, number: int) -> Body:
        """Return the body of an answer."""
        cut = speech.ending == "length"
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": _CREATED,
            "status": "incomplete" if cut else "completed",
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "instructions": None,
            "metadata": {},
            "model": model,
            "output": self._output(speech, number),
            "parallel_tool_calls": True,
            "temperature": 0.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": self._usage(speech),
        }

    def _output(self, speech: Speech, number: int) -> list[Body]:
        items = [self._message(speech, number)] if speech.text else []
        for index, (name, given) in enumerate(speech.calls):
            call = {"call_id": f"call_{number}_{index}", "name": name, "arguments": _argument_text(given)}
            items.append({"type": "function_call", "id": f"fc_{number}_{index}", "status": "completed", **call})
        return items

    def _message(self, speech: Speech, number: int) -> Body:
        part: Body = {"type": "output_text", "text": speech.text, "annotations": [], "logprobs": []}
        if speech.ending == "refusal":
            part = {"type": "refusal", "refusal": speech.text}
        status = "incomplete" if speech.ending == "length" else "completed"
        return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": status, "content": [part]}

    def _usage(self, speech: Speech) -> Body:
        tokens = speech.usage
        return {
            "input_tokens": tokens.input,
            "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": tokens.written},
            "output_tokens": tokens.output,
            "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
            "total_tokens": tokens.input + tokens.output,
        }


class Messages:
    """Anthropic's Messages."""

    request_id = "request-id"
    _endings: Mapping[str, str] = {"calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}

    def last_user_text(self, body: Body) -> str:
        """Return what the user said last."""
        said = [block for message in body["messages"] if message["role"] == "user" for block in _blocks(message)]
        return next((str(block["text"]) for block in reversed(said) if block["type"] == "text"), "")

    def results(self, body: Body) -> Sequence[str]:
        """Return the texts of the tool results that end the dialogue."""
        found = takewhile(lambda block: block["type"] == "tool_result", reversed(_blocks(body["messages"][-1])))
        return [_text(block.get("content", "")) for block in found][::-1]

    def tools(self, body: Body) -> Sequence[str]:
        """Return the names of the tools on offer."""
        return [tool["name"] for tool in body.get("tools", ())]

    def answer(self, speech: Speech, model: str, number: int) -> Body:
        """Return the body of an answer."""
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": self._content(speech, number),
            "stop_reason": self._endings.get(speech.ending, "end_turn"),
            "stop_sequence": None,
            "usage": self._usage(speech),
        }

    def error(self, status: Status) -> Body:
        """Return the body of an error."""
        kind = status.kind or _KINDS.get(status.code, "api_error")
        return {"type": "error", "error": {"type": kind, "message": status.message}, "request_id": "req_loopback"}

    def _content(self, speech: Speech, number: int) -> list[Body]:
        blocks: list[Body] = [{"type": "text", "text": speech.text}] if speech.text else []
        for index, (name, given) in enumerate(speech.calls):
            blocks.append({"type": "tool_use", "id": f"toolu_{number}_{index}", "name": name, "input": given})
        return blocks

    def _usage(self, speech: Speech) -> Body:
        tokens = speech.usage
        return {
            "input_tokens": tokens.input - tokens.cached - tokens.written,
            "cache_creation_input_tokens": tokens.written,
            "cache_read_input_tokens": tokens.cached,
            "output_tokens": tokens.output,
            "output_tokens_details": {"thinking_tokens": tokens.reasoning},
            "service_tier": "standard",
        }


def dialect_of(path: str) -> Dialect | None:
    """Return the dialect that is spoken at ``path``; None if nothing is there."""
    return _DIALECTS.get(plain_path(path))


def plain_path(path: str) -> str:
    """Return the path of the API without what clouds put around it: deployments, projects, models."""
    bare = path.partition("?")[0]
    return next((plain for pattern, plain in _CLOUDS.items() if re.fullmatch(pattern, bare)), bare)


_CLOUDS = {
    r"/openai/deployments/[^/]+/chat/completions": "/v1/chat/completions",
    "/openai/responses": "/v1/responses",
    r"/model/[^/]+/invoke": "/v1/messages",
    r"/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/[^/]+:rawPredict": "/v1/messages",
}

_DIALECTS: Mapping[str, Dialect] = {
    "/v1/chat/completions": Chat(),
    "/v1/responses": Responses(),
    "/v1/messages": Messages(),
}


def _text(content: object) -> str:
    """Return the text of a content, which is a text or a list of parts."""
    if not isinstance(content, list):
        return str(content)
    return "".join(str(part.get("text", "")) for part in content)


def _blocks(message: Body) -> list[Body]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _argument_text(arguments: object) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
