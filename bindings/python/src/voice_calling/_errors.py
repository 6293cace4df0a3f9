"""The exceptions: one for each error of the interface that all languages share."""

from __future__ import annotations

from typing import Any

from ._types import Attempt, HttpResponse, Problem
from ._values import plain

__all__ = [
    "ConfigurationProblem",
    "ExecutionFailed",
    "InProgress",
    "InvalidInput",
    "NoAnswerError",
    "NotBegun",
    "NotFound",
    "OutcomeUnknown",
    "RateLimited",
    "Rejected",
    "RequestError",
    "ServiceError",
    "TimedOut",
    "Unauthorized",
    "Unavailable",
    "UnexpectedResponse",
    "Unreachable",
]


_TRANSIENT = (
    "execution-failed",
    "not-begun",
    "rate-limited",
    "timed-out",
    "unavailable",
    "unreachable",
)
"""The kinds of errors after which nothing was created, and the same call may succeed later."""


class RequestError(Exception):
    """Why an operation did not succeed.

    **An error that is not permanent (`is_permanent`) means that nothing was created**: retry the
    same call later. Do not retry one that is permanent unchanged: the same call would fail again,
    or might call a person twice; `may_have_created` says which.

    This is about errors. What is retried before a call returns is set by `create_retry`, whose
    default sends a create again after 5xx and 408.

    All errors have the same attributes."""

    kind: str = ""
    """The error's name in the interface that all languages share."""

    next_step: str = ""
    """What follows from it, for this request and for those to other people: `retry-later`,
    `fix-setting`, `refused`, which is about this request alone, or `unknown`: make sure of what was
    created first."""

    message: str
    """What went wrong, in a sentence for people."""

    problem: Problem | None
    """The setting or argument at fault, where one is."""

    response: HttpResponse | None
    """The answer that decided, where one came. It need not be that of the last attempt: attempts
    without an answer may follow it."""

    attempts: tuple[Attempt, ...]
    """All attempts of this operation, in order; empty where nothing was sent."""

    may_have_created: bool
    """Whether something may have been created: a phone may be ringing. Always `False` for reading
    requests, and for errors that are not permanent."""

    def __init__(
        self,
        message: str = "",
        *,
        next_step: str | None = None,
        problem: Problem | None = None,
        response: HttpResponse | None = None,
        attempts: tuple[Attempt, ...] = (),
        may_have_created: bool = False,
    ) -> None:
        super().__init__(message)
        self.next_step = next_step or self.next_step
        self.message = message
        self.problem = problem
        self.response = response
        self.attempts = attempts
        self.may_have_created = may_have_created

    @property
    def is_permanent(self) -> bool:
        """Whether the same call would fail again, or would risk that a person is called twice."""
        return self.kind not in _TRANSIENT

    def to_dict(self) -> dict[str, Any]:
        """All that is known, in the types of JSON."""
        return {"kind": self.kind, **plain(vars(self))}


class ServiceError(RequestError):
    """The service answered, but not with what was asked for: `response` says what."""

    response: HttpResponse  # pyright: ignore[reportIncompatibleVariableOverride]
    """The answer that decided. It need not be that of the last attempt: attempts without an answer
    may follow it."""


class NoAnswerError(RequestError):
    """The service did not answer: it could not be reached, or time ran out. `response` is
    `None`."""


class ExecutionFailed(RequestError):
    """The package's module could not be run (a trap, no memory, no thread, a fork after calls with
    your own `http_client`). Nothing was created."""

    kind: str = "execution-failed"
    next_step: str = "retry-later"


class ConfigurationProblem(RequestError):
    """A setting is missing or wrong, an account is unknown, or the host's policy denies the
    service's address. `problem` names the variable or option."""

    kind: str = "configuration"
    next_step: str = "fix-setting"


class InvalidInput(RequestError):
    """An argument is not allowed, or the host rejects the request for what is in it. `problem`
    names the argument. Nothing was created."""

    kind: str = "invalid-input"
    next_step: str = "refused"


class Unauthorized(ServiceError):
    """The service rejected the token: 401 or 403."""

    kind: str = "unauthorized"


class NotFound(ServiceError):
    """The service answered not found: 404 or 410."""

    kind: str = "not-found"


class Rejected(ServiceError):
    """The service rejected the request: any other 3xx or 4xx. Redirects are never followed, since
    the token would go along. After a 3xx or a 409 to a creating request the call or docket may
    exist."""

    kind: str = "rejected"


class UnexpectedResponse(ServiceError):
    """An answer that is not as specified: a 2xx whose body does not match the specification or
    exceeds the size limit, a docket other than the requested one, or a status outside 200 to
    599. After a creating request the call or docket may exist; `response` has what came."""

    kind: str = "unexpected-response"


class OutcomeUnknown(RequestError):
    """A creating request may have been processed: it was sent and no conclusive answer came, or the
    service failed (5xx, 408), also in an attempt before the last. A person's phone may be
    ringing: retry only after making sure that nothing was created.

    It is neither a `ServiceError` nor a `NoAnswerError`, so that no handler of these retries it;
    `response` is there where the service answered."""

    kind: str = "outcome-unknown"
    next_step: str = "unknown"


class InProgress(RequestError):
    """A create with the same `once` is in progress, in this process or another one, and nothing was
    sent. The same call returns its answer later."""

    kind: str = "in-progress"


class RateLimited(ServiceError):
    """The service's rate limit: 429 or 425, until no attempt or no time was left."""

    kind: str = "rate-limited"


class Unavailable(ServiceError):
    """The service failed: 5xx or 408 to a reading request, until no attempt or no time was left."""

    kind: str = "unavailable"


class Unreachable(NoAnswerError):
    """The service could not be reached: no attempt was sent."""

    kind: str = "unreachable"


class TimedOut(NoAnswerError):
    """Time ran out before anything was sent, or a reading request got no complete answer in any of
    its attempts."""

    kind: str = "timed-out"


class NotBegun(RequestError):
    """A batch did not begin this request, because too many of the others had failed: `message` says
    how. Nothing was sent."""

    kind: str = "not-begun"


# What this package finds by itself, before anything is sent.

_LONGEST_SHOWN = 60


def invalid_input(subject: str, found: str, allowed: str) -> InvalidInput:
    """Returns the error for an argument."""
    problem = Problem(subject=subject, found=found, allowed=allowed)
    return InvalidInput(sentence(problem), problem=problem)


def configuration_problem(subject: str, found: str, allowed: str) -> ConfigurationProblem:
    """Returns the error for a setting."""
    problem = Problem(subject=subject, found=found, allowed=allowed)
    return ConfigurationProblem(sentence(problem), problem=problem)


def described(value: object) -> str:
    """Returns the type and the beginning of a value of the wrong type."""
    try:
        shown = repr(value)
    except Exception:  # such as an integer of more digits than Python writes
        return type(value).__name__
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[:_LONGEST_SHOWN] + "…"
    return f"{type(value).__name__} {shown}"


def named(error: BaseException) -> str:
    """Returns the type and the text of an exception."""
    name = type(error).__name__
    try:
        text = passable(str(error))
    except Exception:
        text = ""
    return f"{name}: {text}" if text else name


def passable(text: str) -> str:
    """Returns a text as the core takes it: with `?` for lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def sentence(problem: Problem) -> str:
    """Returns what the message of an error says of a problem."""
    return f"{problem.subject}: found {problem.found}; allowed: {problem.allowed}"
