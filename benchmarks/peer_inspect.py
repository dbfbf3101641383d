"""The peer of ``inflight.py``: inspect_ai makes the same calls to the same server, in a separate environment."""

import json
import os
import sys
from pathlib import Path
from typing import Any


def main(url: str, tools: str, samples: int, calls: int, at_once: int) -> None:
    """Evaluate a task in which every sample makes several calls, one after the other."""
    os.environ["OPENAI_API_KEY"] = "none"
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import get_model
    from inspect_ai.solver import solver
    from inspect_ai.tool import ToolInfo, ToolParams

    offered = [
        ToolInfo(
            name=each["name"], description=each["description"], parameters=ToolParams(**_plain(each["parameters"]))
        )
        for each in json.loads(Path(tools).read_text(encoding="utf-8"))
    ]

    @solver  # type: ignore[untyped-decorator] # not installed here
    def asks() -> Any:  # noqa: ANN401 (the peer's own)
        async def solve(state: Any, generate: Any) -> Any:  # noqa: ANN401, ARG001
            for _ in range(calls):
                await get_model().generate(state.input_text, tools=offered)
            return state

        return solve

    dataset = [Sample(input=f"Add Ada {number} Ltd, ada@ada.example, active.") for number in range(samples)]
    inspect_ai.eval(
        inspect_ai.Task(dataset=dataset, solver=asks()),
        model=get_model("openai/m", base_url=url, responses_api=False, memoize=True),
        max_connections=at_once,
        max_samples=at_once,
        display="none",
        log_samples=False,
        log_realtime=False,
        score=False,
    )


def _plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords that the peer's schema supports: types, properties, required."""
    properties = {
        name: {"type": "string", "description": schema.get("description", "")}
        for name, schema in parameters.get("properties", {}).items()
    }
    return {"type": "object", "properties": properties, "required": parameters.get("required", [])}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
