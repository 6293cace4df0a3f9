"""Runs operations for threads. A caller only waits, so that Ctrl-C ends its call at once, and a
service that sends a byte now and then holds up no one: workers send the requests and step the
machine. An answer that is not waited for any more holds its worker until the next byte of it, or
its timeout: a thread that shut the connection of another might hit one that is a third's by
then."""

from __future__ import annotations

import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx

from . import _workers
from ._driver import Driver
from ._exchange import Exchange
from ._http import Connections, read_head, request_of
from ._log import log
from ._running import Running

_INTERRUPT_POLL_S = 0.2

_CANCEL_TIMEOUT_S = 2.0
"""How long a cancelled caller waits to learn what is known, which takes a step of the machine."""


class Signal:
    """Wakes a thread."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        self._queue.put(None)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is set, once for each time. Returns `False` after a timeout. The main
        thread has one in any case: Ctrl-C does not wake it on Windows, nor elsewhere just before it
        sleeps."""
        if timeout is None and threading.current_thread() is threading.main_thread():
            timeout = _INTERRUPT_POLL_S
        try:
            self._queue.get(timeout=timeout)
        except queue.Empty:
            return False
        return True


class Threads(Driver[httpx.Client]):
    """Runs operations for any number of threads."""

    http_class = httpx.Client
    signal_class = Signal
    is_async = False

    # ------------------------------------------------------------------------------- callers

    def run(self, running: Running) -> Any:
        """Runs an operation that ends in one outcome, and waits for its end."""
        self.begin(running)
        while not running.has_ended:
            running.signal.wait()
        outcome = running.outcome()
        self.settle(running)
        return outcome

    def begin(self, running: Running) -> None:
        with self._lock:
            self._refuse_if_closed()
            self._open.add(running)
        try:
            _workers.WORKERS.submit(partial(self._machine.begin, running))
        except RuntimeError as error:  # no thread can be started
            running.refuse(f"nothing was sent: {error}")

    def cancel(self, running: Running) -> None:
        running.is_cancelled = True
        if running.is_done:
            return
        self._dispatch(partial(self._machine.cancel, running))
        until = time.monotonic() + _CANCEL_TIMEOUT_S
        while not running.is_done and running.signal.wait(max(0.0, until - time.monotonic())):
            pass

    def _dispatch(self, job: Callable[[], None]) -> None:
        try:
            _workers.WORKERS.submit(job)
        except RuntimeError:  # no thread can be started
            job()

    def settle(self, running: Running) -> None:
        super().settle(running)
        self._close_if_idle()

    def close(self) -> None:
        """Refuses further calls. Those that go on are finished, and then connections closed."""
        with self._lock:
            self.is_closed = True
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self.is_closed and self._is_idle and self._own is not None:
            for transport in self._own.close() or ():
                transport.close()
        if self._ends_ledger:
            self._close_ledger()

    # ------------------------------------------------------------------------------- workers

    def start(self, exchange: Exchange) -> None:
        try:
            _workers.WORKERS.submit(partial(self._perform, exchange))
        except RuntimeError as error:  # no thread can be started
            exchange.on_not_sent(str(error))
            self._machine.end(exchange)

    def end(self, exchange: Exchange) -> None:
        """Its worker sees that it is abandoned."""

    @property
    def _timer(self) -> Any:
        return self._time_of_test or _workers.TIMER

    def _tick(self) -> None:
        self._dispatch(self._machine.tick)

    def _perform(self, exchange: Exchange) -> None:
        if not exchange.is_abandoned:
            exchange.running.context.copy().run(self._send, exchange)
            if not exchange.is_abandoned:
                self._machine.end(exchange)

    def _send(self, exchange: Exchange) -> None:
        http = self._http()
        request = request_of(exchange, http, is_async=False)
        if request is None:
            return
        transport: Any = None
        response: Any = None
        try:
            if isinstance(http, Connections):
                transport = http.take(exchange.request["url"])
                response = transport.handle_request(request)
            else:
                response = http.send(request, stream=True, follow_redirects=False, auth=None)
            if read_head(exchange, response):
                for part in response.stream:
                    if not exchange.on_part(part):
                        break
        except BaseException as error:
            exchange.on_error(error)
        finally:
            try:
                if response is not None:
                    response.close()
                if transport is not None and isinstance(http, Connections):
                    for ended in http.give_back(transport, exchange.request["url"], response):
                        ended.close()
            except Exception:
                log(logging.DEBUG, "a connection could not be closed: %s", traceback.format_exc())
