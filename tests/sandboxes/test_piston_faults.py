"""Trouble of servers is borne, and never becomes a verdict."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import pytest

from pytest_crmeval.ports.sandbox import Language, Program, ProgramInput, SandboxError
from pytest_crmeval.sandboxes.piston import Patience, PistonSandbox
from tests.sandboxes.piston_jobs import Settings
from tests.sandboxes.piston_server import PistonServer
from tests.sandboxes.pistons import LIMITS, QUICK, ended, printed

FAULTS = ["reset", "close", "half", "500", "503", "429", "garbage", "empty", "odd", "list", "XX", "starved", "unknown"]
HELLO = "print('hello')"
Start = Callable[..., PistonServer]
Open = Callable[..., PistonSandbox]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Close at the end whatever a test opens, last things first."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def start(stack: ExitStack) -> Start:
    """Return a function that starts a server."""

    def make(settings: Settings | None = None) -> PistonServer:
        return stack.enter_context(PistonServer(settings))

    return make


@pytest.fixture
def use(stack: ExitStack) -> Open:
    """Return a function that opens a sandbox on servers."""

    def make(*servers: PistonServer, patience: Patience = QUICK, **options: int) -> PistonSandbox:
        sandbox = PistonSandbox(",".join(server.url for server in servers), patience=patience, **options)
        stack.callback(sandbox.close)
        return sandbox

    return make


def executions(server: PistonServer) -> int:
    """Return how many programs a server was asked for."""
    return server.counts["/api/v2/execute"]


def at_once(sandbox: PistonSandbox, count: int, threads: int) -> list[bytes]:
    """Run a program many times, from several threads."""
    with ThreadPoolExecutor(threads) as pool:
        runs = [pool.submit(printed, sandbox, f"print({number})") for number in range(count)]
        return [run.result() for run in runs]


@pytest.mark.parametrize("fault", FAULTS)
def test_third_attempt_decides_after_two_faults(start: Start, use: Open, fault: str) -> None:
    """Twice in a row, the second time by a server that was looked at again: the third attempt decides."""
    server = start()
    sandbox = use(server)
    ended(sandbox, "")
    server.faults.extend([fault, fault])
    before = executions(server)

    assert b"hello\n" == printed(sandbox, HELLO)
    assert before + 3 <= executions(server)


@pytest.mark.parametrize("fault", ["reset", "500", "XX", "empty", "429"])
def test_trouble_without_end_is_the_judges(start: Start, use: Open, fault: str) -> None:
    server = start()
    sandbox = use(server)
    ended(sandbox, "")
    server.faults.extend([fault] * 20)

    with pytest.raises(SandboxError, match=server.url):
        ended(sandbox, HELLO)
    assert len(server.faults) >= 20 - 2 * QUICK.attempts  # a connection that was kept is made anew


def test_a_server_that_hangs_is_given_up(start: Start, use: Open) -> None:
    """After the time that the run may take, and some grace; another one is asked."""
    hanging, well = start(), start()
    sandbox = use(hanging, well, patience=replace(QUICK, grace_seconds=1))
    hanging.always = "hang"
    limits = replace(LIMITS, wall_seconds=5)

    assert [0, 0] == [ended(sandbox, "", limits=limits).exit_code for _ in range(2)]
    assert executions(hanging)


def test_a_server_that_is_gone_is_not_asked_until_it_is_back(start: Start, use: Open) -> None:
    """It is dropped at the first refusal; as soon as it answers, it gets its part again."""
    one, two = start(), start()
    sandbox = use(one, two)
    at_once(sandbox, 4, 2)
    two.stop()

    assert [b"%d\n" % number for number in range(6)] == at_once(sandbox, 6, 2)

    two.start()
    before = executions(two)
    for _ in range(200):
        ended(sandbox, "")
        if executions(two) > before:
            break
    assert executions(two) > before


def test_a_server_that_keeps_failing_is_dropped_and_readmitted(start: Start, use: Open) -> None:
    """While it is sick, only its list of languages is asked for."""
    sick, well = start(), start()
    sandbox = use(sick, well)
    at_once(sandbox, 4, 2)
    sick.always = "500"
    at_once(sandbox, 8, 2)
    before = executions(sick)
    at_once(sandbox, 8, 2)

    assert before == executions(sick)

    sick.always = ""
    for _ in range(200):
        ended(sandbox, "")
        if executions(sick) > before:
            break
    assert executions(sick) > before


def test_error_names_all_servers_if_none_is_available(start: Start, use: Open) -> None:
    """With the reason of each; and who asks next need not wait for it again."""
    one, two = start(), start()
    sandbox = use(one, two)
    one.stop()
    two.always = "500"

    for _ in range(2):
        with pytest.raises(SandboxError, match=r"(?s)Piston server") as caught:
            ended(sandbox, HELLO)
    assert one.url in str(caught.value)
    assert two.url in str(caught.value)
    assert "refused" in str(caught.value)

    one.start()
    two.always = ""
    threading.Event().wait(2 * QUICK.longest_delay)

    assert b"hello\n" == printed(sandbox, HELLO)


def test_servers_are_asked_in_turn_and_never_too_much(start: Start) -> None:
    """Each has its part, and at no time more under way than it may have."""
    one, two = start(), start()
    sandbox = PistonSandbox(f"{one.url}?in_flight=2,{two.url}?in_flight=3", patience=QUICK)
    ready = threading.Barrier(5)
    ended(sandbox, "")
    ended(sandbox, "")
    before = executions(one), executions(two)

    def wait() -> None:
        ready.wait(300)  # goes on when both are as busy as they may be

    one.on_execute = two.on_execute = wait

    assert [b"%d\n" % number for number in range(20)] == at_once(sandbox, 20, 12)
    assert 5 == sandbox.slots
    assert (2, 3) == (one.most_in_flight, two.most_in_flight)
    assert 20 == executions(one) + executions(two) - sum(before)
    sandbox.close()


def test_processes_share_what_a_server_may_have(start: Start, use: Open) -> None:
    """Four workers of a run have one of its four places each."""
    server = start()
    sandbox = use(server, shares=4)
    at_once(sandbox, 6, 4)

    assert 1 == sandbox.slots
    assert 1 == server.most_in_flight


def test_a_program_that_takes_all_processes_is_judged(start: Start, use: Open) -> None:
    """It fails in the same way every time, while the server runs others: it is the program."""
    server = start()
    sandbox = use(server)
    greedy = "raise BlockingIOError(11, 'Resource temporarily unavailable')"

    assert 1 == ended(sandbox, greedy).exit_code


def test_a_server_without_resources_is_not_held_against_a_program(start: Start, use: Open) -> None:
    """Nothing else runs there, either."""
    server = start()
    sandbox = use(server)
    ended(sandbox, "")
    server.faults.extend(["starved"] * 30)

    with pytest.raises(SandboxError, match="no resources left"):
        ended(sandbox, HELLO)


def test_runs_that_wait_fail_when_the_sandbox_is_closed(start: Start, use: Open) -> None:
    """Those who wait for an answer, and those who wait for a server."""
    server = start()
    sandbox = use(server)
    ended(sandbox, "")
    busy = threading.Semaphore(0)

    def hold() -> None:
        busy.release()
        server.let_go.wait(300)

    server.on_execute = hold
    with ThreadPoolExecutor(6) as pool:
        runs = [pool.submit(ended, sandbox, HELLO) for _ in range(6)]
        for _ in range(4):
            busy.acquire()
        sandbox.close()
        troubles = [run.exception(300) for run in runs]
        server.let_go.set()

    assert [SandboxError] * 6 == [type(trouble) for trouble in troubles]


@pytest.mark.parametrize(
    ("fault", "shown"),
    [
        ("404", "it is not a Piston server"),
        ("garbage", "is not JSON"),
        ("odd", "not a list of languages"),
        ("close", "closed"),
    ],
)
def test_server_that_is_not_piston_is_reported_at_once(start: Start, use: Open, fault: str, shown: str) -> None:
    server = start()
    server.always = fault

    with pytest.raises(SandboxError, match=shown) as caught:
        use(server)
    assert f"{server.url}: " in str(caught.value)
    assert "start one, or correct --crmeval-sandbox" in str(caught.value)


def test_missing_server_is_reported_at_once(start: Start, use: Open) -> None:
    """If there is no other; else it is noted, and may come later."""
    there, missing = start(), start()
    missing.stop()

    with pytest.raises(SandboxError, match=r"no Piston server can be used .*refused"):
        use(missing)
    sandbox = use(missing, there)

    assert b"hello\n" == printed(sandbox, HELLO)
    assert missing.url in sandbox.notes[0]


def test_missing_language_is_reported_with_the_installed_versions(start: Start, use: Open) -> None:
    server = start(Settings(languages=("python",)))
    sandbox = use(server)

    assert "" == sandbox.missing(Language.PYTHON)
    assert f"C++ is not installed on every Piston server: {server.url} has none" in sandbox.missing(Language.CPP)
    assert "/api/v2/packages" in sandbox.missing(Language.CPP)


def test_servers_must_agree_about_a_version(start: Start, use: Open) -> None:
    """A verdict must not depend on who gave it."""
    one, two = start(Settings(python_version="3.10.0")), start(Settings(python_version="3.12.0"))
    sandbox = use(one, two)

    assert "3.10.0" in sandbox.missing(Language.PYTHON)
    assert "3.12.0" in sandbox.missing(Language.PYTHON)


def test_a_server_that_comes_back_with_another_version_stays_out(start: Start, use: Open) -> None:
    """The others have what was agreed on."""
    one, two = start(), start()
    sandbox = use(one, two)
    ended(sandbox, "")
    two.reconfigure(python_version="3.12.0")
    two.faults.extend(["unknown"] * 9)
    at_once(sandbox, 8, 2)
    before = executions(two)
    at_once(sandbox, 8, 2)

    assert before == executions(two)


def test_server_that_fails_a_small_program_is_reported(start: Start, use: Open) -> None:
    """One that does not know files that are no text would feed programs with something else."""
    sandbox = use(start(Settings(base64=False)))

    assert "fails to run a small program in Python" in sandbox.missing(Language.PYTHON)
    with pytest.raises(SandboxError, match="fails to run a small program"):
        ended(sandbox, HELLO)


def test_a_kept_connection_that_the_server_has_closed_costs_no_attempt(start: Start, use: Open) -> None:
    """It is made anew."""
    server = start()
    sandbox = use(server, patience=replace(QUICK, attempts=1))
    ended(sandbox, "")
    server.faults.append("close")

    with sandbox.prepared(Program(language=Language.PYTHON, source=HELLO)) as ready:
        assert b"hello\n" == ready.run(ProgramInput(), LIMITS).stdout
