"""The settings: options of the clients and of accounts, over the variables of the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn

from ._errors import configuration_problem, described

PREFIX = "VOICE_CALLING_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An organization that a client serves beside its own, or one of several.

    What is not given here is taken from the environment: from the variables with the prefix
    `VOICE_CALLING_` and the account's name, such as `VOICE_CALLING_ALPHA_API_TOKEN`; and what is
    not given there is as for the client itself, whose options are the same. Only the token is never
    another's."""

    base_url: str | None = None
    """The service: http(s)://host[:port][/path]; http only to loopback. Required, unless every call
    names an account."""

    token: str | None = field(default=None, repr=False)
    """The organization's token, without `Bearer `. It is sent as the header `auth_token: Bearer
    <token>`. Required, unless every call names an account."""

    max_attempts: int | None = None
    """Attempts of an operation, of an item of a batch, of a poll of a wait; 1 to 100. Default:
    4."""

    backoff: float | None = None
    """The ceiling of the first pause, doubled from then on; the pause itself is drawn between half
    of it and all of it. Unit: seconds. Default: 2."""

    max_backoff: float | None = None
    """The highest ceiling, and the longest pause between polls; the service may ask for more. Unit:
    seconds. Default: 8."""

    connect_timeout: float | None = None
    """For a connection, TLS included. Unit: seconds. Default: 3."""

    attempt_timeout: float | None = None
    """For an attempt, the body included. Unit: seconds. Default: 10."""

    deadline: float | None = None
    """For an operation, an item of a batch, a poll of a wait. Unit: seconds. Default: 30."""

    create_retry: str | None = None
    """When a create is sent again: also after 5xx and 408, as the specification asks, although a
    phone may ring twice then (`"server-errors"`, the default); only if nothing was sent or the
    service refused it with 429 or 425 (`"not-sent"`); or never (`"never"`)."""

    max_in_flight: int | None = None
    """Open requests of all calls together; 1 to 100000. Default: 16."""

    max_request_bytes: int | None = None
    """The body of a request; 1 to 67108864. Default: 1048576."""

    max_response_bytes: int | None = None
    """The body of an answer; 1 to 67108864. An answer to a create has at most 16384 bytes more than
    six times its request. Default: 8388608."""

    max_delivery_bytes: int | None = None
    """The body of a delivery to the webhook, which anyone can send; 1 to 67108864. Default:
    1048576."""

    allow_insecure_http: bool | None = None
    """Whether plain http may go to a host that is not loopback. Default: False."""


def variable_of(option: Any) -> str:
    """Returns the variable, without a prefix, of an option (a field of `Account`)."""
    if option.name == "token":
        return "API_TOKEN"
    return f"{option.name.upper()}_MS" if _kind(option) == "float" else str(option.name.upper())


def _kind(option: Any) -> str:
    return str(option.type).removesuffix(" | None")


class Settings:
    """The variables for the core. They hold tokens, so they show and pickle nothing."""

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
            # The core checks names as well, but reads `a,b` as two.
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
        for option in fields(options):
            value = getattr(options, option.name)
            if value is not None:
                name = prefix + variable_of(option)
                self._options[name] = at + option.name
                self._variables[name] = _passable(name, _text(option, at + option.name, value))

    def __repr__(self) -> str:
        return "<Settings>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("settings hold the token and cannot be pickled")

    def variables(self) -> list[tuple[str, str]]:
        """Returns what the core gets. The log is always on, since a level may change any time."""
        given = [it for it in self._variables.items() if it != (PREFIX + "LOG", "off")]
        return list({PREFIX + "LOG": "attempts", **dict(given)}.items())

    def named(self, variable: str) -> str:
        """Returns what the user calls it: with the option, if one was given."""
        option = self._options.get(variable)
        return variable if option is None else f"{option} ({variable})"

    def base_urls(self) -> list[str]:
        """Returns the services of all accounts."""
        return [url for name, url in self._variables.items() if name.endswith("_BASE_URL")]

    def base_url(self) -> str | None:
        """Returns the service, if its URL has no secret."""
        url = self._variables.get(PREFIX + "BASE_URL")
        return None if url is None or "@" in url else url


_ALLOWED: dict[str, tuple[Any, str]] = {
    "str": (str, "a str"),
    "bool": (bool, "True or False"),
    "int": (int, "an integer"),
    "float": ((int, float), "seconds as a number"),
}
"""The types of an option by its kind, and how they are called."""


def _text(option: Any, at: str, value: Any) -> str:
    """Returns an option as the core reads it. Whether it is in range is the core's to say."""
    kind = _kind(option)
    types, allowed = _ALLOWED[kind]
    is_right = isinstance(value, types) and isinstance(value, bool) == (kind == "bool")
    if not is_right or (kind in ("int", "float") and not -1e12 < value < 1e12):  # as NaN is
        raise configuration_problem(
            at, described(value) if option.repr else type(value).__name__, allowed
        )
    if kind == "bool":
        return str(value).lower()
    return str(round(value * 1000) if kind == "float" else value)


def _passable(name: str, value: object) -> str:
    """Returns the same text, if it can be the value of an environment variable."""
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
