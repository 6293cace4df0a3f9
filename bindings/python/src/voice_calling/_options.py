"""The settings of the component as options, of the clients and of accounts."""

# Written by `cargo xtask bindings generate` from the WIT. Do not edit.

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Option(NamedTuple):
    """An option, and the variable that it stands for."""

    name: str
    variable: str
    kind: str
    """`text`, `secret`, `seconds`, `count`, `flag` or `choice`."""
    default: str | None
    """As documented; `None` where it is required."""


OPTIONS = (
    Option("base_url", "BASE_URL", "text", None),
    Option("token", "API_TOKEN", "secret", None),
    Option("max_attempts", "MAX_ATTEMPTS", "count", "4"),
    Option("backoff", "BACKOFF_MS", "seconds", "2"),
    Option("max_backoff", "MAX_BACKOFF_MS", "seconds", "8"),
    Option("connect_timeout", "CONNECT_TIMEOUT_MS", "seconds", "3"),
    Option("attempt_timeout", "ATTEMPT_TIMEOUT_MS", "seconds", "10"),
    Option("deadline", "DEADLINE_MS", "seconds", "30"),
    Option("create_retry", "CREATE_RETRY", "choice", "server-errors"),
    Option("max_in_flight", "MAX_IN_FLIGHT", "count", "16"),
    Option("max_request_bytes", "MAX_REQUEST_BYTES", "count", "1048576"),
    Option("max_response_bytes", "MAX_RESPONSE_BYTES", "count", "8388608"),
    Option("max_delivery_bytes", "MAX_DELIVERY_BYTES", "count", "1048576"),
    Option("allow_insecure_http", "ALLOW_INSECURE_HTTP", "flag", "False"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An organization that a client serves beside its own, or one of several.

    What is not given here is taken from the environment: from the variables with the prefix
    `VOICE_CALLING_` and the account's name, such as `VOICE_CALLING_ALPHA_API_TOKEN`; and what is
    not given there is as for the client itself. Only the token is never another's.
    """

    base_url: str | None = None
    """The service: http(s)://host[:port][/path]; http only to loopback."""

    token: str | None = field(default=None, repr=False)
    """The organization's token, without `Bearer `. It is sent as the header `auth_token: Bearer
    <token>`.
    """

    max_attempts: int | None = None
    """Attempts of an operation, of an item of a batch, of a poll of a wait; 1 to 100."""

    backoff: float | None = None
    """The ceiling of the first pause, doubled from then on; the pause itself is drawn between half
    of it and all of it. Unit: seconds.
    """

    max_backoff: float | None = None
    """The highest ceiling, and the longest pause between polls; the service may ask for more. Unit:
    seconds.
    """

    connect_timeout: float | None = None
    """For a connection, TLS included. Unit: seconds."""

    attempt_timeout: float | None = None
    """For an attempt, the body included. Unit: seconds."""

    deadline: float | None = None
    """For an operation, an item of a batch, a poll of a wait. Unit: seconds."""

    create_retry: str | None = None
    """When a create is sent again: also after 5xx and 408, as the specification asks, although a
    phone may ring twice then; only if nothing was sent or the service refused it with 429 or
    425; or never.
    """

    max_in_flight: int | None = None
    """Open requests of all calls together; 1 to 100000."""

    max_request_bytes: int | None = None
    """The body of a request; 1 to 67108864."""

    max_response_bytes: int | None = None
    """The body of an answer; 1 to 67108864. An answer to a create has at most 16384 bytes more than
    six times its request.
    """

    max_delivery_bytes: int | None = None
    """The body of a delivery to the webhook, which anyone can send; 1 to 67108864."""

    allow_insecure_http: bool | None = None
    """Whether plain http may go to a host that is not loopback."""
