"""The client without I/O: operations and what came of their exchanges go in, effects come out. Both
clients drive it, the one with threads, the other with coroutines."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from . import _log
from ._errors import RequestError
from ._exchange import Exchange
from ._failures import execution_failed, outcome_unknown
from ._guest import Guest, GuestLost
from ._history import History
from ._operations import Operation
from ._settings import Settings


class Mailbox(Protocol):
    """Where the caller of an operation waits."""

    def put(self, message: Any, /) -> None: ...


class Driver(Protocol):
    """What does the I/O."""

    def start(self, exchange: Exchange) -> None:
        """Sends a request, once."""

    def end(self, exchange: Exchange) -> None:
        """Ends an exchange that nobody waits for."""

    def wake(self, at: float) -> None:
        """Calls `tick` at this time of the clock at the latest."""


class Item:
    """The message that a request of a batch has its result."""

    __slots__ = ("index", "wire")

    def __init__(self, index: int, wire: Any) -> None:
        self.index: int = index
        self.wire: Any = wire


class Done:
    """The message that an operation has ended: the payload of its answer, or an error."""

    __slots__ = ("error", "wire")

    def __init__(self, wire: Any = None, error: BaseException | None = None) -> None:
        self.wire: Any = wire
        self.error: BaseException | None = error


class Told:
    """The message that an exchange of a wait has ended."""

    __slots__ = ("raw_json", "requests", "status", "waited_ms")

    def __init__(self, exchange: Exchange, now_ms: int) -> None:
        self.requests: int = exchange.running.requests
        self.waited_ms: int = now_ms - exchange.running.began_ms
        self.status: int | None = exchange.status
        self.raw_json: str | None = None if exchange.status is None else exchange.body()


class Running:
    """An operation that is under way."""

    __slots__ = (
        "began_ms",
        "context",
        "is_begun",
        "is_given_up",
        "mailbox",
        "number",
        "on_item",
        "operation",
        "options",
        "requests",
        "sent",
    )

    def __init__(
        self, number: int, operation: Operation[Any], options: dict[str, Any], mailbox: Mailbox
    ) -> None:
        self.number: int = number
        self.operation: Operation[Any] = operation
        self.options: dict[str, Any] = options
        self.mailbox: Mailbox = mailbox
        self.context: contextvars.Context = contextvars.Context()
        """That of the caller, for those who trace."""
        self.on_item: Callable[[Any], object] | None = None
        """What is done with the results of a batch that is given up."""
        self.began_ms: int = 0
        self.requests: int = 0
        """How many requests it has sent."""
        self.sent: set[int | None] = set()
        """Those of its items of which a create was sent and nothing is reported yet; `None` stands
        for an operation that is not a batch."""
        self.is_begun: bool = False
        self.is_given_up: bool = False

    def outcome(self, message: Done) -> Any:
        """What a user gets, or the error that is raised."""
        if message.error is not None:
            raise message.error
        if "Err" in message.wire:
            raise self.operation.error(message.wire["Err"])
        answer = message.wire["Ok"]
        payload = None if isinstance(answer, str) else next(iter(answer.values()))
        return self.operation.lift(payload)

    def fails(self, error: BaseException) -> None:
        """Its caller gets this, and not what is told later."""
        self.mailbox.put(Done(error=error))

    def lost(self, item: int | None, reason: str) -> RequestError:
        """What is known of it, or of an item, when the guest is lost."""
        if item in self.sent:
            return outcome_unknown(
                f"the component failed ({reason}) while a request was in flight, or its answer "
                "had just come: the create may have been processed"
            )
        return execution_failed(f"the component failed ({reason}); nothing was created")


Job: TypeAlias = "Running | Exchange | Callable[[], list[dict[str, Any]]]"


class Machine:
    """The guest, and all that is under way on it. One thread steps at a time; what others bring
    meanwhile is taken along by the same."""

    def __init__(
        self,
        settings: Settings,
        history: History | None,
        driver: Driver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._history = history
        self._driver = driver
        self._clock = clock
        self._began = clock()
        self._numbers = itertools.count(1)
        self._inbox: deque[Any] = deque()
        self._turn = threading.Lock()
        self._guest: Guest | None = None
        self._running: dict[int, Running] = {}
        self._exchanges: dict[int, Exchange] = {}
        self._wake_at_ms: int | None = None
        self._is_stopped = False

    # ---------------------------------------------------------------------------- for drivers

    def operation(
        self, operation: Operation[Any], options: dict[str, Any], mailbox: Mailbox
    ) -> Running:
        """An operation that is to be begun."""
        return Running(next(self._numbers), operation, options, mailbox)

    def begin(self, running: Running) -> None:
        """Begins it."""
        self._inbox.append(running)
        self._step_all()

    def ended(self, exchange: Exchange) -> None:
        """All of an exchange is in it."""
        self._inbox.append(exchange)
        self._step_all()

    def give_up(self, running: Running) -> None:
        """Nobody waits for this operation any more. It ends in the same step."""
        running.is_given_up = True
        self._inbox.append(lambda: self._abandoning(running))
        self._step_all()

    def tick(self) -> None:
        """It is time."""
        self._inbox.append(list)
        self._step_all()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._running and not self._inbox

    @property
    def was_used(self) -> bool:
        return self._guest is not None

    @property
    def running(self) -> list[Running]:
        return list(self._running.values())

    @property
    def exchanges(self) -> list[Exchange]:
        return list(self._exchanges.values())

    # ---------------------------------------------------------------------------------- steps

    def _step_all(self) -> None:
        while self._inbox and self._turn.acquire(blocking=False):
            try:
                self._step()
            except BaseException as error:
                self._lose(error)
                if not isinstance(error, Exception):
                    raise
            finally:
                self._turn.release()

    def _step(self) -> None:
        events: list[dict[str, Any]] = []
        # Rounded, since 1.001 s is less than 1001 ms to a float.
        now_ms = int(round((self._clock() - self._began) * 1000, 3))
        ended: list[Exchange] = []
        while self._inbox:
            job = self._inbox.popleft()
            if isinstance(job, Running):
                if self._is_ready(job):
                    job.is_begun = True
                    job.began_ms = now_ms
                    self._running[job.number] = job
                    events.append(_begin(job))
            elif isinstance(job, Exchange):
                # Another guest's may have the same number.
                if self._exchanges.get(job.number) is job:
                    del self._exchanges[job.number]
                    events += job.at_its_end()
                    ended.append(job)
            else:
                events += job()
        if self._guest is None:
            return
        is_due = self._wake_at_ms is not None and now_ms >= self._wake_at_ms
        if is_due:
            for exchange in self._exchanges.values():
                events += exchange.so_far()
        for exchange in ended:
            self._note(exchange, now_ms)
        if events or is_due:
            self._effects(self._stepped(events, now_ms))
        elif self._wake_at_ms is not None:  # woken too early
            self._driver.wake(self._began + self._wake_at_ms / 1000)

    def _note(self, exchange: Exchange, now_ms: int) -> None:
        running = exchange.running
        if exchange.creates and exchange.was_not_sent:
            running.sent.discard(exchange.item)
        if running.operation.on_progress is not None:
            running.mailbox.put(Told(exchange, now_ms))

    def _is_ready(self, running: Running) -> bool:
        """Whether there is a guest for it; otherwise it gets an error."""
        if running.is_given_up:
            running.mailbox.put(Done(error=execution_failed("nothing was sent")))
            return False
        if self._is_stopped:
            reason = "the process is at its end: nothing was sent"
            running.mailbox.put(Done(error=execution_failed(reason)))
            return False
        if self._guest is not None:
            return True
        try:
            guest = Guest()
            given = {
                "environment": self._settings.variables(),
                "random": {"Seed": random.getrandbits(53)},
            }
            configured = guest.call("configure", given)
        except ImportError as error:
            running.mailbox.put(Done(error=execution_failed(str(error))))
            return False
        except BaseException as error:
            running.mailbox.put(Done(error=execution_failed(f"{type(error).__name__}: {error}")))
            if isinstance(error, Exception):
                return False
            raise
        if "Err" in configured:
            refused = running.operation.error(configured["Err"], self._settings.named)
            running.mailbox.put(Done(error=refused))
            return False
        self._guest = guest
        self._wake_at_ms = None
        if self._history is not None:
            self._history.begins(given)
        return True

    def _abandoning(self, running: Running) -> list[dict[str, Any]]:
        """An answer that is here already counts."""
        if running.number not in self._running:
            return []
        own = (it for it in self._exchanges.values() if it.running is running)
        events = [event for exchange in own for event in exchange.so_far()]
        return [*events, {"Abandon": running.number}]

    def _stepped(self, events: list[dict[str, Any]], now_ms: int) -> dict[str, Any]:
        assert self._guest is not None
        given = {"events": events, "now_ms": now_ms, "unix_s": int(time.time())}
        if self._history is None:
            returned = self._guest.call("step", given)
        else:
            returned = self._history.step(self._guest, given)
        stepped: dict[str, Any] = returned["Ok"]
        return stepped

    def _effects(self, stepped: dict[str, Any]) -> None:
        for effect in stepped["effects"]:
            ((case, value),) = effect.items()
            if case == "Send":
                self._send(value)
            elif case == "Done":
                running = self._running.pop(int(value["operation"]))
                running.mailbox.put(Done(value["outcome"]))
            elif case == "Item":
                running = self._running[int(value["operation"])]
                index = int(value["index"])
                running.sent.discard(index)
                running.mailbox.put(Item(index, value["created"]))
            elif case == "Abandon":
                exchange = self._exchanges.pop(int(value), None)
                if exchange is not None:
                    exchange.is_abandoned = True
                    self._driver.end(exchange)
            elif case == "Log":
                _log.write(value)
        wake_at_ms = stepped["wake_at_ms"]
        self._wake_at_ms = None if wake_at_ms is None else int(wake_at_ms)
        if self._wake_at_ms is not None:
            self._driver.wake(self._began + self._wake_at_ms / 1000)

    def _send(self, send: dict[str, Any]) -> None:
        running = self._running[int(send["operation"])]
        exchange = Exchange(send, running)
        self._exchanges[exchange.number] = exchange
        running.requests += 1
        if exchange.creates:
            running.sent.add(exchange.item)
        self._driver.start(exchange)

    def _lose(self, error: BaseException) -> None:
        """The guest, or what drives it, has failed: every caller gets an error, and the next call
        gets another guest."""
        reason = str(error) if isinstance(error, GuestLost) else f"{type(error).__name__}: {error}"
        self._guest = None
        self._wake_at_ms = None
        exchanges, self._exchanges = self._exchanges, {}
        running, self._running = self._running, {}
        for exchange in exchanges.values():
            exchange.is_abandoned = True
            with contextlib.suppress(Exception):
                self._driver.end(exchange)
        for it in running.values():
            for item in sorted(index for index in it.sent if index is not None):
                it.mailbox.put(Item(item, it.lost(item, reason)))
            it.mailbox.put(Done(error=it.lost(None, reason)))
        _log.say(
            logging.ERROR, "the component failed, and everything under way with it: %s", reason
        )

    def stop(self) -> None:
        """At the end of the process: nothing begins any more, and the guest is freed while it can
        be."""
        self._is_stopped = True
        if self._turn.acquire(timeout=0.2):
            self._guest = None
            self._turn.release()

    def forget(self) -> None:
        """In the child of a fork: what was under way is the parent's."""
        self._inbox = deque()
        self._turn = threading.Lock()
        self._guest = None
        self._running = {}
        self._exchanges = {}
        self._wake_at_ms = None


def _begin(running: Running) -> dict[str, Any]:
    begin = {
        "operation": running.number,
        "call": running.operation.call,
        "options": running.options or None,
    }
    return {"Begin": begin}
