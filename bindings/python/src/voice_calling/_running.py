"""An operation that is under way, what came of it so far, and what of that its caller has. What was
created belongs to it before its caller is woken, so that a caller that is interrupted loses none of
it: the rest is found on the exception, and logged."""

from __future__ import annotations

import atexit
import contextvars
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, TypeVar

from ._errors import RequestError
from ._failures import execution_failed, outcome_unknown
from ._lift import record
from ._log import created, say
from ._operations import BatchResult, Operation, Progress
from ._types import CreatedDocket

T = TypeVar("T")

_ATTRIBUTE = "__voice_calling_outcome__"

_created = record(CreatedDocket)


class Done:
    """How an operation has ended: with the payload of its answer, or an error."""

    __slots__ = ("error", "wire")

    def __init__(self, wire: Any = None, error: BaseException | None = None) -> None:
        self.wire: Any = wire
        self.error: BaseException | None = error


class Running:
    """An operation that is under way."""

    __slots__ = (
        "__weakref__",
        "began_ms",
        "bell",
        "context",
        "done",
        "handed_over",
        "is_given_up",
        "is_settled",
        "number",
        "operation",
        "options",
        "outcomes",
        "progress",
        "raised",
        "requests",
        "sent",
        "to_send",
        "unread",
    )

    def __init__(
        self, number: int, operation: Operation[Any], options: dict[str, Any], bell: Any
    ) -> None:
        self.number: int = number
        self.operation: Operation[Any] = operation
        self.options: dict[str, Any] = options
        self.bell: Any = bell
        """Where the caller waits. It is rung after the news is there."""
        self.context: contextvars.Context = contextvars.copy_context()
        """That of the caller, for those who trace."""
        self.began_ms: int = 0
        self.requests: int = 0
        """How many requests it has sent."""
        self.sent: set[int | None] = set()
        """Those of its items of which a create was sent; `None` stands for an operation that is not
        a batch."""
        self.outcomes: dict[int, Any] = {}
        """What is known of the items of a batch: errors, and what the machine has reported."""
        self.unread: deque[int] = deque()
        """The items that were reported, and not read."""
        self.done: Done | None = None
        self.raised: BaseException | None = None
        """The error that the caller got."""
        self.progress: deque[Progress] = deque()
        self.to_send: deque[Any] = deque()
        """The exchanges that a coroutine that waits has to send."""
        self.handed_over: set[int] = set()
        """The items whose results the caller has."""
        self.is_given_up: bool = False
        self.is_settled: bool = False
        """Whether the caller has all that it will have, and the log the rest."""

    # ------------------------------------------------------------------------- from the machine

    def finish(self, done: Done) -> None:
        """It has ended. What ended it first counts."""
        if self.done is None:
            if done.wire is not None and self.operation.creates:
                self._log_created(None, done.wire)
            self.done = done
        self.bell.ring()

    def report(self, index: int, outcome: Any) -> None:
        """An item of a batch has ended."""
        if not isinstance(outcome, RequestError):
            self._log_created(index, outcome)
        self.outcomes[index] = outcome
        self.unread.append(index)
        self.bell.ring()

    def lost(self, item: int | None, reason: str) -> RequestError:
        """What is known of it, or of an item, when nothing more comes of it."""
        if item in self.sent:
            return outcome_unknown(
                f"{reason} while a request was in flight, or its answer had just come: the create "
                "may have been processed"
            )
        return execution_failed(f"{reason}; nothing was created")

    def loses_all(self, reason: str) -> None:
        """Nothing more comes of it."""
        for item in sorted(index for index in list(self.sent) if index is not None):
            if item not in self.outcomes:
                self.report(item, self.lost(item, reason))
        self.finish(Done(error=self.lost(None, reason)))

    def _log_created(self, index: int | None, wire: Any) -> None:
        made = wire.get("Ok")
        if index is None and isinstance(made, dict):
            (made,) = made.values()
        if isinstance(made, dict):
            name, number = _id(made.get)
            say(logging.INFO, "%s %s was created%s", name, number, self.row(index), to=created)

    # -------------------------------------------------------------------------- for the caller

    def outcome(self) -> Any:
        """What a user gets, or the error that is raised."""
        assert self.done is not None
        self.raised = self.done.error
        if self.raised is None and "Err" in self.done.wire:
            self.raised = self.operation.error(self.done.wire["Err"])
        if self.raised is not None:
            raise self.raised
        answer = self.done.wire["Ok"]
        payload = None if isinstance(answer, str) else next(iter(answer.values()))
        return self.operation.lift(payload)

    def result(self, index: int) -> BatchResult:
        """What is known of an item."""
        known = self.outcomes[index]
        if not isinstance(known, (CreatedDocket, RequestError)):
            is_created = "Ok" in known
            known = _created(known["Ok"]) if is_created else self.operation.error(known["Err"])
            self.outcomes[index] = known
        return BatchResult(index=index, request=self.operation.requests[index], outcome=known)

    def results(self) -> list[BatchResult]:
        """What is known of a batch, in the order of its requests."""
        return [self.result(index) for index in sorted(self.outcomes)]

    def row(self, index: int | None) -> str:
        """What a user knows it by, or an item."""
        (call,) = self.operation.call.values()
        shown = []
        if index is not None:
            call = call[0][index]
            shown.append(f"request {index} of the batch")
        if isinstance(call, dict) and call.get("external_id") is not None:
            shown.append(f"external_id {call['external_id']!r}")
        return f" ({', '.join(shown)})" if shown else ""

    def tell_progress(self) -> None:
        """Calls back."""
        progress = self.progress.popleft()
        if self.operation.on_progress is not None:
            self.operation.on_progress(progress)

    def account(self, error: BaseException | None, why: str = "a call was cancelled") -> None:
        """The caller is gone: what may exist and it does not have is logged, and all that is known
        is found on the exception."""
        if self.operation.requests:
            for index in list(self.sent):
                if index is not None and index not in self.outcomes:
                    self.outcomes[index] = self.lost(index, why)
            outcome: Any = self.results()
            for result in outcome:
                if result.index not in self.handed_over:
                    self._warn(result.index, result.outcome, why)
        else:
            try:
                outcome = self.lost(None, why) if self.done is None else self.outcome()
            except BaseException as known:
                outcome = known
            if self.operation.creates:
                self._warn(None, outcome, why)
        if error is not None:
            _attach(outcome, error)
        self.is_settled = True

    def _warn(self, index: int | None, outcome: Any, why: str) -> None:
        """Logs what may exist although nothing waits for it."""
        if not isinstance(outcome, BaseException):
            text = "%s, and it had succeeded: %s %s was created%s"
            say(logging.WARNING, text, why, *_id(partial(getattr, outcome)), self.row(index))
        elif getattr(outcome, "may_have_created", False):
            said = str(outcome)
            text = "%s%s" if said.startswith(why) else f"{why}: %s%s"
            say(logging.WARNING, text, said, self.row(index))


class NoBell:
    """What is rung where nothing may go on: at the end of the process."""

    def ring(self) -> None: ...


class Caller(Generic[T]):
    """The caller's side of an operation. When it is gone, nothing waits for the operation any
    more."""

    _driver: Any
    _running: Any = None
    """The `Running`, once there is one."""

    def ends_by(self, error: BaseException | None) -> None:
        """Gives the operation up, unless it has ended."""
        if self._running is not None and not self._running.is_settled:
            self.fails(error)

    def fails(self, error: BaseException | None) -> None:
        """The same, although a result was on its way to the caller."""
        running = self._running
        if running is not None:
            if error is None or error is not running.raised:
                self._driver.give_up(running)
                running.account(error)
            self._driver.settled(running)
            running.raised = None  # its traceback holds the caller

    def __del__(self) -> None:
        running = self._running
        if running is not None and not running.is_settled:
            # This may be any thread, one that steps as well, and the caller is gone.
            self._driver.leave_soon(running)


class _Process:
    is_at_its_end = False


def refuse_at_exit() -> None:
    """Raises an error when no thread and no loop goes on any more."""
    if _Process.is_at_its_end:
        raise execution_failed("the process is at its end: nothing was sent")


def _at_exit() -> None:
    _Process.is_at_its_end = True


atexit.register(_at_exit)


def outcome_of(error: BaseException | None) -> Any:
    """What is known of the call that this exception gave up: what was created, or a
    `RequestError`, which for a create that was on its way is `OutcomeUnknown`; of a batch the
    results, as a list. `None` where the exception gave up no call.

    It looks into causes and contexts as well, so that the `TimeoutError` of `asyncio.timeout` does:

    >>> outcome_of(TimeoutError()) is None
    True
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if hasattr(error, _ATTRIBUTE):
            return getattr(error, _ATTRIBUTE)
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def _id(of: Callable[[str, Any], Any]) -> tuple[str, Any]:
    """The name and the value of the id of what was created."""
    name = next((it for it in ("docket_id", "task_id") if of(it, None) is not None), "agent_id")
    return name, of(name, None)


def _attach(outcome: Any, error: BaseException) -> None:
    """Lets `outcome_of` find it."""
    try:
        setattr(error, _ATTRIBUTE, outcome)
    except Exception:
        return  # an exception with slots; the log has it
