// Written from wit/ by `cargo xtask bindings generate`. Do not edit.
import {
  Batch,
  BatchOptions,
  CallOptions,
  Integer,
  JsonInput,
  JsonValue,
  NoAnswerError,
  RequestError,
  ServiceError,
  WaitOptions,
} from './base.js';

/** The settings. */
export interface Settings {
  /**
   * The service: http(s)://host[:port][/path]; http only to loopback. Required. Variable: `VOICE_CALLING_BASE_URL`.
   */
  readonly baseUrl?: string | undefined;
  /**
   * The organization's token, without `Bearer `. It is sent as the header `auth_token: Bearer <token>`. Required. Variable: `VOICE_CALLING_API_TOKEN`.
   */
  readonly token?: string | undefined;
  /**
   * Attempts of an operation, of an item of a batch, of a poll of a wait; 1 to 100. Default: `4`. Variable: `VOICE_CALLING_MAX_ATTEMPTS`.
   */
  readonly maxAttempts?: number | undefined;
  /**
   * The ceiling of the first pause, doubled from then on; the pause itself is drawn between half of it and all of it. Unit: milliseconds. Default: `2000`. Variable: `VOICE_CALLING_BACKOFF_MS`.
   */
  readonly backoffMs?: number | undefined;
  /**
   * The highest ceiling, and the longest pause between polls; the service may ask for more. Unit: milliseconds. Default: `8000`. Variable: `VOICE_CALLING_MAX_BACKOFF_MS`.
   */
  readonly maxBackoffMs?: number | undefined;
  /**
   * For a connection, TLS included. Unit: milliseconds. Default: `3000`. Variable: `VOICE_CALLING_CONNECT_TIMEOUT_MS`.
   */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * For an attempt, the body included. Unit: milliseconds. Default: `10000`. Variable: `VOICE_CALLING_ATTEMPT_TIMEOUT_MS`.
   */
  readonly attemptTimeoutMs?: number | undefined;
  /**
   * For an operation, an item of a batch, a poll of a wait. Unit: milliseconds. Default: `30000`. Variable: `VOICE_CALLING_DEADLINE_MS`.
   */
  readonly deadlineMs?: number | undefined;
  /**
   * When a create is sent again: also after 5xx and 408, as the specification asks, although a phone may ring twice then; only if nothing was sent or the service refused it with 429 or 425; or never. Default: `server-errors`. Variable: `VOICE_CALLING_CREATE_RETRY`.
   */
  readonly createRetry?: 'server-errors' | 'not-sent' | 'never' | undefined;
  /**
   * Open requests of all calls together; 1 to 100000. Default: `16`. Variable: `VOICE_CALLING_MAX_IN_FLIGHT`.
   */
  readonly maxInFlight?: number | undefined;
  /**
   * The body of a request; 1 to 67108864. Default: `1048576`. Variable: `VOICE_CALLING_MAX_REQUEST_BYTES`.
   */
  readonly maxRequestBytes?: number | undefined;
  /**
   * The body of an answer; 1 to 67108864. An answer to a create has at most 16384 bytes more than six times its request. Default: `8388608`. Variable: `VOICE_CALLING_MAX_RESPONSE_BYTES`.
   */
  readonly maxResponseBytes?: number | undefined;
  /**
   * The body of a delivery to the webhook, which anyone can send; 1 to 67108864. Default: `1048576`. Variable: `VOICE_CALLING_MAX_DELIVERY_BYTES`.
   */
  readonly maxDeliveryBytes?: number | undefined;
  /**
   * Whether plain http may go to a host that is not loopback. Default: `false`. Variable: `VOICE_CALLING_ALLOW_INSECURE_HTTP`.
   */
  readonly allowInsecureHttp?: boolean | undefined;
}

/** The cases of `request-error` in the WIT. */
export type RequestErrorKind = 'execution-failed' | 'permanent-configuration' | 'permanent-invalid-input' | 'permanent-unauthorized' | 'permanent-not-found' | 'permanent-rejected' | 'permanent-unexpected-response' | 'permanent-outcome-unknown' | 'rate-limited' | 'unavailable' | 'unreachable' | 'timed-out';

/** A setting or argument at fault. */
export interface Problem {
  /**
   * The environment variable, such as `VOICE_CALLING_BASE_URL`, or the argument or
   * the field in it, such as `toPhoneNumber`, `callContext.name` or
   * `options.account`; a long key is cut. `request` where all of it is at fault.
   */
  readonly subject: string;
  /** What was found, cut where it is long, and not shown where it is secret. */
  readonly found: string;
  /** What is allowed. */
  readonly allowed: string;
}

/** The part of a response that an error keeps. */
export interface HttpResponse {
  /** The HTTP status, 100 to 999. */
  readonly status: number;
  /**
   * The body as text: its first 8192 bytes, with bytes that are not UTF-8
   * replaced, and with the API token masked where the service echoes it, if
   * the token has 8 bytes or more.
   */
  readonly body: string;
  /** Whether `body` is less than what the service sent, or meant to send. */
  readonly bodyCut: boolean;
  /** The header `x-request-id`, or else `requestId` or `x-correlation-id`. */
  readonly requestId?: string;
  /**
   * How long the service asks to wait (header `retry-after`, given there
   * in seconds or as a date), from the moment of the answer. A date is read
   * against the answer's own `date`. Unit: milliseconds; at most a day.
   */
  readonly retryAfterMs?: number;
}

/** One request that was tried. */
export interface Attempt {
  /** The HTTP status, where one came. */
  readonly status?: number;
  /**
   * The transport error, where there was one. With a `status`, the body ended early
   * or came too late.
   */
  readonly transportError?: string;
  /** When it began. Unit: milliseconds since the operation began. */
  readonly startedMs: number;
  /** How long it took. Unit: milliseconds. */
  readonly durationMs: number;
}

/**
 * The host could not run the component (a trap, a timeout of the host).
 * Only hosts make this case; the component never returns it. After a
 * creating request the call or docket may exist: give the host a longer
 * timeout than the component's own (`deadlineMs`; for a wait its
 * `timeoutMs`; for a batch both together).
 */
export declare class ExecutionFailed extends RequestError {
  readonly kind: 'execution-failed';
}

/**
 * A setting is missing or wrong, an account is unknown, or the host's policy
 * denies the service's address. `problem` names the variable or option.
 */
export declare class ConfigurationProblem extends RequestError {
  readonly kind: 'permanent-configuration';
  readonly problem: Problem;
}

/**
 * An argument is not allowed, or the host rejects the request for what is in it.
 * `problem` names the argument. Nothing was created.
 */
export declare class InvalidInput extends RequestError {
  readonly kind: 'permanent-invalid-input';
  readonly problem: Problem;
}

/** The service rejected the token: 401 or 403. */
export declare class Unauthorized extends ServiceError {
  readonly kind: 'permanent-unauthorized';
}

/** The service answered not found: 404 or 410. */
export declare class NotFound extends ServiceError {
  readonly kind: 'permanent-not-found';
}

/**
 * The service rejected the request: any other 3xx or 4xx. Redirects are
 * never followed, since the token would go along. After a 3xx or a 409 to a
 * creating request the call or docket may exist.
 */
export declare class Rejected extends ServiceError {
  readonly kind: 'permanent-rejected';
}

/**
 * An answer that is not as specified: a 2xx whose body does not match the
 * specification or exceeds the size limit, a docket other than the requested one,
 * or a status outside 200 to 599. After a creating request the call or docket may
 * exist; `response` has what came.
 */
export declare class UnexpectedResponse extends ServiceError {
  readonly kind: 'permanent-unexpected-response';
}

/**
 * A creating request may have been processed: it was sent and no conclusive
 * answer came, or the service failed (5xx, 408), also in an attempt before the
 * last. A person's phone may be ringing: retry only after making sure that nothing
 * was created.
 */
export declare class OutcomeUnknown extends RequestError {
  readonly kind: 'permanent-outcome-unknown';
}

/** The service's rate limit: 429 or 425, until no attempt or no time was left. */
export declare class RateLimited extends ServiceError {
  readonly kind: 'rate-limited';
}

/**
 * The service failed: 5xx or 408 to a reading request, until no
 * attempt or no time was left.
 */
export declare class Unavailable extends ServiceError {
  readonly kind: 'unavailable';
}

/** The service could not be reached: no attempt was sent. */
export declare class Unreachable extends NoAnswerError {
  readonly kind: 'unreachable';
}

/**
 * Time ran out before anything was sent, or a reading request got no
 * complete answer in any of its attempts.
 */
export declare class TimedOut extends NoAnswerError {
  readonly kind: 'timed-out';
}

/** A text of an agent: a JSON object with `default`. */
export interface AgentText {
  /** `default`: the text itself. */
  readonly defaultText: string;
  /** A JSON object whose members are added beside `default`. */
  readonly extra?: JsonInput | null | undefined;
}

/**
 * The configuration of an agent: a voice identity with a phone number and a
 * prompt. The specification does not say which fields the service requires;
 * this package asks for the name, and leaves every other `undefined` out of the
 * request, except `tools`, which is sent as `null`.
 */
export interface AgentConfig {
  /** `prompt`: the agent's instructions. */
  readonly prompt?: AgentText | null | undefined;
  /** `agent_name`: not empty. Calls refer to the agent by it. */
  readonly agentName: string;
  /** `agent_phone_number`: the phone number provided for the agent. */
  readonly agentPhoneNumber?: string | null | undefined;
  /** `voice_id`: identifier of the chosen voice. */
  readonly voiceId?: string | null | undefined;
  /** `version` of the configuration. */
  readonly version?: Integer | string | null | undefined;
  /** `welcome_text`: the greeting. */
  readonly welcomeText?: AgentText | null | undefined;
  /**
   * `tools`: any JSON; `undefined` is sent as `null`, which means that no tools
   * are used.
   */
  readonly tools?: JsonInput | null | undefined;
  /** `enabled`: whether the agent is active. */
  readonly enabled?: boolean | null | undefined;
  /** `save_stats`: whether statistics are saved. */
  readonly saveStats?: boolean | null | undefined;
  /** `server_type`: an environment label; its values are not specified. */
  readonly serverType?: string | null | undefined;
  /** `call_type`: the kind of call; its values are not specified. */
  readonly callType?: string | null | undefined;
  /** `created_at`: its format is not specified. */
  readonly createdAt?: string | null | undefined;
  /** `updated_at`: its format is not specified. */
  readonly updatedAt?: string | null | undefined;
  /**
   * A JSON object whose members are added to the request. A member
   * that this record has a field for is rejected.
   */
  readonly extra?: JsonInput | null | undefined;
}

/** The answer to `agents.create`, whose form is not specified. */
export interface CreatedAgent {
  /** `agent_id`, where the answer is an object that has it as an integer. */
  readonly agentId?: Integer;
  /** The answer, where it is JSON. */
  readonly rawJson?: string;
  /**
   * The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose digits here.
   */
  readonly raw?: JsonValue;
  /** The answer, where it is not JSON and not empty. */
  readonly rawText?: string;
  /**
   * The service's id of the request: the header `x-request-id`, or else `requestId` or
   * `x-correlation-id`.
   */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
  /**
   * Whether an attempt before the last may have created as well: then there may be
   * two of them.
   */
  readonly mayBeDuplicate: boolean;
}

/** An element of the list of agents. One that is not an object has neither. */
export interface AgentSummary {
  /** `agent_id`. */
  readonly agentId?: Integer;
  /** `agent_name`. */
  readonly agentName?: string;
}

/** The agents of an organization. */
export interface AgentList {
  /** The elements of the answer, in its order. */
  readonly agents: readonly AgentSummary[];
  /** The whole answer as it came. */
  readonly rawJson: string;
  /**
   * The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose digits here.
   */
  readonly raw: JsonValue;
  /**
   * The service's id of the request: the header `x-request-id`, or else `requestId` or
   * `x-correlation-id`.
   */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
}

/** A call to be made. It makes a phone ring. */
export interface CallRequest {
  /**
   * `from_agent_name`: the agent that calls; not empty. May be `undefined` only
   * where `extra` is given, which then has to select the agent: the
   * service also knows agents by phone number, but the name of that field
   * is not specified.
   */
  readonly fromAgentName?: string | null | undefined;
  /**
   * `to_phone_number`: the number to be called; not empty, without control
   * characters. Its format is not specified.
   */
  readonly toPhoneNumber: string;
  /**
   * `extra_config.call_context`: the variables of the agent's prompt, as names and
   * values. No name occurs twice. Empty leaves `call_context` out.
   */
  readonly callContext?: { readonly [name: string]: string } | null | undefined;
  /**
   * A JSON object whose members are added to the request; those of its
   * `extra_config` are added to `extra_config`. A member that this record has a field
   * for is rejected.
   */
  readonly extra?: JsonInput | null | undefined;
}

/** A call that was accepted. */
export interface StartedCall {
  /** `task_id`: needed to get the call's details. Keep it. */
  readonly taskId: string;
  /** The whole answer as it came. */
  readonly rawJson: string;
  /**
   * The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose digits here.
   */
  readonly raw: JsonValue;
  /**
   * The service's id of the request: the header `x-request-id`, or else `requestId` or
   * `x-correlation-id`.
   */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
  /**
   * Whether an attempt before the last may have created as well: then there may be
   * two of them.
   */
  readonly mayBeDuplicate: boolean;
}

/** How a call ended. Values beyond the three are not specified. */
export type CallStatus = 'ANSWERED' | 'NO_ANSWER' | 'BUSY' | (string & {});

/** How interested the called person was. */
export interface UserInterest {
  /** `status`: its values are not specified. */
  readonly status?: string;
  /** `confidence_score`: its range is not specified. */
  readonly confidenceScore?: number;
  /** `reasoning`. */
  readonly reasoning?: string;
}

/** What the service proposes to do next. */
export interface NextAction {
  /** `value`: `REDIAL` is one; others are not specified. */
  readonly value?: string;
  /** `reason`. */
  readonly reason?: string;
}

/** Insights of a call. (Those of a completed docket are `DocketInsights`.) */
export interface CallInsights {
  /** `metadata`: a JSON object; its keys depend on the agent. */
  readonly metadata?: JsonValue;
  /** `user_interest`. */
  readonly userInterest?: UserInterest;
  /** `next_action`. */
  readonly nextAction?: NextAction;
}

/** What is known of one call of a task. A record that is not an object has none of it. */
export interface CallDetails {
  /** `agent_name`: the agent that called. */
  readonly agentName?: string;
  /** `call_context`: a JSON object, as given when the call was made. */
  readonly callContext?: JsonValue;
  /**
   * `call_insights`: what was found in the conversation, once the call is
   * completed.
   */
  readonly callInsights?: CallInsights;
  /** `call_recording_url`. */
  readonly callRecordingUrl?: string;
  /** `from_number`. */
  readonly fromNumber?: string;
  /** `to_number`. */
  readonly toNumber?: string;
  /** `call_status`. */
  readonly callStatus?: CallStatus;
  /** `call_duration`. Unit: seconds. */
  readonly callDurationS?: number;
}

/** What is known of a task's calls. */
export interface CallDetailsList {
  /** The records of the answer, in its order. */
  readonly calls: readonly CallDetails[];
  /** The whole answer as it came. */
  readonly rawJson: string;
  /**
   * The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose digits here.
   */
  readonly raw: JsonValue;
  /**
   * The service's id of the request: the header `x-request-id`, or else `requestId` or
   * `x-correlation-id`.
   */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
}

/**
 * A docket to be created: a business task that may need several calls. It
 * makes a phone ring.
 */
export interface DocketRequestV1 {
  /** `agent_id`: see `agents.list`. */
  readonly agentId: Integer | string;
  /**
   * `to_phone_number`: exactly 12 ASCII digits, the country code included, no
   * `+`: `910000000000`.
   */
  readonly toPhoneNumber: string;
  /**
   * `extra_config.call_context`: a JSON object, free-form. The fetched
   * docket and the webhook return it, so it is the place for an identifier
   * of your own by which to find the docket again.
   */
  readonly callContext: JsonInput;
  /**
   * A JSON object whose members are added to the request; those of its
   * `extra_config` are added to `extra_config`. A member that this record has a field
   * for is rejected.
   */
  readonly extra?: JsonInput | null | undefined;
}

/** As `DocketRequestV1`, for version 2 of the endpoint. */
export interface DocketRequest {
  /** `agent_id`: see `agents.list`. */
  readonly agentId: Integer | string;
  /**
   * `to_phone_number`: exactly 12 ASCII digits, the country code included, no
   * `+`: `910000000000`.
   */
  readonly toPhoneNumber: string;
  /**
   * `extra_config.call_context`: a JSON object, free-form. The fetched
   * docket and the webhook return it, so it is the place for an identifier
   * of your own by which to find the docket again.
   */
  readonly callContext: JsonInput;
  /**
   * `external_id`: an identifier of your own, such as a CRM id. It is no
   * idempotency key: a second request with it creates a second docket, as far as is known.
   */
  readonly externalId?: string | null | undefined;
  /**
   * A JSON object whose members are added to the request; those of its
   * `extra_config` are added to `extra_config`. A member that this record has a field
   * for is rejected.
   */
  readonly extra?: JsonInput | null | undefined;
}

/** Where a docket stands. Transitions out of `OPEN` are not specified. */
export type DocketStatus = 'OPEN' | 'IN_PROGRESS' | 'COMPLETED' | (string & {});

/** The answer to the creation of a docket, version 1. */
export interface CreatedDocketV1 {
  /** `docket_id`: a UUID. Keep it. */
  readonly docketId: string;
  /** `status`: in progress, as a rule. */
  readonly status?: DocketStatus;
  /** The whole answer as it came. */
  readonly rawJson: string;
  /**
   * The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose digits here.
   */
  readonly raw: JsonValue;
  /**
   * The service's id of the request: the header `x-request-id`, or else `requestId` or
   * `x-correlation-id`.
   */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
  /**
   * Whether an attempt before the last may have created as well: then there may be
   * two of them.
   */
  readonly mayBeDuplicate: boolean;
}

/** The answer to the creation of a docket, version 2. */
export interface CreatedDocket {
  /** `docket_id`: a UUID. Keep it. */
  readonly docketId: string;
  /** `status`: open, as a rule. */
  readonly status?: DocketStatus;
  /** `created`. What `false` means is not specified. */
  readonly created?: boolean;
  /** The whole answer as it came. */
  readonly rawJson: string;
  /**
   * The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose digits here.
   */
  readonly raw: JsonValue;
  /**
   * The service's id of the request: the header `x-request-id`, or else `requestId` or
   * `x-correlation-id`.
   */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
  /**
   * Whether an attempt before the last may have created as well: then there may be
   * two of them.
   */
  readonly mayBeDuplicate: boolean;
}

/** A docket as fetched. It has no insights: those come with the webhook. */
export interface Docket {
  /** `docket_id`: a UUID. */
  readonly docketId: string;
  /** `agent_name`: the agent that handles the docket. */
  readonly agentName?: string;
  /** `status`. */
  readonly status?: DocketStatus;
  /** `call_type` of the agent. */
  readonly callType?: string;
  /** `from_number`: digits, the country code included. */
  readonly fromNumber?: string;
  /** `to_phone_number`: 12 digits, the country code included. */
  readonly toPhoneNumber?: string;
  /** `call_context`: a JSON object, as given when the docket was created. */
  readonly callContext?: JsonValue;
  /** `external_id`: none where none was given. */
  readonly externalId?: string;
  /**
   * `closed_call_id`: the call that closed the docket. It is not known to
   * be a task id.
   */
  readonly closedCallId?: string;
  /**
   * `latest_call_id`: the most recent call. It is not known to be a task
   * id.
   */
  readonly latestCallId?: string;
  /**
   * `closure_reason`: `DISPOSITION` where the outcome of a call closed the
   * docket; others are not specified.
   */
  readonly closureReason?: string;
  /** `outbound_call_count`. */
  readonly outboundCallCount?: Integer;
  /**
   * `notification_status`: `SKIPPED` where no notification was sent;
   * others are not specified.
   */
  readonly notificationStatus?: string;
  /** `first_called_at`: ISO 8601 with fractional seconds, without a zone. */
  readonly firstCalledAt?: string;
  /** `closed_at`: the same format. */
  readonly closedAt?: string;
  /** `created_at`: the same format. */
  readonly createdAt?: string;
  /** `updated_at`: the same format. */
  readonly updatedAt?: string;
  /** The whole answer as it came. */
  readonly rawJson: string;
  /**
   * The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose digits here.
   */
  readonly raw: JsonValue;
  /**
   * The service's id of the request: the header `x-request-id`, or else `requestId` or
   * `x-correlation-id`.
   */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
}

/** Whether a call's details are ready. */
export type CallDetailsOutcome =
  /**
   * There is at least one record, and every record is ready: it has insights (an
   * object in which something is neither null nor empty), or its call was not
   * answered.
   */
  | { readonly kind: 'completed'; readonly value: CallDetailsList }
  /** Time ran out: the latest answer, or `undefined` where none came. */
  | { readonly kind: 'pending'; readonly value?: CallDetailsList };

/**
 * How a wait for a call's details ended. Each poll is an operation of its own: what was
 * seen has the attempts of its poll.
 */
export interface CallDetailsWait {
  /** What was seen. */
  readonly outcome: CallDetailsOutcome;
  /** How many polls were made, not counting retries within a poll. */
  readonly polls: number;
  /** How many of these polls failed with an error that may be temporary. */
  readonly failedPolls: number;
  /** How long the wait took. Unit: milliseconds. */
  readonly waitedMs: number;
  /**
   * How much of that was spent on a rate limit that another call of the
   * same account had met. Unit: milliseconds.
   */
  readonly heldBackMs: number;
}

/** Whether a docket is completed. */
export type DocketOutcome =
  /**
   * Its status is `COMPLETED`, or it has `closedAt` and neither of the statuses
   * `OPEN` and `IN_PROGRESS`.
   */
  | { readonly kind: 'completed'; readonly value: Docket }
  /** Time ran out: the latest answer, or `undefined` where none came. */
  | { readonly kind: 'pending'; readonly value?: Docket };

/**
 * How a wait for a docket ended. Each poll is an operation of its own: what was seen has
 * the attempts of its poll.
 */
export interface DocketWait {
  /** What was seen. */
  readonly outcome: DocketOutcome;
  /** How many polls were made, not counting retries within a poll. */
  readonly polls: number;
  /** How many of these polls failed with an error that may be temporary. */
  readonly failedPolls: number;
  /** How long the wait took. Unit: milliseconds. */
  readonly waitedMs: number;
  /**
   * How much of that was spent on a rate limit that another call of the
   * same account had met. Unit: milliseconds.
   */
  readonly heldBackMs: number;
}

/** Insights of a completed docket. (Those of a call are `CallInsights`.) */
export interface DocketInsights {
  /** `call_disposition`: the final outcome; its values are not specified. */
  readonly callDisposition?: string;
  /** `call_metadata`: a JSON object, where the agent is configured for it. */
  readonly callMetadata?: JsonValue;
}

/** What the service reports when a docket is completed. */
export interface DocketCompleted {
  /**
   * `docket_id`: which docket; a UUID. Deliveries are not known to be signed: use
   * `webhooks.verify` before you trust one.
   */
  readonly docketId: string;
  /** `call_insights`: none where no attempt was answered. */
  readonly callInsights?: DocketInsights;
  /** `call_context`: a JSON object, as given when the docket was created. */
  readonly callContext?: JsonValue;
  /** `attempts`: JSON whose shape is not specified. */
  readonly attempts?: JsonValue;
  /**
   * `dashboard_url` of the last answered call; none where none was
   * answered.
   */
  readonly dashboardUrl?: string;
  /** The whole payload as it came. */
  readonly rawJson: string;
  /**
   * The same, parsed when it is read; `JSON.stringify` leaves it out. Numbers beyond 2^53 lose digits here.
   */
  readonly raw: JsonValue;
}

/** A delivery, and the docket as the service has it. */
export interface VerifiedCompletion {
  /** The delivery, as it was received. */
  readonly delivered: DocketCompleted;
  /** The docket, as the service returned it. */
  readonly docket: Docket;
  /**
   * The members of the delivery that the docket contradicts; empty where it is
   * confirmed. `status` where the docket is not completed.
   */
  readonly contradicted: readonly string[];
  /**
   * The members of the delivery that could not be verified: `call_insights`,
   * `attempts`, `dashboard_url` and others that a docket as fetched does not have, and
   * those that differ but may have changed since, such as `updated_at`.
   */
  readonly unverified: readonly string[];
}

/** What the service says about a delivery. */
export type Verification =
  /** JSON, but not the completion of a docket. */
  | { readonly kind: 'not-a-completion' }
  /** The docket is completed, and nothing that it says contradicts the delivery. */
  | { readonly kind: 'confirmed'; readonly value: VerifiedCompletion }
  /**
   * The docket is not completed, or disagrees with the delivery, which may be
   * forged: do not act on it.
   */
  | { readonly kind: 'contradicted'; readonly value: VerifiedCompletion };

/**
 * Agents: the voices that make calls. An agent is configured once, before calls
 * are made.
 */
export interface Agents {
  /**
   * Creates an agent: `POST /agents/`. Any 2xx is success.
   *
   * It is a creating request, retried as `calls.make` is. Where the answer has
   * no `agentId`, `agents.list` finds the agent by its name.
   */
  create(config: AgentConfig, options?: CallOptions): Promise<CreatedAgent>;
  /**
   * Lists the agents of an organization:
   * `GET /api/v1/agents?organizationId=<organization-id>`.
   *
   * `organizationId` is not empty, has no control characters and at most 4096 bytes
   * when it is percent-encoded; how to obtain it is not specified.
   */
  list(organizationId: string, options?: CallOptions): Promise<AgentList>;
}

/** Calls that are made directly, without a docket. */
export interface Calls {
  /**
   * Makes a phone ring: `POST /make_call`.
   *
   * It is a creating request: it is retried while it is certain that it did
   * nothing, and where the service asks for it (5xx, 408): a call that was placed and then
   * answered so is placed again, and two phones ring. `createRetry: 'not-sent'` turns that off,
   * `createRetry: 'never'` every retry. Once it was handed to the network
   * without a conclusive answer, it fails with `OutcomeUnknown` and is never
   * retried. No attempt begins with less time left than an answer may take:
   * `attemptTimeoutMs`, or half of `deadlineMs` where that is less.
   *
   * An answer may have 16384 bytes more than six times its request; a larger one is
   * `UnexpectedResponse`, with its beginning.
   */
  make(request: CallRequest, options?: CallOptions): Promise<StartedCall>;
  /**
   * What is known of a task's calls: `GET /call_details/{task_id}`. An empty
   * list is an answer; a lone object counts as a list of one.
   *
   * `taskId` is not empty, not `.` or `..`, without control characters; it is
   * sent as one percent-encoded path segment of at most 4096 bytes. What the service
   * answers before the call is completed, or to an unknown task, is not specified.
   */
  getDetails(taskId: string, options?: CallOptions): Promise<CallDetailsList>;
  /**
   * Polls a task's details until there is at least one record and all are
   * ready, or time runs out.
   *
   * Each poll is a whole `calls.getDetails`, with attempts and a deadline of its
   * own. The pause after the first is `backoffMs`; it doubles up to
   * `maxBackoffMs`, without jitter, and is longer where `retry-after` asks for it.
   * A pause that does not fit into the time that is left ends the wait, so that it
   * may end before `timeoutMs`. A poll
   * that fails in a way that may pass (`RateLimited`, `Unavailable`,
   * `Unreachable`, `TimedOut`) does not end it, unless every poll did: then
   * the last error is returned. For waits of hours on a workflow engine, let
   * the workflow sleep and call `calls.getDetails`.
   */
  waitForDetails(taskId: string, options: WaitOptions): Promise<CallDetailsWait>;
}

/**
 * Dockets: business tasks, each of which groups the call attempts made for it.
 *
 * A docket is for a task that may need several calls, and reports its completion
 * once, by the webhook, with its insights. For one call whose details you fetch by
 * task id use `calls.make`. Version 2 of the creation adds `externalId` and
 * `created`.
 */
export interface Dockets {
  /**
   * Makes a phone ring: `POST /api/v1/dockets`.
   *
   * It is a creating request: it is retried while it is certain that it did
   * nothing, and where the service asks for it (5xx, 408): a docket that was created and then
   * answered so is created again, and two phones ring. `createRetry: 'not-sent'` turns that off,
   * `createRetry: 'never'` every retry. Once it was handed to the network
   * without a conclusive answer, it fails with `OutcomeUnknown` and is never
   * retried. No attempt begins with less time left than an answer may take:
   * `attemptTimeoutMs`, or half of `deadlineMs` where that is less.
   *
   * An answer may have 16384 bytes more than six times its request; a larger one is
   * `UnexpectedResponse`, with its beginning. So is one whose
   * `docket_id` is not a UUID.
   */
  createV1(request: DocketRequestV1, options?: CallOptions): Promise<CreatedDocketV1>;
  /**
   * Makes a phone ring: `POST /api/v2/dockets`, which takes an `externalId`
   * and answers whether the docket was created. Retries, times and limits are those
   * of `dockets.createV1`.
   */
  create(request: DocketRequest, options?: CallOptions): Promise<CreatedDocket>;
  /**
   * The docket as it stands: `GET /api/v1/dockets/{docket_id}`.
   *
   * `docketId` is a UUID in its hyphenated form (36 characters). An answer with another
   * id is `UnexpectedResponse`; one without an id is taken for the docket
   * that was asked for.
   */
  get(docketId: string, options?: CallOptions): Promise<Docket>;
  /**
   * Polls the docket until it is completed or time runs out. Pauses and failed polls
   * are those of `calls.waitForDetails`.
   */
  waitFor(docketId: string, options: WaitOptions): Promise<DocketWait>;
  /**
   * Makes phones ring: `POST /api/v2/dockets` for each request, at most
   * `maxInFlight` at a time.
   *
   * `requests`: 0 to 1000, with texts of 16777216 bytes in all; none gives an empty list.
   * The results are in the order of the requests, one for each, and one failure never
   * hides another. A rate limit that one request meets slows the others. A request that
   * is not allowed fails in its place, and the others are sent.
   *
   * `timeoutMs`: for how long new requests may be begun; 1 or more. Those that were not
   * begun by then are `TimedOut` with no attempts. Those that were are finished,
   * each within its deadline, so that no docket id is lost.
   *
   * The outer error is `ConfigurationProblem`, or `InvalidInput` for
   * `requests`, `timeoutMs` or `options`; then nothing was sent.
   */
  createMany(requests: readonly DocketRequest[], options: BatchOptions): Batch<CreatedDocket>;
}

/** What the service sends by itself. */
export interface Webhooks {
  /**
   * Reads the body of a webhook delivery (section "Events" of the service's
   * specification). It needs no settings and sends nothing.
   *
   * - A completed docket is returned. A value in it whose type is not the
   *   specified one is `undefined`; the others are kept.
   * - `undefined`: JSON, but not the completion of a docket. The service mentions
   *   call-level webhooks too. The completion of a docket is an object with a
   *   `docket_id` and evidence that the docket is done: `attempts` in which something is
   *   neither null nor empty, a text as `dashboard_url` or
   *   `call_insights.call_disposition`, or the status
   *   `COMPLETED`. A status of `OPEN` or `IN_PROGRESS` is evidence that it is not.
   * - `InvalidInput`: broken. It is not JSON, or the completion of a
   *   docket whose `docket_id` is not a UUID; or it has more bytes than
   *   `maxDeliveryBytes`.
   */
  parse(body: string | Uint8Array): Promise<DocketCompleted | undefined>;
  /**
   * Reads a delivery as `webhooks.parse` does, fetches the docket that it names
   * (`GET /api/v1/dockets/{docket_id}`), and compares the two. Deliveries are not known
   * to be signed, so that anyone may send one: this is what a receiver needs.
   *
   * The docket must be completed, and must not disagree with the delivery: with its
   * `call_context`, for example, member by member: numbers as exact decimals, objects
   * whatever the order of their members. A member whose name occurs again is never confirmed,
   * since parsers differ in which they take; what is nested deeper than 200 levels is equal
   * only if it is written the same, and is not confirmed. What it cannot confirm is listed. A
   * docket that the service does not know is `NotFound`; errors are those of
   * both functions.
   */
  verify(body: string | Uint8Array, options?: CallOptions): Promise<Verification>;
}
