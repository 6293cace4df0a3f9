"""The component's types and functions, and what each is in Python."""

# Written by `cargo xtask bindings generate` from the WIT. Do not edit.

from __future__ import annotations

from typing import Any

from . import _errors, _outcomes, _types
from ._schema import (
    BODY,
    BOOL,
    F64,
    JSON,
    S64,
    SECONDS,
    TEXT,
    TEXTS,
    U16,
    U32,
    Failure,
    Field,
    Function,
    ListOf,
    Optional,
    Outcome,
    Record,
    Status,
    TupleOf,
    Variant,
)

WIT_VERSION = "0.2.0"

CALL_OPTIONS = Record(
    "call-options",
    _types.CallOptions,
    (
        Field("account", "account", Optional(TEXT)),
        Field("deadline-ms", "deadline", Optional(SECONDS)),
        Field("max-attempts", "max_attempts", Optional(U32)),
    ),
)

PROBLEM = Record(
    "problem",
    _types.Problem,
    (
        Field("subject", "subject", TEXT),
        Field("found", "found", TEXT),
        Field("allowed", "allowed", TEXT),
    ),
)

HTTP_RESPONSE = Record(
    "http-response",
    _types.HttpResponse,
    (
        Field("status", "status", U16),
        Field("body", "body", BODY),
        Field("body-cut", "body_cut", BOOL),
        Field("request-id", "request_id", Optional(TEXT)),
        Field("retry-after-ms", "retry_after", Optional(SECONDS)),
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

FAILURE = Record(
    "failure",
    dict,
    (
        Field("message", "message", TEXT),
        Field("problem", "problem", Optional(PROBLEM)),
        Field("response", "response", Optional(HTTP_RESPONSE)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
        Field("may-have-created", "may_have_created", BOOL),
    ),
)

REQUEST_ERROR = Failure(
    "request-error",
    {
        "execution-failed": (_errors.ExecutionFailed, None),
        "permanent-configuration": (_errors.ConfigurationProblem, FAILURE),
        "permanent-invalid-input": (_errors.InvalidInput, FAILURE),
        "permanent-unauthorized": (_errors.Unauthorized, FAILURE),
        "permanent-not-found": (_errors.NotFound, FAILURE),
        "permanent-rejected": (_errors.Rejected, FAILURE),
        "permanent-unexpected-response": (_errors.UnexpectedResponse, FAILURE),
        "permanent-outcome-unknown": (_errors.OutcomeUnknown, FAILURE),
        "rate-limited": (_errors.RateLimited, FAILURE),
        "unavailable": (_errors.Unavailable, FAILURE),
        "unreachable": (_errors.Unreachable, FAILURE),
        "timed-out": (_errors.TimedOut, FAILURE),
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
        Field("request-id", "request_id", Optional(TEXT)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
        Field("may-be-duplicate", "may_be_duplicate", BOOL),
    ),
)

AGENT_SUMMARY = Record(
    "agent-summary",
    _types.AgentSummary,
    (
        Field("agent-id", "agent_id", Optional(S64)),
        Field("agent-name", "agent_name", Optional(TEXT)),
    ),
)

AGENT_LIST = Record(
    "agent-list",
    _types.AgentList,
    (
        Field("agents", "agents", TupleOf(AGENT_SUMMARY)),
        Field("raw-json", "raw_json", JSON),
        Field("request-id", "request_id", Optional(TEXT)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
    ),
)

CALL_REQUEST = Record(
    "call-request",
    _types.CallRequest,
    (
        Field("from-agent-name", "from_agent_name", Optional(TEXT)),
        Field("to-phone-number", "to_phone_number", TEXT),
        Field("call-context", "call_context", TEXTS),
        Field("extra", "extra", Optional(JSON)),
    ),
)

STARTED_CALL = Record(
    "started-call",
    _types.StartedCall,
    (
        Field("task-id", "task_id", TEXT),
        Field("raw-json", "raw_json", JSON),
        Field("request-id", "request_id", Optional(TEXT)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
        Field("may-be-duplicate", "may_be_duplicate", BOOL),
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
    ),
)

NEXT_ACTION = Record(
    "next-action",
    _types.NextAction,
    (
        Field("value", "value", Optional(TEXT)),
        Field("reason", "reason", Optional(TEXT)),
    ),
)

CALL_INSIGHTS = Record(
    "call-insights",
    _types.CallInsights,
    (
        Field("metadata", "metadata_json", Optional(JSON)),
        Field("user-interest", "user_interest", Optional(USER_INTEREST)),
        Field("next-action", "next_action", Optional(NEXT_ACTION)),
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
    ),
)

CALL_DETAILS_LIST = Record(
    "call-details-list",
    _types.CallDetailsList,
    (
        Field("calls", "calls", TupleOf(CALL_DETAILS)),
        Field("raw-json", "raw_json", JSON),
        Field("request-id", "request_id", Optional(TEXT)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
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
        Field("request-id", "request_id", Optional(TEXT)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
        Field("may-be-duplicate", "may_be_duplicate", BOOL),
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
        Field("request-id", "request_id", Optional(TEXT)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
        Field("may-be-duplicate", "may_be_duplicate", BOOL),
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
        Field("request-id", "request_id", Optional(TEXT)),
        Field("attempts", "attempts", TupleOf(ATTEMPT)),
    ),
)

WAIT_OPTIONS = Record(
    "wait-options",
    _types.WaitOptions,
    (
        Field("timeout-ms", "timeout", SECONDS),
        Field("not-found-is-pending", "not_found_is_pending", Optional(BOOL)),
    ),
)

CALL_DETAILS_OUTCOME = Variant(
    "call-details-outcome",
    {
        "completed": (_outcomes.Completed, CALL_DETAILS_LIST),
        "pending": (_outcomes.Pending, Optional(CALL_DETAILS_LIST)),
    },
)

CALL_DETAILS_WAIT = Record(
    "call-details-wait",
    _types.CallDetailsWait,
    (
        Field("outcome", "outcome", CALL_DETAILS_OUTCOME),
        Field("polls", "polls", U32),
        Field("failed-polls", "failed_polls", U32),
        Field("waited-ms", "waited_ms", U32),
        Field("held-back-ms", "held_back_ms", U32),
    ),
)

DOCKET_OUTCOME = Variant(
    "docket-outcome",
    {
        "completed": (_outcomes.Completed, DOCKET),
        "pending": (_outcomes.Pending, Optional(DOCKET)),
    },
)

DOCKET_WAIT = Record(
    "docket-wait",
    _types.DocketWait,
    (
        Field("outcome", "outcome", DOCKET_OUTCOME),
        Field("polls", "polls", U32),
        Field("failed-polls", "failed_polls", U32),
        Field("waited-ms", "waited_ms", U32),
        Field("held-back-ms", "held_back_ms", U32),
    ),
)

DOCKET_INSIGHTS = Record(
    "docket-insights",
    _types.DocketInsights,
    (
        Field("call-disposition", "call_disposition", Optional(TEXT)),
        Field("call-metadata", "call_metadata_json", Optional(JSON)),
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

VERIFIED_COMPLETION = Record(
    "verified-completion",
    _types.VerifiedCompletion,
    (
        Field("delivered", "delivered", DOCKET_COMPLETED),
        Field("docket", "docket", DOCKET),
        Field("contradicted", "contradicted", TupleOf(TEXT)),
        Field("unverified", "unverified", TupleOf(TEXT)),
    ),
)

VERIFICATION = Variant(
    "verification",
    {
        "not-a-completion": (_outcomes.NotACompletion, None),
        "confirmed": (_outcomes.Confirmed, VERIFIED_COMPLETION),
        "contradicted": (_outcomes.Contradicted, VERIFIED_COMPLETION),
    },
)

CREATE_AGENT: Function[_types.CreatedAgent] = Function(
    "agents",
    "create-agent",
    (
        Field("config", "", AGENT_CONFIG),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(CREATED_AGENT, REQUEST_ERROR),
    creates=True,
)

LIST_AGENTS: Function[_types.AgentList] = Function(
    "agents",
    "list-agents",
    (
        Field("organization-id", "organization_id", TEXT),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(AGENT_LIST, REQUEST_ERROR),
)

MAKE_CALL: Function[_types.StartedCall] = Function(
    "calls",
    "make-call",
    (
        Field("request", "", CALL_REQUEST),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(STARTED_CALL, REQUEST_ERROR),
    creates=True,
)

GET_CALL_DETAILS: Function[_types.CallDetailsList] = Function(
    "calls",
    "get-call-details",
    (
        Field("task-id", "task_id", TEXT),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(CALL_DETAILS_LIST, REQUEST_ERROR),
)

WAIT_FOR_CALL_DETAILS: Function[_types.CallDetailsWait] = Function(
    "calls",
    "wait-for-call-details",
    (
        Field("task-id", "task_id", TEXT),
        Field("wait", "", WAIT_OPTIONS),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(CALL_DETAILS_WAIT, REQUEST_ERROR),
)

CREATE_DOCKET: Function[_types.CreatedDocketV1] = Function(
    "dockets",
    "create-docket",
    (
        Field("request", "", DOCKET_REQUEST_V1),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(CREATED_DOCKET_V1, REQUEST_ERROR),
    creates=True,
)

CREATE_DOCKET_V2: Function[_types.CreatedDocket] = Function(
    "dockets",
    "create-docket-v2",
    (
        Field("request", "", DOCKET_REQUEST),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(CREATED_DOCKET, REQUEST_ERROR),
    creates=True,
)

GET_DOCKET: Function[_types.Docket] = Function(
    "dockets",
    "get-docket",
    (
        Field("docket-id", "docket_id", TEXT),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(DOCKET, REQUEST_ERROR),
)

WAIT_FOR_DOCKET: Function[_types.DocketWait] = Function(
    "dockets",
    "wait-for-docket",
    (
        Field("docket-id", "docket_id", TEXT),
        Field("wait", "", WAIT_OPTIONS),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(DOCKET_WAIT, REQUEST_ERROR),
)

CREATE_DOCKETS_V2: Function[list[_types.CreatedDocket | _errors.RequestError]] = Function(
    "bulk",
    "create-dockets-v2",
    (
        Field("requests", "requests", ListOf(DOCKET_REQUEST)),
        Field("timeout-ms", "timeout", SECONDS),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(ListOf(Outcome(CREATED_DOCKET, REQUEST_ERROR)), REQUEST_ERROR),
    creates=True,
)

PARSE_DOCKET_COMPLETED: Function[_types.DocketCompleted | None] = Function(
    "webhooks",
    "parse-docket-completed",
    (
        Field("body", "body", BODY),
    ),
    Outcome(Optional(DOCKET_COMPLETED), REQUEST_ERROR),
)

VERIFY_DOCKET_COMPLETED: Function[_types.Verification] = Function(
    "webhooks",
    "verify-docket-completed",
    (
        Field("body", "body", BODY),
        Field("options", "", Optional(CALL_OPTIONS)),
    ),
    Outcome(VERIFICATION, REQUEST_ERROR),
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
    VERIFY_DOCKET_COMPLETED,
)
