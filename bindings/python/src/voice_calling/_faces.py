"""The two faces of a method: it returns when all is done, or it is awaited."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from ._contact import Checked, awaited, check
from ._native import Operation

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S")
A = TypeVar("A")


class Blocking:
    """The face of `VoiceClient`: a method waits in its thread."""

    is_async = False


class Awaited:
    """The face of `AsyncVoiceClient`: a method is awaited on an event loop."""

    is_async = True


F = TypeVar("F", Blocking, Awaited)


async def run(operation: Operation[T] | Checked[T]) -> T:
    """Waits for an operation on the running event loop. A task that is cancelled cancels it."""
    if isinstance(operation, Checked):
        check(await awaited(operation.verdict()))
        operation = operation.operation
    arrived = begin(operation)
    try:
        await arrived
        return operation.take()
    finally:
        operation.cancel()


def begin(operation: Operation[Any]) -> asyncio.Future[None]:
    """Begins an operation, and returns what says that its outcome has arrived."""
    event_loop = asyncio.get_running_loop()
    arrived = event_loop.create_future()
    operation.begin(event_loop, _wake, arrived)
    return arrived


def _wake(arrived: asyncio.Future[None]) -> None:
    if not arrived.done():
        arrived.set_result(None)


class Group(Generic[F]):
    """A group of methods."""

    __slots__ = ("_face", "_native")

    def __init__(self, face: type[F], native: Any) -> None:
        self._face: type[F] = face
        self._native = native


class Method(Generic[P, S, A]):
    """A method of both faces, of a function that makes its operation."""

    def __init__(self, make: Callable[..., Any], blocking: Any, awaited: Any) -> None:
        self.__doc__ = make.__doc__
        self._blocking = blocking
        self._awaited = awaited

    @overload
    def __get__(self, group: Group[Blocking], owner: type[Any]) -> Callable[P, S]: ...
    @overload
    def __get__(self, group: Group[Awaited], owner: type[Any]) -> Callable[P, A]: ...
    @overload
    def __get__(self, group: None, owner: type[Any]) -> Method[P, S, A]: ...
    def __get__(self, group: Any, owner: type[Any]) -> Any:
        if group is None:
            return self
        face = self._awaited if group._face.is_async else self._blocking
        return face.__get__(group, owner)


def method(
    make: Callable[Concatenate[Any, P], Operation[T] | Checked[T]],
) -> Method[P, T, Coroutine[Any, Any, T]]:
    """Makes a method that ends in one outcome."""

    def blocking(group: Group[Blocking], *args: P.args, **kwargs: P.kwargs) -> T:
        return make(group, *args, **kwargs).wait()

    async def awaiting(group: Group[Awaited], *args: P.args, **kwargs: P.kwargs) -> T:
        return await run(make(group, *args, **kwargs))

    returned = str(make.__annotations__["return"]).partition("[")[2].removesuffix("]")
    for face in (blocking, awaiting):
        look_like(face, make, returned)
    return Method(make, blocking, awaiting)


def event_loop_of(function: object) -> asyncio.AbstractEventLoop | None:
    """Returns the running event loop if this is a coroutine function, which is for that loop."""
    return asyncio.get_running_loop() if inspect.iscoroutinefunction(function) else None


def look_like(function: Any, make: Callable[..., Any], returned: str) -> None:
    """Lets a function look as if it had the parameters of another one."""
    functools.update_wrapper(function, make)
    del function.__wrapped__
    function.__annotations__ = {**make.__annotations__, "return": returned}
    function.__signature__ = inspect.signature(make).replace(return_annotation=returned)
