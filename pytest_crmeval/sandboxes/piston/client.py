"""Requests runs from the servers, and repeats requests that a server failed to handle."""

import logging
import math
import socket
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from pytest_crmeval.ports.sandbox import Language, SandboxError
from pytest_crmeval.sandboxes.piston import answers
from pytest_crmeval.sandboxes.piston.answers import ExceededError, Ran, TooLowError, TroubleError
from pytest_crmeval.sandboxes.piston.endings import RunTerms, check_compiler, only_waited
from pytest_crmeval.sandboxes.piston.languages import NAMES, Versions, agreed, lacking, versions
from pytest_crmeval.sandboxes.piston.pool import Endpoint, Named, Patience, Pool
from pytest_crmeval.sandboxes.piston.proofs import proved
from pytest_crmeval.sandboxes.piston.requests import COMPILED, STARTED_SLOWLY, ProgramRequest, clamped, lowered, slowed
from pytest_crmeval.sandboxes.piston.wire import LostError, PistonAnswer

_LOOK_SECONDS = 10.0
_LEARNED = 8
"""Limits that a server may name anew while one run is asked for."""
_LOG = logging.getLogger(__name__)
_Done = TypeVar("_Done")


class StarvedError(TroubleError):
    """A run failed for lack of processes or memory; another run shows whether the server has none left."""

    def __init__(self, ran: Ran, terms: RunTerms) -> None:
        super().__init__("it had no resources left for a program")
        self.ran = ran
        self.terms = terms


class Client:
    """Runs programs on any server that is free and healthy."""

    def __init__(self, endpoints: Sequence[Endpoint], patience: Patience) -> None:
        self._patience = patience
        self._pool = Pool(endpoints, patience, self._look)
        self._noting = threading.Lock()
        self._agreed: dict[Named, str] = {}
        """The version that all servers are asked for; by language, and by what solutions name."""
        self.distrusted: dict[str, str] = {}
        """Addresses of servers whose results can't be trusted, and why."""
        self.notes: list[str] = []
        """What a user should know: limits that were lowered, servers that were not there."""

    @property
    def versions(self) -> Mapping[Language, str]:
        """The newest version of each language that every server has."""
        return {language: version for (language, asked), version in self._agreed.items() if not asked and version}

    def begin(self) -> None:
        """Check the servers; SandboxError if none is available."""
        self._pool.look_at_all()
        healthy = self._pool.healthy
        for endpoint in self._pool.endpoints:
            if endpoint.reason:
                self._note(f"Piston server {endpoint.address} can't be used: {endpoint.reason}")
        for language in NAMES:
            self._agree(language, "", [endpoint.versions for endpoint in healthy])

    def missing(self, language: Language, version: str) -> str:
        """Return why a language can't be run; empty if a small program has run on every healthy server."""
        healthy = self._pool.healthy
        if not self._agree(language, version, [endpoint.versions for endpoint in healthy]):
            return lacking(language, version, {str(each.address): each.versions for each in healthy})
        for endpoint in healthy:
            try:
                self._prove(endpoint, (language, version))
            except (SandboxError, TroubleError) as error:
                return f"Piston server {endpoint.address}: {error}"
        return ""

    def _agree(self, language: Language, asked: str, servers: Sequence[Versions]) -> str:
        """Return the version that servers are asked for, decided once; empty if there is none."""
        return self._agreed.setdefault((language, asked), agreed(language, asked, servers))

    def wherever(self, work: Callable[[Collection[str]], _Done]) -> _Done:
        """Do something for which a server's limits may be too low; if they are, use another server, if there is one.

        ``work`` gets the addresses of the servers that can't run it.
        """
        refused: set[str] = set()
        while True:
            try:
                return work(refused)
            except TooLowError as error:
                known = error.address in refused
                refused.add(error.address)
                if known or all(str(each.address) in refused for each in self._pool.healthy):
                    raise

    def distrust(self, address: str, reason: str) -> None:
        """Stop using a server until it was checked again, and remember that its results can't be trusted."""
        self.distrusted[address] = reason
        self._pool.distrust(address, reason)
        self._note(f"Piston server {address}: {reason}")

    def run(
        self, request: ProgramRequest, refused: Collection[str] = (), *, elsewhere_than: str = ""
    ) -> tuple[Ran, RunTerms]:
        """Run something, on another server than ``elsewhere_than`` or later; SandboxError if that is impossible."""
        troubles: list[TroubleError] = []
        reasons: dict[str, None] = {}
        last = next((each for each in self._pool.endpoints if str(each.address) == elsewhere_than), None)
        if last is not None and len(self._pool.healthy) == 1:
            self._pool.pause(self._patience.delay(1))
        for attempt in range(self._patience.attempts):
            if attempt:
                self._pool.pause(self._patience.delay(attempt))
            with self._pool.lent(last, refused) as last:
                try:
                    return self._tried(last, request)
                except TroubleError as trouble:
                    troubles.append(trouble)
                    reasons[f"{last.address}: {trouble}"] = None
        if all(isinstance(trouble, StarvedError) for trouble in troubles):
            found = self._starving(request)
            if found is not None:
                return found
        raise SandboxError(
            f"no Piston server ran the program in {self._patience.attempts} attempts ({'; '.join(reasons)})"
        )

    def _starving(self, request: ProgramRequest) -> tuple[Ran, RunTerms] | None:
        """Find out whether a program uses up all resources: it fails again where a small one has just run."""
        with self._pool.lent() as endpoint:
            if not self._is_well(endpoint, request.named):
                return None
            try:
                return self._tried(endpoint, request)
            except StarvedError as trouble:
                return trouble.ran, trouble.terms
            except TroubleError:
                return None

    def close(self) -> None:
        """Close the connections to the servers."""
        self._pool.close()

    def _tried(self, endpoint: Endpoint, request: ProgramRequest) -> tuple[Ran, RunTerms]:
        try:
            maxima = self._prove_again(endpoint, request.named)
            found = self._granted(endpoint, request, maxima)
        except TroubleError as trouble:
            self._pool.fared(endpoint, None if isinstance(trouble, StarvedError) else trouble)
            raise
        self._pool.fared(endpoint, None)
        return found

    def _granted(self, endpoint: Endpoint, request: ProgramRequest, maxima: dict[str, int]) -> tuple[Ran, RunTerms]:
        """Ask for what the server grants; it may have other limits since it was asked for them."""
        overhead = endpoint.overheads.get(request.named, 0.0)
        asked = {**request.asked, **slowed(request.asked, overhead)}
        for _ in range(_LEARNED):
            granted = clamped(asked, maxima)
            try:
                ran = self._ask(endpoint, request, granted, _duration(request, granted))
            except ExceededError as error:
                maxima[error.field] = error.maximum
                continue
            self._note_lowered(endpoint, request.asked, granted)
            terms = RunTerms(limits=request.limits, granted=granted, address=str(endpoint.address), overhead=overhead)
            if ran.run.starved:
                raise StarvedError(ran, terms)
            check_compiler(ran)
            if only_waited(ran, granted) and not self._is_well(endpoint, request.named, granted["run_timeout"] / 2000):
                waited = f"{granted['run_timeout'] / 1000:g} s"
                raise TroubleError(f"it is overloaded: a program got hardly any CPU time within {waited}")
            return ran, terms
        raise TroubleError(f"it rejects limits that it has reported itself: {maxima}", sick=True)

    def _ask(self, endpoint: Endpoint, request: ProgramRequest, granted: Mapping[str, int], seconds: float) -> Ran:
        version = self._agreed[request.named]
        name = endpoint.versions[request.program.language][version]
        body = request.body(name, version, granted)
        answer = _asked(endpoint, "/execute", body, self._patience.grace_seconds + seconds)
        try:
            return answers.ran(answer, version, request.token)
        except TooLowError as error:
            raise TooLowError(str(error), str(endpoint.address)) from error
        except TroubleError as trouble:
            if trouble.sick:
                self.distrusted[str(endpoint.address)] = str(trouble)
            raise

    def _look(self, endpoint: Endpoint) -> None:
        """Check whether a server is available, and still has the languages of the others."""
        found = versions(answers.runtimes(_asked(endpoint, "/runtimes", None, _LOOK_SECONDS)))
        agreed_on = [(language, version) for (language, _), version in self._agreed.items() if version]
        gone = [(language, version) for language, version in agreed_on if version not in found.get(language, ())]
        if gone:
            wanted = ", ".join(f"{language} {version}" for language, version in gone)
            raise TroubleError(f"it does not have {wanted}, which the others have", sick=True)
        endpoint.versions = found
        endpoint.maxima = {}  # it may have been started anew, with others

    def _prove(self, endpoint: Endpoint, named: Named) -> dict[str, int]:
        """Check once that a language runs on a server; return the maximum limits there."""
        with endpoint.proving:
            known = endpoint.maxima
            if named not in known:
                known[named], ran = self._proof(endpoint, named)
                if named[0] in STARTED_SLOWLY:
                    endpoint.overheads[named] = ran.run.cpu_seconds or 0.0
            return known[named]

    def _prove_again(self, endpoint: Endpoint, named: Named) -> dict[str, int]:
        try:
            return self._prove(endpoint, named)
        except SandboxError as error:  # it is not as it should be, but another may be
            raise TroubleError(str(error), sick=True) from error

    def _proof(self, endpoint: Endpoint, named: Named) -> tuple[dict[str, int], Ran]:
        def ask(request: ProgramRequest, granted: Mapping[str, int]) -> Ran:
            return self._ask(endpoint, request, granted, 0.0)

        return proved(*named, str(endpoint.address), ask)

    def _is_well(self, endpoint: Endpoint, named: Named, seconds: float = math.inf) -> bool:
        """Whether a server runs a small program now, and does not need so many seconds for it."""
        try:
            _, ran = self._proof(endpoint, named)
        except (SandboxError, TroubleError):
            return False
        return (ran.run.wall_seconds or ran.seconds) < seconds

    def _note_lowered(self, endpoint: Endpoint, asked: Mapping[str, int], granted: Mapping[str, int]) -> None:
        for name in lowered(asked, granted):
            if name.startswith("run_"):
                self._note(f"Piston server {endpoint.address} limits {name} to {granted[name]}")

    def _note(self, text: str) -> None:
        with self._noting:
            if text in self.notes:
                return
            self.notes.append(text)
        _LOG.warning("%s", text)


def _asked(endpoint: Endpoint, path: str, body: bytes | None, seconds: float) -> PistonAnswer:
    try:
        return endpoint.wire.ask(path, body, seconds=seconds)
    except LostError as error:
        away = isinstance(error.__cause__, ConnectionRefusedError | socket.gaierror)
        raise TroubleError(str(error), sick=away) from error


def _duration(request: ProgramRequest, granted: Mapping[str, int]) -> float:
    """Return how many seconds a run may take by its limits."""
    compiling = granted["compile_timeout"] if request.program.language in COMPILED else 0
    return (compiling + granted["run_timeout"]) / 1000
