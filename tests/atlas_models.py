"""Models of all Atlas roles for the loopback server: a student with a bad habit, and the roles that correct it.

The student creates every client as a prospect, whatever the teacher says, unless its playbook has a rule for it.
The teacher and the reward model notice the wrong status, and the learner writes a rule for the verb that the user used.
Each answer depends on its own request only.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_crmeval.domain.json import Json
from pytest_crmeval.domain.messages import ToolCall
from tests.projects import case
from tests.providers.answers import Answer, Call, Say
from tests.providers.loopback import Seen

RULE = "Give create_new_client the status that the user names, as well as name and e-mail address."
GUIDANCE = "The status is missing: it has to be given with each new client."
_REQUEST = re.compile(r"(?P<verb>Add|Register) (?P<name>[^,\"]+), (?P<email>[^,\"]+), active\.")
VERBS = ("Add", "Register")


def client_case(number: int, verb: str = "Add", **changes: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Return a case in which a user has an active client created."""
    name, email = f"Firm{number} Ltd", f"f{number}@firm.example"
    turn = {
        "turn_id": 1,
        "user_utterance": f"{verb} {name}, {email}, active.",
        "expected_tool": "create_new_client",
        "expected_args": {"name": name, "email": email, "status": "Active"},
    }
    return case(f"c{number:02d}", turns=[turn], **changes)


def stream(train: int, test: int = 0) -> list[dict[str, Any]]:
    """Return so many cases to learn from, and so many that are held out, both verbs in turn."""
    return [
        client_case(number, VERBS[number % 2], split="train" if number < train else "test")
        for number in range(train + test)
    ]


def answer_by_role(seen: Seen) -> Answer:
    """Answer as the role that the offered tools identify."""
    return _ROLES.get(seen.tools, _student)(seen)


def shown(seen: Seen) -> str:
    """Return all that a request has in it, as one text."""
    return json.dumps(seen.body, ensure_ascii=False)


def section(seen: Seen, name: str) -> str:
    """Return one part of what a role is shown; nothing if it is not there."""
    found = re.search(rf"<{name}>\n(.*?)\n</{name}>", seen.last_user_text, re.DOTALL)
    return found[1] if found else ""


def _student(seen: Seen) -> Answer:
    asked = _REQUEST.search(seen.last_user_text)
    assert asked
    if seen.results:
        return Say(f"Done: {asked['name']} was created.")
    status = "Active" if RULE in shown(seen) else "Prospect"
    arguments: dict[str, Json] = {"name": asked["name"], "email": asked["email"], "status": status}
    return Call(ToolCall(tool="create_new_client", arguments=arguments))


def _teacher(seen: Seen) -> Answer:
    (proposed,) = json.loads(section(seen, "proposal"))["calls"]
    if proposed["arguments"].get("status") == "Active":
        return _called("review", {"verdict": "approve", "guidance": "", "calls": []})
    if section(seen, "guidance-so-far") and "take_over" in shown(seen):
        right = {**proposed, "arguments": {**proposed["arguments"], "status": "Active"}}
        return _called("review", {"verdict": "take_over", "guidance": "", "calls": [right]})
    return _called("review", {"verdict": "correct", "guidance": GUIDANCE})


def _reward(seen: Seen) -> Answer:
    good = '"status": "Active"' in section(seen, "dialogue")
    return _called("reward", {"reason": "the status", "score": 95 if good else 20, "uncertainty": 5})


def _learner(seen: Seen) -> Answer:
    asked = _REQUEST.search(section(seen, "dialogue"))
    assert asked
    cue, entries = asked["verb"].lower(), list[Mapping[str, Json]]()
    if GUIDANCE in section(seen, "reviews") and f'"{cue}"' not in section(seen, "playbook"):
        entries.append(entry(cue))
    notes = {"student_notes": "", "teacher_notes": "Look at the status."}
    return _called("revise", {"entries": entries, "drop": [], **notes})


def entry(cue: str, **changes: Json) -> Mapping[str, Json]:
    """Return what a learner writes."""
    action = RULE if cue == "add" else f"{RULE} Always."
    texts = {"action": action, "tool": "create_new_client", "effect": "No status is forgotten", "scope": "new clients"}
    return {"cue": [cue], **texts, **changes}


def _called(tool: str, arguments: Mapping[str, Json]) -> Answer:
    return Call(ToolCall(tool=tool, arguments=dict(arguments)))


_ROLES: Mapping[tuple[str, ...], Callable[[Seen], Answer]] = {
    ("review",): _teacher,
    ("reward",): _reward,
    ("revise",): _learner,
}


def roles_in(seen: Sequence[Seen]) -> list[str]:
    """Return who was asked, in order."""
    names: Mapping[tuple[str, ...], str] = {("review",): "teacher", ("reward",): "reward", ("revise",): "learner"}
    return [names.get(each.tools, "student") for each in seen if each.body]
