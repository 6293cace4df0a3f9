"""One request and its answer: what came of it so far, as events for the machine; and what `httpx`
says about it, in the machine's terms."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import httpx

from ._running import Done

if TYPE_CHECKING:
    from ._running import Running

_READ = frozenset(
    [
        b"retry-after",
        b"date",
        b"location",
        b"content-type",
        b"content-encoding",
        b"x-request-id",
        b"request-id",
        b"x-correlation-id",
    ]
)
"""The headers of an answer that the machine reads."""

_SLACK = 1.0
"""How much later than the machine `httpx` ends an attempt in which nothing comes. Unit: seconds."""

_LONGEST_PIECE = 65536
"""How much of a body is decoded at a time. Unit: bytes."""


class Abandoned(Exception):
    """The request must not be sent any more."""


class ScriptFailed(Exception):
    """The script of a test has a mistake, its cause. No answer of a service is like that."""


class Exchange:
    """A request that is sent, and the answer as far as it came. One thread fills it; the machine
    takes from it in another."""

    __slots__ = (
        "_error",
        "_failure",
        "_headers",
        "_parts",
        "_said_head",
        "_said_parts",
        "_size",
        "_status",
        "_turn",
        "began_ms",
        "cancel",
        "creates",
        "is_abandoned",
        "is_handed_over",
        "is_over",
        "is_sent",
        "item",
        "number",
        "request",
        "running",
    )

    def __init__(self, send: dict[str, Any], running: Running, began_ms: int) -> None:
        self.number: int = int(send["exchange"])
        self.item: int | None = send["item"]
        self.creates: bool = send["creates"]
        self.request: dict[str, Any] = send["request"]
        self.running: Running = running
        self.began_ms: int = began_ms
        self.is_abandoned: bool = False
        self.is_handed_over: bool = False
        """Whether a transport has it: the hooks for requests have run."""
        self.is_sent: bool = False
        """Whether the service may have got some of it."""
        self.is_over: bool = False
        """Whether the machine knows how it ended, although it goes on."""
        self._turn = threading.Lock()
        self.cancel: Any = None
        """What ends it at once, where there is something."""
        self._status: int | None = None
        self._headers: list[tuple[str, str]] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._error: str | None = None
        self._failure: tuple[str, str] | None = None
        self._said_head = False
        self._said_parts = 0

    # ------------------------------------------------------------------ filled while it goes on

    def leaves(self) -> None:
        """Its first byte is about to be sent, or something else takes its body. From here on the
        service may have it."""
        with self._turn:
            if not self.is_sent:
                if self.is_abandoned:
                    raise Abandoned("the call was given up before it was sent")
                if self.creates:
                    self.running.sent.add(self.item)
                self.is_sent = True

    def abandon(self) -> None:
        """What comes of it is not waited for. If it was not sent, it never will be."""
        with self._turn:
            self.is_abandoned = True

    def begins(self, response: httpx.Response) -> None:
        """The head of the answer came."""
        headers = [
            (name.lower().decode("latin-1"), value.decode("utf-8", "replace"))
            for name, value in response.headers.raw
            if name.lower() in _READ
        ]
        self._headers = headers
        self._status = response.status_code

    def takes(self, part: bytes) -> bool:
        """A piece of the body came. `False`: no more is wanted."""
        room = self.room
        part = part[:room]
        self._size += len(part)
        self._parts.append(part)
        return len(part) < room and not self.is_abandoned

    @property
    def room(self) -> int:
        """How much more of the body is wanted. Unit: bytes."""
        return int(self.request["max_response_bytes"]) + 1 - self._size

    def fails(self, error: BaseException) -> None:
        """It ended with this."""
        if isinstance(error, ScriptFailed):
            self.running.finish(Done(error=error.__cause__ or error))
            self.is_refused(error)
        elif self._status is not None:
            self._error = self._described(error)
        elif self.is_sent:
            self._failure = ("Unknown", self._described(error))
        else:
            self._failure = ("NotSent", self._described(error))

    def is_refused(self, error: BaseException) -> None:
        """It could not even be written down as a request."""
        self._failure = ("Refused", self._described(error))

    def is_not_sent(self, message: str) -> None:
        """Nothing was begun."""
        self._failure = ("NotSent", message)

    def _described(self, error: BaseException) -> str:
        text = str(error).encode("utf-8", "replace").decode()
        for _, value in self.request["headers"]:
            if len(value) >= 8:  # `h11` shows a header that it refuses
                text = text.replace(value, "…").replace(repr(value.encode())[2:-1], "…")
        name = type(error).__name__
        return f"{name}: {text}" if text else name

    # ------------------------------------------------------------------ taken by the machine

    @property
    def status(self) -> int | None:
        return self._status

    def body(self) -> str | None:
        """What came of the body, where it is text."""
        try:
            return b"".join(self._parts).decode()
        except UnicodeDecodeError:
            return None

    def so_far(self) -> list[dict[str, Any]]:
        """Events for what came since the last time."""
        if self._status is None:
            return []
        events: list[dict[str, Any]] = []
        if not self._said_head:
            self._said_head = True
            head = {"exchange": self.number, "status": self._status, "headers": self._headers}
            events.append({"Head": head})
        if parts := self._parts[self._said_parts :]:
            self._said_parts += len(parts)
            events.append({"Chunk": {"exchange": self.number, "bytes": _body(b"".join(parts))}})
        if self._is_whole():
            self.is_over = True
            events.append({"Ended": {"exchange": self.number, "error": None}})
        return events

    def _is_whole(self) -> bool:
        """Whether the body cannot go on: an object of JSON has an end of its own."""
        body = (self.body() or "").strip()
        try:
            return body.endswith("}") and isinstance(json.loads(body), dict)
        except (ValueError, RecursionError):
            return False

    def last_chance(self) -> list[dict[str, Any]]:
        """The same when its time is up. If it was not sent, it never will be."""
        self.abandon()
        if self._failure is None and self._error is None:
            if self.is_sent:
                return self.so_far()
            self.is_not_sent("time ran out before it was sent")
        self.is_over = True
        return self.at_its_end()

    def at_its_end(self) -> list[dict[str, Any]]:
        """Events for all that was not reported yet, now that it has ended."""
        if self._failure is not None:
            delivery, message = self._failure
            return [{"Failed": {"exchange": self.number, "delivery": delivery, "message": message}}]
        if self._error is not None or self._said_head:
            so_far = self.so_far()  # all of it may be here, whatever came after that
            ended = {"exchange": self.number, "error": None if self.is_over else self._error}
            return [*so_far, {"Ended": ended}]
        answered = {
            "exchange": self.number,
            "status": self._status,
            "headers": self._headers,
            "body": _body(b"".join(self._parts)),
        }
        return [{"Answered": answered}]


def _body(content: bytes) -> dict[str, Any]:
    try:
        return {"Text": content.decode()}
    except UnicodeDecodeError:
        return {"Bytes": list(content)}


class _Request(httpx.Request):
    """A request that reports when its body is taken: every transport has to take it to send it.
    What hooks read before a transport has the request does not count; `httpx` looks at `stream`
    between the two."""

    exchange: Exchange | None = None

    @property
    def stream(self) -> Any:
        if self.exchange is not None:
            self.exchange.is_handed_over = True
        return self._stream

    @stream.setter
    def stream(self, stream: Any) -> None:
        self._stream = stream

    @property
    def content(self) -> bytes:
        self._is_taken()
        return super().content

    def read(self) -> bytes:
        self._is_taken()
        return super().read()

    async def aread(self) -> bytes:
        self._is_taken()
        return await super().aread()

    def _is_taken(self) -> None:
        if self.exchange is not None and self.exchange.is_handed_over:
            self.exchange.leaves()


class _Body(httpx.ByteStream):
    def __init__(self, content: bytes, exchange: Exchange) -> None:
        super().__init__(content)
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        self._exchange.leaves()
        yield from super().__iter__()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._exchange.leaves()
        async for part in super().__aiter__():
            yield part


def _tracing(exchange: Exchange) -> Callable[[str, Any], None]:
    """What `httpcore` reports to. The headers that are sent first may be those of a tunnel."""

    def trace(name: str, info: Any) -> None:
        if name.endswith(".send_request_headers.started") and info["request"].method != b"CONNECT":
            exchange.leaves()

    return trace


def _tracing_async(exchange: Exchange) -> Callable[[str, Any], Awaitable[None]]:
    trace = _tracing(exchange)

    async def trace_async(name: str, info: Any) -> None:
        trace(name, info)

    return trace_async


def request_of(exchange: Exchange, http_client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
    """What `httpx` sends. Headers of its client are sent along; the machine's stand over them."""
    wanted = exchange.request
    headers = {name.lower(): value for name, value in http_client.headers.raw}
    headers[b"accept-encoding"] = b"gzip"
    for name, value in wanted["headers"]:
        headers[name.encode()] = value.encode()
    attempt = wanted["attempt_ms"] / 1000 + _SLACK
    connect = wanted["connect_ms"] / 1000
    timeout = {"connect": connect, "pool": connect, "read": attempt, "write": attempt}
    is_async = isinstance(http_client, httpx.AsyncClient)
    trace = _tracing_async(exchange) if is_async else _tracing(exchange)
    content = wanted["body"].encode()
    request = _Request(
        wanted["method"],
        _url(wanted["url"]),
        headers=list(headers.items()),
        content=content or None,
        extensions={"timeout": timeout, "trace": trace, "voice_calling_exchange": exchange},
    )
    request.stream = _Body(content, exchange)
    request.exchange = exchange
    return request


class Decoder:
    """Takes the content encoding off a body: `gzip` once, which is all that was asked for. What is
    encoded otherwise stays as it is, and is no JSON then. A few bytes may stand for gigabytes, so
    no more is decoded than is wanted."""

    def __init__(self, exchange: Exchange, response: httpx.Response) -> None:
        self._exchange = exchange
        encoding = response.headers.get("content-encoding", "").strip().lower()
        self._zlib = zlib.decompressobj(31) if encoding in ("gzip", "x-gzip") else None

    def takes(self, part: bytes) -> bool:
        """A piece of the encoded body came. `False`: no more is wanted."""
        if self._zlib is None:
            return self._exchange.takes(part)
        while part:
            decoded = self._zlib.decompress(part, min(self._exchange.room, _LONGEST_PIECE))
            if not self._exchange.takes(decoded):
                return False
            part = self._zlib.unconsumed_tail
        return True

    def ends(self) -> None:
        """The encoded body is at its end."""
        if self._zlib is not None and not self._zlib.eof:
            raise EOFError("the compressed body ended early")


@lru_cache(maxsize=64)
def _url(text: str) -> httpx.URL:
    return httpx.URL(text)
