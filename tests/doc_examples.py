"""The runs behind the examples of the documentation: kept without playing, so that commands always print the same."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_crmeval.domain.judgement import (
    Grade,
    JudgeAnswer,
    Judgement,
    LabelAgreement,
    Statement,
    StatementAnswer,
)
from pytest_crmeval.domain.score import Score, Verdict
from pytest_crmeval.domain.trial import Labels, Trial, TurnOutcome
from pytest_crmeval.domain.usage import Bill, Usage
from tests.fakes import planned, trial
from tests.kept_runs import keep, part

GPT = "gpt-4.1"
RIGHT = TurnOutcome(tool="client_search", called=True, replied=True, steps=2, errors=0)
CALLED_WRONG = TurnOutcome(tool="modify_deal", called=False, replied=True, steps=2, errors=2)
REPLIED_WRONG = TurnOutcome(tool="client_search", called=True, replied=False, steps=2, errors=0)
SILENT = TurnOutcome(tool="client_search", called=False, replied=False, steps=1, errors=0)


def keep_examples(folder: Path) -> None:
    """Keep the runs that the examples of the documentation are about."""
    cases = [f"quote-{number:04d}" for number in range(1, 201)]
    always, lost, won = cases[165:], cases[41:57], cases[160:165]
    before = [part(agents=[GPT], git={"commit": "50a26afd1c3e"})]
    keep(folder, "nightly", list(_played(cases, failing=[*always, *won])), parts=before)
    keep(folder, "today", list(_played(cases, failing=[*always, *lost])), parts=[part(agents=[GPT])])
    for index in (1, 2):
        mine = [trial(f"case-{number}") for number in range(index, 1201, 2)]
        keep(folder, f"big-{index}", mine, parts=[part(f"{index}/2")])
    keep(folder, "hundred", list(_played(cases[:100], failing=cases[66:100])), parts=[part(agents=[GPT])])
    keep(folder, "small", [*_small()], parts=[part(agents=[GPT, "mute"])])
    judged = [replace(each, judgement=_judgement(each)) for each in _played(cases[:120], failing=cases[80:120])]
    keep(folder, "judged", judged, parts=[part(agents=[GPT], judge="openai:gpt-4.1")])
    begun = list(_played(cases[:48], failing=cases[:12]))
    keep(folder, "stopped", begun, not_run=[planned(case, subject=GPT) for case in cases[48:60]])


def _played(cases: Sequence[str], *, failing: Collection[str]) -> Iterator[Trial]:
    usage = Usage(input=9_000, cached=7_000, output=350, calls=4)
    for case in cases:
        right = case not in failing
        score = Score(name="state", value=float(right), reason="" if right else "quotes: expected 1 row, found none")
        made = trial(planned(case, subject=GPT), Verdict.PASSED if right else Verdict.FAILED)
        yield replace(made, scores=(score,), bill=Bill(usage=usage, cost=0.0125))


def _small() -> Iterator[Trial]:
    turns = {"simple": [RIGHT], "medium": [CALLED_WRONG], "complex": [RIGHT, RIGHT, REPLIED_WRONG]}
    for level, played in turns.items():
        for subject, made in ((GPT, played), ("mute", [SILENT] * len(played))):
            verdict = Verdict.PASSED if all(turn.passed for turn in made) else Verdict.FAILED
            done = trial(planned(f"{level}-1", subject=subject), verdict)
            yield replace(done, turns=tuple(made), labels=Labels(complexity=level))


def _judgement(played: Trial) -> Judgement:
    false = not played.passed and played.planned.case.endswith("9")
    answer = StatementAnswer(answer=JudgeAnswer.FALSE if false else JudgeAnswer.TRUE, reason="the row has 60")
    return Judgement(
        grades=(Grade(answers=(answer,)),),
        statements=(Statement(turn=1, quote="The chance has gone up."),),
        agreement=LabelAgreement(found=71, missed=5, accepted=75, refused=1),
        bill=Bill(usage=Usage(input=2_500, output=100, calls=1), cost=0.0025),
    )
