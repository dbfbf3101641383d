"""Options and settings as the user gave them. An error names the option or setting, and its value."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pytest_crmeval.options.declared import SETTINGS

T = TypeVar("T")


def whole(least: int | None = None, most: int | None = None) -> Callable[[str], int]:
    """Return a function that reads a whole number within bounds."""
    limits = "" if least is None else f" from {least} to {most}" if most else f" of at least {least}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = None
        if number is None or (least is not None and number < least) or (most is not None and number > most):
            raise ValueError(f"must be a whole number{limits}")
        return number

    return read


def one_of(choices: Sequence[str]) -> Callable[[str], str]:
    """Return a function that accepts one of some words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return text

    return read


def telemetry(text: str) -> str:
    """Read whether traces are sent; ValueError if the packages for it are not installed."""
    from importlib.util import find_spec

    chosen = one_of(("off", "on", "content"))(text)
    if chosen != "off" and not (find_spec("opentelemetry") and find_spec("opentelemetry.sdk")):
        raise ValueError("needs the OpenTelemetry SDK: pip install pytest-crmeval[otel]")
    return chosen


def seconds(text: str) -> float:
    """Read a positive number of seconds."""
    return _decimal(text, float("inf"), "must be a positive number of seconds")


def share(text: str) -> float:
    """Read a share above 0 and at most 1."""
    return _decimal(text, 1.0, "must be a number above 0 and at most 1")


def dollars(text: str) -> float:
    """Read an amount of money."""
    return _decimal(text.removeprefix("$"), float("inf"), "must be a positive amount in US dollars, for example 5.00")


def resources(text: str) -> dict[str, float]:
    """Read amounts of resources, such as ``CPU=4 GPU=0.5``."""
    found = {}
    for part in text.split():
        name, _, amount = part.partition("=")
        found[name] = _decimal(amount, float("inf"), "must be amounts of resources, for example CPU=4 GPU=1")
    return found


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object; empty if there is no text."""
    import json

    found = json.loads(text or "{}")  # a JSONDecodeError is a ValueError
    if not isinstance(found, dict):
        raise ValueError('must be a JSON object, for example {"working_dir": "."}')  # noqa: TRY004 (read by ``read``)
    return found


def truth(text: str) -> bool:
    """Read the words for true and false that pytest accepts in the ini file."""
    if text.lower() in {"y", "yes", "t", "true", "on", "1"}:
        return True
    if text.lower() in {"n", "no", "f", "false", "off", "0"}:
        return False
    raise ValueError("must be true or false")


def _decimal(text: str, most: float, expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number <= most or number == float("inf"):
        raise ValueError(expected)
    return number


def read(where: str, text: str, parse: Callable[[str], T]) -> T:
    """Return the text as ``parse`` reads it; a UsageError names the source of a text that can't be read."""
    try:
        return parse(text)
    except ValueError as error:
        raise pytest.UsageError(f"{where}: {error}") from None


class Given:
    """Options and settings as text, and read. ``--crmeval-set`` comes before the ini file."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.overrides: Sequence[str] = tuple(config.getoption("crmeval_set") or ())
        self._set: dict[str, list[str]] = {}
        for text in self.overrides:
            key, equals, value = (part.strip() for part in text.partition("="))
            name = key.removeprefix("crmeval_")
            if not equals:
                raise pytest.UsageError(f"--crmeval-set {text}: must be key=value, for example max_steps=30")
            if name not in SETTINGS:
                from difflib import get_close_matches

                close = get_close_matches(name, SETTINGS)
                hint = f"did you mean {' or '.join(close)}?" if close else f"settings: {', '.join(SETTINGS)}"
                raise pytest.UsageError(f"--crmeval-set {text}: unknown setting {key!r}; {hint}")
            self._set.setdefault(name, []).append(value)

    def option(self, option: str) -> str | None:
        """Return the value of an option that takes one; None if it is not given."""
        value: str | None = self._config.getoption(option.removeprefix("--").replace("-", "_"))
        return value

    def options(self, option: str) -> tuple[str, ...]:
        """Return the values of an option that may be repeated, each once."""
        return tuple(dict.fromkeys(self.option(option) or ()))

    def parsed(self, option: str, parse: Callable[[str], T]) -> T | None:
        """Return the value of an option as ``parse`` reads it; None if it is not given."""
        text = self.option(option)
        return None if text is None else read(self.shown(option), text, parse)

    def each(self, option: str, parse: Callable[[str], T]) -> tuple[T, ...]:
        """Return the values of an option that may be repeated, each once, as ``parse`` reads them."""
        return tuple(read(f"{option} {text}", text, parse) for text in self.options(option))

    def folder(self, option: str) -> Path | None:
        """Return the folder that an option names, from where pytest was started; None if it is not given."""
        text = self.option(option)
        if text == "":
            raise pytest.UsageError(f"{option}: must be the path of a folder")
        return None if text is None else self._config.invocation_params.dir / Path(text).expanduser()

    def shown(self, option: str) -> str:
        """Return an option and its value as the user wrote them."""
        return f"{option} {self.option(option)}"

    def files(self, option: str) -> tuple[Path, ...]:
        """Return the paths that an option names, from where pytest was started."""
        return tuple(self._config.invocation_params.dir / Path(name).expanduser() for name in self.option(option) or ())

    def text(self, setting: str) -> str:
        """Return the value of a setting; empty if there is none."""
        value = self._set[setting][-1] if setting in self._set else self._config.getini(f"crmeval_{setting}")
        return str(value).strip()

    def lines(self, setting: str) -> Sequence[str]:
        """Return the lines of a setting that has several: those of ``--crmeval-set``, else those of the ini file."""
        if setting in self._set:
            return tuple(filter(None, self._set[setting]))
        lines: Sequence[str] = self._config.getini(f"crmeval_{setting}")
        return lines

    def setting(self, setting: str, parse: Callable[[str], T]) -> T:
        """Return the value of a setting as ``parse`` reads it."""
        return read(self.where(setting), self.text(setting), parse)

    def optional(self, setting: str, parse: Callable[[str], T]) -> T | None:
        """Return the value of a setting as ``parse`` reads it; None if it is empty."""
        return self.setting(setting, parse) if self.text(setting) else None

    def either(self, name: str, parse: Callable[[str], T]) -> T | None:
        """Return the value of an option, else of the setting with the same name; None if neither is given."""
        given = self.parsed(f"--crmeval-{name}", parse)
        return self.optional(name, parse) if given is None else given

    def is_true(self, setting: str) -> bool:
        """Return the value of a setting that is true or false."""
        if setting in self._set:
            return self.setting(setting, truth)
        try:
            return bool(self._config.getini(f"crmeval_{setting}"))
        except (TypeError, ValueError, pytest.UsageError) as error:  # pytest reads these itself
            raise pytest.UsageError(f"crmeval_{setting}: must be true or false: {error}") from None

    def where(self, setting: str) -> str:
        """Return a setting and its value as the user wrote them."""
        text = self.text(setting)
        return f"--crmeval-set {setting}={text}" if setting in self._set else f"crmeval_{setting} = {text}"

    def source(self, setting: str) -> str:
        """Return the name of a setting as the user wrote it."""
        return f"--crmeval-set {setting}" if setting in self._set else f"crmeval_{setting}"
