"""The two clients."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Generic, Self

import httpx

from ._coroutines import Coroutines
from ._errors import configuration_problem
from ._http import Http, has_http_2
from ._ledger import Ledger
from ._methods import Agents, Calls, Dockets, Webhooks
from ._operation import options
from ._settings import Account, Settings
from ._storage import LedgerStorage
from ._threads import Threads

__all__ = ["AsyncVoiceClient", "VoiceClient"]


class _Client(Generic[Http]):
    """The parts that both clients share."""

    _driver_class: type[Any]

    def __init__(
        self,
        *,
        base_url: str | None = None,
        token: str | None = None,
        max_attempts: int | None = None,
        backoff: float | None = None,
        max_backoff: float | None = None,
        connect_timeout: float | None = None,
        attempt_timeout: float | None = None,
        deadline: float | None = None,
        create_retry: str | None = None,
        max_in_flight: int | None = None,
        max_request_bytes: int | None = None,
        max_response_bytes: int | None = None,
        max_delivery_bytes: int | None = None,
        allow_insecure_http: bool | None = None,
        accounts: Mapping[str, Account] | None = None,
        environ: Mapping[str, str] | None = None,
        http_client: Http | None = None,
        ledger: str | os.PathLike[str] | Ledger | LedgerStorage | None = None,
    ) -> None:
        arguments = locals()
        given = Account(**{option.name: arguments[option.name] for option in fields(Account)})
        settings = Settings(given, accounts, environ)
        http_class = self._driver_class.http_class
        if http_client is not None and not isinstance(http_client, http_class):
            allowed = f"an httpx.{http_class.__name__}"
            raise configuration_problem("http_client", type(http_client).__name__, allowed)
        if isinstance(http_client, httpx.Client) and has_http_2(http_client):
            allowed = "HTTP/1.1 for threads, which break connections of HTTP/2 that they share in "
            allowed += "httpx; AsyncVoiceClient takes an httpx.AsyncClient(http2=True)"
            raise configuration_problem("http_client", "httpx.Client(http2=True)", allowed)
        self._base_url = settings.base_url()
        self._defaults: dict[str, Any] = {}
        self._driver = self._driver_class(settings, http_client, ledger)
        self._make_groups()

    def _make_groups(self) -> None:
        for name in ("agents", "calls", "dockets", "webhooks"):
            group = type(getattr(type(self), name))
            setattr(self, name, group(self._driver, self._defaults))

    def with_options(
        self,
        *,
        account: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Self:
        """The same client, with these options for each of its calls. It has the same connections
        and settings, and is closed with it."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._defaults = {**self._defaults, **options(account, timeout, max_retries)}
        made._make_groups()
        return made

    @property
    def ledger(self) -> Ledger | None:
        """The ledger, if the client was made with one or with its path."""
        ledger = self._driver.ledger
        return ledger if isinstance(ledger, Ledger) else None

    @property
    def is_closed(self) -> bool:
        """Whether calls are refused."""
        return bool(self._driver.is_closed)

    def __repr__(self) -> str:
        if not hasattr(self, "_driver"):  # the constructor failed
            return f"<{type(self).__name__}, not made>"
        closed = ", closed" if self.is_closed else ""
        return f"<{type(self).__name__} base_url={self._base_url!r}{closed}>"


_THREADS: Any = Threads
_COROUTINES: Any = Coroutines


class VoiceClient(_Client[httpx.Client]):
    """A client of the voice-calling service, for any number of threads. What is not given here is
    taken from the environment, from the variables with the prefix `VOICE_CALLING_`. Settings are
    checked by the first call: `ConfigurationProblem` names the one at fault.

    By default a create that was answered 5xx or 408 is sent again: if it was carried out all the
    same, two phones ring, and the result has `may_be_duplicate`. `create_retry="not-sent"` retries
    what was not sent, and after 429 and 425, which are refusals.

    Ctrl-C ends a call at once with `KeyboardInterrupt`. No further attempt is sent then, but what
    was on the way may have been processed: a phone may ring. `outcome_of` says what is known.

    - `base_url`, `token`, and all others up to `allow_insecure_http`: see the fields of `Account`,
      which have the same names.
    - `accounts`: further organizations by their names (lower-case letters, digits and hyphens),
      of which methods take one as `account`. They are added to those of the variable
      `VOICE_CALLING_ACCOUNTS`.
    - `environ`: taken instead of the process's environment.
    - `ledger`: the path of a file, a `Ledger`, or a storage of your own (`LedgerStorage`), by which
      a create that is given a key (`once`) is never sent twice, also if the program is killed and
      run again.
    - `http_client`: what sends the requests: proxies, authorities, hooks and all else are its own,
      except HTTP/2, which is for `AsyncVoiceClient`; its timeouts, redirects and `auth` are not
      used. `None`: one of this client's own, with kept connections.
    """

    _driver_class = Threads

    # Of the class too, for `unittest.mock.create_autospec`.
    agents: Agents[Threads] = Agents(_THREADS, {})
    calls: Calls[Threads] = Calls(_THREADS, {})
    dockets: Dockets[Threads] = Dockets(_THREADS, {})
    webhooks: Webhooks[Threads] = Webhooks(_THREADS, {})

    def close(self) -> None:
        """Refuses further calls with `RuntimeError`. Calls in flight are finished, but not waited
        for; then the client's own connections are closed."""
        self._driver.close()

    def __enter__(self) -> VoiceClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncVoiceClient(_Client[httpx.AsyncClient]):
    """A client of the voice-calling service for coroutines, on asyncio. It takes what
    `VoiceClient` takes, and an `httpx.AsyncClient`.

    A cancelled call ends at once and sends nothing more; what was on the way may have been
    processed. `outcome_of` says what is known, and the logger `voice_calling` warns where something
    may exist. A create in flight when the event loop is closed is logged when the client is used
    again, or at the end of the process.
    """

    _driver_class = Coroutines

    # Of the class too, for `unittest.mock.create_autospec`.
    agents: Agents[Coroutines] = Agents(_COROUTINES, {})
    calls: Calls[Coroutines] = Calls(_COROUTINES, {})
    dockets: Dockets[Coroutines] = Dockets(_COROUTINES, {})
    webhooks: Webhooks[Coroutines] = Webhooks(_COROUTINES, {})

    async def aclose(self) -> None:
        """Refuses further calls with `RuntimeError`. Calls in flight are finished, but not waited
        for; then the client's own connections are closed."""
        await self._driver.close()

    async def __aenter__(self) -> AsyncVoiceClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
