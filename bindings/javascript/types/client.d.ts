// The client: its functions, and the records that they take and return.
import type { Attempt, RequestError } from './errors.js';
import type { Ledger } from './ledger.js';
import type { BatchOptions, CallOptions, ClientOptions, CreateOptions, Integer, JsonInput, JsonValue, WaitOptions } from './options.js';

/** What every answer of the service comes with. */
export interface ReadResult {
  /** The whole answer, as it came. */
  readonly rawJson: string;
  /**
   * The service's id of the request: the header `x-request-id`, or else `requestId` or
   * `x-correlation-id`.
   */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
}

/** What the answer to a create comes with. */
export interface CreateResult extends ReadResult {
  /**
   * Whether an attempt before the last may have created as well: then there may be
   * two of them.
   */
  readonly mayBeDuplicate: boolean;
  /** Whether the ledger had this answer, and nothing was sent now. */
  readonly fromLedger: boolean;
}

/** How a wait went. Each poll is an operation of its own: what was seen has the attempts of its poll. */
export interface WaitResult<T> {
  /** What was seen. */
  readonly outcome: T;
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

/** Whether what is waited for is completed. */
export type Outcome<T> =
  | { readonly kind: 'completed'; readonly value: T }
  /** Time ran out: the latest answer, or `undefined` where none came. */
  | { readonly kind: 'pending'; readonly value?: T };

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
export interface CreatedAgent extends Omit<CreateResult, 'rawJson'> {
  /** `agent_id`, where the answer is an object that has it as an integer. */
  readonly agentId?: Integer;
  /** The answer, where it is JSON. */
  readonly rawJson?: string;
  /** The answer, where it is not JSON and not empty. */
  readonly rawText?: string;
}

/** An element of the list of agents. One that is not an object has neither. */
export interface AgentSummary {
  /** `agent_id`. */
  readonly agentId?: Integer;
  /** `agent_name`. */
  readonly agentName?: string;
}

/** The agents of an organization. */
export interface AgentList extends ReadResult {
  /** The elements of the answer, in its order. */
  readonly agents: readonly AgentSummary[];
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
export interface StartedCall extends CreateResult {
  /** `task_id`: needed to get the call's details. Keep it. */
  readonly taskId: string;
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
export interface CallDetailsList extends ReadResult {
  /** The records of the answer, in its order. */
  readonly calls: readonly CallDetails[];
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
export interface DocketRequest extends DocketRequestV1 {
  /**
   * `external_id`: an identifier of your own, such as a CRM id. It is no
   * idempotency key: a second request with it creates a second docket, as far as is known.
   */
  readonly externalId?: string | null | undefined;
}

/** A docket of a batch. */
export interface DocketRequestOfBatch extends DocketRequest {
  /** The key of this create in the ledger of the client: see `once` of `CreateOptions`. */
  readonly once?: string | null | undefined;
}

/** Where a docket stands. Transitions out of `OPEN` are not specified. */
export type DocketStatus = 'OPEN' | 'IN_PROGRESS' | 'COMPLETED' | (string & {});

/** The answer to the creation of a docket, version 1. */
export interface CreatedDocketV1 extends CreateResult {
  /** `docket_id`: a UUID. Keep it. */
  readonly docketId: string;
  /** `status`: as a rule open; of version 1 in progress. */
  readonly status?: DocketStatus;
}

/** The answer to the creation of a docket, version 2. */
export interface CreatedDocket extends CreatedDocketV1 {
  /** `created`. What `false` means is not specified. */
  readonly created?: boolean;
}

/** A docket as fetched. It has no insights: those come with the webhook. */
export interface Docket extends ReadResult {
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
  /** `external_id`: none if none was given. */
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
}

/**
 * Whether a call's details are ready: there is at least one record, and every record is ready. It has
 * insights (an object in which something is neither null nor empty), or its call was not answered.
 */
export type CallDetailsOutcome = Outcome<CallDetailsList>;

/** How a wait for a call's details ended. */
export interface CallDetailsWait extends WaitResult<CallDetailsOutcome> {}

/**
 * Whether a docket is completed: its status is `COMPLETED`, or it has `closedAt` and neither of the
 * statuses `OPEN` and `IN_PROGRESS`.
 */
export type DocketOutcome = Outcome<Docket>;

/** How a wait for a docket ended. */
export interface DocketWait extends WaitResult<DocketOutcome> {}

/** Insights of a completed docket. (Those of a call are `CallInsights`.) */
export interface DocketInsights {
  /** `call_disposition`: the final outcome; its values are not specified. */
  readonly callDisposition?: string;
  /** `call_metadata`: a JSON object, where the agent is configured for it. */
  readonly callMetadata?: JsonValue;
}

/** What the service reports when a docket is completed. */
export interface DocketCompleted {
  /** The whole delivery, as it came. */
  readonly rawJson: string;
  /**
   * `docket_id`: which docket; a UUID. Deliveries are not known to be signed: use
   * `webhooks.verify` before you trust one.
   */
  readonly docketId: string;
  /** `call_insights`: none if no attempt was answered. */
  readonly callInsights?: DocketInsights;
  /** `call_context`: a JSON object, as given when the docket was created. */
  readonly callContext?: JsonValue;
  /** `attempts`: JSON whose shape is not specified. */
  readonly attempts?: JsonValue;
  /**
   * `dashboard_url` of the last answered call; none if none was
   * answered.
   */
  readonly dashboardUrl?: string;
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

/** One result of a batch, with the index of its request and its `externalId`, if it has one. */
export type BatchResult<T> =
  | { readonly index: number; readonly externalId?: string; readonly ok: true; readonly value: T }
  | { readonly index: number; readonly externalId?: string; readonly ok: false; readonly error: RequestError };

/**
 * A batch, which is sent while it is read, once: `await` gives all results in the order of the requests;
 * `for await` each as it comes, with the index of its request. After the loop is left nothing more is
 * sent. Leaving it waits for the answers to the requests that are open, and logs each docket that was
 * or may have been created and that the loop was not given. The signal ends the batch at once: each
 * request has a result all the same, which is `OutcomeUnknown` if its create was in flight.
 *
 * If a loop has not read 1000 results, no more requests of an iterable are taken, until it reads them
 * or the client is closed, which ends the batch.
 */
export interface Batch<T> extends PromiseLike<readonly BatchResult<T>[]>, AsyncIterable<BatchResult<T>> {}

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
  create(config: AgentConfig, options?: CreateOptions): Promise<CreatedAgent>;
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
  make(request: CallRequest, options?: CreateOptions): Promise<StartedCall>;
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
   * It is a creating request. Retries, times and limits are those of `calls.make`. An answer
   * whose `docket_id` is not a UUID is `UnexpectedResponse`.
   */
  createV1(request: DocketRequestV1, options?: CreateOptions): Promise<CreatedDocketV1>;
  /**
   * Makes a phone ring: `POST /api/v2/dockets`, which takes an `externalId`
   * and answers whether the docket was created. Everything else is as in
   * `dockets.createV1`.
   */
  create(request: DocketRequest, options?: CreateOptions): Promise<CreatedDocket>;
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
   * `requests`: any number; none gives an empty list. Those of an array are checked before
   * anything is sent. Of another iterable they are taken when they can be sent: up to 64 at once, of
   * an async one each as it comes. If it throws, or one of its requests is refused, the batch ends as
   * if its loop was left, and then fails with that error; after an abort before all were taken, with
   * the signal's reason. Leaving the loop calls `return()` of its iterator.
   *
   * The results are in the order of the requests, one for each, and one failure never
   * hides another. A rate limit that one request meets slows the others. A request that
   * is not allowed fails in its place, and the others are sent. No two requests have the same key;
   * a warning names the first two that are equal and have none. Of an iterable the first 10000 are
   * compared.
   *
   * `timeoutMs`: for how long new requests may be begun; 1 or more. Those that were not
   * begun by then are `TimedOut` with no attempts. Those that were are finished,
   * each within its deadline, so that no docket id is lost.
   * Of an iterable only one more is taken then, which is `TimedOut`; the batch ends with another
   * `TimedOut`, which names it.
   *
   * Nothing further is begun after five failures in a row that are not about the people to be called
   * (whose `nextStep` is not `refused`), or 25 of any kind: the rest are `NotBegun`, and may be sent
   * later. Requests in flight count: at first five are sent at once, and one more with each success.
   *
   * It throws `InvalidInput` for `requests`, `timeoutMs` or `options`. The error of the batch is
   * `ConfigurationProblem`, or `InvalidInput` for requests that are no array; of these some may have been
   * sent.
   */
  createMany(
    requests: Iterable<DocketRequestOfBatch> | AsyncIterable<DocketRequestOfBatch>,
    options: BatchOptions,
  ): Batch<CreatedDocket>;
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

/**
 * A client of the voice-calling service. It may be used for many calls at once; one client for
 * each service and token is enough.
 *
 * By default a create that was carried out and then answered 5xx or 408 is sent again, and two
 * phones may ring: the result has `mayBeDuplicate`. With `createRetry: 'not-sent'` a create is sent
 * again only if it was not sent, or was refused with 429 or 425; any other one that got no
 * conclusive answer is `OutcomeUnknown`.
 */
export declare class VoiceClient {
  /**
   * Reads the options; values of settings are checked by the first call.
   *
   * @throws {ConfigurationProblem} for an unknown option or one of another type.
   */
  constructor(options?: ClientOptions);

  readonly agents: Agents;
  readonly calls: Calls;
  readonly dockets: Dockets;
  readonly webhooks: Webhooks;
  /** The ledger, if the client was made with one; an object of your own as it was given. */
  readonly ledger: Ledger | undefined;
  /**
   * Refuses new calls, waits for those that run, and closes the connections, and the ledger if it was
   * given as a path. A program that forgets it ends all the same.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
