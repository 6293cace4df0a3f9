"""The settings of the component, from the constructor's options over the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from ._failures import configuration_problem, described
from ._options import OPTIONS, Account, Option

PREFIX = "VOICE_CALLING_"


class Settings:
    """The variables for the component. They hold tokens, so they show and pickle nothing."""

    __slots__ = ("_options", "_variables")

    def __init__(
        self,
        options: Account | None = None,
        accounts: Mapping[str, Account] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        if not isinstance(environ, Mapping):
            shown = type(environ).__name__  # it may be the token
            raise configuration_problem("environ", shown, "a mapping of variables")
        self._options: dict[str, str] = {}
        self._variables = {
            name: _passable(name, value)
            for name, value in environ.items()
            if isinstance(name, str) and name.startswith(PREFIX)
        }
        if options is not None:
            self._set("", PREFIX, options)
        if accounts is not None:
            self._add(accounts)

    def _add(self, accounts: Mapping[str, Account]) -> None:
        if not isinstance(accounts, Mapping):
            raise configuration_problem("accounts", described(accounts), "accounts by their names")
        listed = self._variables.get(PREFIX + "ACCOUNTS")
        names = [] if listed is None else listed.split(",")
        for name, account in accounts.items():
            # The machine looks at names as well, but takes `a,b` for two.
            if not isinstance(name, str) or re.fullmatch("[a-z][a-z0-9-]*", name) is None:
                allowed = "names of lower-case letters, digits and hyphens"
                raise configuration_problem("accounts", described(name), allowed)
            if not isinstance(account, Account):
                shown = type(account).__name__  # it may be the token
                raise configuration_problem(f"accounts.{name}", shown, "an Account")
            variable = name.upper().replace("-", "_")
            self._set(f"accounts.{name}.", f"{PREFIX}{variable}_", account)
            if name not in names:
                names.append(name)
        if names:
            self._variables[PREFIX + "ACCOUNTS"] = ",".join(names)

    def _set(self, at: str, prefix: str, options: Account) -> None:
        for option in OPTIONS:
            value = getattr(options, option.name)
            if value is not None:
                name = prefix + option.variable
                self._options[name] = at + option.name
                self._variables[name] = _passable(name, _text(option, at + option.name, value))

    def __repr__(self) -> str:
        return "<Settings>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("settings hold the token and cannot be pickled")

    def variables(self) -> list[tuple[str, str]]:
        """What the machine gets. It writes the log always: whether anybody reads it may change."""
        return list({PREFIX + "LOG": "attempts", **self._variables}.items())

    def named(self, variable: str) -> str:
        """What the user calls it: the option as well, where one stands over the variable."""
        option = self._options.get(variable)
        return variable if option is None else f"{option} ({variable})"

    def base_urls(self) -> list[str]:
        """The services, of all accounts."""
        return [url for name, url in self._variables.items() if name.endswith("_BASE_URL")]

    def base_url(self) -> str | None:
        """The service, where it has no secret."""
        url = self._variables.get(PREFIX + "BASE_URL")
        return None if url is None or "@" in url else url


def _text(option: Option, at: str, value: Any) -> str:
    """An option as the component reads it. Whether it is in range is the component's to say."""
    shown = type(value).__name__ if option.kind == "secret" else described(value)
    if option.kind in ("text", "secret", "choice"):
        if isinstance(value, str):
            return value
        raise configuration_problem(at, shown, "a str")
    if option.kind == "flag":
        if isinstance(value, bool):
            return "true" if value else "false"
        raise configuration_problem(at, shown, "True or False")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        allowed = "seconds as a number" if option.kind == "seconds" else "an integer"
        raise configuration_problem(at, shown, allowed)
    if option.kind == "seconds":
        if not -1e12 < value < 1e12:  # as NaN is
            raise configuration_problem(at, shown, "seconds as a number, 0.001 to 86400")
        return str(round(value * 1000))
    if not isinstance(value, int) or abs(value) >= 2**64:
        raise configuration_problem(at, shown, "an integer")
    return str(int(value))


def _passable(name: str, value: object) -> str:
    """The same text, where it can be the value of an environment variable."""
    if not isinstance(value, str):
        raise configuration_problem(name, type(value).__name__, "a str")
    try:
        value.encode()
    except UnicodeEncodeError:
        found = "bytes that are not text"
        raise configuration_problem(name, found, "a str that is valid Unicode") from None
    if "\0" in value or "\0" in name:
        raise configuration_problem(name, "a NUL", "a str without NUL")
    return value
