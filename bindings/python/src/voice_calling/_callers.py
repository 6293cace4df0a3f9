"""What users call: methods that end in one outcome, and batches, which are iterators over many."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from . import _coroutines, _threads
from ._operation import BatchResult, Operation
from ._requests import CheckedRequest, Source
from ._running import Running

__all__ = ["AsyncBatch", "Batch"]

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S")
A = TypeVar("A")

D = TypeVar("D", _threads.Threads, _coroutines.Coroutines)


class Caller:
    """The caller's side of an operation. When it is gone, nothing waits for the operation any
    more."""

    _running: Any = None
    """The `Running`, once there is one."""

    def __init__(self, driver: Any, operation: Operation[Any], defaults: dict[str, Any]) -> None:
        self._driver = driver
        self._running = driver.prepare(operation, defaults)

    def _cancel(self, error: BaseException | None) -> None:
        """Cancels the operation, unless it has ended."""
        if self._running is not None and not self._running.is_settled:
            self._fail(error)

    def _fail(self, error: BaseException | None) -> None:
        """Cancels the operation, although a result was on its way to the caller."""
        if error is None or error is not self._running.raised:
            self._driver.give_up(self._running, error)
        else:
            self._driver.settle(self._running)

    def __del__(self) -> None:
        running = self._running
        if running is not None and not running.is_settled:
            # This may be any thread, one that steps as well, and the caller is gone.
            self._driver.dispatch_cancel(running)


class _Batch(Caller):
    """What batches have in common."""

    _source: Source | None = None
    _end: type[Exception]
    """What a reader gets after the last result."""

    def _take_source(self, operation: Operation[Any]) -> None:
        """Makes the iterable the batch's own, so that a generator is closed with it."""
        self._source, operation.source = operation.source, None

    @property
    def results(self) -> list[BatchResult]:
        """All results so far, in the order of the requests; also after the batch was cancelled.
        If the requests are not a list, they are the last one that was read and those that were not
        read."""
        return [] if self._running is None else self._running.results()

    def _enqueue_request(self, running: Running, request: CheckedRequest | None) -> None:
        """Passes a request of the iterable on to the core, or that there are no more."""
        if request is not None:
            self._driver.check_ledger(request.key, f"requests[{request.index}].once")
        taken = [] if request is None else [request]
        running.wants_more = False
        running.add(taken)
        self._driver.enqueue_requests(running, taken, request is None)

    def _next(self, running: Running) -> BatchResult | None:
        """Returns the next result, if it is there. Raises `_end` after the last one, or what ended
        the whole batch."""
        if not running.is_settled:
            with contextlib.suppress(IndexError):  # another reader may take it
                result = running.result(running.unread.popleft())
                running.delivered.add(result.index)
                return result
            if not running.has_ended or running.unread:
                return None
            running.payload()
        self._driver.settle(running)
        raise self._end


class Batch(_Batch):
    """The results of a batch as they come: an iterator. A loop that is left gives the batch up,
    unless a variable holds the batch; a `with` does so in any case.

    Requests that were not sent by then are not sent any more. Those on their way end in
    `OutcomeUnknown`. What is known stays in `results`.
    """

    _end = StopIteration

    def __init__(
        self, driver: _threads.Threads, operation: Operation[Any], defaults: dict[str, Any]
    ) -> None:
        self._take_source(operation)
        super().__init__(driver, operation, defaults)
        driver.begin(self._running)

    def __iter__(self) -> Batch:
        return self

    def __next__(self) -> BatchResult:
        running = self._running
        try:
            running.forget()
            self._feed(running)
            while (result := self._next(running)) is None:
                if not self._feed(running):
                    running.signal.wait()
            return result
        except BaseException as error:
            self._give_up(error)
            raise

    def _feed(self, running: Running) -> bool:
        """Passes a request on if the core has asked for more. Returns `True` if it did."""
        if self._source is None:
            return False
        with self._source.turn() as is_own:
            is_wanted = is_own and running.wants_requests
            if is_wanted:
                self._enqueue_request(running, self._source.take())
            return is_wanted

    def _give_up(self, error: BaseException | None) -> None:
        self._cancel(error)
        if self._source is not None:
            self._source.close()

    def close(self) -> None:
        """Gives the batch up, unless it has ended."""
        self._give_up(None)

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._give_up(error)


class AsyncBatch(_Batch):
    """The results of a batch as they come, for `async for`. A loop that is left gives the batch up,
    unless a variable holds the batch; an `async with` does so in any case.

    Requests that were not sent by then are not sent any more. Those on their way end in
    `OutcomeUnknown`. What is known stays in `results`.
    """

    _end = StopAsyncIteration

    def __init__(
        self, driver: _coroutines.Coroutines, operation: Operation[Any], defaults: dict[str, Any]
    ) -> None:
        self._take_source(operation)
        self._driver = driver
        self._operation = operation
        self._defaults = defaults
        self._is_closed = False

    def __aiter__(self) -> AsyncBatch:
        return self

    async def __anext__(self) -> BatchResult:
        running = self._begun()
        try:
            running.forget()
            await self._feed(running)
            while (result := self._next(running)) is None:
                if not await self._feed(running):
                    await running.signal.wait()
            return result
        except BaseException as error:
            await self._give_up(error)
            raise

    async def _feed(self, running: Running) -> bool:
        """Passes a request on if the core has asked for more. Returns `True` if it did."""
        source = self._source
        if source is None:
            return False
        with source.turn() as is_own:
            # An asynchronous iterable may let results wait for long.
            is_wanted = running.wants_requests and not (source.is_async and running.unread)
            if is_own and is_wanted:
                self._enqueue_request(running, await source.take_async())
            return is_own and is_wanted

    async def _give_up(self, error: BaseException | None) -> None:
        self._is_closed = True
        self._cancel(error)
        if self._source is not None:
            await self._source.aclose()
        await self._driver.close_if_idle()

    async def aclose(self) -> None:
        """Gives the batch up, unless it has ended."""
        await self._give_up(None)

    def _begun(self) -> Running:
        if self._running is None:
            if self._is_closed:
                raise StopAsyncIteration
            self._running = self._driver.prepare(self._operation, self._defaults)
            self._driver.begin(self._running)
        running: Running = self._running
        return running

    async def __aenter__(self) -> AsyncBatch:
        self._begun()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        await self._give_up(error)


class Group(Generic[D]):
    """A group of methods: in threads they return when all is done, in coroutines they are
    awaited."""

    __slots__ = ("_defaults", "_driver")

    def __init__(self, driver: D, defaults: dict[str, Any]) -> None:
        self._driver: D = driver
        self._defaults = defaults


class Method(Generic[P, S, A]):
    """A method of both clients, of a function that makes its operation."""

    def __init__(self, make: Callable[..., Any], in_threads: Any, in_coroutines: Any) -> None:
        self.__doc__ = make.__doc__
        self._in_threads = in_threads
        self._in_coroutines = in_coroutines

    @overload
    def __get__(self, group: Group[_threads.Threads], owner: type[Any]) -> Callable[P, S]: ...
    @overload
    def __get__(self, group: Group[_coroutines.Coroutines], owner: type[Any]) -> Callable[P, A]: ...
    @overload
    def __get__(self, group: None, owner: type[Any]) -> Method[P, S, A]: ...
    def __get__(self, group: Any, owner: type[Any]) -> Any:
        if group is None:
            return self
        is_async = group._driver.is_async
        return (self._in_coroutines if is_async else self._in_threads).__get__(group, owner)


def method(
    make: Callable[Concatenate[Any, P], Operation[T]],
) -> Method[P, T, Coroutine[Any, Any, T]]:
    """Makes a method that ends in one outcome."""

    def in_threads(group: Group[_threads.Threads], *args: P.args, **kwargs: P.kwargs) -> Any:
        caller = Caller(group._driver, make(group, *args, **kwargs), group._defaults)
        try:
            return group._driver.run(caller._running)
        except BaseException as error:
            caller._fail(error)
            raise

    async def in_coroutines(
        group: Group[_coroutines.Coroutines], *args: P.args, **kwargs: P.kwargs
    ) -> Any:
        caller = Caller(group._driver, make(group, *args, **kwargs), group._defaults)
        try:
            return await group._driver.run(caller._running)
        except GeneratorExit:  # its loop is gone; the end of `caller` gives the operation up
            raise
        except BaseException as error:
            caller._fail(error)
            raise

    returned = str(make.__annotations__["return"]).removeprefix("Operation[").removesuffix("]")
    _copy_signature(in_threads, make, returned)
    _copy_signature(in_coroutines, make, returned)
    return Method(make, in_threads, in_coroutines)


def batch_method(
    make: Callable[Concatenate[Any, P], Operation[Any]],
) -> Method[P, Batch, AsyncBatch]:
    """Makes a method that returns an iterator over many outcomes."""

    def in_threads(group: Group[_threads.Threads], *args: P.args, **kwargs: P.kwargs) -> Batch:
        return Batch(group._driver, make(group, *args, **kwargs), group._defaults)

    def in_coroutines(
        group: Group[_coroutines.Coroutines], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncBatch:
        return AsyncBatch(group._driver, make(group, *args, **kwargs), group._defaults)

    _copy_signature(in_threads, make, "Batch")
    _copy_signature(in_coroutines, make, "AsyncBatch")
    return Method(make, in_threads, in_coroutines)


def _copy_signature(function: Any, make: Callable[..., Any], returned: str) -> None:
    """Lets a function look as if it had the parameters of another one."""
    functools.update_wrapper(function, make)
    del function.__wrapped__
    function.__annotations__ = {**make.__annotations__, "return": returned}
    function.__signature__ = inspect.signature(make).replace(return_annotation=returned)
