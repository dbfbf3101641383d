"""Asks the servers for runs, again where their own trouble was in the way."""

import logging
import socket
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from pytest_crmeval.domain.program import Language
from pytest_crmeval.ports.sandbox import SandboxError
from pytest_crmeval.sandboxes.piston import answers
from pytest_crmeval.sandboxes.piston.answers import ExceededError, Ran, TooLowError, TroubleError
from pytest_crmeval.sandboxes.piston.endings import Terms
from pytest_crmeval.sandboxes.piston.languages import agreed, lacking, versions
from pytest_crmeval.sandboxes.piston.pool import Endpoint, Patience, Pool
from pytest_crmeval.sandboxes.piston.proofs import proved
from pytest_crmeval.sandboxes.piston.requests import Request, clamped, lowered
from pytest_crmeval.sandboxes.piston.wire import Answer, LostError

_LOOK_SECONDS = 10.0
_LEARNED = 8
"""Limits that a server may name anew while one run is asked for."""
_LOG = logging.getLogger(__name__)
_Done = TypeVar("_Done")


class StarvedError(TroubleError):
    """A run failed for want of processes or memory; whether the server had none, another run will show."""

    def __init__(self, ran: Ran, terms: Terms) -> None:
        super().__init__("it had no resources left for a program")
        self.ran = ran
        self.terms = terms


class Client:
    """Runs programs on whichever server is free and well."""

    def __init__(self, endpoints: Sequence[Endpoint], patience: Patience) -> None:
        self._patience = patience
        self._pool = Pool(endpoints, patience, self._look)
        self._noting = threading.Lock()
        self._agreed: dict[Language, str] = {}
        self.notes: list[str] = []
        """What a user should know: limits that were lowered, servers that were not there."""

    @property
    def versions(self) -> Mapping[Language, str]:
        """What every server has."""
        return self._agreed

    def begin(self) -> None:
        """Look at the servers; SandboxError if none is there."""
        self._pool.look_at_all()
        healthy = self._pool.healthy
        for endpoint in self._pool.endpoints:
            if endpoint.reason:
                self._note(f"Piston server {endpoint.address} can't be used: {endpoint.reason}")
        self._agreed = agreed([endpoint.versions for endpoint in healthy])

    def missing(self, language: Language) -> str:
        """Return why a language can't be run; nothing if it was seen to run on every server that is well."""
        if language not in self._agreed:
            return lacking(language, {str(each.address): each.versions for each in self._pool.healthy})
        for endpoint in self._pool.healthy:
            try:
                self._prove(endpoint, language)
            except (SandboxError, TroubleError) as error:
                return f"Piston server {endpoint.address}: {error}"
        return ""

    def wherever(self, work: Callable[[Collection[str]], _Done]) -> _Done:
        """Do something that a server's limits may be too low for, and do it elsewhere then, if there is an elsewhere.

        ``work`` is told the addresses of those that are of no use for it.
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

    def run(self, request: Request, refused: Collection[str] = ()) -> tuple[Ran, Terms]:
        """Have something run; SandboxError when no patience has helped."""
        troubles: list[TroubleError] = []
        told: dict[str, None] = {}
        last = None
        for attempt in range(self._patience.attempts):
            if attempt:
                self._pool.pause(self._patience.delay(attempt))
            with self._pool.lent(last, refused) as last:
                try:
                    return self._tried(last, request)
                except TroubleError as trouble:
                    troubles.append(trouble)
                    told[f"{last.address}: {trouble}"] = None
        if all(isinstance(trouble, StarvedError) for trouble in troubles):
            found = self._starving(request)
            if found is not None:
                return found
        raise SandboxError(
            f"no Piston server ran the program in {self._patience.attempts} attempts ({'; '.join(told)})"
        )

    def _starving(self, request: Request) -> tuple[Ran, Terms] | None:
        """Find out whether a program takes all that there is: it fails again where a small one has just run."""
        with self._pool.lent() as endpoint:
            if not self._is_well(endpoint, request.program.language):
                return None
            try:
                return self._tried(endpoint, request)
            except StarvedError as trouble:
                return trouble.ran, trouble.terms
            except TroubleError:
                return None

    def close(self) -> None:
        """Let go of the servers."""
        self._pool.close()

    def _tried(self, endpoint: Endpoint, request: Request) -> tuple[Ran, Terms]:
        try:
            maxima = self._prove_again(endpoint, request.program.language)
            found = self._granted(endpoint, request, maxima)
        except TroubleError as trouble:
            self._pool.fared(endpoint, None if isinstance(trouble, StarvedError) else trouble)
            raise
        self._pool.fared(endpoint, None)
        return found

    def _granted(self, endpoint: Endpoint, request: Request, maxima: dict[str, int]) -> tuple[Ran, Terms]:
        """Ask for what the server grants; it may have other limits since it was asked for them."""
        for _ in range(_LEARNED):
            granted = clamped(request.asked, maxima)
            try:
                ran = self._ask(endpoint, request, granted, _duration(request, granted))
            except ExceededError as error:
                maxima[error.field] = error.maximum
                continue
            self._note_lowered(endpoint, request.asked, granted)
            terms = Terms(limits=request.limits, granted=granted, address=str(endpoint.address))
            if ran.run.starved:
                raise StarvedError(ran, terms)
            return ran, terms
        raise TroubleError(f"it refuses limits that it has named itself: {maxima}", sick=True)

    def _ask(self, endpoint: Endpoint, request: Request, granted: Mapping[str, int], seconds: float) -> Ran:
        language = request.program.language
        version = self._agreed[language]
        name = endpoint.versions[language][version]
        body = request.body(name, version, granted)
        answer = _asked(endpoint, "/execute", body, self._patience.grace_seconds + seconds)
        try:
            return answers.ran(answer)
        except TooLowError as error:
            raise TooLowError(str(error), str(endpoint.address)) from error

    def _look(self, endpoint: Endpoint) -> None:
        """See whether a server is there, and still has what the others have."""
        found = versions(answers.runtimes(_asked(endpoint, "/runtimes", None, _LOOK_SECONDS)))
        gone = [language for language, version in self._agreed.items() if version not in found.get(language, ())]
        if gone:
            wanted = ", ".join(f"{language} {self._agreed[language]}" for language in gone)
            raise TroubleError(f"it does not have {wanted}, as the others do", sick=True)
        endpoint.versions = found
        endpoint.maxima = {}  # it may have been started anew, with others

    def _prove(self, endpoint: Endpoint, language: Language) -> dict[str, int]:
        """Have a language proved to run on a server, once; return what it grants at most."""
        with endpoint.proving:
            known = endpoint.maxima
            if language not in known:
                known[language] = self._proof(endpoint, language)
            return known[language]

    def _prove_again(self, endpoint: Endpoint, language: Language) -> dict[str, int]:
        try:
            return self._prove(endpoint, language)
        except SandboxError as error:  # it is not as it should be, but another may be
            raise TroubleError(str(error), sick=True) from error

    def _proof(self, endpoint: Endpoint, language: Language) -> dict[str, int]:
        def ask(request: Request, granted: Mapping[str, int]) -> Ran:
            return self._ask(endpoint, request, granted, 0.0)

        return proved(language, str(endpoint.address), ask)

    def _is_well(self, endpoint: Endpoint, language: Language) -> bool:
        """Whether a server runs a small program now."""
        try:
            self._proof(endpoint, language)
        except (SandboxError, TroubleError):
            return False
        return True

    def _note_lowered(self, endpoint: Endpoint, asked: Mapping[str, int], granted: Mapping[str, int]) -> None:
        for name in lowered(asked, granted):
            if name.startswith("run_"):
                self._note(f"Piston server {endpoint.address} allows a {name} of {granted[name]} at most")

    def _note(self, text: str) -> None:
        with self._noting:
            if text in self.notes:
                return
            self.notes.append(text)
        _LOG.warning("%s", text)


def _asked(endpoint: Endpoint, path: str, body: bytes | None, seconds: float) -> Answer:
    try:
        return endpoint.wire.ask(path, body, seconds=seconds)
    except LostError as error:
        away = isinstance(error.__cause__, ConnectionRefusedError | socket.gaierror)
        raise TroubleError(str(error), sick=away) from error


def _duration(request: Request, granted: Mapping[str, int]) -> float:
    """Return how many seconds a run may take by its limits."""
    compiling = granted["compile_timeout"] if request.program.language is Language.CPP else 0
    return (compiling + granted["run_timeout"]) / 1000
