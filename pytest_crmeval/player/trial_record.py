"""The record of one trial: its model calls, whether it may start, and its files."""

from collections.abc import Sequence
from dataclasses import replace

from pytest_crmeval.channel import SharedFiles
from pytest_crmeval.domain.json import JsonObject
from pytest_crmeval.domain.judgement import Judgement
from pytest_crmeval.domain.messages import Message, rules_apart
from pytest_crmeval.domain.score import Verdict
from pytest_crmeval.domain.transcript import Exchange, Transcript
from pytest_crmeval.domain.trial import PlannedCase, Trial
from pytest_crmeval.domain.usage import Bill, served, total
from pytest_crmeval.models.cassettes.files import CassetteError
from pytest_crmeval.models.control import EVERYBODY
from pytest_crmeval.models.usage_meter import CallPurpose, UsageMeter
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.subjects import asks_models
from pytest_crmeval.player.traces import send_trace
from pytest_crmeval.ports.chat_model import ModelError
from pytest_crmeval.tracing.clocked import ClockedMessages

USER = "user"
"""The role of the model that plays the user."""
WITHHELD = "details withheld: the suite is confidential"


class TrialRecord:
    """The record of one trial, kept by the process that plays it."""

    def __init__(self, context: Context, planned: PlannedCase, name: str = "", *, confidential: bool = False) -> None:
        self.planned = planned
        self.is_confidential = confidential
        """Whether the dialogue must not appear in plain text."""
        self.said: list[Message] = [] if context.options.otel == "off" else ClockedMessages()
        """The dialogue so far."""
        self._name = name or planned.case
        self._meters: list[UsageMeter] = []
        self._lost: list[UsageMeter] = []
        """The meters of a lost dialogue, which was paid for but is neither recorded nor shown."""
        self.files: dict[str, bytes] = {}
        """The transcript, by its path in the folder of transcripts."""
        self._notes: list[str] = []
        self._context = context
        self._options = context.options
        self._redactor = context.redactor
        self._services = context.services

    @property
    def name(self) -> str:
        """The name of the trial's files."""
        return self._name

    @property
    def objection(self) -> str:
        """Why the trial must not start; empty if it may, as always without model calls."""
        asks = self._options.judge or self._options.user or asks_models(self.planned.spec)
        if not asks or self._options.replay:
            return ""
        return self._services().control.objection(self.planned.spec)

    @property
    def has_answers(self) -> bool:
        """Whether a model has answered any call."""
        return any(meter.calls for meter in self._meters)

    def open_meter(self, role: str = "agent") -> UsageMeter:
        """Return a new meter of the trial; the agent's is opened first."""
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

    def stop_after(self, error: ModelError, *, all_agents: bool = False) -> None:
        """Start no further trial of this subject, or of all agents, if the error is final."""
        if error.is_final:
            agent = EVERYBODY if all_agents else self.planned.spec
            self._services().control.stop(agent, self._redactor.text(str(error)))

    def end(self) -> None:
        """Release the money that the budget has reserved for the trial."""
        if self._options.budget is not None and not self._options.replay:
            self._services().control.end(self.planned.key)

    def billed(self, trial: Trial) -> Trial:
        """Return the trial with the usage and cost of the subject, and with notes for the reader."""
        meters = self._meters
        if not meters:
            return trial
        replayed = self._options.replay and asks_models(trial.planned.spec)
        judgement = trial.judgement or Judgement()
        ungraded = [f"not graded: {judgement.trouble}"] if judgement.trouble else []
        from_meters = (note for meter in meters for note in meter.notes)
        notes = [*self._notes, *from_meters, *judgement.notes, *ungraded]
        subject = [meter for meter in (*self._lost, *meters) if meter.purpose.role not in ("judge", USER)]
        simulator = total(meter.bill for meter in (*self._lost, *meters) if meter.purpose.role == USER)
        bill = total(meter.bill for meter in subject) or (Bill(replayed=True) if replayed else None)
        by_role: dict[str, list[Bill | None]] = {}
        for meter in subject:
            role = meter.purpose.role
            by_role.setdefault("student" if role == "agent" else role, []).append(meter.bill)
        several = by_role if len(by_role) > 1 else {}
        roles = {role: spent for role, bills in several.items() if (spent := total(bills))}
        asked = tuple(dict.fromkeys(str(call.identity) for meter in subject for call in meter.calls))
        service = served(meter.service for meter in subject)
        trial = replace(trial, bill=bill, simulator=simulator, roles=roles, models=asked, service=service)
        return replace(trial, notes=tuple(dict.fromkeys(notes)))

    def broken(self, reason: str, seconds: float) -> Trial:
        """Return the errored trial of an interrupted dialogue, with the dialogue so far."""
        turns: list[list[Message]] = []
        for message in rules_apart(self.said)[1]:
            if message.speaker == "user" or not turns:
                turns.append([])
            turns[-1].append(message)
        transcript = Transcript(exchanges=tuple(Exchange(messages=tuple(turn)) for turn in turns))
        trial = Trial.errored(self.planned, reason, seconds)
        return self.billed(replace(trial, transcript=transcript))

    def closed_broken(self, reason: str, seconds: float) -> Trial:
        """Return the errored trial after creating its files."""
        return self.close(self.broken(reason, seconds))

    def close(self, trial: Trial) -> Trial:
        """Write the recording, make the transcript, and return the trial for the journal.

        If the recording can't be written, the trial is errored, so that a resumed run records it, and no further trial
        starts.
        """
        meters, self._meters = self._meters, []
        if isinstance(self.said, ClockedMessages):
            send_trace(self._context, trial, self.said, meters, confidential=self.is_confidential)
        if self._options.record and not self.is_confidential:
            try:
                from pytest_crmeval.models.cassettes import write

                # No partial recording replaces a complete one. A question was answered even if it was not graded.
                played = bool(trial.turns or trial.answer or trial.judgement or trial.scores)
                graded = bool(trial.judgement and trial.judgement.is_graded)
                for meter in (meter for meter in meters if (graded if meter.purpose.role == "judge" else played)):
                    write(self._options.record, meter, self._redactor)
            except (OSError, CassetteError) as error:
                why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
                self._services().control.stop(EVERYBODY, why)
                reasons = [trial.reason, f"not recorded: {why}"]
                trial = replace(trial, verdict=Verdict.ERRORED, reason="\n".join(filter(None, reasons)))
        canary = f"crmeval {self.planned.fingerprint}" if self.is_confidential else ""
        self.files = self._transcript(trial, meters, canary)
        # No further trial starts if there is a budget and the cost of this one is unknown.
        judged = trial.judgement.bill if trial.judgement else None
        for bill, agent in ((trial.bill, self.planned.spec), (trial.simulator, EVERYBODY), (judged, EVERYBODY)):
            if self._options.budget and bill and bill.cost is None and not bill.replayed:
                self._services().control.stop(agent, "its cost is unknown, so the budget can't be enforced")
        return trial

    def _transcript(self, trial: Trial, meters: Sequence[UsageMeter], canary: str) -> dict[str, bytes]:
        """Return the transcript of the trial with all model calls; prompts are sent separately."""
        from pytest_crmeval.journal.transcripts import content_of, name_of

        redactor = self._redactor
        lines: dict[str, Sequence[JsonObject]] = {}
        if any(meter.calls for meter in meters):
            from pytest_crmeval.models.cassettes import lines_of, prompt_files

            for meter in meters:
                sent = self._context.once(_sent_files)
                # Other transcripts refer to these files as well: this trial may not be the one that is recorded.
                if files := prompt_files(meter.calls, redactor, sent):
                    self._services().channel.tell(SharedFiles(files))
                    sent.update(files)
                lines[meter.purpose.role] = lines_of(meter.calls, meter.purpose.trial, redactor)
        exchanges, judged = lines.pop("agent", ()), lines.pop("judge", ())
        content = content_of(trial, exchanges=exchanges, judged=judged, roles=lines, redactor=redactor, canary=canary)
        return {name_of(trial, name=self._name): content}


def _sent_files(_: Context) -> set[str]:
    return set()
