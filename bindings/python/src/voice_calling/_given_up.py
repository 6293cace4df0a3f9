"""What becomes of a call whose caller has gone: cancelled, interrupted, or the end of a batch that
nobody reads."""

from __future__ import annotations

import logging
from typing import Any

from ._errors import RequestError
from ._log import say
from ._machine import Done, Running

_ATTRIBUTE = "__voice_calling_outcome__"


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


def tell(running: Running, done: Done | None, error: BaseException) -> None:
    """Says on the exception, and in the log where something may exist, what is known."""
    outcome: Any
    if done is None:
        outcome = running.lost(None, "the call was cancelled")
    else:
        try:
            outcome = running.outcome(done)
        except RequestError as known:
            outcome = known
    if running.operation.creates:
        warn(outcome)
    attach(outcome, error)


def attach(outcome: Any, error: BaseException) -> None:
    """Lets `outcome_of` find it."""
    try:
        setattr(error, _ATTRIBUTE, outcome)
    except Exception:
        return  # an exception with slots; the log has it


def warn(outcome: Any) -> None:
    """Logs what may exist although nobody waited for it."""
    if not isinstance(outcome, RequestError):
        made = getattr(outcome, "docket_id", None) or getattr(outcome, "task_id", None)
        say(logging.WARNING, "a call was cancelled after it had succeeded: %s was created", made)
    elif outcome.may_have_created:
        say(logging.WARNING, "a call was cancelled: %s", outcome)
