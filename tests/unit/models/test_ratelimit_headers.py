"""Headers that speak of limits."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from pytest_crmeval.models.limits.headers import LONGEST, Kind, readings

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def read(headers: Mapping[str, str]) -> list[tuple[Kind, int, float]]:
    """Return what was understood."""
    return [(found.kind, found.remaining, found.seconds) for found in readings(headers, NOW)]


def test_remaining_requests_and_tokens_are_read_from_headers_of_openai() -> None:
    """And how long it takes until all is there again."""
    headers = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-tokens": "1m6s",
    }

    assert [("requests", 499, 0.12), ("tokens", 149_984, 66.0)] == read(headers)


def test_reset_time_is_read_from_headers_of_anthropic() -> None:
    """For requests, for all tokens, for those that are read and for those that are written."""
    headers = {
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2026-03-01T12:00:01Z",
        "anthropic-ratelimit-tokens-remaining": "30000",
        "anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:02+00:00",
        "anthropic-ratelimit-input-tokens-remaining": "25000",
        "anthropic-ratelimit-input-tokens-reset": "2026-03-01T13:00:03+01:00",
        "anthropic-ratelimit-output-tokens-remaining": "8000",
        "anthropic-ratelimit-output-tokens-reset": "2026-03-01T12:00:04.500Z",
    }

    assert [("requests", 49, 1.0), ("tokens", 30_000, 2.0), ("tokens", 25_000, 3.0), ("output", 8_000, 4.5)] == read(
        headers
    )


def test_the_clock_of_the_server_counts_if_it_is_shown() -> None:
    """Ours is an hour slow."""
    headers = {
        "date": "Sun, 01 Mar 2026 13:00:00 GMT",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-03-01T13:00:07Z",
    }

    assert [("requests", 0, 7.0)] == read(headers)


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("6m0s", LONGEST),
        ("1m30s", 90.0),
        ("1.5s", 1.5),
        ("20ms", 0.02),
        ("0s", 0.0),
        ("1h2m", LONGEST),
        ("500us", 0.0005),
        ("12", 12.0),
        ("0.25", 0.25),
        ("2026-03-01T11:59:00Z", 0.0),
        ("2026-03-01T12:00:09", 9.0),
        ("2026-03-01T18:00:00Z", LONGEST),
    ],
)
def test_times_are_read_and_bounded(reset: str, seconds: float) -> None:
    """What is over is 0; nothing lasts for more than two minutes."""
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": reset}

    assert [pytest.approx(seconds)] == [found for _, _, found in read(headers)]


@pytest.mark.parametrize(
    "nonsense",
    ["", " ", "soon", "-1s", "-5", "1s2", "s", "nan", "inf", "1e9", "1767225600", "9" * 5000, "9" * 400 + "s", "²",
     "2026-13-45T99:00:00Z", "\x00", "٣s", "1.s", "Sun, 99 Xyz 2026"],
)  # fmt: skip
def test_nonsense_is_ignored(nonsense: str) -> None:
    """Wherever it stands."""
    good = {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "1s"}

    assert [] == read(good | {"x-ratelimit-reset-requests": nonsense})
    assert nonsense == "1767225600" or [] == read(good | {"x-ratelimit-remaining-requests": nonsense})
    assert [("requests", 1, 1.0)] == read(good | {"date": nonsense})


@pytest.mark.parametrize("missing", ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"])
def test_rate_limit_header_without_its_counterpart_is_ignored(missing: str) -> None:
    """How much, and for how long: only both together."""
    whole = {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "1s"}

    assert [] == read({name: value for name, value in whole.items() if name != missing})
