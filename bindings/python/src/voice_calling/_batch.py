"""A batch under way: its results as they come."""

from __future__ import annotations

import queue
from functools import partial
from types import TracebackType
from typing import Any

from ._coroutines import Coroutines, Mailbox
from ._errors import RequestError
from ._given_up import attach, warn
from ._lift import record
from ._machine import Done, Item, Running
from ._operations import BatchResult, Operation
from ._threads import Threads
from ._types import CreatedDocket

__all__ = ["AsyncBatch", "Batch"]

_created = record(CreatedDocket)


class _Results:
    """What is known of a batch. What is under way holds this, and not the batch, which ends with
    who reads it."""

    def __init__(self, operation: Operation[None]) -> None:
        self._operation = operation
        self._results: dict[int, BatchResult] = {}

    def in_order(self) -> list[BatchResult]:
        return [self._results[index] for index in sorted(self._results)]

    def take(self, message: Any) -> BatchResult | None:
        if not isinstance(message, Item):
            return None
        wire = message.wire
        outcome: CreatedDocket | RequestError
        if isinstance(wire, RequestError):
            outcome = wire
        elif "Ok" in wire:
            outcome = _created(wire["Ok"])
        else:
            outcome = self._operation.error(wire["Err"])
        return self.keep(message.index, outcome)

    def keep(self, index: int, outcome: CreatedDocket | RequestError) -> BatchResult:
        request = self._operation.requests[index]
        result = BatchResult(index=index, request=request, outcome=outcome)
        self._results[index] = result
        return result

    def given_up(
        self, running: Running, read: list[BatchResult], error: BaseException | None
    ) -> None:
        """The batch was given up: what may exist and was not read is logged, and all is found on
        the exception."""
        known = set(self._results)
        for index in sorted(index for index in running.sent - known if index is not None):
            self.keep(index, running.lost(index, "the batch was cancelled"))
        for result in self.in_order():
            if result not in read:
                warn(result.outcome)
        if error is not None:
            attach(self.in_order(), error)


class _Batch:
    """What batches have in common."""

    def __init__(self, operation: Operation[None]) -> None:
        self._operation = operation
        self._known = _Results(operation)
        self._running: Running | None = None
        self._has_ended = False

    @property
    def results(self) -> list[BatchResult]:
        """All results so far, in the order of the requests; also after the batch was cancelled."""
        return self._known.in_order()

    def _end(self, message: Done) -> None:
        """All results are reported. What ended the whole batch is raised."""
        self._has_ended = True
        assert self._running is not None
        self._running.outcome(message)

    def _rest(self, error: RequestError) -> list[CreatedDocket | RequestError]:
        """All outcomes, where the batch has failed."""
        outcomes: list[CreatedDocket | RequestError] = [error] * len(self._operation.requests)
        for result in self.results:
            outcomes[result.index] = result.outcome
        return outcomes


class Batch(_Batch):
    """The results of a batch as they come: an iterator. A loop that is left gives the batch up,
    unless a variable holds the batch; a `with` does so in any case.

    Requests that were not sent by then are not sent any more. Those on their way end in
    `OutcomeUnknown`. What is known stays in `results`.
    """

    def __init__(
        self, driver: Threads, operation: Operation[None], defaults: dict[str, Any]
    ) -> None:
        super().__init__(operation)
        self._driver = driver
        self._mailbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._running = driver.prepared(operation, defaults, self._mailbox)
        self._running.on_item = self._known.take
        driver.begin(self._running)

    def __iter__(self) -> Batch:
        return self

    def __next__(self) -> BatchResult:
        if self._has_ended:
            raise StopIteration
        try:
            message = self._mailbox.get()
        except BaseException as error:  # Ctrl-C
            self._give_up(error)
            raise
        if isinstance(message, Done):
            self._mailbox.put(message)  # for others who wait
            if not self._has_ended:
                self._driver.finished()
                self._end(message)
            raise StopIteration
        result = self._known.take(message)
        assert result is not None
        return result

    def close(self) -> None:
        """Gives the batch up, unless it has ended."""
        if not self._has_ended:
            self._give_up(None)

    def _give_up(self, error: BaseException | None) -> None:
        assert self._running is not None
        self._has_ended = True
        _give_up(self._driver, self._running, self._mailbox, self._known, error)
        self._driver.finished()

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._has_ended:
            self._give_up(error)

    def __del__(self) -> None:
        running = getattr(self, "_running", None)  # `prepared` may have raised
        if running is not None and not self._has_ended:
            # This may be any thread, one that steps as well, and the batch is gone.
            driver, mailbox, known = self._driver, self._mailbox, self._known

            def leave() -> None:
                _give_up(driver, running, mailbox, known, None)
                driver.finished()

            driver.soon(leave)


class AsyncBatch(_Batch):
    """The results of a batch as they come, for `async for`. A loop that is left gives the batch up,
    unless a variable holds the batch; an `async with` does so in any case.

    Requests that were not sent by then are not sent any more. Those on their way end in
    `OutcomeUnknown`. What is known stays in `results`.
    """

    def __init__(
        self, driver: Coroutines, operation: Operation[None], defaults: dict[str, Any]
    ) -> None:
        super().__init__(operation)
        self._driver = driver
        self._defaults = defaults
        self._mailbox = Mailbox()

    def __aiter__(self) -> AsyncBatch:
        return self

    async def __anext__(self) -> BatchResult:
        if self._has_ended:
            raise StopAsyncIteration
        self._begin()
        try:
            message = await self._mailbox.get()
        except BaseException as error:  # cancelled
            self._give_up(error)
            raise
        if isinstance(message, Done):
            self._mailbox.put(message)  # for others who wait
            if not self._has_ended:
                self._end(message)
                await self._driver.close_if_idle()
            raise StopAsyncIteration
        result = self._known.take(message)
        assert result is not None
        return result

    async def aclose(self) -> None:
        """Gives the batch up, unless it has ended."""
        if self._running is not None and not self._has_ended:
            self._give_up(None)
        self._has_ended = True
        await self._driver.close_if_idle()

    def _begin(self) -> None:
        if self._running is None:
            running = self._driver.prepared(self._operation, self._defaults, self._mailbox)
            running.on_item = self._known.take
            self._running = running
            self._driver.begin(running)

    def _give_up(self, error: BaseException | None) -> None:
        assert self._running is not None
        self._has_ended = True
        _give_up(self._driver, self._running, self._mailbox, self._known, error)

    async def __aenter__(self) -> AsyncBatch:
        self._begin()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._running is not None and not self._has_ended:
            self._give_up(error)
        await self.aclose()

    def __del__(self) -> None:
        running = getattr(self, "_running", None)
        if running is not None and not self._has_ended:
            # This may be any thread, and the batch is gone.
            driver = self._driver
            driver.soon(partial(_give_up, driver, running, self._mailbox, self._known, None))


def _give_up(
    driver: Threads | Coroutines,
    running: Running,
    mailbox: Any,
    known: _Results,
    error: BaseException | None,
) -> None:
    read = known.in_order()
    done = driver.give_up(running, mailbox)
    known.given_up(running, read, error)
    if done is not None:
        mailbox.put(done)  # for others who wait
