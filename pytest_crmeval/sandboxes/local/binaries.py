"""How much memory a compiled program has before its first instruction: its text, and its global variables."""

import struct

_ELF_64_LITTLE = b"\x7fELF\x02\x01"
_TABLE_AT, _ENTRY_SIZE_AT, _MEMORY_AT = 32, 54, 40
_LOADED = 1


def image_bytes(binary: bytes) -> int:
    """Return what the kernel must find room for to begin a program; 0 for what is no program that we know."""
    if not binary.startswith(_ELF_64_LITTLE):
        return 0
    try:
        (table,) = struct.unpack_from("<Q", binary, _TABLE_AT)
        size, count = struct.unpack_from("<HH", binary, _ENTRY_SIZE_AT)
        return sum(_memory(binary, table + size * number) for number in range(count))
    except struct.error:  # it is cut off
        return 0


def _memory(binary: bytes, entry: int) -> int:
    (kind,) = struct.unpack_from("<I", binary, entry)
    (memory,) = struct.unpack_from("<Q", binary, entry + _MEMORY_AT)
    return int(memory) if kind == _LOADED else 0
