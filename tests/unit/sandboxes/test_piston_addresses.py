"""Addresses of Piston servers are read strictly."""

import pytest

from pytest_crmeval.sandboxes.piston.addresses import addresses


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("http://localhost:2000", ["http://localhost:2000"]),
        ("http://localhost:2000/", ["http://localhost:2000"]),
        ("http://localhost:2000/api/v2", ["http://localhost:2000"]),
        ("http://localhost:2000/api/v2/, https://host2", ["http://localhost:2000", "https://host2:443"]),
        ("http://[::1]:2000", ["http://[::1]:2000"]),
        ("http://gateway/piston/api/v2", ["http://gateway:80/piston"]),
    ],
)
def test_addresses_are_read_with_and_without_the_path_of_the_api(spec: str, shown: list[str]) -> None:
    assert shown == [str(address) for address in addresses(spec)]


def test_a_server_may_be_asked_for_more_at_once() -> None:
    assert [16, 4] == [each.in_flight for each in addresses("http://a:2000?in_flight=16,http://b:2000/api/v2")]


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("", "is empty"),
        ("http://a:2000,", "is empty"),
        ("localhost:2000", "'localhost:2000' does not start with http://"),
        ("ftp://a", "does not start with http://"),
        ("http://", "has no host"),
        ("http://a b:2000", "has no host"),
        ("http://a:port", "'http://a:port': Port could not be cast"),
        ("http://a:99999", "Port out of range"),
        ("http://[::1", "Invalid IPv6"),
        ("http://me:secret@a:2000", "must not contain a user"),
        ("http://a:2000#x", "must not contain a fragment"),
        ("http://a:2000/api/v1", "'/api/v1' is not a path of its API"),
        ("http://a:2000/api/v2/execute", "is not a path of its API"),
        ("http://a:2000?inflight=3", "unknown parameter 'inflight'; known: in_flight"),
        ("http://a:2000?in_flight=0", "in_flight=0: must be a whole number of at least 1"),
        ("http://a:2000?in_flight=", "in_flight=: must be a whole number"),
        ("http://a:2000,http://a:2000/api/v2", "http://a:2000 is named twice"),
    ],
)
def test_a_mistake_is_pointed_at(spec: str, shown: str) -> None:
    with pytest.raises(ValueError, match=r"Piston server") as caught:
        addresses(spec)
    assert shown in str(caught.value)


def test_a_password_is_not_repeated() -> None:
    """The message may end up in a log."""
    with pytest.raises(ValueError, match="a user") as caught:
        addresses("http://me:secret@a:2000")
    assert "secret" not in str(caught.value)
