"""The parts that the drivers share, which run operations in threads and in coroutines."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Generic

from . import _guest, _workers
from ._errors import ExecutionFailed, invalid_input
from ._http import Connections, Http, make_http
from ._ledger import Ledger
from ._machine import Machine, Network
from ._operation import Operation
from ._requests import CheckedRequest
from ._running import NoSignal, Running
from ._settings import Settings
from ._storage import LEDGERS, Keys, LedgerStorage, Storage

_EXIT_TIMEOUT_S = 0.5

DRIVERS: weakref.WeakSet[Driver[Any]] = weakref.WeakSet()
"""All drivers of this process."""


class Driver(Network, ABC, Generic[Http]):
    """Runs operations."""

    http_class: type[Http]
    signal_class: type[Any]
    """What wakes a caller."""
    is_async: bool

    _timer: Any = None
    """It has `wake(tick, at)`."""

    is_refusing: ClassVar[bool] = False
    """Whether the process is at its end: no thread and no event loop goes on any more."""

    def __init__(
        self,
        settings: Settings,
        http_client: Http | None,
        ledger: str | os.PathLike[str] | Ledger | LedgerStorage | None,
    ) -> None:
        self._given: Http | None = http_client
        self.ledger: Keys | None
        given: Any = ledger
        if given is None or isinstance(given, Ledger):
            self.ledger = given
        else:
            self.ledger = Storage(given) if hasattr(given, "claim") else Ledger(given)
        self._owns_ledger = isinstance(self.ledger, Ledger) and self.ledger is not given
        self._base_urls = settings.base_urls()
        self._reset()
        self._was_forked = False
        self.is_closed = False
        self._time_of_test: Any = getattr(http_client, "__voice_calling_time__", None)
        self._clock: Callable[[], float] = time.monotonic
        if self._time_of_test is not None:
            self._clock = self._time_of_test.now
        self._machine = Machine(settings, self, self._clock, self.ledger)
        if self._time_of_test is not None:
            self._time_of_test.attach(self._machine)
        reference = weakref.WeakMethod(self._tick)

        def tick_if_alive() -> None:
            if (tick := reference()) is not None:
                tick()

        self._tick_if_alive: Callable[[], None] = tick_if_alive
        """For a timer, which does not keep the client."""
        DRIVERS.add(self)

    def _reset(self) -> None:
        self._own: Http | Connections[Any] | None = None
        # Reentrant, since garbage collection may end a batch in a thread that holds it.
        self._lock = threading.RLock()
        self._open: weakref.WeakSet[Running] = weakref.WeakSet()
        """The operations whose callers do not have all of their outcomes. An error that one holds
        may hold its caller."""
        self._orphans: set[Running] = set()
        """Operations that are to be cancelled, since their callers were collected, as their weak
        references were."""

    # ------------------------------------------------------------------------------- callers

    def prepare(self, operation: Operation[Any], defaults: dict[str, Any]) -> Running:
        """Returns an operation that is to be begun, or raises why it cannot be."""
        self._refuse_if_closed()
        if Driver.is_refusing:
            raise ExecutionFailed("the process is at its end: nothing was sent")
        if self._machine.is_stepped_here:
            raise RuntimeError("a handler of the log cannot call the client, which waits for it")
        if self._was_forked:
            raise ExecutionFailed(
                "the process was forked after calls, and both would use the connections of "
                "http_client: nothing was sent. Make the client after the fork"
            )
        self.check_ledger(operation.key, "once")
        for taken in operation.requests or ():
            self.check_ledger(taken.key, "once")
        self._http()  # takes a while, which is not part of an attempt
        self._enter()  # at last: two threads that begin at once would have each other's loop
        return Running(operation, {**defaults, **operation.options}, self.signal_class())

    def check_ledger(self, key: str | None, at: str) -> None:
        """Refuses a key if there is no ledger."""
        if key is not None and self.ledger is None:
            found = f"{key!r} for a client without a ledger"
            raise invalid_input(at, found, "a key for a client that was made with ledger=…")

    def _refuse_if_closed(self) -> None:
        if self.is_closed:
            raise RuntimeError("the client is closed")

    def _enter(self) -> None:
        """Adapts to the thread or the event loop of a caller."""

    @abstractmethod
    def begin(self, running: Running) -> None:
        """Begins an operation. It is open until it is settled."""

    def enqueue_requests(
        self, running: Running, taken: list[CheckedRequest], is_last: bool
    ) -> None:
        """Enqueues requests of a batch, which has asked for them."""
        self._dispatch(partial(self._machine.enqueue_requests, running, taken, is_last))

    @abstractmethod
    def cancel(self, running: Running) -> None:
        """Ends an operation at once."""

    def give_up(
        self, running: Running, error: BaseException | None, why: str = "a call was cancelled"
    ) -> None:
        """Cancels an operation, and reports what its caller does not have."""
        self.cancel(running)
        running.report_loss(error, why)
        self.settle(running)

    def dispatch_cancel(self, running: Running) -> None:
        """Cancels an operation whose caller was collected."""

        def cancel() -> None:
            if not running.is_settled:
                self.give_up(running, None)

        running.is_cancelled = True  # nothing is sent any more, however late the worker is
        self._orphans.add(running)
        self._dispatch(cancel)

    @abstractmethod
    def _dispatch(self, job: Callable[[], None]) -> None:
        """Does a job where the machine may be stepped."""

    def dispatch_step(self, job: Callable[[], None]) -> None:
        self._dispatch(job)

    def wake(self, at: float) -> None:
        self._timer.wake(self._tick_if_alive, at)

    def _tick(self) -> None:
        """Steps the machine, since it is time."""
        self._machine.tick()

    def settle(self, running: Running) -> None:
        """Notes that the caller of an operation has all of its outcome."""
        self._open.discard(running)
        self._orphans.discard(running)
        running.is_settled = True
        running.raised = None  # its traceback holds the caller
        running.signal.set()  # for others who wait

    @property
    def _is_idle(self) -> bool:
        return not (self._open or self._orphans)

    @property
    def _ends_ledger(self) -> bool:
        """Whether the ledger is to be closed: the client is closed, and had it to itself."""
        return self.is_closed and self._is_idle and self._owns_ledger

    def _close_ledger(self) -> None:
        if self.ledger is not None:
            self.ledger.close()

    # ------------------------------------------------------------------------------- network

    def _http(self) -> Http | Connections[Any]:
        if self._given is not None:
            return self._given
        if self._own is None:
            with self._lock, _guest.first_call_lock:
                if self._own is None:
                    self._own = make_http(self.http_class, self._base_urls)
        return self._own

    # ------------------------------------------------------------------------------- process

    def after_fork(self) -> None:
        """Forgets, in the child, the connections of the parent and what goes on there."""
        self._was_forked = self._given is not None and self._machine.has_guest
        self._reset()
        self._machine.reset()

    def at_exit(self) -> None:
        """Ends what goes on, at the end of the process."""
        still_open = {*self._open, *self._orphans}
        for running in still_open:
            running.signal = NoSignal()
            self._machine.cancel(running)
        until = time.monotonic() + _EXIT_TIMEOUT_S
        for running in still_open:  # if another thread steps
            while not running.is_done and time.monotonic() < until:
                time.sleep(0.001)
            running.report_loss(None, "the process ends")
        self._machine.stop()


# ------------------------------------------------------------------------ the whole process


def watch_process() -> None:
    """Registers what is done at forks and at the end of the process, once for the whole package."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork,
            after_in_parent=_after_fork_in_parent,
            after_in_child=_after_fork_in_child,
        )
    atexit.register(_at_exit)


# A fork goes on even if `_before_fork` is interrupted: then this thread has only some of the locks,
# and it must not release those that another thread has.


def _before_fork() -> None:
    _guest.first_call_lock.acquire()
    for ledger in list(LEDGERS):
        if isinstance(ledger, Ledger):
            ledger.before_fork()


def _after_fork_in_parent() -> None:
    for ledger in list(LEDGERS):
        if isinstance(ledger, Ledger):
            ledger.after_fork_in_parent()
    with contextlib.suppress(RuntimeError):
        _guest.first_call_lock.release()


def _after_fork_in_child() -> None:
    """Forgets what belongs to the parent."""
    _guest.first_call_lock = threading.RLock()
    _workers.after_fork()
    for ledger in list(LEDGERS):
        ledger.after_fork_in_child()
    for driver in list(DRIVERS):
        driver.after_fork()


def _at_exit() -> None:
    for driver in list(DRIVERS):
        driver.at_exit()
    Driver.is_refusing = True
    for ledger in list(LEDGERS):
        ledger.close()
    _guest.at_exit()
