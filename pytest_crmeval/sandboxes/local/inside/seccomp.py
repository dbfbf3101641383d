"""Which system calls a program may make: filters that the kernel runs before each of them."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from errno import ENOSYS, EPERM
from functools import cached_property

from pytest_crmeval.sandboxes.local.inside.calls import (
    BY_ARGUMENTS,
    COMPILERS_ONLY,
    FIRST_UNKNOWN,
    FOLDER_CHANGES,
    NOT_THERE,
    Machine,
)

_LOAD, _AND, _RETURN, _SKIP = 0x20, 0x54, 0x06, 0x05
_IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT = 0x15, 0x35, 0x45
_ALLOW, _REFUSE, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16

_CLONE_THREAD = 0x0001_0000
_CLONE_NAMESPACES = 0x7E02_0000
_AT_EMPTY_PATH = 0x1000
_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_KINDS = 1, 1, 5, 0xF
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15
_TERMINAL_AND_OWNER = (0x5412, 0x540E, 0x541C, 0x8901, 0x8902)
"""To type into a terminal, to take one, its selection; to signal another process about a descriptor, in two ways."""
_OPEN_FOR_CHANGE = 0x3 | 0x40 | 0x200 | 0x40_0000

_OWN_PID = 0x7EAD_BEEF
"""Stands for the process that installs the filter, until it does."""

_LONGEST_JUMP = 255

_Instruction = tuple[int, int, int, int]
_Decision = Sequence[_Instruction]
_Span = tuple[int, _Decision]
_ALLOWED: _Decision = ((_RETURN, 0, 0, _ALLOW),)


@dataclass(frozen=True, kw_only=True)
class Filter:
    """What one sort of program is refused; everything else is allowed."""

    machine: Machine
    compiles: bool = False
    """Has processes, starts programs, and changes the rights of files."""
    executes: bool = False
    """Becomes the program that is open at a descriptor; nothing that has a path."""
    reads_only: bool = False
    """Changes no file by its path: for levels that have no other way to protect those of the user."""
    any_pid: bool = False
    """Holds for a process and for all that it forks: nothing is decided by the pid."""
    inherited: "Filter | None" = None
    """The filter that holds already: what it decides is left to it, and the kernel has less to compile for each run."""

    def of(self, pid: int) -> bytes:
        """Return the instructions for the process ``pid``, which may signal itself and no other process."""
        packed = bytearray(self.packed)
        for place in self.pids:
            struct.pack_into("<I", packed, place * 8 + 4, pid)
        return bytes(packed)

    @cached_property
    def packed(self) -> bytes:
        """The instructions, with a stand-in for the pid."""
        return b"".join(struct.pack("<HBBI", *instruction) for instruction in self._instructions)

    @cached_property
    def pids(self) -> Sequence[int]:
        """Which of the instructions have a stand-in for the pid."""
        return [place for place, (*_, value) in enumerate(self._instructions) if value == _OWN_PID]

    @cached_property
    def _instructions(self) -> Sequence[_Instruction]:
        return [
            (_LOAD, 0, 0, _MACHINE_AT),
            (_IF_EQUAL, 1, 0, self.machine.audit_code),
            (_RETURN, 0, 0, _KILL),
            (_LOAD, 0, 0, _NUMBER_AT),
            *_search(self._spans()),
        ]

    def _spans(self) -> Sequence[_Span]:
        """Return what is done about which calls: the number of the first of them, and instructions to the end."""
        decided = self.decided()
        spans: list[_Span] = []
        for number in range(FIRST_UNKNOWN + 1):
            decision = decided.get(number, _ALLOWED)
            if not spans or decision != spans[-1][1]:
                spans.append((number, decision))
        return spans

    def decided(self) -> Mapping[int, _Decision]:
        """Return what is done about each call that is not simply allowed, or left to the inherited filter."""
        left_out = self.inherited.decided() if self.inherited else {}
        return {number: decision for number, decision in self._all().items() if left_out.get(number) != decision}

    def _all(self) -> Mapping[int, _Decision]:
        numbers = self.machine.numbers
        return {
            **{numbers[name]: checks for name, checks in self._by_arguments().items() if name in numbers},
            **{numbers[name]: (_refuse(EPERM),) for name in self._never()},
            **{numbers[name]: (_refuse(ENOSYS),) for name in NOT_THERE},
            FIRST_UNKNOWN: (_refuse(ENOSYS),),
        }

    def _never(self) -> frozenset[str]:
        names = frozenset(self.machine.numbers) - NOT_THERE - BY_ARGUMENTS
        if self.compiles:
            return names - COMPILERS_ONLY - FOLDER_CHANGES
        names = names if self.executes else names | {"execveat"}
        return names if self.reads_only else names - FOLDER_CHANGES

    def _by_arguments(self) -> Mapping[str, _Decision]:
        # rustc starts its linker with the second kind of connected sockets.
        pairs = (_SOCK_STREAM, _SOCK_SEQPACKET) if self.compiles else (_SOCK_STREAM,)
        checks = {
            "socketpair": (*_only(0, _AF_UNIX), *_masked(1, _SOCK_KINDS, *pairs)),
            "ioctl": _none_of(1, *_TERMINAL_AND_OWNER),
            "fcntl": _none_of(1, _F_SETOWN, _F_SETSIG, _F_SETOWN_EX),
            **({} if self.any_pid else {"prlimit64": _only(0, 0, _OWN_PID)}),
            **({"clone": _no_bit(0, _CLONE_NAMESPACES)} if self.compiles else self._programs_checks()),
        }
        return {name: (*instructions, *_ALLOWED) for name, instructions in checks.items()}

    def _programs_checks(self) -> Mapping[str, Iterable[_Instruction]]:
        checks = {"clone": _some_bit(0, _CLONE_THREAD), "kill": _only(0, 0, _OWN_PID), "tgkill": _only(0, _OWN_PID)}
        if self.executes:
            checks |= {"execveat": _only(4, _AT_EMPTY_PATH)}
        if self.reads_only:
            checks |= {"open": _no_bit(1, _OPEN_FOR_CHANGE), "openat": _no_bit(2, _OPEN_FOR_CHANGE)}
        return checks


def _search(spans: Sequence[_Span]) -> Sequence[_Instruction]:
    """Halve until one is left: the kernel tries every call that there is when it takes a filter, once for each run."""
    if len(spans) == 1:
        return spans[0][1]
    middle = len(spans) // 2
    below, above = _search(spans[:middle]), _search(spans[middle:])
    if len(below) <= _LONGEST_JUMP:
        return [(_IF_AT_LEAST, len(below), 0, spans[middle][0]), *below, *above]
    return [(_IF_AT_LEAST, 0, 1, spans[middle][0]), (_SKIP, 0, 0, len(below)), *below, *above]


def _argument(index: int) -> _Instruction:
    """Load the lower half of an argument: all that the kernel looks at in those that are compared here."""
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * index)


def _refuse(error: int = EPERM) -> _Instruction:
    return (_RETURN, 0, 0, _REFUSE | error)


def _only(index: int, *values: int) -> Iterable[_Instruction]:
    yield _argument(index)
    yield from _one_of(values)


def _masked(index: int, mask: int, *values: int) -> Iterable[_Instruction]:
    yield _argument(index)
    yield (_AND, 0, 0, mask)
    yield from _one_of(values)


def _one_of(values: Sequence[int]) -> Iterable[_Instruction]:
    for ahead, value in zip(reversed(range(len(values))), values, strict=True):
        yield (_IF_EQUAL, ahead + 1, 0, value)
    yield _refuse()


def _none_of(index: int, *values: int) -> Iterable[_Instruction]:
    yield _argument(index)
    for value in values:
        yield (_IF_EQUAL, 0, 1, value)
        yield _refuse()


def _some_bit(index: int, bits: int) -> Iterable[_Instruction]:
    return [_argument(index), (_IF_ANY_BIT, 1, 0, bits), _refuse()]


def _no_bit(index: int, bits: int) -> Iterable[_Instruction]:
    return [_argument(index), (_IF_ANY_BIT, 0, 1, bits), _refuse()]
