"""An operation that goes on, what came of it so far, and what of that its caller has. What was
created belongs to it before its caller is woken, so that a caller that is interrupted loses none of
it: the rest is found on the exception, and logged."""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ._conversion import decode
from ._errors import ExecutionFailed, OutcomeUnknown, RequestError
from ._log import created_logger, log
from ._operation import BatchResult, Operation
from ._requests import CheckedRequest
from ._types import CreatedDocket, DocketRequest

_ATTRIBUTE = "__voice_calling_outcome__"

_numbers = itertools.count(1)
"""Of the operations of this process."""


class NoSignal:
    """Wakes no caller, at the end of the process."""

    def set(self) -> None: ...


class Running:
    """An operation that goes on."""

    def __init__(self, operation: Operation[Any], options: dict[str, Any], signal: Any) -> None:
        self.number: int = next(_numbers)
        self.operation: Operation[Any] = operation
        self.options: dict[str, Any] = options
        self.signal: Any = signal
        """Wakes the caller. It is set after what it announces is there."""
        self.context: contextvars.Context = contextvars.copy_context()
        """That of the caller, for tracing."""
        self.sent: set[int | None] = set()
        """The items of which a create was sent; `None` stands for an operation that is not a
        batch."""
        self.outcomes: dict[int, Any] = {}
        """What is known of the items of a batch: errors, and what the core has reported."""
        self.recording: set[int | None] = set()
        """The items whose outcomes the ledger is writing."""
        self.unread: deque[int] = deque()
        """The items that were reported and are recorded, and not read."""
        self.is_done: bool = False
        self._wire: Any = None
        """The payload of the answer, if it ended with one."""
        self._error: BaseException | None = None
        self.raised: BaseException | None = None
        """The error that the caller got."""
        self.delivered: set[int] = set()
        """The items whose results the caller has."""
        self.taken: dict[int, DocketRequest] = {}
        """The requests of a batch. Those of an iterable are forgotten with their results."""
        self.wants_more: bool = False
        """Whether the core can send more requests of a batch than it has."""
        self.is_cancelled: bool = False
        self.is_settled: bool = False
        """Whether the caller has all that it will have, and the log the rest."""

        self.add(operation.requests or [])

    def add(self, taken: list[CheckedRequest]) -> None:
        """Notes requests of a batch that the core gets."""
        self.taken.update((it.index, it.request) for it in taken)

    # ------------------------------------------------------------------------- from the machine

    def request_more(self) -> None:
        """Has the caller take more requests of a batch."""
        self.wants_more = True
        self.signal.set()

    def finish(self, wire: Any = None, *, error: BaseException | None = None) -> None:
        """Ends it with the payload of its answer, or an error. What ended it first counts."""
        if not self.is_done:
            if wire is not None and self.operation.creates:
                self._log_created(None, wire)
            self._wire, self._error = wire, error
            self.is_done = True
        self.signal.set()

    def refuse(self, reason: str) -> None:
        """Ends it before anything was sent."""
        self.finish(error=ExecutionFailed(reason))

    def finish_item(self, index: int, outcome: Any) -> None:
        """Ends an item of a batch."""
        if not isinstance(outcome, RequestError):
            self._log_created(index, outcome)
        self.outcomes[index] = outcome
        self._report(index)

    def on_recorded(self, item: int | None) -> None:
        """Its outcome, or that of an item, is on the disk, or cannot be written."""
        self.recording.discard(item)
        self._report(item)

    def _report(self, item: int | None) -> None:
        """Hands an item of a batch to the caller, once it is known and recorded."""
        if item is not None and item in self.outcomes and item not in self.recording:
            self.unread.append(item)
        self.signal.set()

    def fail(self, reason: str) -> None:
        """Ends it, and all items of a batch, although no answer is known."""
        for item in sorted(index for index in list(self.sent) if index is not None):
            if item not in self.outcomes:
                self.finish_item(item, self._without_answer(item, reason))
        self.finish(error=self._without_answer(None, reason))

    def _without_answer(self, item: int | None, reason: str) -> RequestError:
        """Returns the outcome of it, or of an item, if no answer will come."""
        if item in self.sent:
            message = f"{reason} while a request was in flight, or its answer had just come: the "
            message += "create may have been processed"
            return OutcomeUnknown(message, may_have_created=True)
        return ExecutionFailed(f"{reason}; nothing was created")

    def _log_created(self, index: int | None, wire: Any) -> None:
        made = wire.get("Ok")
        if index is None and isinstance(made, dict):
            (made,) = made.values()
        if isinstance(made, dict) and not made.get("from_ledger"):
            name, number = _id(made.get)
            message = "%s %s was created%s"
            log(logging.INFO, message, name, number, self._label(index), to=created_logger)

    def _label(self, index: int | None) -> str:
        """Returns by what a user knows it, or an item."""
        shown = []
        if index is not None:
            external_id = self.taken[index].external_id
            shown.append(f"request {index} of the batch")
        else:
            (call,) = self.operation.call.values()
            external_id = call.get("external_id") if isinstance(call, dict) else None
        if external_id is not None:
            shown.append(f"external_id {external_id!r}")
        return f" ({', '.join(shown)})" if shown else ""

    # -------------------------------------------------------------------------- for the caller

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, and the ledger has written how."""
        return self.is_done and not self.recording

    @property
    def wants_requests(self) -> bool:
        """Whether the caller is to take more requests of a batch from their iterable."""
        return self.wants_more and not self.is_settled and not self.is_done

    def payload(self) -> Any:
        """Returns the payload of the answer. Raises what ended the whole operation."""
        self.raised = self._error
        if self.raised is None and "Err" in self._wire:
            self.raised = self.operation.error(self._wire["Err"])
        if self.raised is not None:
            raise self.raised
        answer = self._wire["Ok"]
        return None if isinstance(answer, str) else next(iter(answer.values()))

    def outcome(self) -> Any:
        """Returns what the user gets, or raises its error."""
        if not self.operation.is_batch:
            return decode(self.operation.made, self.payload())
        try:
            self.payload()
        except RequestError as error:
            if not self.outcomes:
                raise
            for index in self.taken:
                self.outcomes.setdefault(index, error)
        return [result.outcome for result in self.results()]

    def result(self, index: int) -> BatchResult:
        """Returns what is known of an item."""
        known = self.outcomes[index]
        if not isinstance(known, (CreatedDocket, RequestError)):
            if "Err" in known:
                known = self.operation.error(known["Err"])
            else:
                known = decode(CreatedDocket, known["Ok"])
            self.outcomes[index] = known
        return BatchResult(index=index, request=self.taken[index], outcome=known)

    def results(self) -> list[BatchResult]:
        """Returns what is known of a batch, in the order of its requests."""
        return [self.result(index) for index in sorted(self.outcomes)]

    def forget(self) -> None:
        """Forgets the results that the caller has, unless the batch is a list."""
        if self.operation.requests is None and not self.is_cancelled:
            for index in list(self.delivered):
                self.delivered.discard(index)
                self.sent.discard(index)
                self.outcomes.pop(index, None)
                self.taken.pop(index, None)

    def report_loss(self, error: BaseException | None, why: str) -> None:
        """Logs what may exist and its caller, which is gone, does not have. All that is known is
        found on the exception that ended the caller."""
        if self.operation.is_batch:
            for index in list(self.sent):
                if index is not None and index not in self.outcomes:
                    self.outcomes[index] = self._without_answer(index, why)
            outcome: Any = self.results()
            for result in outcome:
                if result.index not in self.delivered:
                    self._warn(result.index, result.outcome, why)
        else:
            try:
                outcome = self.outcome() if self.is_done else self._without_answer(None, why)
            except BaseException as known:
                outcome = known
            if self.operation.creates:
                self._warn(None, outcome, why)
        if error is not None:
            with contextlib.suppress(Exception):  # an exception with slots; the log has it
                setattr(error, _ATTRIBUTE, outcome)
        self.is_settled = True

    def _warn(self, index: int | None, outcome: Any, why: str) -> None:
        if not isinstance(outcome, BaseException):
            message = "%s, and it had succeeded: %s %s was created%s"
            created = _id(partial(getattr, outcome))
            log(logging.WARNING, message, why, *created, self._label(index))
        elif getattr(outcome, "may_have_created", False):
            shown = str(outcome)
            message = "%s%s" if shown.startswith(why) else f"{why}: %s%s"
            log(logging.WARNING, message, shown, self._label(index))


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
    """Returns the name and the value of the id of what was created."""
    name = next((it for it in ("docket_id", "task_id") if of(it, None) is not None), "agent_id")
    return name, of(name, None)
