"""Runs operations for coroutines. Each request is sent by a task of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import traceback
from collections.abc import Callable
from typing import Any

import httpx

from . import _workers
from ._driver import Driver
from ._exchange import Exchange
from ._http import Connections, read_head, request_of
from ._log import log
from ._running import Running


class Signal:
    """Wakes coroutines."""

    def __init__(self) -> None:
        self._event: asyncio.Event | None = None

    def set(self) -> None:
        event, self._event = self._event, None
        if event is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                event.set()

    async def wait(self) -> None:
        """Waits until it is set again. What it announces must not be there yet."""
        if self._event is None:
            self._event = asyncio.Event()
        await self._event.wait()


class Coroutines(Driver[httpx.AsyncClient]):
    """Runs operations on one event loop."""

    http_class = httpx.AsyncClient
    signal_class = Signal
    is_async = True

    _loop: Any = None
    _tasks: set[asyncio.Task[None]]

    # ------------------------------------------------------------------------------- callers

    async def run(self, running: Running) -> Any:
        """Runs an operation that ends in one outcome."""
        self.begin(running)
        while not running.has_ended:
            await running.signal.wait()
        await self.close_if_idle()
        if running.operation.creates:
            # Lets asyncio cancel a create, if it is about to. It would not be raised in a coroutine
            # that returns, and the result would be gone.
            await asyncio.sleep(0)
        outcome = running.outcome()
        self.settle(running)
        return outcome

    def begin(self, running: Running) -> None:
        self._open.add(running)
        self._machine.begin(running)

    def settle(self, running: Running) -> None:
        super().settle(running)
        if self._ends_ledger:  # in a worker, since other processes may have locked it
            with contextlib.suppress(RuntimeError):  # no thread can be started: then at the end
                _workers.WORKERS.submit(self._close_ledger)

    def cancel(self, running: Running) -> None:
        self._machine.cancel(running)

    def _dispatch(self, job: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(job)
        except (RuntimeError, AttributeError):  # the loop has ended
            job()

    def dispatch_step(self, job: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all of it is given up
            self._loop.call_soon_threadsafe(job)

    async def close(self) -> None:
        """Refuses further calls. Those that go on are finished, and then connections closed."""
        self.is_closed = True
        await self.close_if_idle()

    async def close_if_idle(self) -> None:
        if self.is_closed and self._machine.is_idle:
            if isinstance(self._own, Connections):
                for transport in self._own.close():
                    await transport.aclose()
            elif self._own is not None:
                await self._own.aclose()
            if self._ends_ledger:  # other processes may have locked it
                await asyncio.to_thread(self._close_ledger)

    # -------------------------------------------------------------------------- the event loop

    def _enter(self) -> None:
        """A client may be used on one loop after another, as by `asyncio.run` twice."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if not self._machine.is_idle:
            if not self._loop.is_closed():
                raise RuntimeError("an AsyncVoiceClient serves one event loop at a time")
            for running in {*self._open, *self._orphans}:
                self.give_up(running, None, "the event loop of a call was closed")
            self._machine.reset()
        self._loop = loop
        self._own = None  # its connections are the other loop's
        self._tasks = set()
        self._timer = self._time_of_test or LoopTimer(loop)

    def start(self, exchange: Exchange) -> None:
        context = exchange.running.context.copy()
        task = self._loop.create_task(self._perform(exchange), context=context)
        exchange.cancel = task.cancel
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def end(self, exchange: Exchange) -> None:
        exchange.cancel()

    async def _perform(self, exchange: Exchange) -> None:
        if not exchange.is_abandoned:
            await self._send(exchange)
            if not exchange.is_abandoned:
                self._machine.end(exchange)

    async def _send(self, exchange: Exchange) -> None:
        """Sends a request and reads its answer."""
        http = self._http()
        request = request_of(exchange, http, is_async=True)
        if request is None:
            return
        transport: Any = None
        response: Any = None
        try:
            if isinstance(http, Connections):
                transport = http.take(exchange.request["url"])
                response = await transport.handle_async_request(request)
            else:
                response = await http.send(request, stream=True, follow_redirects=False, auth=None)
            if read_head(exchange, response):
                async for part in response.stream:
                    if not exchange.on_part(part):
                        break
        except (Exception, asyncio.CancelledError) as error:  # something else may cancel the task
            exchange.on_error(error)
        finally:
            try:
                await _release(http, transport, exchange.request["url"], response)
            except Exception:
                log(logging.DEBUG, "a connection could not be closed: %s", traceback.format_exc())

    # ------------------------------------------------------------------------------- process

    def after_fork(self) -> None:
        super().after_fork()
        self._loop = None


async def _release(http: Any, transport: Any, url: str, response: httpx.Response | None) -> None:
    """Keeps the connection of an answer, or closes it if a cancellation leaves open whether it is
    free."""
    ended = None
    try:
        if response is not None:
            await response.aclose()
            ended = response
    finally:
        if transport is not None:
            for unused in http.give_back(transport, url, ended):
                await unused.aclose()


class LoopTimer:
    """Calls a tick on an event loop when it is time. An earlier time replaces a later one."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._at = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def wake(self, tick: Callable[[], None], at: float) -> None:
        if self._handle is not None:
            if self._at <= at:
                return
            self._handle.cancel()  # or a wait of hours would leave one behind for each call
        self._at = at
        self._handle = self._loop.call_later(at - time.monotonic(), self._fire, tick)

    def _fire(self, tick: Callable[[], None]) -> None:
        self._handle = None
        tick()
