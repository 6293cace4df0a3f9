"""What goes in and comes out, as the component's WIT describes it."""

# Written by `cargo xtask bindings generate` from the WIT. Do not edit.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._json import Json, loads
from ._status import ServiceStatus

__all__ = [
    "AgentConfig",
    "AgentSummary",
    "AgentText",
    "Attempt",
    "CallDetails",
    "CallDetailsWait",
    "CallInsights",
    "CallRequest",
    "CallStatus",
    "CreatedAgent",
    "CreatedDocket",
    "CreatedDocketV1",
    "Docket",
    "DocketCompleted",
    "DocketInsights",
    "DocketRequest",
    "DocketRequestV1",
    "DocketStatus",
    "DocketWait",
    "NextAction",
    "StartedCall",
    "UserInterest",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request that was tried."""

    status: int | None = None
    """The HTTP status, where one came."""

    transport_error: str | None = None
    """What went wrong in transport, where something did. With a `status`, it was the body that
    broke off or came too late.
    """

    started_ms: int
    """When it began. Unit: milliseconds since the operation began."""

    duration_ms: int
    """How long it took. Unit: milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentText:
    """A text of an agent: a JSON object with `default`."""

    default_text: str
    """`default`: the text itself."""

    extra: Json | None = None
    """A JSON object whose members are added beside `default`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """The configuration of an agent: a voice identity with a phone number and a prompt. The
    specification does not say which fields the service requires; this package asks for the name,
    and leaves every other `None` out of the request, save `tools`, which is sent as `null`.
    """

    prompt: AgentText | None = None
    """`prompt`: what the agent is told to do."""

    agent_name: str
    """`agent_name`: not empty. Calls refer to the agent by it."""

    agent_phone_number: str | None = None
    """`agent_phone_number`: the phone number provided for the agent."""

    voice_id: str | None = None
    """`voice_id`: identifier of the chosen voice."""

    version: int | None = None
    """`version` of the configuration."""

    welcome_text: AgentText | None = None
    """`welcome_text`: the greeting."""

    tools: Json | None = None
    """`tools`: any JSON; `None` is sent as `null`, which means that no tools are used."""

    enabled: bool | None = None
    """`enabled`: whether the agent is active."""

    save_stats: bool | None = None
    """`save_stats`: whether statistics are saved."""

    server_type: str | None = None
    """`server_type`: an environment label; its values are not specified."""

    call_type: str | None = None
    """`call_type`: the kind of call; its values are not specified."""

    created_at: str | None = None
    """`created_at`: its format is not specified."""

    updated_at: str | None = None
    """`updated_at`: its format is not specified."""

    extra: Json | None = None
    """A JSON object whose members are added to the request. Members that this record has a field
    for are refused.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedAgent:
    """The answer to `agents.create`, whose form is not specified."""

    agent_id: int | None = None
    """`agent_id`, where the answer is an object that has it as an integer."""

    raw_json: str | None = None
    """The answer, where it is JSON."""

    raw_text: str | None = None
    """The answer, where it is not JSON and not empty."""

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSummary:
    """An element of the list of agents."""

    agent_id: int | None = None
    """`agent_id`."""

    agent_name: str | None = None
    """`agent_name`."""

    raw_json: str
    """The whole element as it came."""

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call to be made. It makes a phone ring."""

    from_agent_name: str | None = None
    """`from_agent_name`: the agent that calls; not empty. May be `None` only where `extra` is
    given, which then has to select the agent: the service also knows agents by phone number, but
    the name of that field is not specified.
    """

    to_phone_number: str
    """`to_phone_number`: the number to be called; not empty, without control characters. Its format
    is not specified.
    """

    call_context: Json | None = None
    """`extra_config.call_context`: a JSON object with text values, the variables of the agent's
    prompt. `None` leaves `extra_config` out.
    """

    extra: Json | None = None
    """A JSON object whose members are added to the request. Members that this record has a field
    for are refused.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedCall:
    """A call that was accepted."""

    task_id: str
    """`task_id`: needed to get the call's details. Keep it."""

    raw_json: str
    """The whole answer as it came."""

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


class CallStatus(ServiceStatus):
    """How a call ended. Values beyond the three are not specified.

    Any other text is kept as it came: `is_known` is `False` then.
    """

    ANSWERED = "ANSWERED"
    """`ANSWERED`"""
    NO_ANSWER = "NO_ANSWER"
    """`NO_ANSWER`"""
    BUSY = "BUSY"
    """`BUSY`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInterest:
    """How interested the called person was."""

    status: str | None = None
    """`status`: its values are not specified."""

    confidence_score: float | None = None
    """`confidence_score`: its range is not specified."""

    reasoning: str | None = None
    """`reasoning`."""

    raw_json: str
    """The whole object as it came."""

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAction:
    """What the service proposes to do next."""

    value: str | None = None
    """`value`: `REDIAL` is one; others are not specified."""

    reason: str | None = None
    """`reason`."""

    raw_json: str
    """The whole object as it came."""

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallInsights:
    """Insights of a call. (Those of a completed docket are `DocketInsights`.)"""

    metadata_json: str | None = None
    """`metadata`: a JSON object; its keys depend on the agent."""

    user_interest: UserInterest | None = None
    """`user_interest`."""

    next_action: NextAction | None = None
    """`next_action`."""

    raw_json: str
    """The whole object as it came."""

    @property
    def metadata(self) -> Any:
        """The value of `metadata_json`, parsed anew each time it is asked for."""
        return loads(self.metadata_json)

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDetails:
    """What is known of one call of a task."""

    agent_name: str | None = None
    """`agent_name`: the agent that called."""

    call_context_json: str | None = None
    """`call_context`: a JSON object, as given when the call was made."""

    call_insights: CallInsights | None = None
    """`call_insights`: what was found in the conversation, once the call is completed."""

    call_recording_url: str | None = None
    """`call_recording_url`."""

    from_number: str | None = None
    """`from_number`."""

    to_number: str | None = None
    """`to_number`."""

    call_status: CallStatus | None = None
    """`call_status`."""

    call_duration_s: float | None = None
    """`call_duration`. Unit: seconds."""

    raw_json: str
    """The whole record as it came."""

    @property
    def call_context(self) -> Any:
        """The value of `call_context_json`, parsed anew each time it is asked for."""
        return loads(self.call_context_json)

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocketRequestV1:
    """A docket to be created: a business task that may need several calls. It makes a phone ring.
    """

    agent_id: int
    """`agent_id`: see `agents.list`."""

    to_phone_number: str
    """`to_phone_number`: exactly 12 ASCII digits, the country code included, no `+`:
    `919876543210`.
    """

    call_context: Json
    """`extra_config.call_context`: a JSON object, free-form. The fetched docket and the webhook
    return it, so it is the place for an identifier of your own by which to find the docket
    again.
    """

    extra: Json | None = None
    """A JSON object whose members are added to the request. Members that this record has a field
    for are refused.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class DocketRequest:
    """As `DocketRequestV1`, for version 2 of the endpoint."""

    agent_id: int
    """`agent_id`: see `agents.list`."""

    to_phone_number: str
    """`to_phone_number`: exactly 12 ASCII digits, the country code included, no `+`:
    `919876543210`.
    """

    call_context: Json
    """`extra_config.call_context`: a JSON object, free-form. The fetched docket and the webhook
    return it, so it is the place for an identifier of your own by which to find the docket
    again.
    """

    external_id: str | None = None
    """`external_id`: an identifier of your own, such as a CRM id. It is not known to prevent
    duplicates.
    """

    extra: Json | None = None
    """A JSON object whose members are added to the request. Members that this record has a field
    for are refused.
    """


class DocketStatus(ServiceStatus):
    """Where a docket stands. Transitions out of `OPEN` are not specified.

    Any other text is kept as it came: `is_known` is `False` then.
    """

    OPEN = "OPEN"
    """`OPEN`: as version 2 creates it."""
    IN_PROGRESS = "IN_PROGRESS"
    """`IN_PROGRESS`: pending completion."""
    COMPLETED = "COMPLETED"
    """`COMPLETED`: no further calls are to be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedDocketV1:
    """The answer to the creation of a docket, version 1."""

    docket_id: str
    """`docket_id`: a UUID. Keep it."""

    status: DocketStatus | None = None
    """`status`: in progress, as a rule."""

    raw_json: str
    """The whole answer as it came."""

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedDocket:
    """The answer to the creation of a docket, version 2."""

    docket_id: str
    """`docket_id`: a UUID. Keep it."""

    status: DocketStatus | None = None
    """`status`: open, as a rule."""

    created: bool | None = None
    """`created`. What `False` means is not specified."""

    raw_json: str
    """The whole answer as it came."""

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Docket:
    """A docket as fetched. It has no insights: those come with the webhook."""

    docket_id: str
    """`docket_id`: a UUID."""

    agent_name: str | None = None
    """`agent_name`: the agent that handles the docket."""

    status: DocketStatus | None = None
    """`status`."""

    call_type: str | None = None
    """`call_type` of the agent."""

    from_number: str | None = None
    """`from_number`: digits, the country code included."""

    to_phone_number: str | None = None
    """`to_phone_number`: 12 digits, the country code included."""

    call_context_json: str | None = None
    """`call_context`: a JSON object, as given when the docket was created."""

    external_id: str | None = None
    """`external_id`: none where none was given."""

    closed_call_id: str | None = None
    """`closed_call_id`: the call that closed the docket. It is not known to be a task id."""

    latest_call_id: str | None = None
    """`latest_call_id`: the most recent call. It is not known to be a task id."""

    closure_reason: str | None = None
    """`closure_reason`: `DISPOSITION` where the outcome of a call closed the docket; others are not
    specified.
    """

    outbound_call_count: int | None = None
    """`outbound_call_count`."""

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

    raw_json: str
    """The whole docket as it came."""

    @property
    def call_context(self) -> Any:
        """The value of `call_context_json`, parsed anew each time it is asked for."""
        return loads(self.call_context_json)

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOptions:
    """How long and for what to wait."""

    timeout: float
    """How long to wait at most. Unit: seconds; 0.001 or more."""

    not_found_is_pending: bool
    """Whether an answer of 404 means "not yet". Without it, 404 ends the wait with `NotFound`. What
    the service answers before a call is completed is not specified. `True` suits a task id that
    `calls.make` has just returned (a wrong one then waits until time runs out); `False` suits a
    docket.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDetailsWait:
    """How a wait for a call's details ended."""

    completed: bool
    """Whether every record is ready: it has insights (a JSON object that is not empty), or its call
    was not answered. `False` where time ran out.
    """

    details: tuple[CallDetails, ...]
    """What was seen last; empty where nothing was."""

    polls: int
    """How often the service was asked, retries within a poll not counted."""

    failed_polls: int
    """How many of these polls failed in a way that may pass."""

    waited_ms: int
    """How long the wait took. Unit: milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocketWait:
    """How a wait for a docket ended."""

    completed: bool
    """Whether the docket's status is `COMPLETED`. `False` where time ran out."""

    docket: Docket | None = None
    """What was seen last; none where nothing was."""

    polls: int
    """How often the service was asked, retries within a poll not counted."""

    failed_polls: int
    """How many of these polls failed in a way that may pass."""

    waited_ms: int
    """How long the wait took. Unit: milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocketInsights:
    """Insights of a completed docket. (Those of a call are `CallInsights`.)"""

    call_disposition: str | None = None
    """`call_disposition`: the final outcome; its values are not specified."""

    call_metadata_json: str | None = None
    """`call_metadata`: a JSON object, where the agent is configured for it."""

    raw_json: str
    """The whole object as it came."""

    @property
    def call_metadata(self) -> Any:
        """The value of `call_metadata_json`, parsed anew each time it is asked for."""
        return loads(self.call_metadata_json)

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocketCompleted:
    """What the service reports when a docket is completed."""

    docket_id: str
    """`docket_id`: which docket. Deliveries are not known to be signed: fetch the docket before you
    trust one.
    """

    call_insights: DocketInsights | None = None
    """`call_insights`: none where nobody picked up in any attempt."""

    call_context_json: str | None = None
    """`call_context`: a JSON object, as given when the docket was created."""

    attempts_json: str | None = None
    """`attempts`: JSON whose shape is not specified."""

    dashboard_url: str | None = None
    """`dashboard_url` of the last answered call; none where none was answered."""

    raw_json: str
    """The whole payload as it came."""

    @property
    def call_context(self) -> Any:
        """The value of `call_context_json`, parsed anew each time it is asked for."""
        return loads(self.call_context_json)

    @property
    def attempts(self) -> Any:
        """The value of `attempts_json`, parsed anew each time it is asked for."""
        return loads(self.attempts_json)

    @property
    def raw(self) -> Any:
        """The value of `raw_json`, parsed anew each time it is asked for."""
        return loads(self.raw_json)
