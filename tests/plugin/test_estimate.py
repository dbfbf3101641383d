"""Estimates of calls, tokens, cost and time before anything is spent."""

from collections.abc import Callable

import pytest

from tests.fake_sandbox import solution
from tests.projects import case
from tests.providers.loopback import Loopback

pytestmark = pytest.mark.usefixtures("given_server")
Project = Callable[..., pytest.Pytester]
Providers = Callable[..., Loopback]
WAYS = pytest.mark.parametrize("xdist", [["-n", "1"], ["-p", "no:xdist"]], ids=" ".join)
PRICED = ("--crmeval-agent", "openai:m?price=2/8")


@WAYS
def test_estimate_calls_no_model_and_plays_nothing(project: Project, providers: Providers, xdist: list[str]) -> None:
    """It shows calls, tokens, cost and time per subject, and the assumptions."""
    server = providers()
    pytester = project()

    result = pytester.runpytest(*PRICED, "--crmeval-agent", "oracle", "--crmeval-estimate", *xdist)

    assert pytest.ExitCode.OK == result.ret
    assert [] == server.seen
    assert not (pytester.path / "reports").exists()
    result.stdout.fnmatch_lines(
        [
            "suite *subject *cases *calls *tokens in *tokens out *cost *time",
            "crm *openai:m?price=2/8 *3 *$*",
            "total: *$*",
        ]
    )


def test_usage_of_earlier_trials_is_used(project: Project, providers: Providers) -> None:
    """A trial makes two calls of 100 and 20 tokens."""
    server = providers()
    pytester = project([case("one"), case("two")])
    pytester.runpytest(*PRICED)
    server.seen.clear()

    result = pytester.runpytest(*PRICED, "--crmeval-estimate")

    assert [] == server.seen
    result.stdout.fnmatch_lines(["crm *openai:m?price=2/8 *2 *4 *400 *80 *$0.00144 *"])


def test_only_the_missing_part_of_a_run_is_estimated(project: Project, providers: Providers) -> None:
    """Resuming a run costs less."""
    providers()
    pytester = project([case("one"), case("two")])
    pytester.runpytest(*PRICED, "--crmeval-run", "mine", "-k", "one")

    result = pytester.runpytest(*PRICED, "--crmeval-run", "mine", "--crmeval-estimate")

    result.stdout.fnmatch_lines(["crm *openai:m?price=2/8 *1 *2 *"])


def test_estimate_includes_the_judge(project: Project, providers: Providers) -> None:
    providers()

    result = project().runpytest(*PRICED, "--crmeval-judge", "openai:j?price=1/1&samples=5", "--crmeval-estimate")

    result.stdout.fnmatch_lines(["judge *openai:j* 3 *15 *"])


@pytest.mark.parametrize("option", ["--crmeval-estimate", "--collect-only"])
def test_estimate_needs_no_key(project: Project, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    result = project().runpytest("--crmeval-agent", "gpt-4.1", option)

    assert pytest.ExitCode.OK == result.ret


def test_replay_is_free(project: Project, providers: Providers) -> None:
    server = providers()
    pytester = project([case("one"), case("two")])
    (pytester.path / "tapes").mkdir()

    result = pytester.runpytest(*PRICED, "--crmeval-replay", "tapes", "--crmeval-estimate")

    assert [] == server.seen
    result.stdout.fnmatch_lines(
        ["crm *openai:m?price=2/8 *2 *$0.00 *-", "total: *, $0.00, 0 s", "cost: none, because calls are replayed"]
    )


def test_estimated_time_respects_rate_limits(project: Project, providers: Providers) -> None:
    """Four calls at one per minute."""
    providers()
    pytester = project([case("one"), case("two")])
    pytester.runpytest(*PRICED)

    result = pytester.runpytest(*PRICED, "--crmeval-estimate", "-o", "crmeval_rates=openai:m 1rpm")

    result.stdout.fnmatch_lines(
        ["crm *openai:m?price=2/8 *2 *4 *4 min", "time: 2 in flight, limited by crmeval_rates;*"]
    )


def test_guess_includes_the_prompt_cache(project: Project, providers: Providers) -> None:
    providers()

    result = project([case("one")]).runpytest(*PRICED, "--crmeval-estimate")

    result.stdout.fnmatch_lines(["total: *cached)*", "assumed: *prompt and tools are cached after the first call *"])


def test_usage_of_a_custom_server_is_not_used_for_the_provider_model(
    project: Project, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment sets the address, so the same spec is a different model there."""
    providers()
    pytester = project([case("one")])
    gpt = ("--crmeval-agent", "openai:gpt-4.1?price=1/1")
    pytester.runpytest(*gpt)

    there = pytester.runpytest(*gpt, "--crmeval-estimate")
    monkeypatch.delenv("OPENAI_BASE_URL")
    here = pytester.runpytest(*gpt, "--crmeval-estimate")

    there.stdout.fnmatch_lines(["crm × openai:gpt-4.1*: 1 of 1 cases were played before"])
    here.stdout.fnmatch_lines(
        ["*1 of 1 cases are estimated from other models (openai:gpt-4.1[?]base_url=http://127.*)"]
    )


def test_estimate_includes_the_time_for_solution_files(judging: Callable[..., pytest.Pytester]) -> None:
    """The estimate uses their earlier times and lists them by step."""
    pytester = judging({f"checkpoint-{step}/s": [solution("a")] for step in (900, 1000)})

    first = pytester.runpytest("--crmeval-estimate")
    pytester.runpytest("-k", "checkpoint-900")
    second = pytester.runpytest("--crmeval-estimate")

    first.stdout.fnmatch_lines(
        ["*checkpoint-900 *1 s", "*checkpoint-1000 *1 s", "total: * 2 s", "assumed: 1 s per solution"]
    )
    second.stdout.fnmatch_lines(
        [
            "*checkpoint-900: 1 of 1 cases were run before",
            "*checkpoint-1000: 1 of 1 cases are estimated from the time per solution of other files",
        ]
    )
