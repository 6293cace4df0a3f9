"""The exceptions: one for each case of the component's errors."""

# Written by `cargo xtask bindings generate` from the WIT. Do not edit.

from __future__ import annotations

from ._types import Attempt

__all__ = [
    "ConfigurationProblem",
    "ExecutionFailed",
    "InvalidInput",
    "NotFound",
    "OutcomeUnknown",
    "RateLimited",
    "Rejected",
    "RequestError",
    "TimedOut",
    "Unauthorized",
    "Unavailable",
    "UnexpectedResponse",
    "Unreachable",
]


class RequestError(Exception):
    """Why an operation did not succeed.

    Cases with `permanent` in their names are not worth repeating as they are: the same call
    would fail again, or would risk that a person is called twice. All others may be repeated
    later; workflow engines do so by themselves, and know the two kinds apart by these names.
    Where an engine repeats by itself, set `create_retry="not-sent"`: a 5xx to a creating request
    then is `OutcomeUnknown` instead of `Unavailable`.

    All attributes are there on all errors, so that one handler can show any; those that an error
    has nothing to say of are `None` or empty.
    """

    kind: str = ""
    """The error's name in the component's WIT."""

    is_permanent: bool = False
    """Whether repeating the same call is not worth it, or would risk a second call to a person.

    It is so for a kind of errors. `ExecutionFailed` alone has both: it is permanent after a create
    that had begun, which may have created something. `Unavailable` is not, although after a
    create something may exist, since the service asks for repeating.
    """

    message: str = ""
    """What went wrong, in a sentence for people."""

    status: int | None = None
    """The HTTP status, 100 to 999."""

    body: str | None = None
    """The body as text: its first 8192 bytes, with bytes that are no UTF-8 replaced, and with the
    API token masked where the service echoes it, if the token has 8 bytes or more.
    """

    body_cut: bool = False
    """Whether `body` is less than what the service sent, or meant to send."""

    request_id: str | None = None
    """The header `x-request-id`, or one of its usual siblings."""

    retry_after: float | None = None
    """How long the service asks to wait (header `retry-after`, given there in seconds or as a
    date), from the moment of the answer. Unit: seconds.
    """

    attempts: tuple[Attempt, ...] = ()
    """All attempts of this operation, in order. The decisive one need not be the last: attempts
    without an answer may follow it, and after the 5xx or 408 of a creating request also a 429 or
    425. Whatever the error's name, such a 5xx or 408 may have created the call or docket.
    """

    field: str | None = None
    """The argument or the field in it, such as `to_phone_number`, `call_context.name` or `timeout`;
    a long key is cut. `request` where all of it is larger than `max_request_bytes`.
    """

    found: str | None = None
    """What was found, cut where it is long."""

    allowed: str | None = None
    """What would be allowed."""

    variable: str | None = None
    """The environment variable, for example `VOICE_CALLING_BASE_URL`."""


class ExecutionFailed(RequestError):
    """The host could not run the component (a trap, a time-out of the host). Only hosts make this
    case; the component never returns it. After a creating request the call or docket may exist:
    give the host a longer time-out than the component's own (`deadline`; for a wait its
    `timeout`; for a batch both together).

    After a create that had begun, `is_permanent` is `True`. It has `message`.
    """

    kind: str = "execution-failed"


class ConfigurationProblem(RequestError):
    """A setting is missing or wrong, or the host's policy denies the service's address. Nothing was
    sent, or nothing after the attempts that the payload lists.

    It has `variable`, `found`, `allowed`, `attempts`.
    """

    kind: str = "permanent-configuration"
    is_permanent: bool = True


class InvalidInput(RequestError):
    """An argument is not allowed. Nothing was sent.

    It has `field`, `found`, `allowed`.
    """

    kind: str = "permanent-invalid-input"
    is_permanent: bool = True


class Unauthorized(RequestError):
    """The service does not accept the token: 401 or 403.

    It has `message`, `status`, `body`, `body_cut`, `request_id`, `retry_after`, `attempts`.
    """

    kind: str = "permanent-unauthorized"
    is_permanent: bool = True


class NotFound(RequestError):
    """The service does not know what was asked for: 404 or 410.

    It has `message`, `status`, `body`, `body_cut`, `request_id`, `retry_after`, `attempts`.
    """

    kind: str = "permanent-not-found"
    is_permanent: bool = True


class Rejected(RequestError):
    """The service refused the request: any other 3xx or 4xx. Redirects are never followed, since
    the token would go along.

    It has `message`, `status`, `body`, `body_cut`, `request_id`, `retry_after`, `attempts`.
    """

    kind: str = "permanent-rejected"
    is_permanent: bool = True


class UnexpectedResponse(RequestError):
    """An answer that cannot be understood: a 2xx whose body is not what the specification says or
    is larger than `max_response_bytes`, or a status outside 200 to 599. After a creating request
    the call or docket may exist; the payload has what came.

    It has `message`, `status`, `body`, `body_cut`, `request_id`, `retry_after`, `attempts`.
    """

    kind: str = "permanent-unexpected-response"
    is_permanent: bool = True


class OutcomeUnknown(RequestError):
    """A creating request was handed to the network and no conclusive answer came. A person's phone
    may be ringing: it is never repeated by the component, and should be repeated only by
    somebody who has made sure that the first one did nothing.

    It has `message`, `status`, `body`, `body_cut`, `request_id`, `retry_after`, `attempts`.
    """

    kind: str = "permanent-outcome-unknown"
    is_permanent: bool = True


class RateLimited(RequestError):
    """The service's rate limit: 429 or 425, until there was no attempt or no time left. No attempt
    of a creating request was processed.

    It has `message`, `status`, `body`, `body_cut`, `request_id`, `retry_after`, `attempts`.
    """

    kind: str = "rate-limited"


class Unavailable(RequestError):
    """The service had a failure of its own: 5xx or 408, until there was no attempt or no time left.
    The service asks for repeating these; still, after a creating request the call or docket may
    exist. With the setting `create_retry="not-sent"` such a request is `OutcomeUnknown`.

    It has `message`, `status`, `body`, `body_cut`, `request_id`, `retry_after`, `attempts`.
    """

    kind: str = "unavailable"


class Unreachable(RequestError):
    """The service could not be reached: no attempt was ever sent.

    It has `message`, `attempts`.
    """

    kind: str = "unreachable"


class TimedOut(RequestError):
    """Time ran out before anything was sent, or a reading request got no complete answer in any of
    its attempts.

    It has `message`, `attempts`.
    """

    kind: str = "timed-out"
