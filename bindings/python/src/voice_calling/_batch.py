"""A batch under way: its results as they come."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from . import _coroutines
from ._errors import RequestError
from ._operations import BatchResult, Operation
from ._running import Caller, Running
from ._threads import Threads, Waiting
from ._types import CreatedDocket

__all__ = ["AsyncBatch", "Batch"]

_OnResult = Callable[[BatchResult], object] | None


class _Batch(Caller[None]):
    """What batches have in common."""

    @property
    def results(self) -> list[BatchResult]:
        """All results so far, in the order of the requests; also after the batch was cancelled."""
        return [] if self._running is None else self._running.results()

    def _next(self, running: Running) -> BatchResult | None:
        """The next result that is there."""
        try:
            return None if running.is_settled else running.result(running.unread.popleft())
        except IndexError:
            return None

    def _has_ended(self, running: Running) -> bool:
        """Whether no result comes any more. What ended the whole batch is raised."""
        if not running.is_settled:
            if running.done is None or running.unread:
                return False
            running.outcome()
        running.bell.ring()  # for others who wait
        return True

    def _all(self, running: Running) -> list[CreatedDocket | RequestError]:
        """All outcomes, once there are no more."""
        try:
            running.outcome()
        except RequestError as error:
            if not running.outcomes:
                raise
            for index in range(len(running.operation.requests)):
                running.outcomes.setdefault(index, error)
        outcomes = [result.outcome for result in running.results()]
        self._driver.settled(running)
        return outcomes


class Batch(_Batch):
    """The results of a batch as they come: an iterator. A loop that is left gives the batch up,
    unless a variable holds the batch; a `with` does so in any case.

    Requests that were not sent by then are not sent any more. Those on their way end in
    `OutcomeUnknown`. What is known stays in `results`.
    """

    _running: Running

    def __init__(
        self, driver: Threads, operation: Operation[None], defaults: dict[str, Any]
    ) -> None:
        self._driver = driver
        self._running = driver.prepared(operation, defaults, Waiting())
        driver.begin(self._running)

    def __iter__(self) -> Batch:
        return self

    def __next__(self) -> BatchResult:
        running = self._running
        try:
            result = self._wait()
            if result is not None:
                running.handed_over.add(result.index)
                return result
            self._driver.settled(running)
        except BaseException as error:
            self.ends_by(error)
            raise
        raise StopIteration

    def _wait(self) -> BatchResult | None:
        """The next result; `None` at the end."""
        while (result := self._next(self._running)) is None:
            if self._has_ended(self._running):
                break
            self._running.bell.wait()
        return result

    def all(self, on_result: _OnResult) -> list[CreatedDocket | RequestError]:
        """Waits for all outcomes."""
        running = self._running
        while running.done is None or running.unread:
            result = self._next(running)
            if result is None:
                running.bell.wait()
            elif on_result is not None:
                on_result(result)
        return self._all(running)

    def close(self) -> None:
        """Gives the batch up, unless it has ended."""
        self.ends_by(None)

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.ends_by(error)


class AsyncBatch(_Batch):
    """The results of a batch as they come, for `async for`. A loop that is left gives the batch up,
    unless a variable holds the batch; an `async with` does so in any case.

    Requests that were not sent by then are not sent any more. Those on their way end in
    `OutcomeUnknown`. What is known stays in `results`.
    """

    def __init__(
        self, driver: _coroutines.Coroutines, operation: Operation[None], defaults: dict[str, Any]
    ) -> None:
        self._driver = driver
        self._operation = operation
        self._defaults = defaults
        self._is_closed = False

    def __aiter__(self) -> AsyncBatch:
        return self

    async def __anext__(self) -> BatchResult:
        running = self._begun()
        try:
            result = await self._wait(running)
            if result is not None:
                running.handed_over.add(result.index)
                return result
            self._driver.settled(running)
        except BaseException as error:
            self.ends_by(error)
            raise
        await self._driver.close_if_idle()
        raise StopAsyncIteration

    async def _wait(self, running: Running) -> BatchResult | None:
        """The next result; `None` at the end."""
        while (result := self._next(running)) is None:
            if self._has_ended(running):
                break
            await running.bell.wait()
        return result

    async def all(self, on_result: _OnResult) -> list[CreatedDocket | RequestError]:
        """Waits for all outcomes."""
        running = self._begun()
        while running.done is None or running.unread:
            result = self._next(running)
            if result is None:
                await running.bell.wait()
            elif on_result is not None:
                on_result(result)
        await self._driver.close_if_idle()
        await self._driver.cancelled_now(running)
        return self._all(running)

    async def aclose(self) -> None:
        """Gives the batch up, unless it has ended."""
        self._is_closed = True
        self.ends_by(None)
        await self._driver.close_if_idle()

    def _begun(self) -> Running:
        if self._running is None:
            if self._is_closed:
                raise StopAsyncIteration
            bell = _coroutines.Waiting()
            self._running = self._driver.prepared(self._operation, self._defaults, bell)
            self._driver.begin(self._running)
        running: Running = self._running
        return running

    async def __aenter__(self) -> AsyncBatch:
        self._begun()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.ends_by(error)
        await self.aclose()
