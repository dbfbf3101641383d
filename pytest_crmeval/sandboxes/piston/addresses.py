"""The addresses of servers, as a user writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, urlsplit

API = "/api/v2"
IN_FLIGHT = 4
"""Concurrent requests per server, if the address does not name a number: twice the cores of a small one."""
_PORTS = {"http": 80, "https": 443}
_EXAMPLE = "for example http://localhost:2000; separate several with commas"


@dataclass(frozen=True, slots=True, kw_only=True)
class PistonAddress:
    """One server."""

    scheme: str
    host: str
    port: int
    base: str = ""
    """Path before ``/api/v2``; empty for a server of its own."""
    in_flight: int = IN_FLIGHT

    def __str__(self) -> str:
        """Return the address as it would be written."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.base}"


def addresses(spec: str) -> Sequence[PistonAddress]:
    """Read ``http://localhost:2000[/api/v2][?in_flight=8][,http://host2:2000]``; ValueError says what is wrong."""
    found = [_address(part.strip()) for part in spec.split(",")]
    names = [str(address) for address in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"Piston server {twice[0]} is named twice in {spec!r}; name it once, with ?in_flight=N")
    return found


def _address(part: str) -> PistonAddress:
    if not part:
        raise ValueError(f"an address of a Piston server is empty; {_EXAMPLE}")
    url = _split(part)
    base = url.path.rstrip("/").removesuffix(API)
    if "/api/" in f"{base}/":
        raise ValueError(f"Piston server {part!r}: {url.path!r} is not a path of its API; omit it, or end with {API}")
    return PistonAddress(
        scheme=url.scheme,
        host=url.hostname or "",
        port=_port(url, part),
        base=base,
        in_flight=_in_flight(url.query, part),
    )


def _split(part: str) -> SplitResult:
    try:
        url = urlsplit(part)
    except ValueError as error:
        raise ValueError(f"Piston server {part!r}: {error}; {_EXAMPLE}") from error
    if url.scheme not in _PORTS:
        raise ValueError(f"Piston server {part!r} does not start with http:// or https://; {_EXAMPLE}")
    if not url.hostname or any(sign.isspace() for sign in part):
        raise ValueError(f"Piston server {part!r} has no host; {_EXAMPLE}")
    if url.username is not None or url.fragment:
        wrong = "a fragment" if url.username is None else "a user"
        raise ValueError(f"the address of a Piston server must not contain {wrong}; {_EXAMPLE}")
    return url


def _port(url: SplitResult, part: str) -> int:
    try:
        port = url.port
    except ValueError as error:
        raise ValueError(f"Piston server {part!r}: {error}; {_EXAMPLE}") from error
    return port or _PORTS[url.scheme]


def _in_flight(query: str, part: str) -> int:
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name != "in_flight":
            raise ValueError(f"Piston server {part!r}: unknown parameter {name!r}; known: in_flight")
        if not (value.isascii() and value.isdigit() and int(value) > 0):
            raise ValueError(f"Piston server {part!r}: in_flight={value}: must be a whole number of at least 1")
        return int(value)
    return IN_FLIGHT
