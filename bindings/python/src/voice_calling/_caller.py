"""How a client calls: in a thread that waits, or in a coroutine that does not block its loop."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from ._failures import configuration_problem, described, outcome_unknown, timed_out
from ._options import Account
from ._pool import GivenUp, Job, Pool
from ._schema import Function
from ._settings import Settings
from ._types import CallOptions

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

MAX_WORKERS = 128


class Call(Protocol):
    """Calls a function and returns what it returns."""

    def __call__(self, function: Function[T], *arguments: object) -> T: ...


class AsyncCall(Protocol):
    """The same as a coroutine."""

    async def __call__(self, function: Function[T], *arguments: object) -> T: ...


class Caller:
    """Calls functions in the threads of a pool, which is closed when nothing refers to this."""

    def __init__(self, pool: Pool, patience: float) -> None:
        self._pool = pool
        self._patience = patience
        weakref.finalize(self, pool.close).atexit = False

    def call(self, function: Function[T], *arguments: object) -> T:
        job = Job(function, function.lower(arguments))
        patience = self._patience_of(arguments)
        try:
            self._pool.submit(job)
            try:
                answer: T = job.future.result(patience)
            except futures.TimeoutError:
                self._pool.withdraw(job, _no_worker(patience))
                answer = job.future.result()
            return answer
        except BaseException:
            self._pool.cancel(job)  # Ctrl-C
            raise

    async def call_async(self, function: Function[T], *arguments: object) -> T:
        import asyncio

        if function.creates and _is_being_cancelled(asyncio.current_task()):
            raise asyncio.CancelledError("the task was cancelled before; nothing was sent")
        job = Job(function, function.lower(arguments))
        loop = asyncio.get_running_loop()
        seconds = self._patience_of(arguments)
        patience = loop.call_later(seconds, self._pool.withdraw, job, _no_worker(seconds))
        try:
            self._pool.submit(job)
            answer: T = await asyncio.wrap_future(job.future)
            return answer
        except asyncio.CancelledError as cancelled:
            given_up = self._pool.cancel(job)
            if given_up is GivenUp.UNSENT or not function.creates:
                raise
            if given_up is GivenUp.ANSWERED:
                known: T = job.future.result()
                return known
            raise outcome_unknown(
                "the call was cancelled while its request was on the way; "
                "what it was to create may exist"
            ) from cancelled
        except BaseException:
            self._pool.cancel(job)
            raise
        finally:
            patience.cancel()

    def _patience_of(self, arguments: tuple[object, ...]) -> float:
        """How long a call waits for a worker."""
        for options in arguments:
            if isinstance(options, CallOptions) and options.deadline is not None:
                return options.deadline
        return self._patience


def _no_worker(patience: float) -> Exception:
    return timed_out(
        f"all workers of the client were busy for {patience:g} s, and nothing was sent: "
        "wait for fewer calls at once, or raise max_workers"
    )


def _is_being_cancelled(task: asyncio.Task[Any] | None) -> bool:
    """Whether the task was cancelled and the cancellation still holds. A create may have used up
    the cancellation itself, by ending in `OutcomeUnknown`; a loop that catches that and goes on
    must not make further phones ring. Python 3.10 does not say."""
    cancelling = getattr(task, "cancelling", None)
    return cancelling is not None and cancelling() > 0


class Client:
    """What both clients share."""

    def __init__(
        self,
        options: Account,
        accounts: Mapping[str, Account] | None,
        environ: Mapping[str, str] | None,
        max_workers: int,
        cache_dir: str | os.PathLike[str] | None,
    ) -> None:
        if isinstance(max_workers, bool) or not isinstance(max_workers, int) or max_workers < 1:
            raise configuration_problem("max_workers", described(max_workers), "1 or more")
        settings = Settings(options, accounts, environ)
        folder = None if cache_dir is None else _folder(cache_dir)
        self._base_url = settings.base_url()
        self._pool = Pool(settings, max_workers, folder)
        self._caller = Caller(self._pool, settings.deadline())

    @property
    def is_closed(self) -> bool:
        """Whether calls are refused."""
        return self._pool.is_closed

    def close(self) -> None:
        """Refuses further calls with `RuntimeError`, and those that still wait for a worker: of
        these nothing was sent. Calls in flight are finished, but not waited for."""
        self._pool.close()

    def __repr__(self) -> str:
        if not hasattr(self, "_caller"):  # the constructor failed
            return f"<{type(self).__name__}, not made>"
        closed = ", closed" if self.is_closed else ""
        return f"<{type(self).__name__} base_url={self._base_url!r}{closed}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds the token and is not to be pickled")


def _folder(cache_dir: str | os.PathLike[str]) -> Path:
    try:
        folder = Path(cache_dir)
    except TypeError:
        raise configuration_problem("cache_dir", described(cache_dir), "a path") from None
    if "\0" in str(folder):
        raise configuration_problem("cache_dir", "a NUL", "a path without NUL")
    return folder
