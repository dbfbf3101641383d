"""``--crmeval-set key=value`` overrides a setting of the ini file for one run."""

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_crmeval.options.declared import SETTINGS
from pytest_crmeval.options.reading import options_of
from pytest_crmeval.options.values import Options
from tests.fake_sandbox import Made, solution
from tests.projects import report_of

NO_XDIST = ("-p", "no:xdist")
BAD_VALUES = {
    "max_steps": ("0", "must be a whole number of at least 1"),
    "agent_timeout": ("0", "must be a positive number of seconds"),
    "max_failures": ("few", "must be a whole number of at least 0"),
    "inflight": ("257", "must be a whole number from 1 to 256"),
    "tests_max": ("-1", "must be a whole number of at least 0"),
    "tests_sample": ("1.5", "must be a number above 0 and at most 1"),
    "file_timeout": ("0", "must be a positive number of seconds"),
    "solution_timeout": ("inf", "must be a positive number of seconds"),
    "extract": ("second", "must be one of first, last, longest"),
    "testlib": ("nowhere", "the file *nowhere does not exist"),
}


def read(pytester: pytest.Pytester, *arguments: str) -> Options:
    """Return the options of a pytest run with these arguments."""
    return options_of(pytester.parseconfigure(*NO_XDIST, *arguments))


def error_of(pytester: pytest.Pytester, *arguments: str) -> str:
    """Return the error that ends a pytest run with these arguments."""
    with pytest.raises(pytest.UsageError) as error:
        read(pytester, *arguments)
    return str(error.value)


@pytest.mark.parametrize("xdist", [["-n", "1"], NO_XDIST], ids=" ".join)
def test_value_applies_to_controller_and_workers_and_is_in_the_report(judging: Made, xdist: list[str]) -> None:
    """Workers collect, so the pattern of checkpoints is applied there."""
    files = {f"checkpoint-{step}/s": [solution("a")] for step in (49, 98)}
    pytester = judging(files, ini="crmeval_checkpoints = checkpoint-49\ncrmeval_page = false")

    result = pytester.runpytest(*xdist, "--crmeval-set=checkpoints=checkpoint-98", "--crmeval-set=max_steps=7")

    result.assert_outcomes(passed=1)
    report = report_of(pytester.path)
    (part,) = report["run"]["parts"]
    assert ["checkpoint-98"] == [result["subject"] for result in report["results"]]
    assert (7, ["checkpoints=checkpoint-98", "max_steps=7"]) == (part["max_steps"], part["settings"])
    assert "--crmeval-set=checkpoints=checkpoint-98 --crmeval-set=max_steps=7" in part["command"]


def test_name_may_have_its_prefix_and_last_value_wins(pytester: pytest.Pytester) -> None:
    """As in the ini file, and as with other options."""
    options = read(pytester, "--crmeval-set=max_steps=5", "--crmeval-set", "crmeval_max_steps = 6")

    assert 6 == options.max_steps


def test_repeated_list_setting_replaces_the_list_of_the_ini_file(pytester: pytest.Pytester) -> None:
    """Each use of the option is one line; an empty value is an empty list."""
    pytester.makeini("[pytest]\ncrmeval_gates = crm.pass_rate >= 0.1\n")

    two = read(pytester, "--crmeval-set=gates=crm.failed == 0", "--crmeval-set=gates=crm.pass_rate >= 0.9")
    none = read(pytester, "--crmeval-set=gates=")

    assert ["crm.failed == 0", "crm.pass_rate >= 0.9"] == [gate.text for gate in two.gates]
    assert () == none.gates


def test_every_setting_can_be_overridden(pytester: pytest.Pytester) -> None:
    defaults = {name: arguments["default"] for name, arguments in SETTINGS.items()}
    given = [f"--crmeval-set={name}={'' if default == [] else default}" for name, default in defaults.items()]

    options = read(pytester, "--crmeval-run=r", *given)

    assert len(SETTINGS) == len(options.overrides)
    assert read(pytester, "--crmeval-run=r") == replace(options, overrides=())


def test_paths_are_relative_to_the_project_as_in_the_ini_file(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if pytest is started in a subfolder of the project."""
    pytester.makeini("[pytest]\n")
    monkeypatch.chdir(pytester.mkdir("below"))

    assert Path(pytester.path, "elsewhere") == read(pytester, "--crmeval-set=reports=elsewhere").reports


@pytest.mark.parametrize("name", BAD_VALUES)
def test_bad_value_has_the_same_error_as_in_the_ini_file(pytester: pytest.Pytester, name: str) -> None:
    value, expected = BAD_VALUES[name]
    pytester.makeini(f"[pytest]\ncrmeval_{name} = {value}\n")

    in_ini = error_of(pytester)
    in_set = error_of(pytester, f"--crmeval-set={name}={value}")

    pytest.LineMatcher([in_ini]).fnmatch_lines([f"crmeval_{name} = {value}: {expected}"])
    assert in_ini.replace(f"crmeval_{name} = ", f"--crmeval-set {name}=", 1) == in_set


def test_bad_truth_value_names_the_setting(pytester: pytest.Pytester) -> None:
    """Pytest reads it from the ini file, and does not name the setting."""
    pytester.makeini("[pytest]\ncrmeval_page = perhaps\n")

    assert error_of(pytester).startswith("crmeval_page: must be true or false: ")
    assert "--crmeval-set page=perhaps: must be true or false" == error_of(pytester, "--crmeval-set=page=perhaps")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("max_step=5", "--crmeval-set max_step=5: unknown setting 'max_step'; did you mean max_steps?"),
        ("crmeval_timeout=5", "*: unknown setting 'crmeval_timeout'; did you mean *file_timeout*"),
        ("addopts=-x", "*: unknown setting 'addopts'; settings: agents, gates, *"),
        ("max_steps", "--crmeval-set max_steps: must be key=value, for example max_steps=30"),
        ("rates=openai:m often", "--crmeval-set rates: *openai:m often*"),
        ("agents=mine", "--crmeval-set agents: 'mine' is not 'name = spec'"),
    ],
)
def test_mistake_is_explained(pytester: pytest.Pytester, given: str, expected: str) -> None:
    pytest.LineMatcher([error_of(pytester, f"--crmeval-set={given}")]).fnmatch_lines([expected])


def test_bad_options_are_explained(pytester: pytest.Pytester) -> None:
    assert "--crmeval-tests nowhere: the folder does not exist" == error_of(pytester, "--crmeval-tests=nowhere")
    assert "--crmeval-seed x: must be a whole number" == error_of(pytester, "--crmeval-seed=x")
    assert error_of(pytester, "--crmeval-budget=0").startswith(
        "--crmeval-budget 0: must be a positive amount in US dollars"
    )
