"""The threads of the package: they do its work, and call back when it is time."""

from __future__ import annotations

import logging
import queue
import threading
import time
import traceback
from collections.abc import Callable

from ._log import log

_IDLE_S = 10.0
"""How long a thread without work stays."""


class Workers:
    """Threads that do one job after another. There are as many as jobs at once."""

    def __init__(self) -> None:
        self._idle: list[queue.SimpleQueue[Callable[[], None]]] = []

    def submit(self, job: Callable[[], None]) -> None:
        try:
            inbox = self._idle.pop()
        except IndexError:
            inbox = queue.SimpleQueue()
            inbox.put(job)
            name = "voice-calling"
            threading.Thread(target=self._work, args=(inbox,), name=name, daemon=True).start()
        else:
            inbox.put(job)

    def _work(self, inbox: queue.SimpleQueue[Callable[[], None]]) -> None:
        while True:
            try:
                job = inbox.get(timeout=_IDLE_S)
            except queue.Empty:
                try:
                    self._idle.remove(inbox)
                except ValueError:
                    continue  # a job is on its way
                return
            try:
                job()
            except BaseException:
                log(logging.ERROR, "a job failed: %s", traceback.format_exc())
            del job  # it holds the client
            self._idle.append(inbox)


class Timer:
    """A thread that calls ticks when it is time, for all clients of the process. It ends when it is
    long idle."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[Callable[[], None], float] = {}
        self._is_running = False

    def wake(self, tick: Callable[[], None], at: float) -> None:
        with self._changed:
            if self._due.get(tick, at + 1) <= at:
                return
            if not self._is_running:
                name = "voice-calling-timer"
                threading.Thread(target=self._wait, name=name, daemon=True).start()
                self._is_running = True
            self._due[tick] = at
            self._changed.notify()

    def _wait(self) -> None:
        while True:
            with self._changed:
                if not self._due:
                    self._changed.wait(_IDLE_S)
                if not self._due:
                    self._is_running = False
                    return
                tick = min(self._due, key=self._due.__getitem__)
                delay = self._due[tick] - time.monotonic()
                if delay > 0:
                    self._changed.wait(delay)
                    continue
                del self._due[tick]
            try:
                tick()
            except Exception:
                log(logging.ERROR, "a step failed: %s", traceback.format_exc())


WORKERS = Workers()
TIMER = Timer()


def after_fork() -> None:
    """Makes new threads in the child, which has none of the parent's."""
    global WORKERS, TIMER
    WORKERS, TIMER = Workers(), Timer()
