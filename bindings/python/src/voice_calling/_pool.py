"""The threads in which calls run.

A call cannot be interrupted while it waits for the network, but its caller can: so each runs in a
thread of its own, for which the caller does not have to wait. The threads are daemons and do not
hold up the end of the process; a thread without work ends after a while, and with it its instance.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from enum import Enum
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from . import _attempts
from ._engine import Instance, WasmtimeError, refuse_in_fork, settle
from ._errors import RequestError
from ._failures import execution_failed
from ._schema import Function
from ._settings import Settings

IDLE_SECONDS = 10.0
"""How long a thread waits for work."""

CALLS_PER_INSTANCE = 1000
"""How often an instance is used."""

EXIT_SECONDS = 1.0
"""How long the end of the process waits for calls that were stopped."""


class Job:
    """A call, from its submission to its answer."""

    def __init__(self, function: Function[Any], arguments: tuple[Any, ...]) -> None:
        self.function = function
        self.arguments = arguments
        self.future: Future[Any] = Future()
        self.instance: Instance | None = None
        """Where it runs, while it does."""
        self.is_cancelled = False
        self.is_over = False


class GivenUp(Enum):
    """How far a call was when it was given up."""

    UNSENT = "nothing was sent, and nothing will be"
    STOPPED = "something may have been sent, and nothing more will be"
    ANSWERED = "it was over"


class _Worker:
    """A thread of the pool."""

    def __init__(self) -> None:
        self.inbox: SimpleQueue[Job | None] = SimpleQueue()
        self.has_begun = False
        self.is_void = False
        """Whether it was given up before it began."""


class Pool:
    """At most so many threads, of which the one is taken that was used last.

    Nothing but bookkeeping is done under the lock, and `close` never waits for it.
    """

    def __init__(self, settings: Settings, max_workers: int, folder: Path | None) -> None:
        self._settings = settings
        self._max_workers = max_workers
        self._folder = folder
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._running: set[Job] = set()
        self._idle: list[_Worker] = []
        self._threads = 0
        self._is_closed = False
        self._is_ended = False
        _pools.add(self)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def submit(self, job: Job) -> None:
        """Has a call made: at once where a thread is free or may be started."""
        refuse_in_fork()
        worker = None
        try:
            with self._lock:
                if self._is_closed or _is_exiting:
                    raise RuntimeError("the client is closed")
                if self._idle:
                    self._idle.pop().inbox.put(job)
                elif self._threads < self._max_workers:
                    worker = _Worker()
                    self._threads += 1
                else:
                    self._waiting.append(job)
            if worker is not None:
                self._start(worker, job)
        except BaseException as error:
            if worker is None or not self._is_taken_back(worker, job, error):
                raise
        finally:
            self._sweep()

    def cancel(self, job: Job) -> GivenUp:
        """Gives up a call: nothing is sent from now on."""
        if job.future.cancel():
            return GivenUp.UNSENT
        with self._lock:
            job.is_cancelled = True
            if job.instance is not None:
                job.instance.stop()
                return GivenUp.STOPPED
            return GivenUp.ANSWERED if job.is_over else GivenUp.UNSENT

    def withdraw(self, job: Job, error: Exception) -> None:
        """Ends a call by this error, if it still waits for a thread."""
        with self._lock:
            try:
                self._waiting.remove(job)
            except ValueError:
                return
        _refuse(job, error)

    def close(self) -> None:
        """Takes no more calls, and refuses those that wait for a thread. Those that run are
        finished, but not waited for.

        A signal's handler or the garbage collector may call it in the midst of any other method,
        so it does not wait for the lock: its holder does the rest.
        """
        self._is_closed = True
        self._sweep()

    def end(self) -> None:
        """Stops also what runs."""
        self.close()
        with self._lock:
            self._is_ended = True
            running = list(self._running)
        for job in running:
            self.cancel(job)

    def _sweep(self) -> None:
        """Ends all waiting at a pool that is closed."""
        while self._is_closed and (self._waiting or self._idle):
            if not self._lock.acquire(blocking=False):
                return
            try:
                waiting = list(self._waiting)
                self._waiting.clear()
                for worker in self._idle:
                    worker.inbox.put(None)
                self._threads -= len(self._idle)
                self._idle.clear()
            finally:
                self._lock.release()
            for job in waiting:
                _refuse(job, RuntimeError("the client is closed"))

    def _start(self, worker: _Worker, job: Job) -> None:
        name = f"voice-calling-{self._threads}"
        arguments = (worker, job)
        thread = threading.Thread(target=self._work, args=arguments, name=name, daemon=True)
        _threads.add(thread)
        thread.start()

    def _is_taken_back(self, worker: _Worker, job: Job, error: BaseException) -> bool:
        """Gives up a thread that did not begin. Returns whether another one will take its work."""
        with self._lock:
            if worker.has_begun:  # and Ctrl-C came
                return False
            worker.is_void = True
            self._threads -= 1
            if not isinstance(error, RuntimeError):
                return False
            # The system gives no more threads.
            if self._threads == 0:
                raise execution_failed(f"nothing was sent: {error}") from error
            self._waiting.append(job)
            return True

    def _work(self, worker: _Worker, first: Job) -> None:
        """The life of a thread."""
        with self._lock:
            if worker.is_void:
                return
            worker.has_begun = True
        job: Job | None = first
        del first
        seat = _Seat(self._settings, self._folder)
        try:
            while job is not None:
                self._run(job, seat)
                job = None  # so that an idle thread holds on to no result
                job = self._next(worker)
        except BaseException:
            with self._lock:
                self._threads -= 1
            raise
        finally:
            seat.leave()

    def _run(self, job: Job, seat: _Seat) -> None:
        """Makes a call. Its future is resolved before anything else can fail."""
        if not job.future.set_running_or_notify_cancel():
            return
        is_sound = False
        try:
            result = job.function.lift(self._ask(job, seat.take()))
        except RequestError as error:
            job.future.set_exception(error)
            is_sound = True
        except WasmtimeError as error:
            job.future.set_exception(_trapped(job, error))
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)
            is_sound = True
        finally:
            if not job.future.done():
                job.future.set_exception(_broken(job, "the error could not be described"))
        if job.is_cancelled or not is_sound:
            seat.leave()

    def _ask(self, job: Job, instance: Instance) -> Any:
        with self._lock:
            if job.is_cancelled or self._is_ended:
                raise execution_failed("the call was cancelled, and nothing was sent")
            job.instance = instance
            self._running.add(job)
        try:
            return instance.call(job.function, job.arguments)
        finally:
            with self._lock:
                job.instance, job.is_over = None, True
                self._running.discard(job)

    def _next(self, worker: _Worker) -> Job | None:
        """The next call, or none where the thread is to end."""
        try:
            with self._lock:
                if self._waiting and not self._is_closed:
                    return self._waiting.popleft()
                if self._is_closed:
                    self._threads -= 1
                    return None
                self._idle.append(worker)
        finally:
            self._sweep()
        try:
            return worker.inbox.get(timeout=IDLE_SECONDS)
        except Empty:
            with self._lock:
                if worker in self._idle:
                    self._idle.remove(worker)
                else:
                    with suppress(Empty):  # where Ctrl-C came to who wanted to give it work
                        return worker.inbox.get_nowait()
                self._threads -= 1
                return None


def _refuse(job: Job, error: Exception) -> None:
    """Ends a call that no thread has."""
    if job.future.set_running_or_notify_cancel():
        job.future.set_exception(error)


# ------------------------------------------------------------------------- the end of the process

_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_threads: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
_is_exiting = False
_process = os.getpid()


def _exit() -> None:
    """Ends all calls while Python can still be called: what runs on may want to, and a thread that
    comes back to a Python that has gone takes the process down."""
    global _is_exiting
    if os.getpid() != _process and not any(thread.is_alive() for thread in list(_threads)):
        return  # forked, and nothing runs here
    _is_exiting = True
    for pool in list(_pools):
        pool.end()
    until = time.monotonic() + EXIT_SECONDS
    for thread in list(_threads):
        if thread.is_alive():
            thread.join(max(0.0, until - time.monotonic()))
    settle()


atexit.register(_exit)


class _Seat:
    """The instance of a thread, which is renewed now and then."""

    def __init__(self, settings: Settings, folder: Path | None) -> None:
        self._settings = settings
        self._folder = folder
        self._instance: Instance | None = None
        self._calls = 0
        self._logs = False

    def take(self) -> Instance:
        """An instance for one more call."""
        logs = _attempts.are_wanted()
        if self._instance is not None and (self._calls >= CALLS_PER_INSTANCE or self._logs != logs):
            self.leave()
        if self._instance is None:
            variables = self._settings.variables(log_attempts=logs)
            listener = _attempts.listener() if logs else None
            self._instance = Instance(self._folder, variables, listener)
            self._calls, self._logs = 0, logs
        self._calls += 1
        return self._instance

    def leave(self) -> None:
        """Throws the instance away."""
        instance, self._instance = self._instance, None
        if instance is not None:
            instance.close()


def _trapped(job: Job, error: WasmtimeError) -> Exception:
    try:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    except Exception:  # such as MemoryError
        lines = []
    reason = lines[-1] if lines else "no reason given"
    if not job.is_over:
        return execution_failed(f"the component could not be started, nothing was sent: {reason}")
    return _broken(job, reason)


def _broken(job: Job, reason: str) -> Exception:
    message = f"the component could not be run: {reason}"
    if not job.function.creates:
        return execution_failed(message)
    return execution_failed(f"{message}; what it was to create may exist", may_have_created=True)
