"""The record of one trial: what it asked of models, whether it may begin, and what is left of it on disk."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.messages import Message
from pytest_crmeval.domain.redaction import Redactor
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.transcript import broken_off
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.domain.usage import Bill, total
from pytest_crmeval.models.cassettes.files import CassetteError
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.models.usage_meter import CallPurpose, UsageMeter
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.subjects import asks_models
from pytest_crmeval.ports.chat_model import ModelError

WITHHELD = "what it says is withheld: the suite is confidential"


class TrialRecord:
    """The record of one trial, kept by the process that plays it."""

    def __init__(self, context: Context, planned: PlannedCase, name: str = "", *, confidential: bool = False) -> None:
        self.planned = planned
        self.is_confidential = confidential
        """Whether nothing of what was said may be seen in plain text."""
        self.said: list[Message] = []
        """The dialogue as far as it has come."""
        self._name = name or planned.case
        self._meters: list[UsageMeter] = []
        self._lost: list[UsageMeter] = []
        """Those of a dialogue that was lost: paid for, and neither recorded nor shown."""
        self._notes: list[str] = []
        self._options = context.options
        self._redactor = context.redactor
        self._services = context.services

    @property
    def name(self) -> str:
        """What the files of the trial are called."""
        return self._name

    @property
    def objection(self) -> str:
        """Why the trial may not begin any more; whoever asks no model may always."""
        if not (self._options.judge or asks_models(self.planned.spec)) or self._options.replay:
            return ""
        return self._services().control.objection(self.planned.spec)

    @property
    def has_answers(self) -> bool:
        """Whether a model has answered anything."""
        return any(meter.askings for meter in self._meters)

    def open_meter(self, role: str = "agent") -> UsageMeter:
        """Return a fresh meter of the trial; the agent's comes first."""
        planned = self.planned
        purpose = CallPurpose(
            suite=planned.suite, subject=planned.subject, case=self._name, trial=planned.trial, role=role
        )
        trial = planned.key if self._options.budget is not None else ""
        meter = UsageMeter(purpose=purpose, agent=planned.spec, trial=trial)
        self._meters.append(meter)
        return meter

    def begin_again(self, why: str) -> None:
        """Restart the dialogue; the cost of the lost one stays on the bill, and ``why`` becomes a note."""
        self._lost += self._meters
        self._meters = []
        self.said.clear()
        self._notes.append(why)

    def stop_asking(self, error: ModelError, *, everybody: bool = False) -> None:
        """Have no further trial of this subject, or of anybody, begun, if there is no use in it."""
        if error.is_final:
            who = EVERYBODY if everybody else self.planned.spec
            self._services().control.stop(who, self._redactor.text(str(error)))

    def end(self) -> None:
        """Release the money that the budget has reserved for the trial."""
        if self._options.budget is not None and not self._options.replay:
            self._services().control.end(self.planned.key)

    def billed(self, trial: Trial) -> Trial:
        """Return the trial with what the subject took, and what its reader has to know."""
        meters = self._meters
        if not meters:
            return trial
        replayed = self._options.replay and asks_models(trial.planned.spec)
        judgement = trial.judgement or Judgement()
        ungraded = [f"not graded: {judgement.trouble}"] if judgement.trouble else []
        noted = (note for meter in meters for note in meter.notes)
        told = [*self._notes, *noted, *judgement.notes, *ungraded]
        asked = [meter for meter in (*self._lost, *meters) if meter.purpose.role != "judge"]
        bill = total(meter.bill for meter in asked) or (Bill(replayed=True) if replayed else None)
        return replace(trial, bill=bill, roles=_roles(asked), notes=tuple(dict.fromkeys(told)))

    def broken(self, reason: str, seconds: float) -> Trial:
        """Return the trial of a dialogue that broke off, with what was said until then."""
        trial = Trial.errored(self.planned, reason, seconds)
        return self.billed(replace(trial, transcript=broken_off(self.said)))

    def closed_broken(self, reason: str, seconds: float) -> Trial:
        """Return the same after writing its files."""
        return self.close(self.broken(reason, seconds))

    def close(self, trial: Trial) -> Trial:
        """Write the recording and the transcript, and return the trial for the journal.

        If the transcript can't be written, the trial counts, with a note: it was played and paid for. If the recording
        can't be written, the trial is errored, so that a resumed run records it, and no further trial starts.
        """
        meters, self._meters = self._meters, []
        if self._options.record and not self.is_confidential:
            try:
                _record(self._options.record, _whole(trial, meters), self._redactor)
            except (OSError, CassetteError) as error:
                why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
                self._services().control.stop(EVERYBODY, why)
                reasons = [trial.reason, f"not recorded: {why}"]
                trial = replace(trial, verdict=Verdict.ERRORED, reason="\n".join(filter(None, reasons)))
        canary = f"crmeval {self.planned.fingerprint}" if self.is_confidential else ""
        folder = self._options.folder / "transcripts"
        try:
            _write_transcript(folder, self._name, trial, meters, redactor=self._redactor, canary=canary)
        except OSError as error:
            # The folder, not the file: equal notes are merged into one in the report.
            trial = replace(trial, notes=(*trial.notes, f"transcript not written: {folder}: {error.strerror}"))
        self._check_costs(trial)
        return trial

    def _check_costs(self, trial: Trial) -> None:
        """Have nothing more begun that takes from a budget nobody knows how much."""
        judged = trial.judgement.bill if trial.judgement else None
        for bill, who in ((trial.bill, self.planned.spec), (judged, EVERYBODY)):
            if self._options.budget and bill and bill.cost is None and not bill.replayed:
                self._services().control.stop(who, "nobody knows what it costs, so no budget can be kept")


def _roles(meters: Sequence[UsageMeter]) -> dict[str, Bill]:
    """Return what each role took; nothing where the agent is one."""
    by_role: dict[str, list[Bill | None]] = {}
    for meter in meters:
        role = meter.purpose.role
        by_role.setdefault("student" if role == "agent" else role, []).append(meter.bill)
    found = {role: bill for role, bills in by_role.items() if (bill := total(bills))}
    return found if len(by_role) > 1 else {}


def _whole(trial: Trial, meters: Sequence[UsageMeter]) -> Sequence[UsageMeter]:
    """Return the meters that were brought to their end: half a recording must not take the place of a whole one."""
    # A question that the judge could not grade was answered all the same.
    played = bool(trial.turns or trial.answer or trial.judgement)
    graded = bool(trial.judgement and trial.judgement.score)
    return [meter for meter in meters if (graded if meter.purpose.role == "judge" else played)]


def _record(folder: Path, meters: Sequence[UsageMeter], redactor: Redactor) -> None:
    from pytest_crmeval.models.cassettes import write

    for meter in meters:
        write(folder, meter, redactor)


def _write_transcript(  # noqa: PLR0913 (what a transcript is made of)
    folder: Path, name: str, trial: Trial, meters: Sequence[UsageMeter], *, redactor: Redactor, canary: str
) -> None:
    """Write the trial with what was asked of models, as a cassette has it."""
    from pytest_crmeval.journal.transcripts import write

    lines: dict[str, Sequence[JsonObject]] = {}
    if any(meter.askings for meter in meters):
        from pytest_crmeval.models.cassettes import lines_of, write_prompts

        for meter in meters:
            write_prompts(folder, meter.askings, redactor)
            lines[meter.purpose.role] = lines_of(meter.askings, meter.purpose.trial, redactor)
    write(
        folder,
        trial,
        name=name,
        exchanges=lines.pop("agent", ()),
        judged=lines.pop("judge", ()),
        roles=lines,
        redactor=redactor,
        canary=canary,
    )
