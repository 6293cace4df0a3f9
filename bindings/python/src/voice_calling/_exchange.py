"""One request and its answer: what came of it so far, as events for the core."""

from __future__ import annotations

import threading
from typing import Any

from ._errors import named
from ._running import Running


class Abandoned(Exception):
    """The request must not be sent any more."""


class ScriptFailed(Exception):
    """The script of a test has a mistake, its cause. No answer of a service is like that."""


class Exchange:
    """A request that is sent, and the answer as far as it came. One thread fills it; the machine
    reads it in another."""

    def __init__(self, send: dict[str, Any], running: Running, began_ms: int) -> None:
        self.number: int = int(send["exchange"])
        self.item: int | None = send["item"]
        self.creates: bool = send["creates"]
        self.request: dict[str, Any] = send["request"]
        self.running: Running = running
        self.began_ms: int = began_ms
        self.is_abandoned: bool = False
        self.has_transport: bool = False
        """Whether a transport has it: the hooks for requests have run."""
        self.is_sent: bool = False
        """Whether the service may have got some of it."""
        self._lock = threading.Lock()
        self.cancel: Any = None
        """Ends it at once, if anything can."""
        self.status: int | None = None
        self._headers: list[tuple[str, str]] = []
        self._parts: list[bytes] = []
        self._size = 0
        self._error: str | None = None
        self._failure: tuple[str, str] | None = None

    # -------------------------------------------------------------------- filled by its sender

    def mark_sent(self) -> None:
        """Notes that its first byte is about to be sent, or that something else reads its body. The
        service may have it from now on. Raises `Abandoned` if it must not be sent."""
        with self._lock:
            if not self.is_sent:
                if self.is_abandoned or self.running.is_cancelled:
                    raise Abandoned("the call was given up before it was sent")
                if self.creates:
                    self.running.sent.add(self.item)
                self.is_sent = True

    def abandon(self) -> None:
        """Notes that its answer is not waited for. If it was not sent, it never will be."""
        with self._lock:
            self.is_abandoned = True

    def on_head(self, status: int, headers: list[tuple[str, str]]) -> None:
        """The head of the answer came."""
        self._headers = headers
        # One that is no status, from a transport of the user's, is as unexpected as 0.
        self.status = int(status) if isinstance(status, int) and 0 <= status <= 999 else 0

    def on_part(self, part: bytes) -> bool:
        """A part of the body came. Returns `False` if no more is wanted."""
        room = int(self.request["max_response_bytes"]) + 1 - self._size
        part = bytes(part[:room])  # raises an error for text
        self._size += len(part)
        self._parts.append(part)
        return len(part) < room and not self.is_abandoned

    def on_error(self, error: BaseException) -> None:
        """It ended with an exception."""
        if isinstance(error, ScriptFailed):
            self.running.finish(error=error.__cause__ or error)
            self.on_refused(error)
        elif self.status is not None:
            self._error = named(error)
        elif self.is_sent:
            self._failure = ("Unknown", named(error))
        else:
            self._failure = ("NotSent", named(error))

    def on_refused(self, error: BaseException) -> None:
        """`httpx` cannot make a request of it."""
        self._failure = ("Refused", named(error))

    def on_not_sent(self, message: str) -> None:
        """It was not begun, and never will be."""
        self._failure = ("NotSent", message)

    # --------------------------------------------------------------------- read by the machine

    def events_at_timeout(self) -> list[dict[str, Any]]:
        """Returns events for what came of it so far, since no more is waited for. If it was not
        sent, it never will be."""
        self.abandon()
        if self._failure is None and self._error is None:
            if self.is_sent:
                return [] if self.status is None else self._partial_events()
            self.on_not_sent("time ran out before it was sent")
        return self.events_at_end()

    def events_at_end(self) -> list[dict[str, Any]]:
        """Returns events for what came of it, now that it has ended."""
        if self._failure is not None:
            delivery, message = self._failure
            return [{"Failed": {"exchange": self.number, "delivery": delivery, "message": message}}]
        if self._error is not None:
            ended = {"exchange": self.number, "error": self._error}
            return [*self._partial_events(), {"Ended": ended}]
        return [{"Answered": {**self._head(), "body": _body(b"".join(self._parts))}}]

    def _partial_events(self) -> list[dict[str, Any]]:
        chunk = {"exchange": self.number, "bytes": _body(b"".join(self._parts))}
        return [{"Head": self._head()}, {"Chunk": chunk}]

    def _head(self) -> dict[str, Any]:
        return {"exchange": self.number, "status": self.status, "headers": self._headers}


def _body(content: bytes) -> dict[str, Any]:
    try:
        return {"Text": content.decode()}
    except UnicodeDecodeError:
        return {"Bytes": list(content)}
