"""A service for tests of your own code, in your own process: it does what a script says, without a
network, and its time passes at once.

>>> from voice_calling.testing import COMPLETED, CREATED, Answer, ScriptedService
>>> service = ScriptedService(Answer(503), CREATED, COMPLETED)
>>> with service.client() as client:
...     docket = client.dockets.create(
...         agent_id=7, to_phone_number="919876543210", call_context={}
...     )
...     wait = client.dockets.wait_for(docket.docket_id, timeout=600)
>>> [attempt.status for attempt in docket.attempts]
[503, 200]
>>> wait.outcome.value.closure_reason
'DISPOSITION'
>>> service.requests[0].json["agent_id"]
7

Everything but the network is real: retries, pauses, limits, errors. A clock of the client's own
goes on whenever nothing else happens, so that a pause or an answer that is late costs no time.

A mistake in a script is no fault of the service: what a function of it raises, such as a failed
`assert`, is raised by the call.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx

from ._client import AsyncVoiceClient, VoiceClient
from ._errors import described
from ._exchange import Exchange, ScriptFailed
from ._http import Http
from ._machine import Machine

__all__ = [
    "COMPLETED",
    "CREATED",
    "LOST",
    "UNREACHABLE",
    "Answer",
    "Lost",
    "Reply",
    "Request",
    "ScriptedService",
    "Step",
    "Unreachable",
]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service answers."""

    status: int = 200
    """The HTTP status."""

    body: Any = ""
    """A text or bytes as they are, or anything else as JSON."""

    headers: dict[str, str] = field(default_factory=dict)
    """Headers, such as `retry-after`."""

    after: float = 0.0
    """How late the answer comes. Unit: seconds of the client's time; `math.inf` is never."""

    body_after: float = 0.0
    """How much later than its head the body comes. Unit: seconds."""

    cut: int | None = None
    """After how many bytes the connection breaks; `None`: the body is whole."""

    def _content(self) -> bytes:
        body = self.body
        if not isinstance(body, (str, bytes)):
            body = json.dumps(body, separators=(",", ":"))
        return body.encode() if isinstance(body, str) else body


@dataclass(frozen=True, slots=True)
class Unreachable:
    """There is no connection: nothing was sent."""

    message: str = "connection refused"


@dataclass(frozen=True, slots=True)
class Lost:
    """The request was sent, and the connection breaks without an answer."""

    message: str = "connection reset"
    after: float = 0.0
    """How long that takes. Unit: seconds of the client's time."""


CREATED = Answer(
    body={
        "docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11",
        "status": "OPEN",
        "created": True,
    }
)
"""The answer to the creation of a docket."""

COMPLETED = Answer(
    body={
        "docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11",
        "status": "COMPLETED",
        "closure_reason": "DISPOSITION",
        "to_phone_number": "919876543210",
        "call_context": {},
    }
)
"""The answer to a request for that docket once it is completed."""

UNREACHABLE = Unreachable()
LOST = Lost()


@dataclass(frozen=True, slots=True)
class Request:
    """A request that came."""

    method: str
    path: str
    """With its query."""
    headers: dict[str, str]
    """Their names in lower case. The token is in `auth_token`."""
    body: str

    @property
    def json(self) -> Any:
        """The value of the body."""
        return json.loads(self.body)


Reply: TypeAlias = Answer | Unreachable | Lost
"""What happens to a request."""

Step: TypeAlias = Reply | Callable[[Request], Reply]
"""The same, or a function that decides by the request."""


class ScriptedService:
    """Plays one step for each request. The last step answers all further requests; without any
    step, every request is answered as `CREATED`."""

    base_url = "https://service.test"

    def __init__(self, *steps: Step) -> None:
        self.steps: list[Step] = list(steps) or [CREATED]
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    def client(self, **options: Any) -> VoiceClient:
        """A client of this service. It takes the options of `VoiceClient`, and nothing from the
        environment."""
        return VoiceClient(http_client=self.http_client(), **self._options(options))

    def async_client(self, **options: Any) -> AsyncVoiceClient:
        """The same for coroutines."""
        return AsyncVoiceClient(http_client=self.async_http_client(), **self._options(options))

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        return {"base_url": self.base_url, "token": "test-token", "environ": {}, **options}

    def http_client(self) -> httpx.Client:
        """For one `VoiceClient` that your code makes itself."""
        transport = _Transport(self)
        return transport.attached_to(httpx.Client(transport=transport))

    def async_http_client(self) -> httpx.AsyncClient:
        """The same for coroutines."""
        transport = _Transport(self)
        return transport.attached_to(httpx.AsyncClient(transport=transport))

    def _step(self, request: httpx.Request) -> Reply:
        exchange: Exchange = request.extensions["voice_calling_exchange"]
        came = Request(
            request.method,
            request.url.raw_path.decode(),
            {name.lower(): value for name, value in request.headers.items()},
            exchange.request["body"],
        )
        with self._lock:
            step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        try:
            reply = step if isinstance(step, (Answer, Unreachable, Lost)) else step(came)
            _check(reply)
        except BaseException as error:  # what ends a test need not be an `Exception`
            self.requests.append(came)
            raise ScriptFailed from error
        if not isinstance(reply, Unreachable):
            exchange.mark_sent()
        self.requests.append(came)
        return reply


def _check(reply: object) -> None:
    """Raises a `TypeError` for what cannot be played."""
    if not isinstance(reply, (Answer, Unreachable, Lost)):
        found = described(reply)
        raise TypeError(f"a step: found {found}; allowed: Answer, Unreachable or Lost")
    if isinstance(reply, Answer):
        reply._content()


class _Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Plays the script for one client, in time of its own."""

    def __init__(self, service: ScriptedService) -> None:
        self._service = service
        self._time = _Time()

    def attached_to(self, http_client: Http) -> Http:
        """Gives a client this time."""
        http_client.__voice_calling_time__ = self._time  # type: ignore # pyright: ignore
        return http_client

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        step = self._service._step(request)
        if not isinstance(step, Unreachable):
            self._time.sleep(step.after, request)
        return _response(step, request, self._body)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        step = self._service._step(request)
        if not isinstance(step, Unreachable):
            await self._time.sleep_async(step.after, request)
        return _response(step, request, self._async_body)

    def _body(self, answer: Answer, request: httpx.Request) -> Iterator[bytes]:
        self._time.sleep(answer.body_after, request)
        yield from _parts(answer, request)

    async def _async_body(self, answer: Answer, request: httpx.Request) -> AsyncIterator[bytes]:
        await self._time.sleep_async(answer.body_after, request)
        for part in _parts(answer, request):
            yield part


def _response(
    step: Reply,
    request: httpx.Request,
    body: Callable[[Answer, httpx.Request], Iterator[bytes] | AsyncIterator[bytes]],
) -> httpx.Response:
    if isinstance(step, Unreachable):
        raise httpx.ConnectError(step.message, request=request)
    if isinstance(step, Lost):
        raise httpx.ReadError(step.message, request=request)
    return httpx.Response(step.status, headers=step.headers, content=body(step, request))


def _parts(answer: Answer, request: httpx.Request) -> Iterator[bytes]:
    content = answer._content()
    yield content if answer.cut is None else content[: answer.cut]
    if answer.cut is not None:
        raise httpx.ReadError("connection reset", request=request)


@dataclass(eq=False, slots=True)
class _Sleeper:
    until: float
    exchange: Exchange | None
    wake: Callable[[], object]


class _Time:
    """The time of one client. It goes on when every exchange sleeps, or there is none, and nothing
    waits for the ledger."""

    def __init__(self) -> None:
        self._now = 0.0
        self._lock = threading.RLock()
        self._sleepers: list[_Sleeper] = []
        self._wake_at: float | None = None
        self._machine: Machine | None = None
        self._tick: Callable[[], None] | None = None

    def now(self) -> float:
        return self._now

    def attach(self, machine: Machine) -> None:
        """Is the time of this machine from now on."""
        self._machine = machine

    def wake(self, tick: Callable[[], None], at: float) -> None:
        with self._lock:
            self._tick, self._wake_at = tick, at
            self._advance()

    def sleep(self, seconds: float, request: httpx.Request) -> None:
        if seconds > 0:
            woken = threading.Event()
            self._add_sleeper(seconds, request, woken.set)
            woken.wait()

    async def sleep_async(self, seconds: float, request: httpx.Request) -> None:
        if seconds > 0:
            woken = asyncio.Event()
            sleeper = self._add_sleeper(seconds, request, woken.set)
            try:
                await woken.wait()
            finally:
                with self._lock:
                    if sleeper in self._sleepers:
                        self._sleepers.remove(sleeper)

    def _add_sleeper(
        self, seconds: float, request: httpx.Request, wake: Callable[[], object]
    ) -> _Sleeper:
        exchange = request.extensions.get("voice_calling_exchange")
        sleeper = _Sleeper(self._now + seconds, exchange, wake)
        with self._lock:
            self._sleepers.append(sleeper)
            self._advance()
        return sleeper

    def _advance(self) -> None:
        assert self._machine is not None
        for sleeper in [it for it in self._sleepers if it.exchange and it.exchange.is_abandoned]:
            self._sleepers.remove(sleeper)
            sleeper.wake()
        asleep = {id(it.exchange) for it in self._sleepers}
        is_busy = any(id(exchange) not in asleep for exchange in self._machine.exchanges)
        if is_busy or self._machine.awaits_ledger:
            return
        first = min(self._sleepers, key=lambda it: it.until, default=None)
        if self._wake_at is not None and (first is None or self._wake_at <= first.until):
            self._now = max(self._now, self._wake_at)
            self._wake_at = None
            assert self._tick is not None
            self._tick()
        elif first is not None:
            self._now = max(self._now, first.until)
            self._sleepers.remove(first)
            first.wake()
