"""The two clients."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Self

from . import _native as native
from ._contact import MayCall
from ._errors import ConfigurationError
from ._faces import Awaited, Blocking
from ._ledger import Ledger, LedgerGroup
from ._methods import Agents, Calls, Dockets, Webhooks
from ._records import CreateRetry, EndedAttempt, OutgoingAttempt, Problem

__all__ = ["AsyncVoiceClient", "VoiceClient"]

_PREFIX = "VOICE_CALLING_"

Hook = Callable[[OutgoingAttempt], Callable[[EndedAttempt], object] | None]


class _Client:
    """The parts that both clients share."""

    _face: Any
    _native: native.Client

    def __init__(
        self,
        *,
        base_url: str | None = None,
        token: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
        attempt_timeout: float | None = None,
        connect_timeout: float | None = None,
        create_retry: CreateRetry | None = None,
        max_in_flight: int | None = None,
        settings: Mapping[str, str | int] | None = None,
        environ: Mapping[str, str] | None = None,
        ledger: str | os.PathLike[str] | Ledger | None = None,
        proxy: str | None = None,
        use_proxies: bool = True,
        authorities: str | bytes | None = None,
        client_certificate: str | bytes | None = None,
        headers: Mapping[str, str] | None = None,
        on_attempt: Hook | None = None,
        may_call: MayCall | None = None,
        service: native.ScriptedService | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        named = {it.removeprefix(_PREFIX): environ[it] for it in environ if it.startswith(_PREFIX)}
        given = {
            "BASE_URL": base_url,
            "API_TOKEN": token,
            "DEADLINE_MS": _milliseconds("timeout", timeout),
            "MAX_ATTEMPTS": _attempts(max_retries),
            "ATTEMPT_TIMEOUT_MS": _milliseconds("attempt_timeout", attempt_timeout),
            "CONNECT_TIMEOUT_MS": _milliseconds("connect_timeout", connect_timeout),
            "CREATE_RETRY": create_retry,
            "MAX_IN_FLIGHT": max_in_flight,
            **(settings or {}),
        }
        named |= {name: str(value) for name, value in given.items() if value is not None}
        if ledger is not None and not isinstance(ledger, Ledger):
            ledger = Ledger(ledger)
        self._base_url = named.get("BASE_URL", "")
        self._ledger = ledger
        self._may_call = may_call
        self._set_native(
            native.Client(
                list(named.items()),
                proxy=proxy,
                uses_proxies=use_proxies,
                authorities=_bytes(authorities),
                client_certificate=_bytes(client_certificate),
                headers=list((headers or {}).items()),
                on_attempt=on_attempt,
                ledger=None if ledger is None else ledger._native,
                service=service,
            )
        )

    def _set_native(self, made: native.Client) -> None:
        self._native = made
        for name in ("agents", "calls", "dockets", "webhooks"):
            group = type(getattr(type(self), name))
            setattr(self, name, group(self._face, made, self._may_call))

    def with_options(
        self,
        *,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Self:
        """Returns the same client with these options for each of its calls. It has the same
        connections and settings, and is closed with it.

        - `account`: Which account sends: one of the names in the setting `ACCOUNTS`.
        - `timeout`: Of an operation, each item of a batch and each poll of a wait. Unit: seconds;
          0.001 to 86400.
        - `max_retries`: 0 to 99.
        """
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._set_native(self._native.with_options((account, timeout, max_retries)))
        return made

    @property
    def is_closed(self) -> bool:
        """Whether calls are refused."""
        return self._native.is_closed

    def __repr__(self) -> str:
        closed = ", closed" if self.is_closed else ""
        shown = self._base_url.rpartition("@")[2]  # a secret stands before it
        return f"<{type(self).__name__} base_url={shown!r}{closed}>"


class VoiceClient(_Client):
    """A client of the voice-calling service, for any number of threads. What is not given here is
    taken from the environment, from the variables with the prefix `VOICE_CALLING_`.
    `ConfigurationError` names the one that is missing or wrong.

    By default a create that was answered 5xx or 408 is sent again: if it was carried out all the
    same, two phones ring, and the result has `may_be_duplicate`. `create_retry="not-sent"` retries
    what was not sent, and after 429 and 425, which are refusals.

    Ctrl-C ends a call at once with `KeyboardInterrupt`. No further attempt is sent then, but what
    was on the way may have been processed: a phone may ring, and the logger `voice_calling` warns
    of it.

    - `base_url`: The service: http(s)://host[:port][/path]; http only to loopback.
    - `token`: The organization's token, without `Bearer `.
    - `timeout`: The deadline of an operation, of an item of a batch, of a poll of a wait. Unit:
      seconds. Default: 30.
    - `max_retries`: Of an operation, an item or a poll; 0 to 99. Default: 3.
    - `attempt_timeout`: For an attempt, the body included. Unit: seconds. Default: 10.
    - `connect_timeout`: For a connection, TLS included. Unit: seconds. Default: 3.
    - `create_retry`: When a create is sent again: also after 5xx and 408, as the specification
      asks, although a phone may ring twice then (`"server-errors"`, the default); only if nothing
      was sent or the service refused it with 429 or 425 (`"not-sent"`); or never (`"never"`).
    - `max_in_flight`: Open requests of all calls together; 1 to 100000. Default: 16.
    - `settings`: All other settings, by their names without the prefix, such as
      `{"MAX_RESPONSE_BYTES": 1000}`; those of accounts too.
    - `environ`: Taken in place of the process's environment.
    - `ledger`: The path of a file, or a `Ledger`, by which a create that is given a `key` is never
      sent twice, also if the program is killed and run again.
    - `proxy`: `http://host:port` or `https://host:port`, with `user:password@` if it wants them, in
      place of those of the variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`. A
      service on loopback never has one.
    - `use_proxies`: `False`: no request has a proxy, whatever the variables say.
    - `authorities`: The authorities that may certify the service, as certificates in PEM, in place
      of those of the system.
    - `client_certificate`: The client's own certificate, with those of its issuers, and its private
      key, in PEM.
    - `headers`: Further headers of all requests.
    - `on_attempt`: Is called with an `OutgoingAttempt` before each attempt, in any thread, and may
      add headers to it. What it returns, if it returns something, is called with an `EndedAttempt`
      when the attempt has ended.
    - `may_call`: Is called with the request before each create of a docket or a call, and before
      its key is claimed. It returns `True` if the person may be called, and otherwise `False` or
      the reason: then the create is an `InvalidInputError`. That of an `AsyncVoiceClient` may be a
      coroutine function. See `ContactRules`.
    - `service`: What `voice_calling.testing.ScriptedService.client` gives it.
    """

    _face = Blocking

    # Of the class too, for `unittest.mock.create_autospec`.
    agents: Agents[Blocking] = Agents(Blocking, None)
    calls: Calls[Blocking] = Calls(Blocking, None)
    dockets: Dockets[Blocking] = Dockets(Blocking, None)
    webhooks: Webhooks[Blocking] = Webhooks(Blocking, None)

    @property
    def ledger(self) -> Ledger | None:
        """The ledger, if the client has one."""
        return self._ledger

    def close(self) -> None:
        """Refuses further calls with `RuntimeError`. Calls in flight are finished."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncVoiceClient(_Client):
    """A client of the voice-calling service for coroutines, on any number of event loops of
    asyncio. It takes what `VoiceClient` takes.

    A cancelled call ends at once and sends nothing more; what was on the way may have been
    processed: the logger `voice_calling` warns of it, and of a create whose event loop was closed.
    """

    _face = Awaited

    # Of the class too, for `unittest.mock.create_autospec`.
    agents: Agents[Awaited] = Agents(Awaited, None)
    calls: Calls[Awaited] = Calls(Awaited, None)
    dockets: Dockets[Awaited] = Dockets(Awaited, None)
    webhooks: Webhooks[Awaited] = Webhooks(Awaited, None)

    @property
    def ledger(self) -> LedgerGroup[Awaited] | None:
        """The ledger, if the client has one. Its methods are awaited."""
        return None if self._ledger is None else LedgerGroup(Awaited, self._ledger._native)

    async def aclose(self) -> None:
        """Refuses further calls with `RuntimeError`. Calls in flight are finished."""
        self._native.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _milliseconds(option: str, seconds: float | None) -> int | None:
    if seconds is None:
        return None
    if not isinstance(seconds, int | float) or not 0.001 <= seconds < 2**32 / 1000:
        raise _wrong(option, seconds, "seconds, 0.001 to 4294967")
    return round(seconds * 1000)


def _attempts(max_retries: int | None) -> int | None:
    if max_retries is None:
        return None
    if not isinstance(max_retries, int) or not 0 <= max_retries <= 99:
        raise _wrong("max_retries", max_retries, "0 to 99")
    return max_retries + 1


def _wrong(option: str, found: object, allowed: str) -> ConfigurationError:
    """Returns the error of an option whose setting has another unit."""
    problem = Problem(subject=option, found=repr(found), allowed=allowed)
    message = f"{option}: found {found!r}; allowed: {allowed}"
    return ConfigurationError(message, problem=problem)


def _bytes(pem: str | bytes | None) -> bytes | None:
    return pem.encode() if isinstance(pem, str) else pem
