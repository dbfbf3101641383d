"""Lines about a run: its header, and why it was stopped."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from shlex import quote

import pytest

from pytest_crmeval.agents.atlas.specs import models_in
from pytest_crmeval.domain.judgement import LabelAgreement, restriction
from pytest_crmeval.domain.trial import PlannedCase, is_of_checkpoint
from pytest_crmeval.domain.usage import money
from pytest_crmeval.journal.checkpoints import by_step, step_of
from pytest_crmeval.models.specs import is_model
from pytest_crmeval.options.values import DEFAULT_SCORERS, Options
from pytest_crmeval.player.agents import subjects_of
from pytest_crmeval.player.context import Context
from pytest_crmeval.player.models import judge_of, retiring
from pytest_crmeval.render import summary
from pytest_crmeval.report.costs import agreement_text
from pytest_crmeval.report.report import Report
from pytest_crmeval.report.scope import LeftOut, by_reason


def say(config: pytest.Config, *lines: str) -> None:
    """Write lines to the terminal while pytest is running tests."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        terminal.ensure_newline()
        if config.get_terminal_writer().width_of_current_line:  # xdist is showing how many workers are ready
            terminal.line("")
        for line in lines:
            terminal.write_line(line)
        terminal.flush()  # a test may be running, and its output captured next


def announcement(  # noqa: PLR0913 (a line each)
    context: Context, cases: Collection[PlannedCase], done: int, server: str, ahead: str, *, has_crm: bool
) -> Iterator[str]:
    """Yield the header: cases, agents, server, concurrency, judge and limits."""
    options = context.options
    again = f", resumed: {done} done" if done else ""
    yield f"crmeval run:    {options.run} ({len(cases)} to play{again})"
    if not cases or not all(map(is_of_checkpoint, cases)):
        yield f"crmeval agent:  {', '.join(map(_named, subjects_of(context), subjects_of(context).values()))}"
    yield from (f"crmeval model:  {notice}" for notice in retiring(options))
    if options.selection:
        yield f"crmeval cases:  {options.selection}"
    yield f"crmeval server: {server}"
    if ahead:
        yield f"crmeval queue:  {ahead}"
    named = [
        model for name in (*options.agents, options.judge, options.user) for model in models_in(options.spec(name))
    ]
    specs = [options.spec(name).partition("?")[0] for name in named]
    others = {"user:": options.user, "judge:": options.judge}
    yield from (f"crmeval {who:<7} {_named(name, options.spec(name))}" for who, name in others.items() if name)
    if has_crm and (judge := judge_of(context)):
        yield f"crmeval judge:  {_trust(judge.agreement, options.spec(options.judge))}"
    if options.rates and any(map(is_model, specs)):
        held = [str(cap) for cap in options.rates if any(map(cap.holds_for, specs))]
        yield f"crmeval rates:  {', '.join(held) or 'no limit in crmeval_rates applies to a model of this run'}"
    if options.budget:
        yield f"crmeval budget: {money(options.budget)}"
    if tapes := options.replay or options.record:
        yield f"crmeval {'replay' if options.replay else 'record'}: {summary.short(tapes)}"
    if set(options.scorers) != set(DEFAULT_SCORERS):
        yield f"crmeval scorer: {', '.join(options.scorers)}"


def stops(subjects: Mapping[str, str], stopped: Mapping[str, str], report: Report) -> Iterator[str]:
    """Yield why agents, or the run, were stopped."""
    for spec, why in stopped.items():
        names = [name for name, each in subjects.items() if each == spec]
        missing = sum(each.not_run for each in report.standings if each.subject in names or not names)
        left = f"; {missing} case{'s were' if missing != 1 else ' was'} not run" if missing else ""
        yield f"{' and '.join(names) or 'the run'} was stopped: {why}{left}"


def omissions(left_out: LeftOut) -> Iterator[str]:
    """Yield which cases are skipped, and why."""
    for why, count in by_reason(left_out).items():
        yield f"crmeval skips {count} case{'s' * (count != 1)}: {why}"


def endings(options: Options, report: Report, *, forgiven: bool) -> Iterator[str]:
    """Yield how the gates affect failed cases; for a shard, that they are evaluated when it is merged."""
    if options.shard:
        rest = f"this is shard {options.shard}; crmeval merge joins the shards"
        yield f"{rest} and evaluates the gates" if options.gates else rest
        if forgiven:
            yield "failed cases do not affect the exit status of a shard"
    elif (options.gates or report.rulings) and not report.complete:
        yield "the run is incomplete: no gate can pass"
    elif forgiven:
        yield "all gates hold, so failed cases do not affect the exit status"


def counts(cases: Iterable[PlannedCase]) -> Iterator[str]:
    """Yield how many cases each suite has for each subject; checkpoints by their steps."""
    found: dict[tuple[str, str], int] = {}
    for planned in cases:
        found[planned.suite, planned.subject] = found.get((planned.suite, planned.subject), 0) + 1
    for suite, subject in sorted(found, key=lambda each: (each[0], *by_step(each[1], step_of(each[1])))):
        count = found[suite, subject]
        yield f"{suite} × {subject}: {count} case{'s' * (count != 1)}"


def _trust(agreement: LabelAgreement | None, judge: str) -> str:
    """Return the judge's agreement with the labels, and what to do if it is unknown or too low."""
    why = restriction(agreement)
    if agreement is None:
        return f"opinions on replies are only reported, because {why}; run: crmeval calibrate --judge {quote(judge)}"
    return f"kappa {agreement_text(agreement)}{'; opinions on replies are only reported' if why else ''}"


def _named(agent: str, spec: str) -> str:
    return agent if spec == agent else f"{agent} = {spec}"
