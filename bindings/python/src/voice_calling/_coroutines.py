"""Drives the machine for coroutines, of asyncio or of trio. A call sends its requests itself, in
the task that awaits it; those of a batch have tasks of their own."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import traceback
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from . import _connections
from ._exchange import Decoder, Exchange, request_of
from ._failures import execution_failed
from ._log import say
from ._machine import Machine
from ._operations import Operation
from ._running import Caller, Running, refuse_at_exit
from ._settings import Settings
from ._threads import DRIVERS

if TYPE_CHECKING:
    import asyncio

    import anyio

# Both are imported by the first call: half of an application has no use for them.

T = TypeVar("T")


class Waiting:
    """Where coroutines wait."""

    __slots__ = ("_rung",)

    def __init__(self) -> None:
        self._rung: anyio.Event | None = None

    def ring(self) -> None:
        rung, self._rung = self._rung, None
        if rung is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                rung.set()

    async def wait(self) -> None:
        """Waits for the next ring. What it tells of must not be there yet."""
        import anyio

        if self._rung is None:
            self._rung = anyio.Event()
        await self._rung.wait()


class Coroutines:
    """Runs operations on one event loop."""

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient | None) -> None:
        self._own: httpx.AsyncClient | None = None
        self._given = http_client
        self._base_urls = settings.base_urls()
        self._is_closed = False
        self._was_forked = False
        self._loop: Any = None
        self._is_asyncio = True
        self._tasks: set[Any] = set()
        self._time_of_test = getattr(http_client, "__voice_calling_time__", None)
        clock = time.monotonic if self._time_of_test is None else self._time_of_test.now
        self._machine = Machine(settings, self, clock)
        self._clock: Callable[[], float] = clock
        self._timer: Any = None
        self._open: weakref.WeakSet[Running] = weakref.WeakSet()
        """What has a caller that does not have all of it."""
        self._left: set[Running] = set()
        """What is to be given up since its caller was collected, as its weak reference was."""
        DRIVERS.add(self)

    # ------------------------------------------------------------------------------ callers

    def call(self, operation: Operation[T], defaults: dict[str, Any]) -> Call[T]:
        """An operation that is to be run."""
        return Call(self, operation, defaults)

    def prepared(self, operation: Operation[Any], defaults: dict[str, Any], bell: Any) -> Running:
        """An operation that is to be begun."""
        if self._is_closed:
            raise RuntimeError("the client is closed")
        refuse_at_exit()
        if self._was_forked:
            raise execution_failed(
                "the process was forked after calls, and both would use the connections of "
                "http_client: nothing was sent. Make the client after the fork"
            )
        self._enter_loop()
        self._http_client()  # takes a while, which is not part of an attempt
        return self._machine.operation(operation, {**defaults, **operation.options}, bell)

    def begin(self, running: Running) -> None:
        """Begins an operation. It is open until it is settled."""
        self._open.add(running)
        self._machine.begin(running)

    def give_up(self, running: Running) -> None:
        """Ends an operation at once."""
        self._machine.give_up(running)

    async def cancelled_now(self, running: Running) -> None:
        """Lets asyncio cancel a create, if it is about to. It would not be raised in a coroutine
        that returns, and the result would be gone."""
        if self._is_asyncio and running.operation.creates:
            import asyncio

            await asyncio.sleep(0)

    def settled(self, running: Running) -> None:
        """The caller of an operation has all of it."""
        self._open.discard(running)
        self._left.discard(running)
        running.is_settled = True
        running.bell.ring()  # for others who wait

    def leave_soon(self, running: Running) -> None:
        """Gives an operation up whose caller is gone, on the loop's own thread; at once, if the
        loop has ended."""

        def leave() -> None:
            if not running.is_settled:
                self._machine.give_up(running)
                running.account(None)
                self.settled(running)

        self._left.add(running)
        try:
            _soon(self._loop, leave)
        except (RuntimeError, AttributeError):
            leave()

    async def close(self) -> None:
        """Refuses further calls. Those under way are finished, and then connections closed."""
        self._is_closed = True
        await self.close_if_idle()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    async def close_if_idle(self) -> None:
        if self._is_closed and self._own is not None and self._machine.is_idle:
            await self._own.aclose()

    # ------------------------------------------------------------------------------ the loop

    def _enter_loop(self) -> None:
        """A client may be used on one loop after another, as by `asyncio.run` twice."""
        import asyncio

        try:
            loop: Any = asyncio.get_running_loop()
        except RuntimeError:
            loop = _trio().lowlevel.current_trio_token()
        if loop is self._loop:
            return
        if not self._machine.is_idle:
            if not _has_ended(self._loop):
                raise RuntimeError("an AsyncVoiceClient serves one event loop at a time")
            self._leave_all("the event loop of a call was closed")
            self._machine.forget()
        self._loop = loop
        self._own = None  # its connections are the other loop's
        self._tasks = set()
        tick = weakref.WeakMethod(self._machine.tick)
        self._is_asyncio = isinstance(loop, asyncio.AbstractEventLoop)
        if self._time_of_test is not None:
            self._timer = self._time_of_test.timer(self._machine, tick)
        elif self._is_asyncio:
            self._timer = AsyncioTimer(loop, tick, self._clock)
        else:
            self._timer = TrioTimer(tick, self._clock)

    def start(self, exchange: Exchange) -> None:
        running = exchange.running
        if not running.operation.requests:
            running.to_send.append(exchange)
            running.bell.ring()
        elif self._is_asyncio:
            create: Any = self._loop.create_task
            task = running.context.copy().run(create, self.perform(exchange))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            spawn = _trio().lowlevel.spawn_system_task
            spawn(self.perform, exchange, context=running.context.copy())

    def end(self, exchange: Exchange) -> None:
        if exchange.cancel is not None:
            exchange.cancel()

    def wake(self, at: float) -> None:
        self._timer.wake(at)

    async def perform(self, exchange: Exchange) -> None:
        import anyio

        if exchange.is_abandoned:
            return
        with anyio.CancelScope() as scope:
            exchange.cancel = scope.cancel
            await self._send(exchange)
        exchange.cancel = None
        if not exchange.is_abandoned:
            self._machine.ended(exchange)

    async def _send(self, exchange: Exchange) -> None:
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
            response = await http_client.send(
                request, stream=True, follow_redirects=False, auth=None
            )
        except Exception as error:
            exchange.fails(error)
            return
        try:
            exchange.begins(response)
            if response.is_stream_consumed:  # a hook has read it
                exchange.takes(response.content)
                return
            decoder = Decoder(exchange, response)
            async for part in response.aiter_raw():
                if not decoder.takes(part):
                    return
            decoder.ends()
        except Exception as error:
            exchange.fails(error)
        finally:
            try:
                await response.aclose()
            except Exception:
                say(logging.DEBUG, "a connection could not be closed: %s", traceback.format_exc())

    def _http_client(self) -> httpx.AsyncClient:
        if self._given is not None:
            return self._given
        if self._own is None:
            self._own = _connections.http_client(httpx.AsyncClient, self._base_urls)
        return self._own

    # -------------------------------------------------------------------------- the process

    def after_fork(self) -> None:
        """In the child: loops, connections and what was under way are the parent's."""
        self._was_forked = self._given is not None and self._machine.was_used
        self._loop = None
        self._own = None
        self._open = weakref.WeakSet()
        self._left = set()
        self._machine.forget()

    def at_exit(self) -> None:
        self._leave_all("the process ends")
        self._machine.stop()

    def _leave_all(self, why: str) -> None:
        for running in {*self._open, *self._left}:
            self._machine.give_up(running)
            running.account(None, why)
            self.settled(running)


class Call(Caller[T]):
    """The caller of an operation that ends in one outcome."""

    def __init__(
        self, driver: Coroutines, operation: Operation[T], defaults: dict[str, Any]
    ) -> None:
        self._driver = driver
        self._bell = Waiting()
        self._running = driver.prepared(operation, defaults, self._bell)

    async def run(self) -> T:
        """Runs it to its end."""
        running = self._running
        assert running is not None
        self._driver.begin(running)
        while running.done is None:
            if running.progress:
                running.tell_progress()
            elif running.to_send:
                await self._driver.perform(running.to_send.popleft())
            else:
                await self._bell.wait()
        while running.progress:
            running.tell_progress()
        await self._driver.close_if_idle()
        await self._driver.cancelled_now(running)
        outcome: T = running.outcome()
        self._driver.settled(running)
        return outcome


class AsyncioTimer:
    """Calls something when it is time."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tick: Callable[[], Callable[[], None] | None],
        clock: Callable[[], float],
    ) -> None:
        self._loop = loop
        self._tick = tick
        self._clock = clock
        self._at = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def wake(self, at: float) -> None:
        if self._handle is not None:
            if self._at <= at:
                return
            self._handle.cancel()
        self._at = at
        self._handle = self._loop.call_later(max(0.0, at - self._clock()), self._fire)

    def _fire(self) -> None:
        self._handle = None
        tick = self._tick()
        if tick is not None:
            tick()


class TrioTimer:
    """The same on trio."""

    def __init__(
        self, tick: Callable[[], Callable[[], None] | None], clock: Callable[[], float]
    ) -> None:
        self._tick = tick
        self._clock = clock
        self._at: float | None = None

    def wake(self, at: float) -> None:
        if self._at is None or at < self._at:
            self._at = at
            _trio().lowlevel.spawn_system_task(self._sleep, at)

    async def _sleep(self, at: float) -> None:
        await _trio().sleep(max(0.0, at - self._clock()))
        if self._at == at:
            self._at = None
            tick = self._tick()
            if tick is not None:
                tick()


def _soon(loop: Any, job: Callable[[], None]) -> None:
    """Does this on the thread of a loop. It raises a `RuntimeError` if the loop has ended."""
    if hasattr(loop, "call_soon_threadsafe"):
        loop.call_soon_threadsafe(job)
    else:  # trio's
        loop.run_sync_soon(job)


def _has_ended(loop: Any) -> bool:
    try:
        _soon(loop, lambda: None)
    except RuntimeError:
        return True
    return False


def _trio() -> Any:
    """Trio, where it runs this."""
    trio = sys.modules.get("trio")
    if trio is None:
        raise RuntimeError("no event loop of asyncio or trio is running")
    return trio
