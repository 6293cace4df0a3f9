"""The component's types and functions, and what each is in Python."""

# Written by `cargo xtask bindings generate` from the WIT. Do not edit.

from __future__ import annotations

from typing import Any

from . import _errors, _types
from ._schema import (
    BOOL,
    BYTES,
    F64,
    JSON,
    S64,
    SECONDS,
    TEXT,
    U16,
    U32,
    U64,
    Failure,
    Field,
    Function,
    ListOf,
    Optional,
    Outcome,
    Record,
    Status,
    TupleOf,
)

WIT_VERSION = "0.1.0"

INVALID_INPUT = Record(
    "invalid-input",
    dict,
    (
        Field("field", "field", TEXT),
        Field("found", "found", TEXT),
        Field("allowed", "allowed", TEXT),
    ),
)

HTTP_RESPONSE = Record(
    "http-response",
    dict,
    (
        Field("status", "status", U16),
        Field("body", "body", TEXT),
        Field("body-cut", "body_cut", BOOL),
        Field("request-id", "request_id", Optional(TEXT)),
        Field("retry-after-ms", "retry_after_ms", Optional(U64)),
    ),
)

ATTEMPT = Record(
    "attempt",
    _types.Attempt,
    (
        Field("status", "status", Optional(U16)),
        Field("transport-error", "transport_error", Optional(TEXT)),
        Field("started-ms", "started_ms", U32),
        Field("duration-ms", "duration_ms", U32),
    ),
)

CONFIGURATION_PROBLEM = Record(
    "configuration-problem",
    dict,
    (
        Field("variable", "variable", TEXT),
        Field("found", "found", TEXT),
        Field("allowed", "allowed", TEXT),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
    ),
)

HTTP_FAILURE = Record(
    "http-failure",
    dict,
    (
        Field("message", "message", TEXT),
        Field("response", "response", HTTP_RESPONSE),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
    ),
)

TRANSPORT_FAILURE = Record(
    "transport-failure",
    dict,
    (
        Field("message", "message", TEXT),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
    ),
)

UNKNOWN_OUTCOME = Record(
    "unknown-outcome",
    dict,
    (
        Field("message", "message", TEXT),
        Field("response", "response", Optional(HTTP_RESPONSE)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
    ),
)

REQUEST_ERROR = Failure(
    "request-error",
    {
        "execution-failed": (_errors.ExecutionFailed, None),
        "permanent-configuration": (_errors.ConfigurationProblem, CONFIGURATION_PROBLEM),
        "permanent-invalid-input": (_errors.InvalidInput, INVALID_INPUT),
        "permanent-unauthorized": (_errors.Unauthorized, HTTP_FAILURE),
        "permanent-not-found": (_errors.NotFound, HTTP_FAILURE),
        "permanent-rejected": (_errors.Rejected, HTTP_FAILURE),
        "permanent-unexpected-response": (_errors.UnexpectedResponse, HTTP_FAILURE),
        "permanent-outcome-unknown": (_errors.OutcomeUnknown, UNKNOWN_OUTCOME),
        "rate-limited": (_errors.RateLimited, HTTP_FAILURE),
        "unavailable": (_errors.Unavailable, HTTP_FAILURE),
        "unreachable": (_errors.Unreachable, TRANSPORT_FAILURE),
        "timed-out": (_errors.TimedOut, TRANSPORT_FAILURE),
    },
)

AGENT_TEXT = Record(
    "agent-text",
    _types.AgentText,
    (
        Field("default-text", "default_text", TEXT),
        Field("extra", "extra", Optional(JSON)),
    ),
)

AGENT_CONFIG = Record(
    "agent-config",
    _types.AgentConfig,
    (
        Field("prompt", "prompt", Optional(AGENT_TEXT)),
        Field("agent-name", "agent_name", TEXT),
        Field("agent-phone-number", "agent_phone_number", Optional(TEXT)),
        Field("voice-id", "voice_id", Optional(TEXT)),
        Field("version", "version", Optional(S64)),
        Field("welcome-text", "welcome_text", Optional(AGENT_TEXT)),
        Field("tools", "tools", Optional(JSON)),
        Field("enabled", "enabled", Optional(BOOL)),
        Field("save-stats", "save_stats", Optional(BOOL)),
        Field("server-type", "server_type", Optional(TEXT)),
        Field("call-type", "call_type", Optional(TEXT)),
        Field("created-at", "created_at", Optional(TEXT)),
        Field("updated-at", "updated_at", Optional(TEXT)),
        Field("extra", "extra", Optional(JSON)),
    ),
)

CREATED_AGENT = Record(
    "created-agent",
    _types.CreatedAgent,
    (
        Field("agent-id", "agent_id", Optional(S64)),
        Field("raw-json", "raw_json", Optional(JSON)),
        Field("raw-text", "raw_text", Optional(TEXT)),
    ),
)

AGENT_SUMMARY = Record(
    "agent-summary",
    _types.AgentSummary,
    (
        Field("agent-id", "agent_id", Optional(S64)),
        Field("agent-name", "agent_name", Optional(TEXT)),
        Field("raw-json", "raw_json", JSON),
    ),
)

CALL_REQUEST = Record(
    "call-request",
    _types.CallRequest,
    (
        Field("from-agent-name", "from_agent_name", Optional(TEXT)),
        Field("to-phone-number", "to_phone_number", TEXT),
        Field("call-context", "call_context", Optional(JSON)),
        Field("extra", "extra", Optional(JSON)),
    ),
)

STARTED_CALL = Record(
    "started-call",
    _types.StartedCall,
    (
        Field("task-id", "task_id", TEXT),
        Field("raw-json", "raw_json", JSON),
    ),
)

CALL_STATUS = Status(
    "call-status",
    _types.CallStatus,
    {
        "answered": "ANSWERED",
        "no-answer": "NO_ANSWER",
        "busy": "BUSY",
    },
)

USER_INTEREST = Record(
    "user-interest",
    _types.UserInterest,
    (
        Field("status", "status", Optional(TEXT)),
        Field("confidence-score", "confidence_score", Optional(F64)),
        Field("reasoning", "reasoning", Optional(TEXT)),
        Field("raw-json", "raw_json", JSON),
    ),
)

NEXT_ACTION = Record(
    "next-action",
    _types.NextAction,
    (
        Field("value", "value", Optional(TEXT)),
        Field("reason", "reason", Optional(TEXT)),
        Field("raw-json", "raw_json", JSON),
    ),
)

CALL_INSIGHTS = Record(
    "call-insights",
    _types.CallInsights,
    (
        Field("metadata", "metadata_json", Optional(JSON)),
        Field("user-interest", "user_interest", Optional(USER_INTEREST)),
        Field("next-action", "next_action", Optional(NEXT_ACTION)),
        Field("raw-json", "raw_json", JSON),
    ),
)

CALL_DETAILS = Record(
    "call-details",
    _types.CallDetails,
    (
        Field("agent-name", "agent_name", Optional(TEXT)),
        Field("call-context", "call_context_json", Optional(JSON)),
        Field("call-insights", "call_insights", Optional(CALL_INSIGHTS)),
        Field("call-recording-url", "call_recording_url", Optional(TEXT)),
        Field("from-number", "from_number", Optional(TEXT)),
        Field("to-number", "to_number", Optional(TEXT)),
        Field("call-status", "call_status", Optional(CALL_STATUS)),
        Field("call-duration-s", "call_duration_s", Optional(F64)),
        Field("raw-json", "raw_json", JSON),
    ),
)

DOCKET_REQUEST_V1 = Record(
    "docket-request",
    _types.DocketRequestV1,
    (
        Field("agent-id", "agent_id", S64),
        Field("to-phone-number", "to_phone_number", TEXT),
        Field("call-context", "call_context", JSON),
        Field("extra", "extra", Optional(JSON)),
    ),
)

DOCKET_REQUEST = Record(
    "docket-request-v2",
    _types.DocketRequest,
    (
        Field("agent-id", "agent_id", S64),
        Field("to-phone-number", "to_phone_number", TEXT),
        Field("call-context", "call_context", JSON),
        Field("external-id", "external_id", Optional(TEXT)),
        Field("extra", "extra", Optional(JSON)),
    ),
)

DOCKET_STATUS = Status(
    "docket-status",
    _types.DocketStatus,
    {
        "open": "OPEN",
        "in-progress": "IN_PROGRESS",
        "completed": "COMPLETED",
    },
)

CREATED_DOCKET_V1 = Record(
    "created-docket",
    _types.CreatedDocketV1,
    (
        Field("docket-id", "docket_id", TEXT),
        Field("status", "status", Optional(DOCKET_STATUS)),
        Field("raw-json", "raw_json", JSON),
    ),
)

CREATED_DOCKET = Record(
    "created-docket-v2",
    _types.CreatedDocket,
    (
        Field("docket-id", "docket_id", TEXT),
        Field("status", "status", Optional(DOCKET_STATUS)),
        Field("created", "created", Optional(BOOL)),
        Field("raw-json", "raw_json", JSON),
    ),
)

DOCKET = Record(
    "docket",
    _types.Docket,
    (
        Field("docket-id", "docket_id", TEXT),
        Field("agent-name", "agent_name", Optional(TEXT)),
        Field("status", "status", Optional(DOCKET_STATUS)),
        Field("call-type", "call_type", Optional(TEXT)),
        Field("from-number", "from_number", Optional(TEXT)),
        Field("to-phone-number", "to_phone_number", Optional(TEXT)),
        Field("call-context", "call_context_json", Optional(JSON)),
        Field("external-id", "external_id", Optional(TEXT)),
        Field("closed-call-id", "closed_call_id", Optional(TEXT)),
        Field("latest-call-id", "latest_call_id", Optional(TEXT)),
        Field("closure-reason", "closure_reason", Optional(TEXT)),
        Field("outbound-call-count", "outbound_call_count", Optional(S64)),
        Field("notification-status", "notification_status", Optional(TEXT)),
        Field("first-called-at", "first_called_at", Optional(TEXT)),
        Field("closed-at", "closed_at", Optional(TEXT)),
        Field("created-at", "created_at", Optional(TEXT)),
        Field("updated-at", "updated_at", Optional(TEXT)),
        Field("raw-json", "raw_json", JSON),
    ),
)

WAIT_OPTIONS = Record(
    "wait-options",
    _types.WaitOptions,
    (
        Field("timeout-ms", "timeout", SECONDS),
        Field("not-found-is-pending", "not_found_is_pending", BOOL),
    ),
)

CALL_DETAILS_WAIT = Record(
    "call-details-wait",
    _types.CallDetailsWait,
    (
        Field("completed", "completed", BOOL),
        Field("details", "details", TupleOf(CALL_DETAILS)),
        Field("polls", "polls", U32),
        Field("failed-polls", "failed_polls", U32),
        Field("waited-ms", "waited_ms", U32),
    ),
)

DOCKET_WAIT = Record(
    "docket-wait",
    _types.DocketWait,
    (
        Field("completed", "completed", BOOL),
        Field("docket", "docket", Optional(DOCKET)),
        Field("polls", "polls", U32),
        Field("failed-polls", "failed_polls", U32),
        Field("waited-ms", "waited_ms", U32),
    ),
)

DOCKET_INSIGHTS = Record(
    "docket-insights",
    _types.DocketInsights,
    (
        Field("call-disposition", "call_disposition", Optional(TEXT)),
        Field("call-metadata", "call_metadata_json", Optional(JSON)),
        Field("raw-json", "raw_json", JSON),
    ),
)

DOCKET_COMPLETED = Record(
    "docket-completed",
    _types.DocketCompleted,
    (
        Field("docket-id", "docket_id", TEXT),
        Field("call-insights", "call_insights", Optional(DOCKET_INSIGHTS)),
        Field("call-context", "call_context_json", Optional(JSON)),
        Field("attempts", "attempts_json", Optional(JSON)),
        Field("dashboard-url", "dashboard_url", Optional(TEXT)),
        Field("raw-json", "raw_json", JSON),
    ),
)

CREATE_AGENT: Function[_types.CreatedAgent] = Function(
    "agents",
    "create-agent",
    (
        Field("config", "", AGENT_CONFIG),
    ),
    Outcome(CREATED_AGENT, REQUEST_ERROR),
    creates=True,
)

LIST_AGENTS: Function[list[_types.AgentSummary]] = Function(
    "agents",
    "list-agents",
    (
        Field("organization-id", "organization_id", TEXT),
    ),
    Outcome(ListOf(AGENT_SUMMARY), REQUEST_ERROR),
)

MAKE_CALL: Function[_types.StartedCall] = Function(
    "calls",
    "make-call",
    (
        Field("request", "", CALL_REQUEST),
    ),
    Outcome(STARTED_CALL, REQUEST_ERROR),
    creates=True,
)

GET_CALL_DETAILS: Function[list[_types.CallDetails]] = Function(
    "calls",
    "get-call-details",
    (
        Field("task-id", "task_id", TEXT),
    ),
    Outcome(ListOf(CALL_DETAILS), REQUEST_ERROR),
)

WAIT_FOR_CALL_DETAILS: Function[_types.CallDetailsWait] = Function(
    "calls",
    "wait-for-call-details",
    (
        Field("task-id", "task_id", TEXT),
        Field("options", "", WAIT_OPTIONS),
    ),
    Outcome(CALL_DETAILS_WAIT, REQUEST_ERROR),
)

CREATE_DOCKET: Function[_types.CreatedDocketV1] = Function(
    "dockets",
    "create-docket",
    (
        Field("request", "", DOCKET_REQUEST_V1),
    ),
    Outcome(CREATED_DOCKET_V1, REQUEST_ERROR),
    creates=True,
)

CREATE_DOCKET_V2: Function[_types.CreatedDocket] = Function(
    "dockets",
    "create-docket-v2",
    (
        Field("request", "", DOCKET_REQUEST),
    ),
    Outcome(CREATED_DOCKET, REQUEST_ERROR),
    creates=True,
)

GET_DOCKET: Function[_types.Docket] = Function(
    "dockets",
    "get-docket",
    (
        Field("docket-id", "docket_id", TEXT),
    ),
    Outcome(DOCKET, REQUEST_ERROR),
)

WAIT_FOR_DOCKET: Function[_types.DocketWait] = Function(
    "dockets",
    "wait-for-docket",
    (
        Field("docket-id", "docket_id", TEXT),
        Field("options", "", WAIT_OPTIONS),
    ),
    Outcome(DOCKET_WAIT, REQUEST_ERROR),
)

CREATE_DOCKETS_V2: Function[list[_types.CreatedDocket | _errors.RequestError]] = Function(
    "bulk",
    "create-dockets-v2",
    (
        Field("requests", "requests", ListOf(DOCKET_REQUEST)),
        Field("timeout-ms", "timeout", SECONDS),
    ),
    Outcome(ListOf(Outcome(CREATED_DOCKET, REQUEST_ERROR)), REQUEST_ERROR),
    creates=True,
)

PARSE_DOCKET_COMPLETED: Function[_types.DocketCompleted | None] = Function(
    "webhooks",
    "parse-docket-completed",
    (
        Field("body", "body", BYTES),
    ),
    Outcome(Optional(DOCKET_COMPLETED), REQUEST_ERROR),
)

FUNCTIONS: tuple[Function[Any], ...] = (
    CREATE_AGENT,
    LIST_AGENTS,
    MAKE_CALL,
    GET_CALL_DETAILS,
    WAIT_FOR_CALL_DETAILS,
    CREATE_DOCKET,
    CREATE_DOCKET_V2,
    GET_DOCKET,
    WAIT_FOR_DOCKET,
    CREATE_DOCKETS_V2,
    PARSE_DOCKET_COMPLETED,
)
