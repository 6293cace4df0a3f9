"""Drives the core, which does no I/O: operations and what came of their exchanges go in, effects
come out. Both clients use it, the one with threads, the other with coroutines."""

from __future__ import annotations

import contextlib
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ._errors import named
from ._exchange import Exchange
from ._guest import Guest, GuestLost
from ._log import log, log_attempt
from ._requests import CheckedRequest
from ._running import Running
from ._settings import Settings
from ._storage import Claim, Keys


class Network(Protocol):
    """Does the I/O."""

    def start(self, exchange: Exchange) -> None:
        """Sends a request, once."""

    def end(self, exchange: Exchange) -> None:
        """Ends an exchange whose answer is not waited for."""

    def wake(self, at: float) -> None:
        """Calls `tick` at this time of the clock at the latest."""

    def dispatch_step(self, job: Callable[[], None]) -> None:
        """Does a job where the machine may be stepped. It may be called in any thread."""


@dataclass(eq=False, slots=True)
class _Claim:
    """A claim that was not answered, or was taken and not recorded yet."""

    running: Running
    item: int | None
    stored: Claim
    is_taken: bool = False


class Machine:
    """An instance of the core, and all that goes on in it. One thread steps it at a time, and takes
    along what others enqueue meanwhile."""

    def __init__(
        self,
        settings: Settings,
        network: Network,
        clock: Callable[[], float] = time.monotonic,
        ledger: Keys | None = None,
    ) -> None:
        self._ledger = ledger
        self._settings = settings
        self._network = network
        self._clock = clock
        self._began = clock()
        self._is_stopped = False
        self.reset()

    def reset(self) -> None:
        """Forgets what goes on, in the parent of a fork or on an event loop that has ended."""
        self._inbox: deque[Callable[[], list[dict[str, Any]]]] = deque()
        """Jobs, which return events for the core."""
        self._lock = threading.Lock()
        self._stepping_thread: int | None = None
        self._guest: Guest | None = None
        self._running: dict[int, Running] = {}
        self._exchanges: dict[int, Exchange] = {}
        self._claims: dict[int, _Claim] = {}
        self._wake_at_ms: int | None = None
        self._pending_effects: deque[dict[str, Any]] = deque()

    # -------------------------------------------------------------------------------- events

    def begin(self, running: Running) -> None:
        """Begins an operation."""
        self._inbox.append(lambda: self._begin_events(running))
        self._step_all()

    def enqueue_requests(
        self, running: Running, taken: list[CheckedRequest], is_last: bool
    ) -> None:
        """Enqueues requests of a batch, which has asked for them."""
        self._inbox.append(lambda: self._requests_events(running, taken, is_last))
        self._step_all()

    def end(self, exchange: Exchange) -> None:
        """An exchange has ended."""
        self._inbox.append(lambda: self._end_events(exchange))
        self._step_all()

    def cancel(self, running: Running) -> None:
        """Cancels an operation, which ends in the same step."""
        running.is_cancelled = True
        self._inbox.append(lambda: self._cancel_events(running))
        self._step_all()

    def tick(self) -> None:
        """The time has come for which `wake` was called."""
        self._inbox.append(list)
        self._step_all()

    @property
    def is_idle(self) -> bool:
        """Whether nothing goes on, in another thread either, which may be about to begin."""
        return not (self._running or self._inbox or self._lock.locked())

    @property
    def is_stepped_here(self) -> bool:
        """Whether the step that goes on is in this thread, which a handler of the log has left."""
        return self._stepping_thread == threading.get_ident()

    @property
    def has_guest(self) -> bool:
        return self._guest is not None

    @property
    def exchanges(self) -> list[Exchange]:
        return list(self._exchanges.values())

    @property
    def awaits_ledger(self) -> bool:
        """Whether there are claims that are not answered yet."""
        return not all(claim.is_taken for claim in list(self._claims.values()))

    # ------------------------------------------------------------------------------- the core

    def _step_all(self) -> None:
        while self._inbox and self._lock.acquire(blocking=False):
            self._stepping_thread = threading.get_ident()
            try:
                self._step()
            except BaseException as error:
                self._fail(error)
                if not isinstance(error, Exception):
                    raise
            finally:
                self._stepping_thread = None
                self._lock.release()

    def _step(self) -> None:
        events: list[dict[str, Any]] = []
        while self._inbox:
            events += self._inbox.popleft()()
        if self._guest is None:
            return
        now_ms = self._now_ms()
        is_due = self._wake_at_ms is not None and now_ms >= self._wake_at_ms
        if is_due:
            for exchange in list(self._exchanges.values()):
                if now_ms - exchange.began_ms >= exchange.request["attempt_ms"]:
                    events += self._collect(exchange)
        if events or is_due:
            given = {"events": events, "now_ms": now_ms, "unix_s": int(time.time())}
            self._effects(self._guest.call("step", given)["Ok"], now_ms)
        elif self._wake_at_ms is not None:  # called too early
            self._network.wake(self._began + self._wake_at_ms / 1000)

    def _now_ms(self) -> int:
        # Rounded, since 1.001 s is less than 1001 ms to a float.
        return int(round((self._clock() - self._began) * 1000, 3))

    def _begin_events(self, running: Running) -> list[dict[str, Any]]:
        if not self._is_ready(running):
            return []
        self._running[running.number] = running
        operation = running.operation
        begin = {
            "operation": running.number,
            "call": operation.call,
            "options": running.options or None,
            "once": operation.key,
        }
        events = [{"Begin": begin}]
        if operation.requests is not None:
            events += self._requests_events(running, operation.requests, True)
        return events

    def _requests_events(
        self, running: Running, taken: list[CheckedRequest], is_last: bool
    ) -> list[dict[str, Any]]:
        if running.number not in self._running:  # it has ended
            return []
        requests = {
            "operation": running.number,
            "requests": [it.encoded for it in taken],
            "keys": [it.key for it in taken],
            "is_last": is_last,
        }
        return [{"Requests": requests}]

    def _end_events(self, exchange: Exchange) -> list[dict[str, Any]]:
        if self._exchanges.get(exchange.number) is not exchange:
            return []  # another guest's may have the same number
        del self._exchanges[exchange.number]
        return exchange.events_at_end()

    def _is_ready(self, running: Running) -> bool:
        """Returns `True` if there is a guest for it; otherwise it gets an error."""
        if running.is_cancelled:
            running.refuse("nothing was sent")
            return False
        if self._is_stopped:
            running.refuse("the process is at its end: nothing was sent")
            return False
        if self._guest is not None:
            return True
        try:
            guest = Guest()
            given = {
                "environment": self._settings.variables(),
                "seed": random.getrandbits(53),
                "ledger": self._ledger is not None,
            }
            configured = guest.call("configure", given)
        except BaseException as error:
            running.refuse(named(error))
            if isinstance(error, Exception):
                return False
            raise
        if "Err" in configured:
            running.finish(error=running.operation.error(configured["Err"], self._settings.named))
            return False
        self._guest = guest
        self._wake_at_ms = None
        return True

    def _cancel_events(self, running: Running) -> list[dict[str, Any]]:
        """Returns the events of a cancelled operation. An answer that is here already counts, and
        what was not sent is not sent any more."""
        if running.number not in self._running:  # it has ended, or will not begin
            running.refuse("nothing was sent")
            return []
        own = [it for it in self._exchanges.values() if it.running is running]
        events = [event for exchange in own for event in self._collect(exchange)]
        return [*events, {"Abandon": running.number}]

    def _collect(self, exchange: Exchange) -> list[dict[str, Any]]:
        """Drops an exchange, and returns events for what came of it."""
        self._drop(self._exchanges.pop(exchange.number))
        return exchange.events_at_timeout()

    def _effects(self, stepped: dict[str, Any], now_ms: int) -> None:
        effects = self._pending_effects = deque(stepped["effects"])
        while effects:
            ((case, value),) = effects[0].items()
            if case == "Send":
                self._send(value, now_ms)
            elif case == "Abandon":
                self._drop(self._exchanges.pop(int(value), None))
            elif case == "Log":
                log_attempt(value)
            elif case == "Claim":
                self._claim(value)
            elif case == "More":
                self._running[int(value)].request_more()
            elif case == "Observe":
                assert self._ledger is not None
                self._ledger.observe(**value)
            else:
                self._report(case, value)
            effects.popleft()
        wake_at_ms = stepped["wake_at_ms"]
        self._wake_at_ms = None if wake_at_ms is None else int(wake_at_ms)
        if self._wake_at_ms is not None:
            self._network.wake(self._began + self._wake_at_ms / 1000)

    def _claim(self, effect: dict[str, Any]) -> None:
        """Has the ledger write that a create is begun. Its answer is an event."""
        assert self._ledger is not None
        number = int(effect["claim"])
        stored = Claim(effect["key"], effect["function"], effect["arguments"])
        claim = _Claim(self._running[int(effect["operation"])], effect["item"], stored)
        self._claims[number] = claim

        def events(found: Any) -> list[dict[str, Any]]:
            if self._claims.get(number) is not claim:  # another guest's may have the same number
                return []
            if found is None:
                claim.is_taken = True
            else:
                del self._claims[number]
            return [{"Claimed": {"claim": number, "found": found}}]

        self._ledger.claim(stored, lambda found: self._enqueue(lambda: events(found)))

    def _record(self, claim: _Claim, state: str, answer: str | None, message: str | None) -> None:
        """Has the ledger write how a create has ended."""
        assert self._ledger is not None
        # One that is not answered may wait for as long as others lock the file.
        is_awaited = claim.is_taken
        if is_awaited:
            claim.running.recording.add(claim.item)

        def end() -> list[dict[str, Any]]:
            if is_awaited:
                claim.running.on_recorded(claim.item)
            return []

        self._ledger.record(claim.stored, state, answer, message, lambda: self._enqueue(end))

    def _enqueue(self, events: Callable[[], list[dict[str, Any]]]) -> None:
        """Enqueues a job, in any thread."""
        self._inbox.append(events)
        self._network.dispatch_step(self._step_all)

    def _report(self, case: str, value: dict[str, Any]) -> None:
        """Records the outcome of a claim, or hands an operation or an item of one its outcome."""
        if case == "Record":
            claim = self._claims.get(int(value["claim"]))
            if claim is not None:
                self._record(claim, value["state"], value["answer"], value["message"])
                del self._claims[int(value["claim"])]
            return
        running = self._running.get(int(value["operation"]))
        if running is None:
            return
        if case == "Item":
            if "from_ledger" in value:
                value["created"]["Ok"]["from_ledger"] = True
            running.finish_item(int(value["index"]), value["created"])
            return
        if "from_ledger" in value:
            (answer,) = value["outcome"]["Ok"].values()
            answer["from_ledger"] = True
        running.finish(value["outcome"])
        del self._running[running.number]
        # Those that the guest has no use for any more.
        for exchange in [it for it in self._exchanges.values() if it.running is running]:
            self._drop(self._exchanges.pop(exchange.number))

    def _drop(self, exchange: Exchange | None) -> None:
        """Abandons an exchange, if there is one."""
        if exchange is not None:
            exchange.abandon()
            with contextlib.suppress(Exception):  # its loop may be closed
                self._network.end(exchange)

    def _send(self, send: dict[str, Any], now_ms: int) -> None:
        running = self._running[int(send["operation"])]
        exchange = Exchange(send, running, now_ms)
        self._exchanges[exchange.number] = exchange
        self._network.start(exchange)

    def _fail(self, error: BaseException) -> None:
        """Ends everything, since the guest, or what drives it, has failed. The next call gets
        another guest."""
        reason = str(error) if isinstance(error, GuestLost) else f"{type(error).__name__}: {error}"
        self._guest = None
        self._wake_at_ms = None
        for effect in self._pending_effects:  # ids that the guest had given out
            ((case, value),) = effect.items()
            if case in ("Record", "Done", "Item"):
                self._report(case, value)
        self._pending_effects.clear()
        exchanges, self._exchanges = self._exchanges, {}
        claims, self._claims = self._claims, {}
        running, self._running = self._running, {}
        for exchange in exchanges.values():
            self._drop(exchange)
        for claim in claims.values():
            state = "unknown" if claim.item in claim.running.sent else "free"
            self._record(claim, state, None, f"the module of the package failed ({reason})")
        for it in running.values():
            it.fail(f"the module of the package failed ({reason})")
        log(
            logging.ERROR,
            "the module of the package failed, and everything under way with it: %s",
            reason,
        )

    def stop(self) -> None:
        """Begins nothing any more, at the end of the process, and frees the guest in time."""
        self._is_stopped = True
        if self._lock.acquire(timeout=0.2):
            self._guest = None
            self._lock.release()
