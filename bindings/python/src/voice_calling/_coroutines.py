"""Runs operations for coroutines, of asyncio or of trio. A call sends its requests itself, in the
task that awaits it; those of a batch have tasks of their own. anyio and asyncio are imported by the
first call: half of an application has no use for them."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx

from . import _workers
from ._driver import Driver
from ._exchange import Exchange
from ._http import AnswerReader, Connections, request_of
from ._log import log
from ._running import Running

if TYPE_CHECKING:
    import anyio


class Signal:
    """Wakes coroutines."""

    def __init__(self) -> None:
        self._event: anyio.Event | None = None

    def set(self) -> None:
        event, self._event = self._event, None
        if event is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                event.set()

    async def wait(self) -> None:
        """Waits until it is set again. What it announces must not be there yet."""
        import anyio

        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()


class Coroutines(Driver[httpx.AsyncClient]):
    """Runs operations on one event loop."""

    http_class = httpx.AsyncClient
    signal_class = Signal
    is_async = True

    _loop: Any = None
    _is_asyncio = True
    _tasks: set[Any]

    # ------------------------------------------------------------------------------- callers

    async def run(self, running: Running) -> Any:
        """Runs an operation that ends in one outcome."""
        self.begin(running)
        while not running.has_ended:
            if running.notify_caller():
                continue
            if running.to_send:
                await self._perform(running.to_send.popleft())
            else:
                await running.signal.wait()
        running.notify_caller()
        await self.close_if_idle()
        if self._is_asyncio and running.operation.creates:
            # Lets asyncio cancel a create, if it is about to. It would not be raised in a coroutine
            # that returns, and the result would be gone.
            import asyncio

            await asyncio.sleep(0)
        outcome = running.outcome()
        self.settle(running)
        return outcome

    def begin(self, running: Running) -> None:
        self._open.add(running)
        self._machine.begin(running)

    def cancel(self, running: Running) -> None:
        self._machine.cancel(running)

    def _dispatch(self, job: Callable[[], None]) -> None:
        try:
            _dispatch_on(self._loop, job)
        except (RuntimeError, AttributeError):  # the loop has ended
            job()

    def dispatch_step(self, job: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all of it is given up
            _dispatch_on(self._loop, job)

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
            if self._ends_ledger:
                closed = Signal()
                self._close_ledger_in_worker(partial(_dispatch_on, _running_loop(), closed.set))
                await closed.wait()

    def settle(self, running: Running) -> None:
        super().settle(running)
        if self._ends_ledger:
            self._close_ledger_in_worker(lambda: None)

    def _close_ledger_in_worker(self, on_end: Callable[[], None]) -> None:
        """Closes the ledger, while the event loop goes on: other processes may have locked it."""

        def close() -> None:
            try:
                self._close_ledger()
            finally:
                on_end()

        try:
            _workers.WORKERS.submit(close)
        except RuntimeError:  # no thread can be started
            close()

    @property
    def _is_idle(self) -> bool:
        return super()._is_idle and self._machine.is_idle

    # -------------------------------------------------------------------------- the event loop

    def _enter(self) -> None:
        """A client may be used on one loop after another, as by `asyncio.run` twice."""
        import asyncio

        loop = _running_loop()
        if loop is self._loop:
            return
        if not self._machine.is_idle:
            if not _has_ended(self._loop):
                raise RuntimeError("an AsyncVoiceClient serves one event loop at a time")
            for running in {*self._open, *self._orphans}:
                self.give_up(running, None, "the event loop of a call was closed")
            self._machine.reset()
        self._loop = loop
        self._own = None  # its connections are the other loop's
        self._tasks = set()
        self._is_asyncio = isinstance(loop, asyncio.AbstractEventLoop)
        self._timer = self._time_of_test or LoopTimer(loop)

    def start(self, exchange: Exchange) -> None:
        running = exchange.running
        if not running.operation.is_batch:
            running.to_send.append(exchange)
            running.signal.set()
        elif self._is_asyncio:
            create: Any = self._loop.create_task
            task = running.context.copy().run(create, self._perform(exchange))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            spawn = _trio().lowlevel.spawn_system_task
            spawn(self._perform, exchange, context=running.context.copy())

    def end(self, exchange: Exchange) -> None:
        if exchange.cancel is not None:
            exchange.cancel()

    async def _perform(self, exchange: Exchange) -> None:
        """Sends a request and reads its answer."""
        import anyio

        if exchange.is_abandoned:
            return
        with anyio.CancelScope() as scope:
            exchange.cancel = scope.cancel
            await self._send(exchange)
        exchange.cancel = None
        if not exchange.is_abandoned:
            self._machine.end(exchange)

    async def _send(self, exchange: Exchange) -> None:
        import anyio

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
            reader = AnswerReader(exchange, response)
            if reader.has_ended:
                return
            async for part in response.stream:
                if not reader.read(part):
                    return
            reader.end()
        except Exception as error:
            exchange.on_error(error)
        finally:
            try:
                with anyio.CancelScope(shield=True):
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

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self._at: float | None = None
        self._cancel: Callable[[], object] = lambda: None

    def wake(self, tick: Callable[[], None], at: float) -> None:
        if self._at is not None and self._at <= at:
            return
        self._cancel()  # or a wait of hours would leave a timer behind for each call
        self._at = at
        if hasattr(self._loop, "call_later"):
            delay_s = max(0.0, at - time.monotonic())
            self._cancel = self._loop.call_later(delay_s, self._fire, tick, at).cancel
        else:
            scope = _trio().CancelScope()
            self._cancel = scope.cancel
            _trio().lowlevel.spawn_system_task(self._sleep, scope, tick, at)

    async def _sleep(self, scope: Any, tick: Callable[[], None], at: float) -> None:
        with scope:
            await _trio().sleep(max(0.0, at - time.monotonic()))
            self._fire(tick, at)

    def _fire(self, tick: Callable[[], None], at: float) -> None:
        if self._at == at:
            self._at = None
            tick()


def _running_loop() -> Any:
    """Returns the event loop of asyncio, or trio's token, that runs this."""
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return _trio().lowlevel.current_trio_token()


def _dispatch_on(loop: Any, job: Callable[[], None]) -> None:
    """Does a job on the thread of a loop. Raises `RuntimeError` if the loop has ended."""
    if hasattr(loop, "call_soon_threadsafe"):
        loop.call_soon_threadsafe(job)
    else:  # trio's
        loop.run_sync_soon(job)


def _has_ended(loop: Any) -> bool:
    try:
        _dispatch_on(loop, lambda: None)
    except RuntimeError:
        return True
    return False


def _trio() -> Any:
    """Returns trio, if it runs this."""
    trio = sys.modules.get("trio")
    if trio is None:
        raise RuntimeError("no event loop of asyncio or trio is running")
    return trio
