"""Requests and results: plain records. The bridge makes the results."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

__all__ = [
    "AgentList",
    "AgentSummary",
    "AgentText",
    "Attempt",
    "CallDetails",
    "CallDetailsList",
    "CallInsights",
    "CallRequest",
    "Confirmed",
    "Contradicted",
    "CreateRetry",
    "CreatedAgent",
    "CreatedDocket",
    "CreatedDocketV1",
    "Docket",
    "DocketCompleted",
    "DocketInsights",
    "DocketRequest",
    "EndedAttempt",
    "FailureKind",
    "HttpResponse",
    "Json",
    "NextAction",
    "NextStep",
    "OutgoingAttempt",
    "Problem",
    "StartedCall",
    "UserInterest",
    "Verification",
]

Json: TypeAlias = Mapping[str, object] | Sequence[object] | str | int | float | bool
"""Free-form JSON as an argument: Python values, or a `str` that is JSON text.

Text is passed on as it is, so that its digits and the order of its keys survive."""

CreateRetry: TypeAlias = Literal["server-errors", "not-sent", "never"]
"""When a create is sent again."""

FailureKind: TypeAlias = Literal[
    "configuration",
    "invalid-input",
    "unauthorized",
    "not-found",
    "rejected",
    "unexpected-response",
    "outcome-unknown",
    "rate-limited",
    "unavailable",
    "unreachable",
    "timed-out",
    "not-begun",
]
"""What went wrong."""

NextStep: TypeAlias = Literal["retry-later", "fix-setting", "refused", "unknown"]
"""What follows from an error."""


class _Parsed:
    """The value of a field with JSON text, parsed anew each time it is asked for; `None` if it has
    none."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __get__(self, record: object, owner: object) -> Any:
        text = None if record is None else getattr(record, self._field)
        return None if text is None else json.loads(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A setting or argument at fault."""

    subject: str
    """The environment variable, such as `VOICE_CALLING_BASE_URL`, or the option, the argument or
    the field in it, such as `timeout`, `to_phone_number` or `call_context.name`; a long key is cut.
    `request` where all of it is at fault."""

    found: str
    """The value that was found, cut if it is long, and not shown if it is secret."""

    allowed: str
    """The values that are allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """The part of a response that an error keeps."""

    status: int
    """The HTTP status, 100 to 999."""

    body: str
    """The body as text: its first 8192 bytes, with bytes that are not UTF-8 replaced, and with the
    API token masked where the service echoes it, if the token has 8 bytes or more."""

    body_cut: bool
    """Whether `body` is less than what the service sent, or meant to send."""

    request_id: str | None = None
    """The header `x-request-id`, or else `request-id` or `x-correlation-id`."""

    retry_after: float | None = None
    """How long the service asks to wait (header `retry-after`, given there in seconds or as a
    date), from the moment of the answer. A date is read against the answer's own `date`. Unit:
    seconds; at most a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request that was tried."""

    status: int | None = None
    """The HTTP status, where one came."""

    transport_error: str | None = None
    """The transport error, where there was one. With a `status`, the body ended early or came too
    late."""

    started_ms: int
    """When it began. Unit: milliseconds since the operation began."""

    duration_ms: int
    """How long it took. Unit: milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The fields that every answer to a request has."""

    raw_json: str
    """The whole answer as it came."""

    request_id: str | None = None
    """The service's id of the request: the header `x-request-id`, or else `request-id` or
    `x-correlation-id`."""

    attempts: tuple[Attempt, ...]
    """All attempts of this operation, in order; the last one succeeded."""

    raw: ClassVar[_Parsed] = _Parsed("raw_json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Creation(Answer):
    """The fields that every answer to a creating request has."""

    may_be_duplicate: bool
    """Whether an attempt before the last may have created as well: then there may be two of them.
    """

    from_ledger: bool = False
    """Whether the ledger has recorded this answer before, and nothing was sent now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentText:
    """A text of an agent: a JSON object with `default`."""

    default_text: str
    """`default`: the text itself."""

    extra: Json | None = None
    """A JSON object whose members are added beside `default`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedAgent(Creation):
    """The answer to `agents.create`, whose form is not specified."""

    agent_id: int | None = None
    """`agent_id`, where the answer is an object that has it as an integer."""

    raw_json: str | None = None  # type: ignore[assignment] # pyright: ignore
    """The answer, where it is JSON."""

    raw_text: str | None = None
    """The answer, where it is not JSON and not empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummary:
    """An element of the list of agents. One that is not an object has neither."""

    agent_id: int | None = None
    agent_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentList(Answer):
    """The agents of an organization."""

    agents: tuple[AgentSummary, ...]
    """The elements of the answer, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call that is about to be made, as `may_call` sees it: the arguments of `calls.make`."""

    from_agent_name: str | None
    """The agent that calls."""

    to_phone_number: str
    """The number to be called."""

    call_context: Mapping[str, str]
    """The variables of the agent's prompt."""

    extra: Json | None
    """Further members of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCall(Creation):
    """A call that was accepted."""

    task_id: str
    """`task_id`: needed to get the call's details. Keep it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInterest:
    """How interested the called person was."""

    status: str | None = None
    """`status`: its values are not specified."""

    confidence_score: float | None = None
    """`confidence_score`: its range is not specified."""

    reasoning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAction:
    """The next step that the service proposes."""

    value: str | None = None
    """`value`: `REDIAL` is one; others are not specified."""

    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInsights:
    """Insights of a call. (Those of a completed docket are `DocketInsights`.)"""

    metadata_json: str | None = None
    """`metadata`: a JSON object; its keys depend on the agent."""

    user_interest: UserInterest | None = None
    next_action: NextAction | None = None
    metadata: ClassVar[_Parsed] = _Parsed("metadata_json")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDetails:
    """The details of one call of a task. A record that is not an object has none of them."""

    agent_name: str | None = None
    """`agent_name`: the agent that called."""

    call_context_json: str | None = None
    """`call_context`: a JSON object, as given when the call was made."""

    call_insights: CallInsights | None = None
    """`call_insights`: what was found in the conversation, once the call is completed."""

    call_recording_url: str | None = None
    from_number: str | None = None
    to_number: str | None = None
    call_status: str | None = None
    """`call_status`: `ANSWERED`, `NO_ANSWER`, `BUSY`, or another text of the service."""

    call_duration_s: float | None = None
    """`call_duration`. Unit: seconds."""

    call_context: ClassVar[_Parsed] = _Parsed("call_context_json")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDetailsList(Answer):
    """The details of a task's calls."""

    calls: tuple[CallDetails, ...]
    """The records of the answer, in its order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocketRequest:
    """A docket to be created: a business task that may need several calls. It makes a phone
    ring."""

    agent_id: int
    """`agent_id`: see `agents.list`."""

    to_phone_number: str
    """`to_phone_number`: exactly 12 ASCII digits, the country code included, no `+`:
    `910000000000`."""

    call_context: Json
    """`extra_config.call_context`: a JSON object, free-form. The fetched docket and the webhook
    return it, so it is the place for an identifier of your own by which to find the docket
    again."""

    external_id: str | None = None
    """`external_id`: an identifier of your own, such as a CRM id. It is no idempotency key: a
    second request with it creates a second docket, as far as is known."""

    extra: Json | None = None
    """A JSON object whose members are added to the request; those of its `extra_config` are added
    to `extra_config`. A member that this record has a field for is rejected."""

    key: str | None = None
    """The key of this create in the ledger of the client: see `calls.make`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedDocketV1(Creation):
    """The answer to the creation of a docket, version 1."""

    docket_id: str
    """`docket_id`: a UUID. Keep it."""

    status: str | None = None
    """`status`: `IN_PROGRESS`, as a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedDocket(Creation):
    """The answer to the creation of a docket, version 2."""

    docket_id: str
    """`docket_id`: a UUID. Keep it."""

    status: str | None = None
    """`status`: `OPEN`, as a rule."""

    created: bool | None = None
    """`created`. What `False` means is not specified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Docket(Answer):
    """A docket as fetched. It has no insights: those come with the webhook."""

    docket_id: str
    """`docket_id`: a UUID."""

    agent_name: str | None = None
    """`agent_name`: the agent that handles the docket."""

    status: str | None = None
    """`status`: `OPEN`, `IN_PROGRESS`, `COMPLETED` (no further calls are to be made), or another
    text of the service."""

    call_type: str | None = None
    """`call_type` of the agent."""

    from_number: str | None = None
    """`from_number`: digits, the country code included."""

    to_phone_number: str | None = None
    """`to_phone_number`: 12 digits, the country code included."""

    call_context_json: str | None = None
    """`call_context`: a JSON object, as given when the docket was created."""

    external_id: str | None = None
    """`external_id`: none if none was given."""

    closed_call_id: str | None = None
    """`closed_call_id`: the call that closed the docket. It is not known to be a task id."""

    latest_call_id: str | None = None
    """`latest_call_id`: the most recent call. It is not known to be a task id."""

    closure_reason: str | None = None
    """`closure_reason`: `DISPOSITION` where the outcome of a call closed the docket; others are not
    specified."""

    outbound_call_count: int | None = None
    notification_status: str | None = None
    """`notification_status`: `SKIPPED` where no notification was sent; others are not specified."""

    first_called_at: str | None = None
    """`first_called_at`: ISO 8601 with fractional seconds, without a zone."""

    closed_at: str | None = None
    """`closed_at`: the same format."""

    created_at: str | None = None
    """`created_at`: the same format."""

    updated_at: str | None = None
    """`updated_at`: the same format."""

    call_context: ClassVar[_Parsed] = _Parsed("call_context_json")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocketInsights:
    """Insights of a completed docket. (Those of a call are `CallInsights`.)"""

    call_disposition: str | None = None
    """`call_disposition`: the final outcome; its values are not specified."""

    call_metadata_json: str | None = None
    """`call_metadata`: a JSON object, where the agent is configured for it."""

    call_metadata: ClassVar[_Parsed] = _Parsed("call_metadata_json")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocketCompleted:
    """The notification that the service sends when a docket is completed."""

    docket_id: str
    """`docket_id`: which docket; a UUID. Deliveries are not known to be signed: use
    `webhooks.verify` before you trust one."""

    call_insights: DocketInsights | None = None
    """`call_insights`: none if no attempt was answered."""

    call_context_json: str | None = None
    """`call_context`: a JSON object, as given when the docket was created."""

    attempts_json: str | None = None
    """`attempts`: JSON whose shape is not specified."""

    dashboard_url: str | None = None
    """`dashboard_url` of the last answered call; none if none was answered."""

    raw_json: str
    """The whole payload as it came."""

    call_context: ClassVar[_Parsed] = _Parsed("call_context_json")
    attempts: ClassVar[_Parsed] = _Parsed("attempts_json")
    raw: ClassVar[_Parsed] = _Parsed("raw_json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """A delivery, and the docket as the service has it."""

    delivered: DocketCompleted
    """The delivery, as it was received."""

    docket: Docket
    """The docket, as the service returned it."""

    contradicted: tuple[str, ...]
    """The members of the delivery that the docket contradicts; empty where it is confirmed.
    `status` where the docket is not completed."""

    unverified: tuple[str, ...]
    """The members of the delivery that could not be verified: `call_insights`, `attempts`,
    `dashboard_url` and others that a docket as fetched does not have, and those that differ but
    may have changed since, such as `updated_at`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed(Verification):
    """The docket is completed, and nothing that it says contradicts the delivery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicted(Verification):
    """The docket is not completed, or disagrees with the delivery, which may be forged: do not act
    on it."""


@dataclass(frozen=True, slots=True)
class OutgoingAttempt:
    """A request that is about to be sent, as the hook `on_attempt` sees it."""

    method: str
    """`GET` or `POST`."""

    path_and_query: str
    """The path and the query, which contain ids."""

    item: int | None
    """The index of the request in its batch."""

    headers: MutableMapping[str, str]
    """Further headers, which are empty: the hook may add to them."""


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    """How an attempt ended. If it has neither status nor error, its time was up, or it was
    cancelled."""

    status: int | None
    """The status of the response, if its head has arrived."""

    error: str | None
    """Why there was no response, or why it was incomplete."""
