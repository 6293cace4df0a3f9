"""One request and its answer: what came of it so far, as events for the machine; and what `httpx`
says about it, in the machine's terms."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from ._machine import Running

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

_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)
"""What `httpx` documents as a failure to get a connection, the handshake of TLS included, to the
service or to the proxy. After everything else the service may have the request."""


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
        "cancel",
        "creates",
        "is_abandoned",
        "item",
        "number",
        "request",
        "running",
    )

    def __init__(self, send: dict[str, Any], running: Running) -> None:
        self.number: int = int(send["exchange"])
        self.item: int | None = send["item"]
        self.creates: bool = send["creates"]
        self.request: dict[str, Any] = send["request"]
        self.running: Running = running
        self.is_abandoned: bool = False
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
        room = int(self.request["max_response_bytes"]) + 1 - self._size
        part = part[:room]
        self._size += len(part)
        self._parts.append(part)
        return len(part) < room and not self.is_abandoned

    def fails(self, error: BaseException) -> None:
        """It ended with this."""
        if isinstance(error, ScriptFailed):
            self.running.fails(error.__cause__ or error)
            self.is_refused(error)
        elif self._status is not None:
            self._error = self._described(error)
        elif isinstance(error, _NOT_SENT):
            self._failure = ("NotSent", self._described(error))
        else:
            self._failure = ("Unknown", self._described(error))

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

    @property
    def was_not_sent(self) -> bool:
        """Whether it is certain that the service did not get it."""
        return self._failure is not None and self._failure[0] != "Unknown"

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
        return events

    def at_its_end(self) -> list[dict[str, Any]]:
        """Events for all that was not reported yet, now that it has ended."""
        if self._failure is not None:
            delivery, message = self._failure
            return [{"Failed": {"exchange": self.number, "delivery": delivery, "message": message}}]
        if self._error is not None or self._said_head:
            ended = {"exchange": self.number, "error": self._error}
            return [*self.so_far(), {"Ended": ended}]
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


def request_of(exchange: Exchange, http_client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
    """What `httpx` sends. Headers of its client are sent along; the machine's stand over them."""
    wanted = exchange.request
    headers = {name.lower(): value for name, value in http_client.headers.raw}
    for name, value in wanted["headers"]:
        headers[name.encode()] = value.encode()
    attempt = wanted["attempt_ms"] / 1000 + _SLACK
    connect = wanted["connect_ms"] / 1000
    timeout = {"connect": connect, "pool": connect, "read": attempt, "write": attempt}
    content = wanted["body"].encode()
    return httpx.Request(
        wanted["method"],
        _url(wanted["url"]),
        headers=list(headers.items()),
        content=content or None,
        extensions={"timeout": timeout, "voice_calling_exchange": exchange},
    )


@lru_cache(maxsize=64)
def _url(text: str) -> httpx.URL:
    return httpx.URL(text)
