"""A scripted service for tests of your own code: in your own process, without a network, and with a
time of its own, so that pauses, late answers and waits of hours take no time."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from . import _native
from ._client import AsyncVoiceClient, VoiceClient
from ._faces import event_loop_of

__all__ = ["LOST", "SILENCE", "UNREACHABLE", "Answer", "Request", "ScriptedService"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service does with a request."""

    status: int = 200
    """The HTTP status, 200 to 999."""

    json: Any = None
    """The body, as values of JSON; or `text`."""

    text: str | None = None
    """The body as it is sent."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Its headers."""

    after: float = 0
    """How long it takes. Unit: seconds."""

    body_after: float | None = None
    """How long its body takes after its head. Unit: seconds."""

    cut_after: int | None = None
    """The number of bytes of the body after which the connection breaks."""

    repeated: bool = False
    """Whether it is for all further requests."""

    kind: Literal["answer", "lost", "silence", "unreachable"] = "answer"
    """`lost`: the connection breaks when the request was sent; `silence`: no answer comes;
    `unreachable`: nothing was sent."""

    def __post_init__(self) -> None:
        if not 200 <= self.status <= 999:
            raise ValueError(f"status is {self.status}; allowed: 200 to 999")

    @property
    def body(self) -> str | None:
        """The body as text."""
        return self.text if self.json is None else json.dumps(self.json)


LOST = Answer(kind="lost")
"""The connection breaks when the request was sent."""

SILENCE = Answer(kind="silence")
"""The request was sent, and no answer comes."""

UNREACHABLE = Answer(kind="unreachable")
"""Nothing is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as the service has received it."""

    method: str
    """`GET` or `POST`."""

    path: str
    """The path with the query."""

    headers: Mapping[str, str]
    """The headers, with the token in `auth_token`."""

    body: str
    """The body, empty for `GET`."""

    at: float
    """When it came, by the time of the service. Unit: seconds."""

    @property
    def json(self) -> Any:
        """The value of the body, `None` for `GET`."""
        return json.loads(self.body) if self.body else None


class ScriptedService:
    """A service that gives each of its answers to one request, and after that as usual:
    creates succeed, what it has created is completed after a minute of its time, other ids are
    404, and there is one agent, 7."""

    def __init__(self, *answers: Answer) -> None:
        self._native = _native.ScriptedService()
        for answer in answers:
            self.answer(answer)

    def answer(self, answer: Answer) -> None:
        """Adds an answer for the next request."""
        self.answer_to("", answer)

    def answer_to(self, line: str, answer: Answer) -> None:
        """Adds an answer for the next request whose line begins with this, such as
        `POST /api/v2/dockets`."""
        if not isinstance(answer, Answer):
            raise TypeError(f"answers are of the class Answer, such as Answer(503), not {answer!r}")
        self._native.answer_to(line, answer)

    def answer_with(
        self, function: Callable[[Request], Answer | Awaitable[Answer | None] | None]
    ) -> None:
        """Sets a function that answers the requests for which no answer was added; `None` answers
        as usual. Time stands still meanwhile. A coroutine function runs on the event loop on which
        it was set. What it raises is raised by the call of the client."""

        def fields(request: dict[str, Any]) -> Any:
            return function(Request(**request))

        self._native.answer_with(fields, event_loop_of(function))

    def complete_after(self, seconds: float) -> None:
        """Sets when what the service creates as usual is completed. Default: 60."""
        self._native.complete_after(seconds)

    @property
    def elapsed(self) -> float:
        """The time of the service since it was made. Unit: seconds."""
        return self._native.elapsed()

    @property
    def requests(self) -> list[Request]:
        """The requests that it has received. Those that were `UNREACHABLE` are not among them."""
        return [Request(**request) for request in self._native.requests()]

    def client(self, **options: Any) -> VoiceClient:
        """Returns a client of this service, with these options of `VoiceClient`."""
        return VoiceClient(**self._options(options))

    def async_client(self, **options: Any) -> AsyncVoiceClient:
        """Returns a client of this service, with these options of `AsyncVoiceClient`."""
        return AsyncVoiceClient(**self._options(options))

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        usual = {"base_url": "https://service.test", "token": "test-token", "environ": {}}
        return {**usual, **options, "service": self._native}
