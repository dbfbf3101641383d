"""When models are retired, and what is said about it."""

import re
from datetime import date, datetime
from pathlib import Path

import openai.types.shared.chat_model as openai_models
import pytest
from anthropic.resources.messages import DEPRECATED_MODELS

from pytest_crmeval.agents import NAMED_AGENTS
from pytest_crmeval.cli import main
from pytest_crmeval.models.catalog import known_models
from pytest_crmeval.models.prices import notice_of
from pytest_crmeval.models.reasoning import claude_version
from pytest_crmeval.models.retirement import retirement_notice, retirements
from pytest_crmeval.models.specs import ModelSpec

TODAY = date(2026, 11, 18)


def dates_of_sdks() -> dict[str, date]:
    """Return the dates in the installed SDKs: a table of anthropic, a text of openai."""
    plain = {model: re.sub(r"(\d)(?:st|nd|rd|th)", r"\1", text) for model, text in DEPRECATED_MODELS.items()}
    found = {model: datetime.strptime(text, "%B %d, %Y").date() for model, text in plain.items()}  # noqa: DTZ007
    text = " ".join(Path(openai_models.__file__).read_text(encoding="utf-8").split())
    for models, day in re.findall(r'- ((?:"[^"]+",? ?)+): Announced shutdown date: (\d{4}-\d\d-\d\d)', text):
        found |= dict.fromkeys(re.findall(r'"([^"]+)"', models), date.fromisoformat(day))
    return found


def test_dates_are_those_of_the_installed_sdks() -> None:
    """A new version of an SDK that adds or moves a date fails here."""
    assert dates_of_sdks() == {model: found.date for model, found in retirements().items()}


def test_no_successor_is_about_to_be_retired() -> None:
    """A warning must not lead to the next one."""
    known = retirements()

    assert [] == [model for model, found in known.items() if found.successor in known]
    assert "claude-sonnet-4-5-20250929" in known
    assert NAMED_AGENTS["claude"].removeprefix("anthropic:") not in known


def test_claude_is_the_newest_sonnet_of_the_installed_sdk() -> None:
    """A new version of the SDK that names a newer one fails here."""
    sonnets = [entry.model for entry in known_models("anthropic") if "sonnet" in entry.model]

    assert NAMED_AGENTS["claude"] == f"anthropic:{max(sonnets, key=lambda model: claude_version(model) or (0, 0))}"
    assert "anthropic:claude-sonnet-4-5-20250929" == NAMED_AGENTS["claude-sonnet-4-5"]


@pytest.mark.parametrize(
    ("model", "notice"),
    [
        (
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5-20250929 will be retired on 2026-11-30; its successor is claude-sonnet-5-5",
        ),
        ("gpt-4", "gpt-4 was retired on 2026-10-23; its successor is gpt-5.6-sol"),
        ("gpt-4-32k", "gpt-4-32k was retired on 2025-06-06; crmeval models lists others"),
        ("gpt-5.1", ""),
        ("claude-sonnet-5-5", ""),
    ],
)
def test_notice_names_the_date_and_the_successor(model: str, notice: str) -> None:
    """Ninety days before the date, and from then on."""
    assert notice == retirement_notice(model, TODAY)


def test_model_on_another_server_is_not_the_providers_to_retire() -> None:
    """Gateways and servers of one's own decide themselves."""
    assert "gpt-4 was retired" in notice_of(ModelSpec.parse("openai:gpt-4"))
    assert "" == notice_of(ModelSpec.parse("openai:gpt-4?base_url=http://localhost:1/v1"))


def test_command_lists_models_with_price_context_date_and_key(capsys: pytest.CaptureFixture[str]) -> None:
    """Named agents come first; a word selects."""
    assert 0 == main(["models", "claude-sonnet-4-5", "--retired"])

    head, named, *others = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["model", "key", "price", "context", "retires"] == head
    assert ["claude-sonnet-4-5", "=", "anthropic:claude-sonnet-4-5-20250929", "ANTHROPIC_API_KEY"] == named[:4]
    assert ["3/0.3/15", "200,000", "2026-11-30", "->", "claude-sonnet-5-5"] == named[4:]
    assert ["anthropic:claude-sonnet-4-5", "anthropic:claude-sonnet-4-5-20250929"] == [line[0] for line in others]


def test_command_hides_retired_models_and_refuses_unknown_words(capsys: pytest.CaptureFixture[str]) -> None:
    """What can't be asked is no help."""
    assert 2 == main(["models", "gpt-4-32k"])
    assert "no known model matches 'gpt-4-32k'" in capsys.readouterr().err
    assert 2 == main(["models", "ollama"])
    assert "the models of ollama are not listed here; name any that it has: ollama:MODEL" in capsys.readouterr().err
