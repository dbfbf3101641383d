"""Programs run by Piston servers: somebody else's machines, asked over HTTP."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from pytest_crmeval.domain.program import Execution, Feed, Language, Limits, Program
from pytest_crmeval.sandboxes.piston import requests
from pytest_crmeval.sandboxes.piston.addresses import Address, addresses
from pytest_crmeval.sandboxes.piston.client import Client
from pytest_crmeval.sandboxes.piston.endings import UnseenError, execution, framed_execution, refusal
from pytest_crmeval.sandboxes.piston.frames import frame_of
from pytest_crmeval.sandboxes.piston.languages import NAMES
from pytest_crmeval.sandboxes.piston.pool import Endpoint, Patience
from pytest_crmeval.sandboxes.piston.wire import Wire

__all__ = ["Address", "Patience", "PistonSandbox", "addresses"]


class PistonSandbox:
    """Runs programs on one or several Piston servers, which it looks at first: SandboxError if none is there.

    ``shares`` is how many processes use the servers at the same time (workers of one run): each takes its part of the
    requests that a server may have under way.
    """

    def __init__(self, servers: str | Sequence[Address], *, shares: int = 1, patience: Patience | None = None) -> None:
        known = addresses(servers) if isinstance(servers, str) else servers
        self._endpoints = [
            Endpoint(address=address, bound=max(1, address.in_flight // shares), wire=Wire(address))
            for address in known
        ]
        self._client = Client(self._endpoints, patience or Patience())
        try:
            self._client.begin()
        except BaseException:
            self._client.close()
            raise

    @property
    def name(self) -> str:
        """Which servers, and what they have."""
        where = ", ".join(str(endpoint.address) for endpoint in self._endpoints)
        return f"Piston at {where} ({self._languages()})"

    @property
    def identity(self) -> str:
        """What a verdict depends on: the versions, not who runs them."""
        return f"piston: {self._languages()}"

    @property
    def slots(self) -> int:
        """How many runs the servers take at once."""
        return sum(endpoint.bound for endpoint in self._endpoints)

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know: limits that were lowered, servers that can't be used."""
        return tuple(self._client.notes)

    def missing(self, language: Language) -> str:
        """Return why a language can't be run; nothing if every server that is well was seen to run it."""
        return self._client.missing(language)

    @contextmanager
    def prepared(self, program: Program) -> "Iterator[_Prepared]":
        """Make a program ready: one that has to be compiled is compiled to see whether it can be."""
        if program.language is Language.PYTHON:
            yield _Prepared(self._client, program, None)
            return
        yield _Prepared(self._client, program, self._client.wherever(partial(self._refusal, program)))

    def close(self) -> None:
        """Let go of the servers; whoever waits for one is told."""
        self._client.close()

    def _refusal(self, program: Program, unable: Collection[str]) -> Execution | None:
        """Return how the compiler refuses a program; None if it takes it."""
        ran, terms = self._client.run(requests.compiling(program), unable)
        stage = ran.compile
        return refusal(stage, terms.granted, terms.address) if ran.refused and stage is not None else None

    def _languages(self) -> str:
        told = [f"{NAMES[language][0]} {version}" for language, version in self._client.versions.items()]
        return ", ".join(told) or "no language that is known here"


class _Prepared:
    """A program that servers compile anew for every run, if it has to be compiled."""

    def __init__(self, client: Client, program: Program, refused: Execution | None) -> None:
        self._client = client
        self._program = program
        self._refused = refused

    @property
    def refused(self) -> Execution | None:
        """How the compiler refused the program."""
        return self._refused

    def run(self, feed: Feed, limits: Limits) -> Execution:
        """Run once; again if the server has cut what the program has written, or ended it for a limit of its own."""
        return self._client.wherever(partial(self._run, feed, limits))

    def _run(self, feed: Feed, limits: Limits, unable: Collection[str]) -> Execution:
        if feed.wanted:
            return self._framed(feed, limits, unable)
        ran, terms = self._client.run(requests.plain(self._program, feed, limits), unable)
        try:
            return execution(ran, terms)
        except UnseenError:
            return self._framed(feed, limits, unable)

    def _framed(self, feed: Feed, limits: Limits, unable: Collection[str]) -> Execution:
        request = requests.framed(self._program, feed, limits)
        ran, terms = self._client.run(request, unable)
        return framed_execution(ran, frame_of(ran.run, request.mark, len(feed.wanted)), tuple(feed.wanted), terms)
