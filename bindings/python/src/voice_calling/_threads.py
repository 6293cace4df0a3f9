"""Drives the machine for threads. A caller only waits, so that Ctrl-C ends its call at once, and a
service that sends a byte now and then holds up nobody: workers send the requests and step. An
answer that nobody waits for any more holds its worker until the next byte of it, or its timeout: a
thread that shut the connection of another might hit one that is a third's by then."""

from __future__ import annotations

import contextvars
import logging
import queue
import threading
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import httpx

from . import _connections
from ._exchange import Exchange, request_of
from ._failures import execution_failed
from ._given_up import tell
from ._history import History
from ._log import say
from ._machine import Done, Machine, Running, Told
from ._operations import Operation, Progress
from ._settings import Settings

T = TypeVar("T")

_IDLE_SECONDS = 10.0
"""How long a thread without work stays."""

_PATIENCE = 2.0
"""How long a cancelled caller waits to learn what is known. It takes a step."""


class Threads:
    """Runs operations for any number of threads."""

    def __init__(
        self, settings: Settings, http_client: httpx.Client | None, history: History | None
    ) -> None:
        self._own: httpx.Client | None = None
        self._given = http_client
        self._base_urls = settings.base_urls()
        self._lock = (
            threading.RLock()
        )  # garbage collection may end a batch in a thread that holds it
        self._workers = Workers()
        self._local = threading.local()
        self._under_way = 0
        self._is_closed = False
        self._was_forked = False
        time_of_test = getattr(http_client, "__voice_calling_time__", None)
        clock = time.monotonic if time_of_test is None else time_of_test.now
        self._machine = Machine(settings, history, self, clock)
        tick = weakref.WeakMethod(self._tick)
        if time_of_test is None:
            self._timer: Any = Timer(tick)
        else:
            self._timer = time_of_test.timer(self._machine, tick)
        DRIVERS.add(self)

    # ------------------------------------------------------------------------------ callers

    def run(self, operation: Operation[T], defaults: dict[str, Any]) -> T:
        """Runs an operation, and waits for its end."""
        mailbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        running = self.prepared(operation, defaults, mailbox)
        message: Any = None
        try:
            self.begin(running)
            while not isinstance(message := mailbox.get(), Done):
                if isinstance(message, Told) and operation.on_progress is not None:
                    operation.on_progress(progress(message))
        except BaseException as error:
            done = message if isinstance(message, Done) else self.give_up(running, mailbox)
            tell(running, done, error)
            raise
        finally:
            self.finished()
        outcome: T = running.outcome(message)
        return outcome

    def prepared(
        self, operation: Operation[Any], defaults: dict[str, Any], mailbox: Any
    ) -> Running:
        """An operation that is to be begun. Who gets it says when it has `finished`."""
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the client is closed")
            self._under_way += 1
        try:
            if self._was_forked:
                raise execution_failed(
                    "the process was forked after calls, and both would use the connections of "
                    "http_client: nothing was sent. Make the client after the fork"
                )
            self._http_client()  # takes a while, which is not part of an attempt
            running = self._machine.operation(operation, {**defaults, **operation.options}, mailbox)
            running.context = contextvars.copy_context()
        except BaseException:
            self.finished()
            raise
        return running

    def begin(self, running: Running) -> None:
        try:
            self._workers.submit(partial(self._work, self._machine.begin, running))
        except RuntimeError as error:  # no thread can be started
            running.mailbox.put(Done(error=execution_failed(f"nothing was sent: {error}")))

    def give_up(self, running: Running, mailbox: Any) -> Done | None:
        """Ends an operation at once, and returns what is known of it."""
        running.is_given_up = True
        try:
            self._workers.submit(partial(self._work, self._machine.give_up, running))
        except RuntimeError:  # no thread can be started
            self._machine.give_up(running)
        until = time.monotonic() + _PATIENCE
        try:
            while True:
                message = mailbox.get(timeout=max(0.0, until - time.monotonic()))
                if isinstance(message, Done):
                    return message
                if running.on_item is not None:
                    running.on_item(message)
        except queue.Empty:
            return None

    def soon(self, job: Callable[[], None]) -> None:
        """Does this in a worker."""
        try:
            self._workers.submit(job)
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

    def finished(self) -> None:
        """An operation that was prepared has ended."""
        with self._lock:
            self._under_way -= 1
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._is_closed and self._own is not None and self._under_way == 0:
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
            self._workers.submit(partial(self._work, self._perform, exchange))
        except RuntimeError as error:  # no thread can be started
            exchange.is_not_sent(str(error))
            self._machine.ended(exchange)

    def end(self, exchange: Exchange) -> None:
        """Its worker sees that it is abandoned."""

    def wake(self, at: float) -> None:
        self._timer.wake(at)

    def _tick(self) -> None:
        try:
            self._workers.submit(partial(self._work, self._machine.tick))
        except RuntimeError:  # no thread can be started
            self._machine.tick()

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
            for part in response.iter_bytes():
                if not exchange.takes(part):
                    break
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
        self._under_way = 0
        self._local = threading.local()
        self._workers = Workers()
        if isinstance(self._timer, Timer):
            self._timer = Timer(weakref.WeakMethod(self._tick))
        self._machine.forget()

    def at_exit(self) -> None:
        for running in self._machine.running:
            if running.sent:
                say(
                    logging.WARNING,
                    "the process ends while a request is in flight: the create may have been "
                    "processed",
                )
        self._machine.stop()


def progress(told: Told) -> Progress:
    return Progress(
        requests=told.requests,
        waited_ms=told.waited_ms,
        status=told.status,
        raw_json=told.raw_json,
    )


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


class Timer:
    """A thread that calls something when it is time; it ends when that is gone, or long idle."""

    def __init__(self, tick: Callable[[], Callable[[], None] | None]) -> None:
        self._tick = tick
        self._changed = threading.Condition()
        self._at: float | None = None
        self._is_running = False

    def wake(self, at: float) -> None:
        with self._changed:
            if self._at is not None and self._at <= at:
                return
            self._at = at
            if self._is_running:
                self._changed.notify()
                return
            name = "voice-calling-timer"
            try:
                threading.Thread(target=self._wait, name=name, daemon=True).start()
            except BaseException:
                self._at = None
                raise
            self._is_running = True

    def _wait(self) -> None:
        while True:
            with self._changed:
                if self._at is None:
                    self._changed.wait(_IDLE_SECONDS)
                if self._at is None:
                    self._is_running = False
                    return
                delay = self._at - time.monotonic()
                if delay > 0:
                    self._changed.wait(delay)
                    continue
                self._at = None
            tick = self._tick()
            if tick is None:
                self._is_running = False
                return
            try:
                tick()
            except Exception:
                say(logging.ERROR, "a step failed: %s", traceback.format_exc())
            del tick
