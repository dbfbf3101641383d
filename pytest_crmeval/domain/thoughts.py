"""Thoughts of reasoning models within the reply text, as servers without a reasoning parser send them."""

import re

_THINK = r"<(?P<end>/?)think(?:ing)?(?:\s[^<>]{0,100})?>"
_TAG = re.compile(_THINK, re.IGNORECASE)
"""``<think>`` or ``<thinking>``."""
_TAG_OR_CODE = re.compile(rf"(?P<block>(?:^ *|(?<=>))```)|(?P<code>`[^`\n]+`)|{_THINK}", re.IGNORECASE | re.MULTILINE)
"""The same, or the beginning of a block of code, or code in a line."""


def separated(text: str) -> tuple[str, str]:
    """Return the thoughts in ``text`` and the rest, which is for the user; ``text`` unchanged if there are no thoughts.

    A block without an end goes to the end of the text: the model ran out of tokens. An end without a beginning ends a
    block that began with the text: some templates put the first tag into the prompt. After a complete block, an end
    that is the last word of the text is ignored.
    """
    said: list[str] = []
    thought: list[str] = []
    done, depth, thinking = 0, 0, False
    while tag := _next_tag(text, done, thinking=thinking):
        (thought if thinking else said).append(text[done : tag.start()])
        is_slip = thought and not depth and not text[tag.end() :].strip()
        if tag["end"] and not thinking and not is_slip:
            thought, said = [*thought, *said], []
        depth = max(0, depth - 1) if tag["end"] else depth + 1
        done, thinking = tag.end(), not tag["end"]
    if not done:
        return "", text
    (thought if thinking else said).append(text[done:])
    return "\n\n".join(filter(None, map(str.strip, thought))), "".join(said).strip()


def _next_tag(text: str, start: int, *, thinking: bool) -> re.Match[str] | None:
    """Return the next tag that is not in backticks and, outside of thoughts, not in code.

    Code within thoughts is ignored, because it may be incomplete.
    """
    while found := (_TAG if thinking else _TAG_OR_CODE).search(text, start):
        start = found.end()
        if not thinking and found["block"]:
            start = max(start, text.find("\n```", start) + len("\n```"))
        elif thinking or not found["code"]:
            begin, end = found.span()
            quoted = text.endswith("`", 0, begin) and text.startswith("`", end) and not text.startswith("```", end)
            if not quoted:
                return found
    return None
