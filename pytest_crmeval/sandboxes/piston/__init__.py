"""Programs run on Piston servers, which are reached over HTTP."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

from pytest_crmeval.ports.sandbox import Execution, Language, Limits, Program, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.java import first_class, main_class
from pytest_crmeval.sandboxes.piston import requests
from pytest_crmeval.sandboxes.piston.addresses import PistonAddress, addresses
from pytest_crmeval.sandboxes.piston.answers import Ran
from pytest_crmeval.sandboxes.piston.client import Client
from pytest_crmeval.sandboxes.piston.endings import RunTerms, UnseenError, execution, framed_execution, refusal
from pytest_crmeval.sandboxes.piston.frames import frame_of
from pytest_crmeval.sandboxes.piston.languages import NAMES
from pytest_crmeval.sandboxes.piston.pool import Endpoint, Patience
from pytest_crmeval.sandboxes.piston.requests import COMPILED
from pytest_crmeval.sandboxes.piston.wire import Wire

__all__ = ["Patience", "PistonAddress", "PistonSandbox", "addresses"]


CONTRADICTED = "a second run of the same program had a different result"


class PistonSandbox:
    """Runs programs on one or several Piston servers, which it looks at first: SandboxError if none is there.

    ``shares`` is how many processes use the servers at the same time (workers of one run): each takes its part of the
    requests that a server may have under way.
    """

    def __init__(
        self, servers: str | Sequence[PistonAddress], *, shares: int = 1, patience: Patience | None = None
    ) -> None:
        known = addresses(servers) if isinstance(servers, str) else servers
        self._endpoints = [
            Endpoint(address=address, bound=max(1, address.in_flight // shares), wire=Wire(address))
            for address in known
        ]
        self._client = Client(self._endpoints, patience or Patience())
        self._lock = threading.Lock()
        self._unsupported: dict[str, None] = {}
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
        """What a verdict depends on: the versions, not the servers."""
        return f"piston: {self._languages()}"

    @property
    def slots(self) -> int:
        """How many runs the servers take at once."""
        return sum(endpoint.bound for endpoint in self._endpoints)

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know: limits that were lowered, servers that can't be used."""
        with self._lock:
            return (*self._client.notes, *self._unsupported)

    def missing(self, language: Language, version: str = "") -> str:
        """Return why a language can't be run; nothing if every server that is well was seen to run it."""
        reason = self._client.missing(language, version)
        if reason:
            with self._lock:
                self._unsupported[f"unsupported: {reason}"] = None
        return reason

    @property
    def distrusted(self) -> Mapping[str, str]:
        """Servers whose results can't be trusted, by their addresses, and why."""
        return dict(self._client.distrusted)

    @property
    def servers(self) -> Sequence[str]:
        """The addresses of the servers."""
        return [str(endpoint.address) for endpoint in self._endpoints]

    @contextmanager
    def prepared(self, program: Program) -> "Iterator[_Prepared]":
        """Make a program ready: one that has to be compiled is compiled to see whether it can be."""
        if program.language is Language.JAVA and (named := first_class(program.source)) not in {
            "",
            main_class(program.source),
        }:
            raise SandboxError(f"Piston starts the first class of a Java program, and {named} has no main method")
        if program.language not in COMPILED:
            yield _Prepared(self._client, program, None)
            return
        yield _Prepared(self._client, program, self._confirmed_refusal(program))

    def close(self) -> None:
        """Release the servers; runs that wait for one fail."""
        self._client.close()

    def _confirmed_refusal(self, program: Program) -> Execution | None:
        """Return how the compiler rejects a program, if it does so twice; None if it accepts the program."""
        refused, first = self._client.wherever(partial(self._refusal, program))
        if refused is None:
            return None
        again, second = self._client.wherever(partial(self._refusal, program, elsewhere_than=first))
        if again is None:
            for address in (first, second):
                self._client.distrust(address, CONTRADICTED)
            raise SandboxError(f"the compiler of {first} rejected a program that the compiler of {second} accepts")
        return refused

    def _refusal(
        self, program: Program, unable: Collection[str], *, elsewhere_than: str = ""
    ) -> tuple[Execution | None, str]:
        """Return how the compiler rejects a program, or None if it accepts it; and the address of the server."""
        ran, terms = self._client.run(requests.compiling(program), unable, elsewhere_than=elsewhere_than)
        stage = ran.compile
        is_refused = ran.refused and stage is not None
        return refusal(stage, terms.granted, terms.address) if is_refused and stage else None, terms.address

    def _languages(self) -> str:
        names = [f"{NAMES[language][0]} {version}" for language, version in self._client.versions.items()]
        return ", ".join(names) or "no supported language"


class _Prepared:
    """A program that servers compile anew for every run, if it has to be compiled."""

    def __init__(self, client: Client, program: Program, refused: Execution | None) -> None:
        self._client = client
        self._program = program
        self._refused = refused
        self._latest = threading.local()

    @property
    def refused(self) -> Execution | None:
        """How the compiler refused the program."""
        return self._refused

    def run(self, feed: ProgramInput, limits: Limits) -> Execution:
        """Run once; again if the server has cut what the program has written, or ended it for a limit of its own."""
        self._latest.addresses = []
        return self._client.wherever(partial(self._run, feed, limits))

    def confirm(self, feed: ProgramInput, limits: Limits) -> Execution:
        """Run again what this thread has just run: on another server if there is one, else a little later."""
        return self._client.wherever(partial(self._run, feed, limits))

    def contradicted(self) -> None:
        """Note that the two runs of this thread had different results: one of the servers is wrong."""
        for address in self._latest.addresses:
            self._client.distrust(address, CONTRADICTED)

    def _run(self, feed: ProgramInput, limits: Limits, unable: Collection[str]) -> Execution:
        if feed.wanted:
            return self._framed(feed, limits, unable)
        ran, terms = self._asked(requests.plain(self._program, feed, limits), unable)
        try:
            return execution(ran, terms)
        except UnseenError:
            return self._framed(feed, limits, unable)

    def _framed(self, feed: ProgramInput, limits: Limits, unable: Collection[str]) -> Execution:
        request = requests.framed(self._program, feed, limits)
        ran, terms = self._asked(request, unable)
        return framed_execution(ran, frame_of(ran.run, request.mark, len(feed.wanted)), tuple(feed.wanted), terms)

    def _asked(self, request: requests.ProgramRequest, unable: Collection[str]) -> tuple[Ran, RunTerms]:
        """Run something on another server than the last one."""
        before = self._latest.addresses[-1] if self._latest.addresses else ""
        ran, terms = self._client.run(request, unable, elsewhere_than=before)
        self._latest.addresses.append(terms.address)
        return ran, terms
