"""Where a Java program begins: the names of its classes."""

import re
from collections.abc import Iterator

_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;")
_WORDS = re.compile(r"[{}]|\b(public\s+)?(?:\w+\s+)*?\b(?:class|record|enum|interface)\s+(\w+)|\bvoid\s+main\s*\(")


def main_class(program: str) -> str:
    """Return the full name of the class that has ``main``; Main if none is found, so that the runtime says so."""
    code = _NOT_CODE.sub(" ", program)
    package = _PACKAGE.match(code)
    name = next((name for name, _, has_main in _classes(code) if has_main), "Main")
    return f"{package[1]}.{name}" if package else name


def first_class(program: str) -> str:
    """Return the full name of the first class in the file; empty if there is none."""
    code = _NOT_CODE.sub(" ", program)
    package = _PACKAGE.match(code)
    name = next((name for name, _, _ in _classes(code)), "")
    return f"{package[1]}.{name}" if package and name else name


def public_class(program: str) -> str:
    """Return the class that the file must be named after; empty if there is none."""
    return next((name for name, is_public, _ in _classes(_NOT_CODE.sub(" ", program)) if is_public), "")


def _classes(code: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield the classes that are in no other one: name, whether it is public, whether it has ``main``."""
    depth, found = 0, list[tuple[str, bool, bool]]()
    for word in _WORDS.finditer(code):
        if word[0] in "{}":
            depth += 1 if word[0] == "{" else -1
        elif word[2] and depth == 0:
            found.append((word[2], bool(word[1]), False))
        elif not word[2] and depth == 1 and found:
            found[-1] = (*found[-1][:2], True)
    return iter(found)
