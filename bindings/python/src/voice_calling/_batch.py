"""Batches: many dockets, whose results are read as they come."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from typing import Any

from ._arguments import Key, docket_argument
from ._contact import MayCall, awaited, check
from ._errors import InvalidInputError, VoiceCallingError
from ._faces import begin
from ._native import Batch as NativeBatch
from ._native import Operation
from ._records import CreatedDocket, DocketRequest

__all__ = ["AsyncBatch", "Batch", "BatchResult"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """The result of a request of a batch."""

    index: int
    """The index of the request."""

    request: DocketRequest
    """The request."""

    created: CreatedDocket | None
    """What was created, unless there is an error."""

    error: VoiceCallingError | None
    """Why it was not created, or may have been."""


def _warn_of_unread(result: BatchResult) -> None:
    created, error = result.created, result.error
    if created and not created.from_ledger:
        what = f"docket {created.docket_id} was created"
    elif error and error.may_have_created:
        what = "a docket may exist"
    else:
        return
    message = "a result of a batch was not read: %s index=%d external_id=%r"
    _LOG.warning(message, what, result.index, result.request.external_id)


class _Batch:
    """The parts that both batches share."""

    def __init__(
        self,
        native: NativeBatch,
        requests: Any,
        key: Key,
        is_given: bool,
        may_call: MayCall | None,
    ) -> None:
        self._native = native
        self._key: Key = key
        self._may_call = may_call
        self._source: Any = None if is_given else requests
        """The iterable, later the iterator, that gives the requests, if not all were given."""
        self._requests = dict(enumerate(enumerate(requests) if is_given else ()))
        """The requests without a result, and their indices, by those of the bridge."""
        self._results: deque[BatchResult] = deque()
        """What was not read."""
        self._error: BaseException | None = None
        """The exception of the iterator, until all results were read."""
        self._is_wanted = False
        """Whether one more request can be sent."""
        self._taken = self._given = 0

    def start(self) -> None:
        """Begins the batch, if it has not begun."""
        self._native.start()

    def stop(self) -> None:
        """Begins nothing further. Open requests are finished, and their results can still be read;
        the results of the other requests are `NotBegunError`."""
        self._native.stop()

    def _give(self, request: DocketRequest, verdict: object) -> None:
        """Gives a request that was taken, or refuses it."""
        index, self._taken = self._taken, self._taken + 1
        given = docket_argument(request, self._key, index)
        try:
            check(verdict)
        except InvalidInputError as error:
            refused = BatchResult(index=index, request=request, created=None, error=error)
            self._results.append(refused)
        else:
            self._native.give(*given)
            self._requests[self._given] = index, request
            self._given += 1
            self._is_wanted = False

    def _verdict(self, request: DocketRequest) -> Any:
        return True if self._may_call is None else self._may_call(request)

    def _give_no_more(self, error: BaseException | None) -> None:
        self._error, self._is_wanted = error, False
        self._native.give_no_more()

    def _apply(self, event: Any) -> bool:
        """Applies an event of the bridge. Returns `False` at the end."""
        if event is True:
            self._is_wanted = True
        elif event is not None:
            given, created, error = event
            index, request = self._requests.pop(given)
            result = BatchResult(index=index, request=request, created=created, error=error)
            self._results.append(result)
        elif self._error is not None:
            error, self._error = self._error, None
            raise error
        return event is not None


class Batch(_Batch):
    """The results of a batch: an iterator, in which they are in the order in which they arrive.
    Nothing is sent before `start()` or the first read.

    Leaving the `with`, or `close()`, begins nothing further. Requests that are open then are
    finished, and the logger `voice_calling` warns of each docket whose result was not read."""

    _held: DocketRequest | None = None
    """A request whose check was interrupted, as by Ctrl-C."""

    def __iter__(self) -> Iterator[BatchResult]:
        return self

    def __next__(self) -> BatchResult:
        while not self._results:
            if self._is_wanted:
                self._take()
            elif not self._apply(self._native.next().wait()):
                raise StopIteration
        return self._results.popleft()

    def _take(self) -> None:
        """Takes the next request. An exception of the iterable follows all results."""
        try:
            if not isinstance(self._source, Iterator):
                self._source = iter(self._source)
            request = self._held = self._held or next(self._source)
            verdict = self._verdict(request)
            self._held = None
            self._give(request, verdict)
        except StopIteration:
            self._give_no_more(None)
        except Exception as error:
            self._give_no_more(error)

    def close(self) -> None:
        """Begins nothing further."""
        self._native.close()
        if isinstance(self._source, Generator):
            self._source.close()

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncBatch(_Batch):
    """The results of a batch, for `async for`, in the order in which they arrive; or, awaited, all
    of them in the order of the requests. Nothing is sent before `start()`, the first read or the
    `await`.

    Leaving the `async with`, or `aclose()`, begins nothing further. Requests that are open then are
    finished, and the logger `voice_calling` warns of each docket whose result was not read."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._reading = asyncio.Lock()
        # The event, and the verdict on a request, that a reader waits for. If the reader is
        # cancelled, the next one waits for them.
        self._arrival: tuple[Operation[Any], asyncio.Future[None]] | None = None
        self._checked: tuple[DocketRequest, asyncio.Future[object]] | None = None

    def __aiter__(self) -> AsyncIterator[BatchResult]:
        return self

    async def __anext__(self) -> BatchResult:
        async with self._reading:
            while not self._results:
                if self._is_wanted:
                    await self._take()
                elif not self._apply(await self._event()):
                    raise StopAsyncIteration
            return self._results.popleft()

    async def _event(self) -> Any:
        if self._arrival is None:
            operation = self._native.next()
            self._arrival = operation, begin(operation)
        operation, arrived = self._arrival
        await asyncio.wait([arrived])
        self._arrival = None
        return None if arrived.cancelled() else operation.take()

    async def _take(self) -> None:
        try:
            if self._checked is None:
                taken = await self._request()
                self._checked = taken, asyncio.ensure_future(awaited(self._verdict(taken)))
            request, verdict = self._checked
            await asyncio.wait([verdict])
            self._checked = None
            self._give(request, verdict.result())
        except StopAsyncIteration:
            self._give_no_more(None)
        except Exception as error:
            self._give_no_more(error)

    async def _request(self) -> Any:
        if not isinstance(self._source, AsyncIterable):
            if not isinstance(self._source, Iterator):
                self._source = iter(self._source)
            # A coroutine cannot raise the `StopIteration` of `next`.
            for request in self._source:
                return request
            raise StopAsyncIteration
        if not isinstance(self._source, AsyncIterator):
            self._source = aiter(self._source)
        try:
            return await anext(self._source)
        except asyncio.CancelledError:
            # It ends a generator, which has not given all requests then.
            if getattr(self._source, "ag_frame", self) is None:
                self._give_no_more(RuntimeError("a read was cancelled, which ended the iterable"))
            raise

    def __await__(self) -> Generator[Any, None, list[BatchResult]]:
        return self._all().__await__()

    async def _all(self) -> list[BatchResult]:
        results: list[BatchResult] = []
        try:
            async for result in self:
                results.append(result)
        except BaseException:
            for result in results:
                _warn_of_unread(result)
            raise
        return sorted(results, key=lambda result: result.index)

    async def aclose(self) -> None:
        """Begins nothing further."""
        self._native.close()
        if self._arrival:
            operation, arrived = self._arrival
            operation.cancel()
            arrived.cancel()
        if self._checked and not self._reading.locked():
            self._checked[1].cancel()
        if hasattr(self._source, "aclose"):
            await self._source.aclose()
        elif isinstance(self._source, Generator):
            self._source.close()

    async def __aenter__(self) -> AsyncBatch:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
