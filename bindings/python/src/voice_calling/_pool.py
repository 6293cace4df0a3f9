"""The threads in which calls run.

A call cannot be interrupted while it waits for the network, but who waits for the call can: so
each runs in a thread of its own, which nobody has to wait for. The threads are daemons and do not
hold up the end of the process; a thread without work ends after a while, and with it its instance.
"""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from . import _attempts
from ._engine import Instance, WasmtimeError, refuse_in_fork
from ._failures import execution_failed
from ._schema import Function
from ._settings import Settings

IDLE_SECONDS = 10.0
"""How long a thread waits for work."""

CALLS_PER_INSTANCE = 1000
"""How often an instance is used."""


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


class Pool:
    """At most so many threads, of which the one is taken that was used last."""

    def __init__(self, settings: Settings, max_workers: int, folder: Path | None) -> None:
        self._settings = settings
        self._max_workers = max_workers
        self._folder = folder
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._idle: list[SimpleQueue[Job | None]] = []
        self._threads = 0
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def submit(self, function: Function[Any], arguments: tuple[Any, ...]) -> Job:
        """Has a call made: at once where a thread is free or may be started."""
        refuse_in_fork()
        job = Job(function, arguments)
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the client is closed")
            if self._idle:
                self._idle.pop().put(job)
            elif self._threads < self._max_workers:
                self._threads += 1
                try:
                    self._start(job)
                except RuntimeError as error:  # the system gives no more threads
                    self._threads -= 1
                    if self._threads == 0:
                        raise execution_failed(f"nothing was sent: {error}") from error
                    self._waiting.append(job)
            else:
                self._waiting.append(job)
        return job

    def cancel(self, job: Job) -> bool:
        """Gives up a call: nothing is sent from now on. Returns whether it is certain that nothing
        was sent before."""
        if job.future.cancel():
            return True
        with self._lock:
            job.is_cancelled = True
            if job.instance is not None:
                job.instance.stop()
                return False
            return not job.is_over

    def close(self) -> None:
        """Takes no more calls. Those that were taken are finished, which nobody waits for."""
        with self._lock:
            self._is_closed = True
            for inbox in self._idle:
                inbox.put(None)
            self._threads -= len(self._idle)
            self._idle.clear()

    def _start(self, job: Job) -> None:
        name = f"voice-calling-{self._threads}"
        threading.Thread(target=self._work, args=(job,), name=name, daemon=True).start()

    def _work(self, job: Job | None) -> None:
        """The life of a thread."""
        inbox: SimpleQueue[Job | None] = SimpleQueue()
        seat = _Seat(self._settings, self._folder)
        while job is not None:
            if job.future.set_running_or_notify_cancel():
                self._run(job, seat)
            job = None  # so that an idle thread holds on to no result
            job = self._next(inbox)
        seat.leave()

    def _run(self, job: Job, seat: _Seat) -> None:
        try:
            instance = seat.take()
            with self._lock:
                if job.is_cancelled:
                    raise execution_failed("the call was cancelled, and nothing was sent")
                job.instance = instance
            try:
                plain = instance.call(job.function, job.arguments)
            finally:
                with self._lock:
                    job.instance, job.is_over = None, True
                if job.is_cancelled:
                    seat.leave()
            result = job.function.lift(plain)
        except WasmtimeError as error:
            seat.leave()
            job.future.set_exception(_trapped(job, error))
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)

    def _next(self, inbox: SimpleQueue[Job | None]) -> Job | None:
        """The next call, or none where the thread is to end."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            if self._is_closed:
                self._threads -= 1
                return None
            self._idle.append(inbox)
        try:
            return inbox.get(timeout=IDLE_SECONDS)
        except Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    self._threads -= 1
                    return None
            return inbox.get()


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
            self._instance = Instance(self._folder, variables, _attempts.listener())
            self._calls, self._logs = 0, logs
        self._calls += 1
        return self._instance

    def leave(self) -> None:
        """Throws the instance away."""
        if self._instance is not None:
            self._instance.close()
            self._instance = None


def _trapped(job: Job, error: WasmtimeError) -> Exception:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = lines[-1] if lines else "no reason given"
    if not job.is_over:
        return execution_failed(f"the component could not be started, nothing was sent: {reason}")
    after = "; what it was to create may exist" if job.function.creates else ""
    return execution_failed(f"the component could not be run: {reason}{after}")
