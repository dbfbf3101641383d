"""Thoughts of reasoning models that stand in the reply itself, as servers without a reasoning parser send them."""

import re

_TAG = re.compile(r"(?<!`)<(?P<end>/?)think(?:ing)?(?:\s[^<>]{0,100})?>(?!`)", re.IGNORECASE)
"""``<think>`` or ``<thinking>``; in backticks it is a word about thoughts."""


def separated(text: str) -> tuple[str, str]:
    """Return the thoughts in ``text`` and what is said to the user; all of it, unchanged, if there are no thoughts.

    A block without an end goes to the end of the text: the model ran out of tokens. An end without a beginning ends a
    block that began with the text: some templates put the first tag into the prompt.
    """
    said: list[str] = []
    thought: list[str] = []
    done, thinking = 0, False
    for tag in _TAG.finditer(text):
        (thought if thinking else said).append(text[done : tag.start()])
        if tag["end"] and not thinking:
            thought, said = [*thought, *said], []
        done, thinking = tag.end(), not tag["end"]
    if not done:
        return "", text
    (thought if thinking else said).append(text[done:])
    return "\n\n".join(filter(None, map(str.strip, thought))), "".join(said).strip()
