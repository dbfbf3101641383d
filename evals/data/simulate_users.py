"""Write the bundled conversations with a simulated user: python evals/data/simulate_users.py > simulated.jsonl."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COUNT = 40
EVERY = 13
MOST_TURNS = 6
STYLES = ("Friendly and talkative.", "In a hurry: short sentences.", "Polite and precise.", "Informal, in lower case.")


def is_suitable(case: dict[str, Any]) -> bool:
    """Whether all requests succeed, and none of them refers to an id that only the CRM knows."""
    return len(case["turns"]) <= MOST_TURNS and all(
        turn["expected_tool"]
        and turn.get("expect_success", True)
        and not turn.get("reply_asks")
        and "{{" not in json.dumps(turn)
        for turn in case["turns"]
    )


def simulated(case: dict[str, Any], style: str) -> dict[str, Any]:
    """Return a conversation with the same answer key and a simulated user who knows the original utterances."""
    keys = ("turn_id", "expected_tool", "expected_args", "further_calls", "implied_args")
    turns = [{key: turn[key] for key in keys if key in turn} for turn in case["turns"]]
    goal = f"Have these {len(turns)} requests handled, one after the other, in this order." if turns[1:] else ""
    user = {
        "goal": goal or "Have this request handled.",
        "facts": [turn["user_utterance"] for turn in case["turns"]],
        "style": style,
    }
    kept = ("workflow_category", "complexity_level", "split", "now", "initial_entities", "expected_state")
    rest = {key: case[key] for key in kept if key in case}
    return {
        "conversation_id": f"user-{case['conversation_id']}",
        "user": user,
        "turns": turns,
        "tags": ["user"],
        **rest,
    }


def cases(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a regular selection of the suitable conversations."""
    with path.open(encoding="utf-8") as file:
        suitable = [case for case in map(json.loads, file) if is_suitable(case)]
    for number, case in enumerate(suitable[::EVERY][:COUNT]):
        yield simulated(case, STYLES[number % len(STYLES)])


if __name__ == "__main__":
    for made in cases(Path(__file__).with_name("crm.jsonl")):
        sys.stdout.write(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n")
