"""From a spec to a model that can be asked: live, or from a cassette; and to agents and judges who ask it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_crmeval.agents.atlas.agent import Atlas
from pytest_crmeval.agents.atlas.specs import AtlasSpec, AtlasSpecError, is_atlas, settled
from pytest_crmeval.agents.chat import ChatAgent
from pytest_crmeval.agents.specs import AgentUnavailable, make_agent, secret_parameter
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.journal.ids import JUDGEMENTS
from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.patient_model import Model
from pytest_crmeval.models.prices import Pricing, is_priced, price_of
from pytest_crmeval.models.specs import ADDRESSES, ModelSpec, SpecError, address, is_model
from pytest_crmeval.models.usage_meter import current
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.agents import agent_of
from pytest_crmeval.player.context import Context, SetupError
from pytest_crmeval.player.subjects import learns
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import ChatModel

if TYPE_CHECKING:
    from pytest_crmeval.conversations.judge.judge import Judge
    from pytest_crmeval.models.judge.cache import Judgements
    from pytest_crmeval.questions.judge.judge import QuestionJudge

NO_KEY = "none"
"""What a server of one's own is told, which asks for no key."""


def known_agent(context: Context, spec: str) -> Agent | None:
    """Return the agent that ``spec`` names, if we know it: a model with our prompt, or somebody of the user's own.

    SetupError if it is known and can't be had.
    """
    if is_model(spec):
        return ChatAgent(name=spec, model=_model(context, _parsed(spec)))
    if is_atlas(spec):
        role_models(context, spec)  # whoever can't be had is refused before anything is played
        return Atlas(name=spec, terms=_terms(spec))
    try:
        return make_agent(spec)
    except AgentUnavailable as error:
        raise SetupError(f"crmeval: {context.redactor.text(str(error))}") from error


def role_models(context: Context, spec: str) -> Mapping[str, ChatModel]:
    """Return the models of an atlas by their roles, made once per process; SetupError if one can't be had."""
    made = context.once(_roles)
    if spec not in made:
        found = role_specs(context.options, spec)
        made[spec] = {role: _model(context, _parsed(asked)) for role, asked in found.items()}
    return made[spec]


def _roles(_: Context) -> dict[str, Mapping[str, ChatModel]]:
    return {}


def role_specs(options: Options, spec: str) -> Mapping[str, str]:
    """Return the specs of the models of an atlas by their roles, names resolved; SetupError if one is none."""
    terms = _terms(spec)
    found = {role: options.spec(terms.model(role)) for role in terms.roles}
    for role, asked in found.items():
        if not is_model(asked):
            raise SetupError(f"crmeval: atlas: {role}={asked}: is not openai:MODEL or anthropic:MODEL")
    return {role: settled(role, asked) for role, asked in found.items()}


def _terms(spec: str) -> AtlasSpec:
    try:
        return AtlasSpec.parse(spec)
    except AtlasSpecError as error:
        raise SetupError(f"crmeval: {error}") from None


def check_models(context: Context, specs: Iterable[str]) -> None:
    """Refuse what can't be had or can't be paid before anything is started: agents, judge, budget."""
    options, redactor = context.options, context.redactor
    for spec in [*specs, *options.agents, options.judge]:
        if redactor.text(spec) != spec:
            raise SetupError(
                f"crmeval: {redactor.text(spec)}: a secret has no place in a spec, which is shown and kept; "
                "let the agent read it from the environment"
            )
        _check_parameters(options.spec(spec))
    for spec in specs:
        agent_of(context, spec)
    _check_trials(options, specs)
    judge_of(context)
    _check_budget(options)


def _check_parameters(spec: str) -> None:
    """Refuse a secret as a parameter of a user's own agent; models have parameters of their own."""
    if not is_model(spec) and not is_atlas(spec) and (name := secret_parameter(spec)):
        raise SetupError(
            f"crmeval: {spec.partition('?')[0]}: the parameter {name!r} looks like a secret, and specs are shown and "
            f"stored; give the name of an environment variable in capitals instead: {name}=MY_VARIABLE"
        )


def _check_trials(options: Options, specs: Iterable[str]) -> None:
    """Refuse a learner that would meet again what it has learnt from."""
    if options.trials > 1 and any(map(learns, specs)):
        raise SetupError(
            f"crmeval: --crmeval-trials {options.trials}: atlas learns from each conversation, and would know it when "
            "it plays it again; play it in a run with one trial, or with learning=off, or with learning=frozen and "
            "--crmeval-learning-from RUN"
        )


def judge_of(context: Context) -> "Judge | None":
    """Return the judge of this run, made once per process; None if there is none."""
    return context.once(_judge)


def question_judge_of(context: Context) -> "QuestionJudge | None":
    """Return who grades questions in this run, made once per process; None if nobody does."""
    return context.once(_question_judge)


def _judge(context: Context) -> "Judge | None":
    asked = _judging(context)
    if asked is None:
        return None
    from pytest_crmeval.conversations.judge.judge import Judge

    return Judge(*asked)


def _question_judge(context: Context) -> "QuestionJudge | None":
    asked = _judging(context)
    if asked is None:
        return None
    from pytest_crmeval.questions.judge.judge import QuestionJudge

    return QuestionJudge(*asked)


def _check_budget(options: Options) -> None:
    """Refuse a budget that could not be kept, because nobody knows what a model costs."""
    if options.budget is None or options.replay:
        return
    for spec in _specs(options):
        if not is_priced(_parsed(spec)):
            raise SetupError(
                f"crmeval: --crmeval-budget: nobody knows the price of {spec.partition('?')[0]}; give it in dollars "
                "for a million tokens: ?price=INPUT/OUTPUT or ?price=INPUT/CACHED/OUTPUT"
            )


def pricing(spec: str) -> Pricing | None:
    """Return what tells the price of usage; None for a spec that asks no model, or several."""
    return price_of(_parsed(spec)) if is_model(spec) else None


def judge_spec(options: Options) -> tuple[str, int]:
    """Return the spec of the judge's model, and how often it is asked; SetupError if it is none."""
    from pytest_crmeval.models.judge.specs import JudgeSpecError, parse_judge

    spec = options.spec(options.judge)
    if not is_model(spec):
        raise SetupError(f"crmeval: --crmeval-judge {options.judge!r}: is not openai:MODEL or anthropic:MODEL")
    try:
        return parse_judge(spec)
    except JudgeSpecError as error:
        raise SetupError(f"crmeval: --crmeval-judge: {error}") from None


def _specs(options: Options) -> Iterator[str]:
    """Yield the spec of every model of the run."""
    for spec in map(options.spec, options.agents):
        yield from role_specs(options, spec).values() if is_atlas(spec) else filter(is_model, [spec])
    if options.judge:
        yield judge_spec(options)[0]


def _judging(context: Context) -> "tuple[ChatModel, int, Judgements | None] | None":
    """Return whom a judge asks, how often, and where it looks first; None if there is no judge."""
    options = context.options
    if not options.judge:
        return None
    spec, samples = judge_spec(options)
    return _model(context, _parsed(spec)), samples, _judgements(context, options)


def _judgements(context: Context, options: Options) -> "Judgements | None":
    """Return where judgements are found: a recording is complete, and a replay knows nothing but its recording."""
    from pytest_crmeval.models.judge.cache import JudgementCache, ToldJudgements

    if options.record:
        return None
    if folder := options.replay:
        from pytest_crmeval.models.cassettes.files import told_judgement

        return ToldJudgements(lambda: told_judgement(folder, current().purpose))
    return JudgementCache(options.reports / JUDGEMENTS, context.redactor.text)


def _model(context: Context, spec: ModelSpec) -> ChatModel:
    options = context.options
    price = _Price(spec)
    if options.replay:
        from pytest_crmeval.models.cassettes import Replaying

        return Replaying(spec.identity, options.replay, price, context.redactor)
    key = NO_KEY if context.is_dry_run else _key(spec, context.env_error)
    model = Model(spec, lambda: _backend(spec, key), lambda: context.services().control, price)
    if options.record:
        from pytest_crmeval.models.cassettes import Taped

        return Taped(model, options.record, judged=bool(options.judge))
    return model


class _Price:
    """What a model costs, looked up when it is first wanted: the list takes 0.2 s to load."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec

    @cached_property
    def _pricing(self) -> Pricing:
        return price_of(self._spec)

    def __call__(self, usage: Usage) -> float | None:
        return self._pricing(usage)


def _backend(spec: ModelSpec, key: str) -> Backend:
    """Return the SDK's side of it; this imports the SDK."""
    if spec.provider == "openai":
        from pytest_crmeval.models.sdks.openai import openai_backend

        return openai_backend(spec, key, spec.base_url)
    from pytest_crmeval.models.sdks.anthropic import anthropic_backend

    return anthropic_backend(spec, key, spec.base_url)


def _parsed(spec: str) -> ModelSpec:
    """Read a spec; where it names no address the environment may."""
    try:
        parsed = ModelSpec.parse(spec)
    except SpecError as error:
        raise SetupError(f"crmeval: {error}") from None
    return parsed if parsed.base_url else replace(parsed, base_url=_address(ADDRESSES[parsed.provider]))


def _address(variable: str) -> str:
    """Return the address that the environment gives; nothing if it gives none."""
    given = os.environ.get(variable, "").strip()
    try:
        return address(given) if given else ""
    except ValueError as error:
        raise SetupError(f"crmeval: {variable}: {error}") from None


def _key(spec: ModelSpec, trouble: str) -> str:
    """Return the key; a server of one's own may do without. ``trouble`` is why it may be missing."""
    key = os.environ.get(spec.key_name, "").strip()
    if key:
        return key
    if spec.base_url and not spec.key:
        return NO_KEY
    raise SetupError(
        f"crmeval: {spec} needs the environment variable {spec.key_name}, or a line {spec.key_name}=... in .env; "
        f"--crmeval-replay needs none{f' ({trouble})' if trouble else ''}"
    )
