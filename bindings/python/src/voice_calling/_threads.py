"""Drives the machine for threads. A caller only waits, so that Ctrl-C ends its call at once, and a
service that sends a byte now and then holds up nobody: workers send the requests and step. An
answer that nobody waits for any more holds its worker until the next byte of it, or its timeout: a
thread that shut the connection of another might hit one that is a third's by then."""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

import httpx

from . import _connections
from ._exchange import Decoder, Exchange, request_of
from ._failures import execution_failed
from ._log import say
from ._machine import Machine
from ._operations import Operation
from ._running import Caller, Done, NoBell, Running, refuse_at_exit
from ._settings import Settings

T = TypeVar("T")

Tick: TypeAlias = Callable[[], "Callable[[], None] | None"]
"""A weak reference to what is called when it is time."""

_IDLE_SECONDS = 10.0
"""How long a thread without work stays."""

_LOOKS_UP_SECONDS = 0.2

_PATIENCE = 2.0
"""How long a cancelled caller waits to learn what is known. It takes a step."""

_PATIENCE_AT_EXIT = 0.5


class Waiting:
    """Where a thread waits."""

    __slots__ = ("_rings",)

    def __init__(self) -> None:
        self._rings: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ring(self) -> None:
        self._rings.put(None)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it was rung since the last time. The main thread looks up now and then: Ctrl-C
        does not wake it on Windows, nor elsewhere just before it sleeps."""
        if timeout is None and threading.current_thread() is threading.main_thread():
            timeout = _LOOKS_UP_SECONDS
        try:
            self._rings.get(timeout=timeout)
        except queue.Empty:
            return False
        return True


class Threads:
    """Runs operations for any number of threads."""

    def __init__(self, settings: Settings, http_client: httpx.Client | None) -> None:
        self._own: httpx.Client | None = None
        self._given = http_client
        self._base_urls = settings.base_urls()
        self._lock = (
            threading.RLock()
        )  # garbage collection may end a batch in a thread that holds it
        self._local = threading.local()
        self._open: weakref.WeakSet[Running] = weakref.WeakSet()
        """What has a caller that does not have all of it."""
        self._left: set[Running] = set()
        """What is to be given up since its caller was collected, as its weak reference was."""
        self._is_closed = False
        self._was_forked = False
        time_of_test = getattr(http_client, "__voice_calling_time__", None)
        clock = time.monotonic if time_of_test is None else time_of_test.now
        self._machine = Machine(settings, self, clock)
        tick = weakref.WeakMethod(self._tick)
        self._weak_tick: Tick = tick
        self._time = time_of_test and time_of_test.timer(self._machine, tick)
        DRIVERS.add(self)

    # ------------------------------------------------------------------------------ callers

    def call(self, operation: Operation[T], defaults: dict[str, Any]) -> Call[T]:
        """An operation that is to be run."""
        return Call(self, operation, defaults)

    def prepared(self, operation: Operation[Any], defaults: dict[str, Any], bell: Any) -> Running:
        """An operation that is to be begun."""
        self._refuse_if_closed()
        refuse_at_exit()
        if self._was_forked:
            raise execution_failed(
                "the process was forked after calls, and both would use the connections of "
                "http_client: nothing was sent. Make the client after the fork"
            )
        self._http_client()  # takes a while, which is not part of an attempt
        return self._machine.operation(operation, {**defaults, **operation.options}, bell)

    def begin(self, running: Running) -> None:
        """Begins an operation. It is open until it is settled."""
        with self._lock:
            self._refuse_if_closed()
            self._open.add(running)
        try:
            WORKERS.submit(partial(self._work, self._machine.begin, running))
        except RuntimeError as error:  # no thread can be started
            running.finish(Done(error=execution_failed(f"nothing was sent: {error}")))

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise RuntimeError("the client is closed")

    def give_up(self, running: Running) -> None:
        """Ends an operation at once."""
        running.is_given_up = True
        if running.done is not None:
            return
        self.soon(partial(self._machine.give_up, running))
        until = time.monotonic() + _PATIENCE
        while running.done is None and running.bell.wait(max(0.0, until - time.monotonic())):
            pass

    def leave_soon(self, running: Running) -> None:
        """Gives an operation up whose caller is gone."""

        def leave() -> None:
            self.give_up(running)
            running.account(None)
            self.settled(running)

        self._left.add(running)
        self.soon(leave)

    def soon(self, job: Callable[[], None]) -> None:
        """Does this in a worker."""
        try:
            WORKERS.submit(partial(self._work, job))
        except RuntimeError:  # no thread can be started
            job()

    def close(self) -> None:
        """Refuses further calls. Those under way are finished, and then connections closed."""
        with self._lock:
            self._is_closed = True
        self._close_if_idle()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def settled(self, running: Running) -> None:
        """The caller of an operation has all of it."""
        self._open.discard(running)
        self._left.discard(running)
        running.is_settled = True
        running.bell.ring()  # for others who wait
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._is_closed and self._own is not None and not (self._open or self._left):
            self._own.close()

    # ------------------------------------------------------------------------------ workers

    def _work(self, job: Callable[..., None], *arguments: Any) -> None:
        """In a worker: a job, and the first of the exchanges that it leads to."""
        local = self._local
        local.next = own = deque[Exchange]()
        try:
            job(*arguments)
            while own:
                self._perform(own.popleft())
        finally:
            local.next = None

    def start(self, exchange: Exchange) -> None:
        own = getattr(self._local, "next", None)
        if own is not None and not own:
            own.append(exchange)
            return
        try:
            WORKERS.submit(partial(self._work, self._perform, exchange))
        except RuntimeError as error:  # no thread can be started
            exchange.is_not_sent(str(error))
            self._machine.ended(exchange)

    def end(self, exchange: Exchange) -> None:
        """Its worker sees that it is abandoned."""

    def wake(self, at: float) -> None:
        if self._time is None:
            TIMER.wake(self._weak_tick, at)
        else:
            self._time.wake(at)

    def _tick(self) -> None:
        self.soon(self._machine.tick)

    def _perform(self, exchange: Exchange) -> None:
        if not exchange.is_abandoned:
            exchange.running.context.copy().run(self._send, exchange)
            if not exchange.is_abandoned:
                self._machine.ended(exchange)

    def _send(self, exchange: Exchange) -> None:
        http_client = self._http_client()
        try:
            request = request_of(exchange, http_client)
        except Exception as error:
            exchange.is_refused(error)
            return
        if http_client.is_closed:
            exchange.is_not_sent("http_client is closed")
            return
        try:
            response = http_client.send(request, stream=True, follow_redirects=False, auth=None)
        except BaseException as error:
            exchange.fails(error)
            return
        try:
            exchange.begins(response)
            if response.is_stream_consumed:  # a hook has read it
                exchange.takes(response.content)
                return
            decoder = Decoder(exchange, response)
            for part in response.iter_raw():
                if not decoder.takes(part):
                    return
            decoder.ends()
        except BaseException as error:
            exchange.fails(error)
        finally:
            try:
                response.close()
            except Exception:
                say(logging.DEBUG, "a connection could not be closed: %s", traceback.format_exc())

    def _http_client(self) -> httpx.Client:
        if self._given is not None:
            return self._given
        if self._own is None:
            with self._lock:
                if self._own is None:
                    self._own = _connections.http_client(httpx.Client, self._base_urls)
        return self._own

    # -------------------------------------------------------------------------- the process

    def after_fork(self) -> None:
        """In the child: threads, connections and what was under way are the parent's."""
        self._was_forked = self._given is not None and self._machine.was_used
        self._own = None
        self._lock = threading.RLock()
        self._open = weakref.WeakSet()
        self._left = set()
        self._local = threading.local()
        self._machine.forget()

    def at_exit(self) -> None:
        still_open = {*self._open, *self._left}
        for running in still_open:
            running.bell = NoBell()
            self._machine.give_up(running)
        until = time.monotonic() + _PATIENCE_AT_EXIT
        for running in still_open:  # where another thread steps
            while running.done is None and time.monotonic() < until:
                time.sleep(0.001)
            running.account(None, "the process ends")
        self._machine.stop()


class Call(Caller[T]):
    """The caller of an operation that ends in one outcome."""

    def __init__(self, driver: Threads, operation: Operation[T], defaults: dict[str, Any]) -> None:
        self._driver = driver
        self._bell = Waiting()
        self._running = driver.prepared(operation, defaults, self._bell)

    def run(self) -> T:
        """Runs it, and waits for its end."""
        running = self._running
        assert running is not None
        self._driver.begin(running)
        while running.done is None:
            self._bell.wait()
            while running.progress:
                running.tell_progress()
        outcome: T = running.outcome()
        self._driver.settled(running)
        return outcome


DRIVERS: weakref.WeakSet[Any] = weakref.WeakSet()
"""All that drive machines in this process."""


class Workers:
    """Threads that do one job after another. There are as many as jobs at once."""

    def __init__(self) -> None:
        self._idle: list[queue.SimpleQueue[Callable[[], None]]] = []

    def submit(self, job: Callable[[], None]) -> None:
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = queue.SimpleQueue()
            inbox.put(job)
            threading.Thread(
                target=_work, args=(inbox, self._idle), name="voice-calling", daemon=True
            ).start()
        else:
            inbox.put(job)


def _work(
    inbox: queue.SimpleQueue[Callable[[], None]],
    idle: list[queue.SimpleQueue[Callable[[], None]]],
) -> None:
    while True:
        try:
            job = inbox.get(timeout=_IDLE_SECONDS)
        except queue.Empty:
            try:
                idle.remove(inbox)
            except ValueError:
                continue  # a job is on its way
            return
        try:
            job()
        except BaseException:
            say(logging.ERROR, "a job failed: %s", traceback.format_exc())
        del job  # it holds the client
        idle.append(inbox)


WORKERS = Workers()
"""Those of this process."""


class Timer:
    """A thread that calls ticks when it is time, for all clients of the process. It ends when it is
    long idle."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[Tick, float] = {}
        self._is_running = False

    def wake(self, tick: Tick, at: float) -> None:
        with self._changed:
            if self._due.get(tick, at + 1) <= at:
                return
            self._due[tick] = at
            if self._is_running:
                self._changed.notify()
                return
            name = "voice-calling-timer"
            try:
                threading.Thread(target=self._wait, name=name, daemon=True).start()
            except BaseException:
                del self._due[tick]
                raise
            self._is_running = True

    def _wait(self) -> None:
        while True:
            with self._changed:
                if not self._due:
                    self._changed.wait(_IDLE_SECONDS)
                if not self._due:
                    self._is_running = False
                    return
                tick = min(self._due, key=self._due.__getitem__)
                delay = self._due[tick] - time.monotonic()
                if delay > 0:
                    self._changed.wait(delay)
                    continue
                del self._due[tick]
            try:
                if (call := tick()) is not None:
                    call()
            except Exception:
                say(logging.ERROR, "a step failed: %s", traceback.format_exc())
            call = None  # it holds the client


TIMER = Timer()


def _after_fork() -> None:
    global WORKERS, TIMER
    WORKERS, TIMER = Workers(), Timer()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
