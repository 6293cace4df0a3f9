"""The exceptions: one for each kind of failure."""

from __future__ import annotations

from typing import Any

from ._native import is_permanent
from ._records import (
    Attempt,
    CallDetailsList,
    Docket,
    FailureKind,
    HttpResponse,
    NextStep,
    Problem,
)

__all__ = [
    "ConfigurationError",
    "InvalidInputError",
    "NotBegunError",
    "NotFoundError",
    "OutcomeUnknownError",
    "RateLimitedError",
    "RejectedError",
    "TimedOutError",
    "UnauthorizedError",
    "UnavailableError",
    "UnexpectedResponseError",
    "UnreachableError",
    "VoiceCallingError",
    "WaitTimeoutError",
]


_NEXT_STEPS: dict[str, NextStep] = {
    "configuration": "fix-setting",
    "invalid-input": "refused",
    "unauthorized": "fix-setting",
    "not-found": "refused",
    "rejected": "refused",
    "unexpected-response": "fix-setting",
    "outcome-unknown": "unknown",
}
"""The next steps of errors that are made by hand, unless they are `retry-later`."""


class VoiceCallingError(Exception):
    """Why an operation did not succeed.

    **An error that is not permanent (`is_permanent`) means that nothing was created**: retry the
    same call later. Do not retry one that is permanent unchanged: the same call would fail again,
    or might call a person twice; `may_have_created` says which.

    This is about errors. What is retried before a call returns is set by `create_retry`, whose
    default sends a create again after 5xx and 408.

    All errors have the same attributes."""

    kind: FailureKind
    """What went wrong. Each kind has a class."""

    next_step: NextStep
    """What follows from it, for this request and for those to other people: `retry-later`,
    `fix-setting` (no request can succeed until someone acts), `refused` (it is about this request
    alone), or `unknown` (make sure of what was created first)."""

    message: str
    """What went wrong, in a sentence for people."""

    problem: Problem | None
    """The setting or argument at fault, if there is one."""

    response: HttpResponse | None
    """The answer that decided, if there was one. It need not be that of the last attempt: attempts
    without an answer may follow it."""

    attempts: tuple[Attempt, ...]
    """All attempts of this operation, in order; empty if nothing was sent."""

    may_have_created: bool
    """Whether something may have been created: a phone may be ringing. Always `False` for reading
    requests, and for errors that are not permanent."""

    is_permanent: bool
    """Whether the same call would fail again, or would risk that a person is called twice."""

    def __init_subclass__(cls) -> None:
        cls.is_permanent = is_permanent(cls.kind)

    def __init__(
        self,
        message: str = "",
        *,
        next_step: NextStep | None = None,
        may_have_created: bool | None = None,
        problem: Problem | None = None,
        response: HttpResponse | None = None,
        attempts: tuple[Attempt, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        usual = _NEXT_STEPS.get(getattr(self, "kind", ""), "retry-later")
        self.next_step = next_step or usual
        is_unknown = self.next_step == "unknown"
        self.may_have_created = is_unknown if may_have_created is None else may_have_created
        self.problem = problem
        self.response = response
        self.attempts = attempts

    @property
    def retry_after(self) -> float | None:
        """How long the service asks to wait before the next request. Unit: seconds."""
        return None if self.response is None else self.response.retry_after


class ConfigurationError(VoiceCallingError):
    """A setting is missing or wrong, an account is unknown, or the ledger cannot be used. `problem`
    names it."""

    kind: FailureKind = "configuration"


class InvalidInputError(VoiceCallingError, ValueError):
    """An argument is not allowed. `problem` names it. Nothing was sent."""

    kind: FailureKind = "invalid-input"


class UnauthorizedError(VoiceCallingError):
    """The service rejected the token: 401 or 403."""

    kind: FailureKind = "unauthorized"


class NotFoundError(VoiceCallingError):
    """The service answered not found: 404 or 410."""

    kind: FailureKind = "not-found"


class RejectedError(VoiceCallingError):
    """The service rejected the request: any other 3xx or 4xx. Redirects are never followed, since
    the token would go along. After a 3xx or a 409 to a creating request the call or docket may
    exist."""

    kind: FailureKind = "rejected"


class UnexpectedResponseError(VoiceCallingError):
    """An answer that is not as specified: a 2xx whose body does not match the specification or
    exceeds the size limit, a docket other than the requested one, or a status outside 200 to
    599. After a creating request the call or docket may exist; `response` has what came."""

    kind: FailureKind = "unexpected-response"


class OutcomeUnknownError(VoiceCallingError):
    """A creating request may have been processed: it was sent and no conclusive answer came, or the
    service failed (5xx, 408), also in an attempt before the last. A person's phone may be
    ringing: retry only after making sure that nothing was created.

    For a create with a key it also means that one with the same key is in progress (`problem` is
    about `key` then), or that its outcome is unknown; nothing was sent now."""

    kind: FailureKind = "outcome-unknown"


class RateLimitedError(VoiceCallingError):
    """The service's rate limit: 429 or 425, until no attempt or no time was left."""

    kind: FailureKind = "rate-limited"


class UnavailableError(VoiceCallingError):
    """The service failed: 5xx or 408 to a reading request, until no attempt or no time was left."""

    kind: FailureKind = "unavailable"


class UnreachableError(VoiceCallingError):
    """The service could not be reached: no attempt was sent."""

    kind: FailureKind = "unreachable"


class TimedOutError(VoiceCallingError):
    """Time ran out before anything was sent, or a reading request got no complete answer in any of
    its attempts."""

    kind: FailureKind = "timed-out"


class NotBegunError(VoiceCallingError):
    """A batch did not begin this request, because too many of the others had failed, or because it
    was closed. Nothing was sent."""

    kind: FailureKind = "not-begun"


class WaitTimeoutError(TimedOutError):
    """The time of a wait was up before what it waited for was completed."""

    last: Docket | CallDetailsList | None
    """What was seen last; `None` if no answer came."""

    polls: int
    """How many polls were made."""

    failed_polls: int
    """How many of these failed with an error that may be temporary."""

    waited: float
    """How long it waited. Unit: seconds."""

    held_back: float
    """How much of that was spent on a rate limit that another call of the same account had met.
    Unit: seconds."""

    def __init__(
        self,
        *,
        last: Docket | CallDetailsList | None,
        polls: int,
        failed_polls: int = 0,
        waited: float = 0,
        held_back: float = 0,
    ) -> None:
        super().__init__(f"it was not completed in the time of the wait; polls: {polls}")
        self.last = last
        self.polls = polls
        self.failed_polls = failed_polls
        self.waited = waited
        self.held_back = held_back

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions are copied, also between processes, by their `args` alone.
        return Exception.__new__, (type(self), *self.args), self.__dict__


ERRORS: dict[str, Any] = {error.kind: error for error in VoiceCallingError.__subclasses__()}
"""The class of each kind. The bridge raises them."""
