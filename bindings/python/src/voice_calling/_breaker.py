"""What is decided before a create is sent, for programs that send a series of their own."""

from __future__ import annotations

from typing import Literal

from . import _native
from ._errors import VoiceCallingError

__all__ = ["Breaker", "next_calling_time"]


class Breaker:
    """Whether a series of creates goes on, or begins nothing further because too many failed: five
    in a row that are not about the people to be called, or 25 of any kind. A batch has one; this is
    for programs that send creates one by one, such as those on a workflow engine.

    At most five creates whose outcomes are not known yet are in flight at first, and one more with
    each success. Any number of threads can use it."""

    def __init__(self) -> None:
        self._native = _native.Breaker()
        self.reason: str | None = None
        """Why nothing further begins, after the decision to `stop`."""

    def decide(self) -> Literal["begin", "wait", "stop"]:
        """Decides on the next create: it may begin, and is in flight from now on; or one in flight
        has to end first; or nothing further may begin."""
        decision, self.reason = self._native.decide()
        return decision

    def on_success(self) -> None:
        """Records that a create in flight has succeeded."""
        self._native.on_success()

    def on_failure(self, error: VoiceCallingError) -> None:
        """Records how a create in flight has failed."""
        self._native.on_failure(bool(error.attempts), error.next_step, error.message)

    def resume(self) -> None:
        """Lets one create begin after a stop: the series goes on if that one succeeds."""
        self._native.resume()


def next_calling_time(hours: str, time_zone: str, at: float) -> float | None:
    """Returns when a call may begin that is due at `at`: then, or when the hours begin next.
    `None` if they never do. Unit: seconds since 1970, as of `time.time()`.

    - `hours`: days and times, such as `mon-fri 09:30-18:00, sat 10:00-13:00`.
    - `time_zone`: whose clock it is, such as `Asia/Kolkata`.

    `InvalidInputError` if one of them is not allowed.

        >>> next_calling_time("mon-fri 09:30-18:00", "Asia/Kolkata", 0.0)  # a Thursday, 05:30
        14400.0
    """
    return _native.next_calling_time(hours, time_zone, at)
