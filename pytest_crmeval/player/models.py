"""Creates models from specs, live or from a cassette, and the agents and judges that call them."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_crmeval.agents import FORMER_MODELS
from pytest_crmeval.agents.atlas.agent import Atlas
from pytest_crmeval.agents.atlas.specs import AtlasSpec, AtlasSpecError, is_atlas, settled
from pytest_crmeval.agents.calling import NO_MCP, uses_tool_server
from pytest_crmeval.agents.chat import ChatAgent
from pytest_crmeval.agents.specs import AgentUnavailable, make_agent, secret_parameter
from pytest_crmeval.domain.judgement import LabelAgreement
from pytest_crmeval.domain.usage import Usage
from pytest_crmeval.journal.ids import JUDGEMENTS
from pytest_crmeval.models.backend import Backend
from pytest_crmeval.models.control import Control
from pytest_crmeval.models.prices import Pricing, is_priced, notice_of, price_of
from pytest_crmeval.models.providers import PROVIDERS
from pytest_crmeval.models.retrying_model import RetryingModel
from pytest_crmeval.models.sdks.sign_in import region_trouble, sign_in_refusal, sign_in_trouble
from pytest_crmeval.models.specs import ModelSpec, SpecError, address, is_model
from pytest_crmeval.models.usage_meter import current
from pytest_crmeval.options.values import Options
from pytest_crmeval.player.agents import agent_of
from pytest_crmeval.player.context import Context, SetupError
from pytest_crmeval.player.subjects import learns
from pytest_crmeval.ports.agent import Agent
from pytest_crmeval.ports.chat_model import Cause, ChatModel, ModelIdentity

if TYPE_CHECKING:
    from pytest_crmeval.conversations.judge.judge import Judge
    from pytest_crmeval.models.judge import Judgements
    from pytest_crmeval.questions.judge import QuestionJudge

NO_KEY = "none"
"""The key that is sent to a custom server that needs none."""


def known_agent(context: Context, spec: str) -> Agent | None:
    """Return the agent of ``spec``: a model with our prompt, or the user's own agent; None if the spec is unknown.

    SetupError if the agent can't be created.
    """
    if is_model(spec):
        return ChatAgent(name=spec, model=_model(context, parsed_spec(spec)))
    if is_atlas(spec):
        role_models(context, spec)  # reports an invalid model before any case is played
        return Atlas(name=spec, spec=_terms(spec))
    try:
        agent = make_agent(spec, context.options.agent_timeout)
    except AgentUnavailable as error:
        raise SetupError(f"crmeval: {context.redactor.text(str(error))}") from error
    if agent and uses_tool_server(agent) and not find_spec("mcp"):
        raise SetupError(f"crmeval: {spec}: {NO_MCP}")
    return agent


def role_models(context: Context, spec: str) -> Mapping[str, ChatModel]:
    """Return the models of an atlas by role, created once per process; SetupError if one can't be created."""
    made = context.once(_roles)
    if spec not in made:
        found = role_specs(context.options, spec)
        made[spec] = {role: _model(context, parsed_spec(model)) for role, model in found.items()}
    return made[spec]


def _roles(_: Context) -> dict[str, Mapping[str, ChatModel]]:
    return {}


def role_specs(options: Options, spec: str) -> Mapping[str, str]:
    """Return the specs of the models of an atlas by role, names resolved; SetupError if one is not a model."""
    terms = _terms(spec)
    found = {role: options.spec(terms.model(role)) for role in terms.roles}
    for role, model in found.items():
        if not is_model(model):
            raise SetupError(f"crmeval: atlas: {role}={model}: must name a model; see crmeval models")
    return {role: settled(role, model) for role, model in found.items()}


def _terms(spec: str) -> AtlasSpec:
    try:
        return AtlasSpec.parse(spec)
    except AtlasSpecError as error:
        raise SetupError(f"crmeval: {error}") from None


def check_models(context: Context, specs: Iterable[str]) -> None:
    """Raise SetupError before the run starts if an agent, the judge or the budget is invalid."""
    options = context.options
    _check_secrets(context, specs)
    for spec in specs:
        agent_of(context, spec)
    if options.trials > 1 and any(map(learns, specs)):
        raise SetupError(
            f"crmeval: --crmeval-trials {options.trials}: atlas learns from each conversation, so it can't play one "
            "twice; use one trial, or learning=off, or learning=frozen with --crmeval-learning-from RUN"
        )
    judge_of(context)
    user_model_of(context)
    if options.budget is not None and not options.replay:
        for spec in model_specs(options):
            if not is_priced(parsed_spec(spec)):
                raise SetupError(
                    f"crmeval: --crmeval-budget: the price of {spec.partition('?')[0]} is unknown; give it in dollars "
                    "per million tokens: ?price=INPUT/OUTPUT or ?price=INPUT/CACHED/OUTPUT"
                )
    if context.worker == "main" and not (options.replay or context.is_dry_run):
        for model in dict.fromkeys(map(parsed_spec, model_specs(options))):
            _check_with_provider(model)


def _check_secrets(context: Context, specs: Iterable[str]) -> None:
    """Raise SetupError if a spec contains a secret."""
    options, redactor = context.options, context.redactor
    for spec in [*specs, *options.agents, options.judge, options.user]:
        if redactor.text(spec) != spec:
            raise SetupError(
                f"crmeval: {redactor.text(spec)}: specs are shown and stored, so they must not contain a secret; "
                "let the agent read it from the environment"
            )
        # The parameters of models are checked elsewhere.
        given = options.spec(spec)
        if not is_model(given) and not is_atlas(given) and (name := secret_parameter(given)):
            raise SetupError(
                f"crmeval: {given.partition('?')[0]}: the parameter {name!r} looks like a secret, and specs are shown "
                f"and stored; give the name of an environment variable in capitals instead: {name}=MY_VARIABLE"
            )


def _check_with_provider(spec: ModelSpec) -> None:
    """Raise SetupError if the provider says that it refuses the key or does not have the model."""
    from pytest_crmeval.models.sdks.preflight import refusal_of

    key = _key(spec, "")
    if PROVIDERS[spec.provider].extra and not key and (why := sign_in_refusal(spec.provider)):
        raise SetupError(f"crmeval: {spec}: {why}")
    error = refusal_of(spec, key)
    if error is None:
        return
    gets = PROVIDERS[spec.provider].gets
    mend = f"{gets} {spec.model}" if gets else f"crmeval models {spec.provider} lists known models"
    advice = [notice_of(spec), mend] if error.cause is Cause.UNKNOWN_MODEL else []
    raise SetupError("; ".join(filter(None, [f"crmeval: {error}", *advice])))


def retiring(options: Options) -> Iterator[str]:
    """Yield a warning for each model of the run that is retired or soon will be; nothing if the run is replayed."""
    for spec in () if options.replay else dict.fromkeys(map(parsed_spec, model_specs(options))):
        if notice := notice_of(spec):
            yield notice


def judge_of(context: Context) -> "Judge | None":
    """Return the judge of conversations, created once per process; None if there is none."""
    return context.once(_judge)


def user_model_of(context: Context) -> ChatModel | None:
    """Return the model that plays simulated users, created once per process; None if there is none."""
    return context.once(_user_model)


def _user_model(context: Context) -> ChatModel | None:
    options = context.options
    spec = options.spec(options.user)
    if not spec:
        return None
    if not is_model(spec):
        raise SetupError(f"crmeval: --crmeval-user {options.user!r}: must name a model; see crmeval models")
    return _model(context, parsed_spec(spec))


def question_judge_of(context: Context) -> "QuestionJudge | None":
    """Return the judge of questions, created once per process; None if there is none."""
    return context.once(_question_judge)


def _judge(context: Context) -> "Judge | None":
    arguments = _judge_arguments(context)
    if arguments is None:
        return None
    from pytest_crmeval.conversations.judge.judge import Judge

    return Judge(*arguments, _agreement(context, arguments[0].identity, arguments[1]))


def _agreement(context: Context, judge: ModelIdentity, samples: int) -> Callable[[], LabelAgreement | None]:
    """Return what finds the agreement of a judge with the labels: measured before, or as it was recorded."""
    from pytest_crmeval.conversations.judge.agreement import copy_opinions, known_agreement
    from pytest_crmeval.models.judge import JudgementCache

    options, clean = context.options, context.redactor.text
    measured = JudgementCache((options.replay or options.reports) / JUDGEMENTS, clean)

    @cache
    def known() -> LabelAgreement | None:
        if options.record:
            copy_opinions(judge, samples, measured, JudgementCache(options.record / JUDGEMENTS, clean))
        return known_agreement(judge, samples, measured)

    folder = options.replay
    return (lambda: _recorded_agreement(folder) or known()) if folder else known


def _recorded_agreement(folder: Path) -> LabelAgreement | None:
    """Return the agreement in the transcript that is being replayed; None if it has none, or is a cassette."""
    from pytest_crmeval.models.cassettes.files import stored_judgement

    record = stored_judgement(folder, current().purpose) or {}
    return LabelAgreement.from_dict(record["agreement"]) if record.get("agreement") else None


def _question_judge(context: Context) -> "QuestionJudge | None":
    arguments = _judge_arguments(context)
    if arguments is None:
        return None
    from pytest_crmeval.questions.judge import QuestionJudge

    return QuestionJudge(*arguments)


def pricing(spec: str) -> Pricing | None:
    """Return the pricing of a spec; None if it is not a single model."""
    return price_of(parsed_spec(spec)) if is_model(spec) else None


def judge_spec(options: Options) -> tuple[str, int]:
    """Return the spec of the judge's model, and the number of grades per case; SetupError if it is invalid."""
    from pytest_crmeval.models.judge import JudgeSpecError, parse_judge

    spec = options.spec(options.judge)
    if not is_model(spec):
        raise SetupError(f"crmeval: --crmeval-judge {options.judge!r}: must name a model; see crmeval models")
    try:
        return parse_judge(spec)
    except JudgeSpecError as error:
        raise SetupError(f"crmeval: --crmeval-judge: {error}") from None


def model_specs(options: Options) -> Iterator[str]:
    """Yield the spec of every model of the run."""
    for spec in map(options.spec, options.agents):
        yield from role_specs(options, spec).values() if is_atlas(spec) else filter(is_model, [spec])
    if options.judge:
        yield judge_spec(options)[0]
    if options.user:
        yield options.spec(options.user)


def _judge_arguments(context: Context) -> "tuple[ChatModel, int, Judgements | None] | None":
    """Return the judge's model, the number of grades and the cache; None if there is no judge."""
    options = context.options
    if not options.judge:
        return None
    spec, samples = judge_spec(options)
    return _model(context, parsed_spec(spec)), samples, _judgements(context, options)


def _judgements(context: Context, options: Options) -> "Judgements | None":
    """Return the cache of judgements: none while recording, the recorded ones while replaying."""
    from pytest_crmeval.models.judge import JudgementCache, ReplayedJudgements

    if options.record:
        return None
    if folder := options.replay:
        from pytest_crmeval.models.cassettes.files import stored_judgement

        return ReplayedJudgements(lambda: stored_judgement(folder, current().purpose))
    return JudgementCache(options.reports / JUDGEMENTS, context.redactor.text)


def _model(context: Context, spec: ModelSpec) -> ChatModel:
    options = context.options
    if options.replay:
        from pytest_crmeval.models.cassettes import ReplayingModel

        replaying = partial(ReplayingModel, folder=options.replay, redactor=context.redactor)
        former = replace(spec, model=FORMER_MODELS.get(spec.model, ""))
        before = replaying(former.identity, price=_Price(former)) if former.model else None
        return replaying(spec.identity, price=_Price(spec), former=before)
    model = live_model(spec, lambda: context.services().control, context.env_error, needs_key=not context.is_dry_run)
    if options.record:
        from pytest_crmeval.models.cassettes import RecordingModel

        return RecordingModel(model, options.record, judged=bool(options.judge))
    return model


def live_model(
    spec: ModelSpec, control: Callable[[], Control], env_error: str, *, needs_key: bool = True
) -> RetryingModel:
    """Return a model that is called; SetupError if it has no key. ``env_error`` may be the reason for that."""
    key = _key(spec, env_error) if needs_key else NO_KEY
    return RetryingModel(spec, lambda: _backend(spec, key), control, _Price(spec))


class _Price:
    """The pricing of a model, looked up on first use because the price list takes 0.2 s to load."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec

    @cached_property
    def _pricing(self) -> Pricing:
        return price_of(self._spec)

    def __call__(self, usage: Usage) -> float | None:
        return self._pricing(usage)


def _backend(spec: ModelSpec, key: str) -> Backend:
    """Return the backend of a model; this imports its SDK."""
    if spec.sdk == "openai":
        from pytest_crmeval.models.sdks.openai import openai_backend

        return openai_backend(spec, key, spec.base_url)
    from pytest_crmeval.models.sdks.anthropic import anthropic_backend

    return anthropic_backend(spec, key, spec.base_url)


def parsed_spec(spec: str) -> ModelSpec:
    """Parse a spec; without an address in it, the environment's is used. SetupError if it is invalid."""
    try:
        parsed = ModelSpec.parse(spec)
    except SpecError as error:
        raise SetupError(f"crmeval: {error}") from None
    variable = PROVIDERS[parsed.provider].variable
    if parsed.base_url or not variable:
        return parsed
    given = os.environ.get(variable, "").strip()
    resource = os.environ.get("ANTHROPIC_FOUNDRY_RESOURCE", "").strip() if parsed.provider == "foundry" else ""
    if resource and not given:  # as the SDK has it
        given = f"https://{resource}.services.ai.azure.com/anthropic"
    try:
        return replace(parsed, base_url=address(given) if given else "")
    except ValueError as error:
        raise SetupError(f"crmeval: {variable}: {error}") from None


def _key(spec: ModelSpec, trouble: str) -> str:
    """Return the key, which a custom server may not need; ``trouble`` is a possible reason why it is missing.

    SetupError if the provider can't be asked as the environment is, with what to do about it.
    """
    provider, key = PROVIDERS[spec.provider], os.environ.get(spec.key_name, "").strip()
    is_hosted = bool(provider.address)
    for name in () if is_hosted or provider.extra else (provider.variable, *provider.also):
        if not (os.environ.get(name) or (name == provider.variable and spec.base_url)):
            raise SetupError(f"crmeval: {spec} needs the environment variable {name}, or a line {name}=... in .env")
    if provider.extra:
        why = region_trouble(spec.provider, spec.model, spec.base_url)
        why = why or ("" if key else sign_in_trouble(spec.provider))
        if why:
            raise SetupError(f"crmeval: {spec}: {why} (not needed with --crmeval-replay)")
    if key or provider.extra:
        return key
    if not spec.key and (not provider.needs_key or (spec.base_url and is_hosted)):
        return NO_KEY
    raise SetupError(
        f"crmeval: {spec} needs the environment variable {spec.key_name}, or a line {spec.key_name}=... in .env "
        f"(not needed with --crmeval-replay){f' ({trouble})' if trouble else ''}"
    )
