"""The settings of the component, from the constructor's options over the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

from ._failures import configuration_problem, described

PREFIX = "VOICE_CALLING_"

DEFAULT_DEADLINE = 30.0

_LONGEST_MS = 86_400_000


class Option(NamedTuple):
    """An option of the constructor, and the variable that it stands for."""

    name: str
    variable: str
    kind: str
    """`text`, `secret`, `seconds`, `count`, `flag` or `choice`."""


class Settings:
    """The variables for the component. They hold the token, so they show and pickle nothing."""

    __slots__ = ("_variables",)

    def __init__(self, options: Mapping[Option, object], environ: Mapping[str, str] | None) -> None:
        environ = os.environ if environ is None else environ
        variables = {
            name: _passable(name, value)
            for name, value in environ.items()
            if isinstance(name, str) and name.startswith(PREFIX)
        }
        for option, value in options.items():
            if value is not None:
                name = PREFIX + option.variable
                variables[name] = _passable(name, _text(option, value))
        self._variables = variables

    def __repr__(self) -> str:
        return "<Settings>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("settings hold the token and are not to be pickled")

    def variables(self, log_attempts: bool) -> Iterator[tuple[str, str]]:
        """What the component gets."""
        yield from self._variables.items()
        if log_attempts and PREFIX + "LOG" not in self._variables:
            yield PREFIX + "LOG", "attempts"

    def base_url(self) -> str | None:
        """The service, where showing it tells no secret."""
        url = self._variables.get(PREFIX + "BASE_URL")
        return None if url is None or "@" in url else url

    def deadline(self) -> float:
        """Seconds for an operation; the default where the component will refuse what is set."""
        text = self._variables.get(PREFIX + "DEADLINE_MS", "")
        is_number = text.isascii() and text.isdigit() and len(text) <= len(str(_LONGEST_MS))
        return int(text) / 1000 if is_number and 0 < int(text) <= _LONGEST_MS else DEFAULT_DEADLINE


def _text(option: Option, value: Any) -> str:
    """An option as the component reads it. Whether it is in range is the component's to say."""
    shown = type(value).__name__ if option.kind == "secret" else described(value)
    if option.kind in ("text", "secret", "choice"):
        if isinstance(value, str):
            return value
        raise configuration_problem(option.name, shown, "text")
    if option.kind == "flag":
        if isinstance(value, bool):
            return "true" if value else "false"
        raise configuration_problem(option.name, shown, "True or False")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        allowed = "seconds as a number" if option.kind == "seconds" else "an integer"
        raise configuration_problem(option.name, shown, allowed)
    if option.kind == "seconds":
        if not -1e12 < value < 1e12:  # as NaN is
            raise configuration_problem(option.name, shown, "seconds as a number, 0.001 to 86400")
        return str(round(value * 1000))
    if not isinstance(value, int) or abs(value) >= 2**64:
        raise configuration_problem(option.name, shown, "an integer")
    return str(int(value))


def _passable(name: str, value: object) -> str:
    """The same text, where it can be the value of an environment variable."""
    if not isinstance(value, str):
        raise configuration_problem(name, type(value).__name__, "text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise configuration_problem(
            name, "bytes that are no text", "text that is Unicode"
        ) from None
    if "\0" in value or "\0" in name:
        raise configuration_problem(name, "a NUL", "text without NUL")
    return value
