"""`crmeval calibrate --judge`: measure how far a judge agrees with the labelled statements, once per judge."""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.agents import NAMED_AGENTS
from pytest_crmeval.cli.places import project
from pytest_crmeval.cli.terminal import UsageError

if TYPE_CHECKING:  # models are loaded only when one is asked
    from pytest_crmeval.conversations.judge.agreement import LabelledTrial
    from pytest_crmeval.conversations.judge.judge import Judge
    from pytest_crmeval.domain.judgement import Judgement, LabelAgreement
    from pytest_crmeval.models.prices import Pricing

AT_ONCE = 8
TOKENS_OUT = 150
"""Expected length of an answer."""


def measured_agreement(judge: str, reports: Path) -> "LabelAgreement":
    """Ask the judge what it was not asked before, and return its agreement; UsageError if it can't be measured."""
    from pytest_crmeval.conversations.judge.agreement import agreement_of, labelled_trials, unmeasured
    from pytest_crmeval.conversations.judge.judge import Judge
    from pytest_crmeval.domain.cutting import use_redactor
    from pytest_crmeval.domain.redaction import Redactor, secrets_in
    from pytest_crmeval.journal.ids import JUDGEMENTS
    from pytest_crmeval.models.env_file import DEFAULT, export
    from pytest_crmeval.models.judge import JudgementCache, JudgeSpecError, parse_judge
    from pytest_crmeval.models.prices import price_of
    from pytest_crmeval.models.shared_control import SharedControl
    from pytest_crmeval.models.specs import is_model
    from pytest_crmeval.player.context import SetupError
    from pytest_crmeval.player.models import live_model, parsed_spec

    root = project()[0]
    problem = export(root / DEFAULT) if (root / DEFAULT).is_file() else ""
    redactor = Redactor(secrets_in(os.environ))
    use_redactor(redactor)
    name, _, parameters = judge.partition("?")
    given = "?".join(filter(None, (NAMED_AGENTS.get(name, name), parameters)))
    if not is_model(given):
        raise UsageError(f"--judge {judge!r}: must name a model; see crmeval models")
    try:
        spec, samples = parse_judge(given)
        parsed, control = parsed_spec(spec), SharedControl()
        model = live_model(parsed, lambda: control, problem)
    except (JudgeSpecError, SetupError) as error:
        raise UsageError(f"--judge: {str(error).removeprefix('crmeval: ')}") from None
    cache = JudgementCache(reports / JUDGEMENTS, redactor.text)
    missing = unmeasured(model.identity, samples, cache)
    _announce(given, missing, samples, price_of(parsed))
    judgements = _asked(Judge(model, samples, cache), labelled_trials())
    if trouble := [judgement.trouble for judgement in judgements if judgement.trouble]:
        answered = "the answers so far are kept, and are not asked for again"
        raise UsageError(f"{len(trouble)} of {len(judgements)} requests were not answered; {answered}: {trouble[0]}")
    return agreement_of(labelled_trials(), judgements)


def agreement_lines(judge: str, agreement: "LabelAgreement") -> Sequence[str]:
    """Return the agreement, and what follows from it."""
    from pytest_crmeval.domain.judgement import restriction
    from pytest_crmeval.report.costs import agreement_text

    why = restriction(agreement)
    may = f"its opinions are only reported: {why}" if why else "it is allowed to fail a `reply` that the rules pass"
    return [f"judge {judge}: kappa {agreement_text(agreement)}", may]


def _announce(judge: str, missing: "Sequence[LabelledTrial]", samples: int, price: "Pricing") -> None:
    """Report the calls and the expected cost before the first call."""
    from pytest_crmeval.domain.usage import Usage
    from pytest_crmeval.report.costs import dollars, number
    from pytest_crmeval.report.loads import CHARACTERS_PER_TOKEN

    lengths = [len(trial.prompt.system) + len(trial.prompt.messages[0].text) for trial in missing]
    tokens = samples * sum(lengths) // CHARACTERS_PER_TOKEN
    calls = samples * len(missing)
    costs = [price(Usage(input=length // CHARACTERS_PER_TOKEN, output=TOKENS_OUT, calls=1)) for length in lengths]
    whole = None if None in costs else samples * sum(cost for cost in costs if cost is not None)
    cost = f"about {number(tokens)} tokens in, cost {dollars(whole)}" if calls else "all answers are cached"
    sys.stderr.write(f"asking {judge} about labelled statements: {number(calls)} calls, {cost}\n")


def _asked(judge: "Judge", trials: "Sequence[LabelledTrial]") -> "list[Judgement]":
    from pytest_crmeval.domain.judgement import Judgement
    from pytest_crmeval.models.usage_meter import UsageMeter, opened
    from pytest_crmeval.ports.chat_model import ModelError

    def asked(trial: "LabelledTrial") -> Judgement:
        with opened(UsageMeter()):
            return judge.judged(trial.statements)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = [pool.submit(asked, trial) for trial in trials]
        try:
            return [each.result() for each in found]
        except ModelError as error:  # final: no other request would be answered
            pool.shutdown(cancel_futures=True)
            raise UsageError(error) from error
