"""Runs to be shown on a page: made without playing, small and honest, or large and hostile."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from pytest_crmeval.domain.json import Json, JsonObject
from pytest_crmeval.domain.judgement import Grade, JudgeAnswer, Judgement, Statement, StatementAnswer
from pytest_crmeval.domain.messages import Message, ToolCall, ToolError, ToolResult
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.domain.trial import Labels, PlannedCase, Trial
from pytest_crmeval.domain.usage import Bill, Usage
from pytest_crmeval.journal import transcripts
from pytest_crmeval.journal.figures import Figure
from pytest_crmeval.report import files as reports
from pytest_crmeval.report.comparison import CaseChange, Comparison, Contrast
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.ruling import Ruling

SUBJECTS = {"claude": (0.86, 0.031), "gpt-4.1": (0.74, 0.012), "gpt-4.1-mini": (0.52, 0.0021)}
"""How often each passes, and what a trial costs."""
TAGS = ("lookup", "refusal", "chain", "date", "correction", "multi-write", "pronoun", "recovery", "terse", "update")
CATEGORIES = ("Client Management", "Quote Management", "Contract Management", "Deal Management")
MARKUP = (
    "<script>alert('in')</script>",
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "]]><img src=x onerror=alert(2)>",
    "\u2028\u2029 {{ 7 * 7 }} {% raw %}",
    '"><b onmouseover=alert(3)>',
)
"""What a model, a case or a file may say to those who read a page."""
FACTS: JsonObject = {
    "id": "shown",
    "started": "2026-11-16T02:18:47+00:00",
    "ended": "2026-11-16T02:31:02+00:00",
    "spent": 12.34,
    "parts": [{"started": "2026-11-16T02:18:47+00:00", "command": "pytest evals/ -n 3", "agents": {}, "seed": 0}],
    "machine": "Linux",
    "versions": {"python": "3.11.7", "pytest-crmeval": "0.1.0"},
}


def planned_case(case: str, subject: str, suite: str = "crm") -> PlannedCase:
    """Return a case as a run plans it."""
    key = f"evals/test_{suite}.py::test_conversation[{subject}-{case}]"
    return PlannedCase(key=key, suite=suite, subject=subject, case=case, fingerprint="f00d", spec=f"openai:{subject}")


def dialogue_of(*said: str, value: Json = None) -> Transcript:
    """Return a transcript: for each text a turn in which it is in the request, the call, the result and the reply."""
    return Transcript(exchanges=[_turn(text, value) for text in said])


def failed_scores(*lines: str) -> tuple[Score, ...]:
    """Return scores of which the first is not reached, for these reasons."""
    return (
        Score(name="state", value=0.0, reason="\n".join(lines)),
        Score(name="calls", value=0.5, reason="turn 1: not made: client_search(name='Acme')"),
        Score(name="reply", value=1.0),
    )


PASSED = (Score(name="state", value=1.0), Score(name="calls", value=1.0), Score(name="reply", value=1.0))


def trials_of(count: int, *, words: int = 12, seed: int = 7) -> list[Trial]:
    """Return so many trials, shared by the subjects, with reasons of so many words."""
    random = Random(seed)  # noqa: S311 (no secret)
    cases = -(-count // len(SUBJECTS))
    return [_trial(number, subject, words, random) for number in range(cases) for subject in SUBJECTS][:count]


def keep(folder: Path, trials: Sequence[Trial], **changes: object) -> Report:
    """Write transcripts and report of a run, and return the report."""
    facts = {**FACTS, "id": str(changes.pop("run", "shown"))}
    for trial in trials:
        if trial.transcript.exchanges:
            transcripts.write(folder / str(facts["id"]) / "transcripts", trial)
    found = reports.build(facts, {trial.planned.key: trial for trial in trials}, [])
    report = replace(found, **changes)  # type: ignore[arg-type] # fields of a report
    reports.write(report, folder)
    return report


def rulings() -> Sequence[Ruling]:
    """Return a gate that holds, one that is breached, and one that counts."""
    return (
        Ruling(
            gate="crm.pass_rate >= 0.60",
            holds=True,
            explanation="pass_rate is 0.707",
            suite="crm",
            value=0.707,
            low=0.66,
            high=0.75,
            bound=0.6,
            margin=0.107,
            needed=0,
        ),
        Ruling(
            gate="crm[gpt-4.1-mini].pass_rate >= 0.60 with 95% confidence",
            holds=False,
            explanation="pass_rate is 0.52, and may be as low as 0.44",
            suite="crm",
            subject="gpt-4.1-mini",
            value=0.52,
            low=0.44,
            high=0.6,
            bound=0.6,
            margin=-0.16,
            needed=420,
        ),
        Ruling(gate="crm.errored == 0", holds=True, explanation="errored is 0", suite="crm", value=0, bound=0),
    )


def comparison(failing: Sequence[str], passing: Sequence[str], subject: str = "claude") -> Comparison:
    """Return a comparison in which some cases of a subject have changed."""
    contrast = Contrast(
        suite="crm",
        subject=subject,
        baseline_subject=subject,
        paired=120,
        before=0.9,
        after=0.86,
        difference=Figure(value=-0.04, interval=(-0.09, 0.01), n=120),
        better=len(passing),
        worse=len(failing),
        p=0.0313,
        p_holm=0.0313,
        test="exact McNemar",
        detectable=0.08,
        newly_failing=tuple(
            CaseChange(case=case, before=1.0, after=0.0, reason="state: it was not written") for case in failing
        ),
        newly_passing=tuple(CaseChange(case=case, before=0.0, after=1.0) for case in passing),
        gone=(CaseChange(case="was-there", before=1.0),),
    )
    printed: JsonObject = {"id": "before", "started": "2026-11-15T02:00:00+00:00", "source": "reports/before.json"}
    return Comparison(baseline=printed, run={"id": "shown"}, contrasts=(contrast,))


def _turn(text: str, value: Json) -> Exchange:
    rows: Json = [{"client_id": "c-1", "name": text, "owner": None, "amount": 8280.5}] if value is None else value
    calls = (ToolCall(tool="client_search", arguments={"name": text}), ToolCall(tool="erase", arguments={}))
    refused = ToolError(kind="refused_by_rule", message=f"not for {text}")
    return Exchange(
        messages=(
            Message(speaker="user", text=f"Who is {text}?"),
            Message(speaker="agent", calls=calls),
            Message(speaker="crm", results=(ToolResult(value=rows), ToolResult(error=refused))),
            Message(speaker="agent", text=f"It is {text}.", thoughts=f"I wonder about {text}."),
        )
    )


def _trial(number: int, subject: str, words: int, random: Random) -> Trial:
    rate, cost = SUBJECTS[subject]
    tags = random.sample(TAGS, 4)
    hard = 0.25 * ("refusal" in tags) + 0.1 * ("chain" in tags)
    passes = random.random() < rate - hard
    case = f"{CATEGORIES[number % 4].split()[0].lower()}-{('simple', 'medium', 'complex')[number % 3]}-{number:04d}"
    reason = " ".join(f"opportunities-{random.randrange(10_000)}" for _ in range(words))
    lines = (f"clients: missing: name='{reason}'", f"contacts Ada ({number}): title expected 'CTO', actual 'CFO'")
    bill = Bill(
        usage=Usage(input=random.randrange(4_000, 30_000), output=random.randrange(100, 900), calls=9),
        cost=round(cost * random.uniform(0.5, 1.8), 6),
    )
    return Trial(
        planned=planned_case(case, subject),
        verdict=Verdict.PASSED if passes else Verdict.FAILED,
        scores=PASSED if passes else failed_scores(*lines),
        seconds=round(random.lognormvariate(1.5, 0.6), 3),
        labels=Labels(
            complexity=("simple", "medium", "complex")[number % 3],
            category=CATEGORIES[number % 4],
            tags=tuple(sorted(tags)),
            split=("train", "test")[number % 4 == 0],
        ),
        bill=bill,
        judgement=Judgement(
            grades=(
                Grade(
                    answers=(
                        StatementAnswer(answer=JudgeAnswer.TRUE if passes else JudgeAnswer.FALSE, reason="no such row"),
                    )
                ),
            ),
            statements=(Statement(turn=1, quote="It did what was asked."),),
        ),
        transcript=dialogue_of("Acme", "Terrazza Inns"),
    )
