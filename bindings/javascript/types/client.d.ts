// The client: its functions, and the records that they take and return.
import type { Attempt, VoiceCallingError } from './errors.js';
import type { Ledger } from './ledger.js';
import type {
  BatchOptions,
  CallOptions,
  ClientOptions,
  CreateOptions,
  Integer,
  IntegerInput,
  JsonInput,
  JsonValue,
  WaitOptions,
} from './options.js';

/** What every answer of the service comes with. */
export interface ReadResult {
  /** The whole answer, as it came. */
  readonly rawJson: string;
  /** The service's id of the request: the header `x-request-id`, or else `request-id` or `x-correlation-id`. */
  readonly requestId?: string;
  /** All attempts of this operation, in order; the last one succeeded. */
  readonly attempts: readonly Attempt[];
}

/** What the answer to a create comes with. */
export interface CreateResult extends ReadResult {
  /** Whether an attempt before the last may have created as well: then there may be two of them. */
  readonly mayBeDuplicate: boolean;
  /** Whether the ledger had this answer, and nothing was sent now. */
  readonly fromLedger: boolean;
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
  readonly version?: IntegerInput | null | undefined;
  /** `welcome_text`: the greeting. */
  readonly welcomeText?: AgentText | null | undefined;
  /** `tools`: any JSON; `undefined` is sent as `null`, which means that no tools are used. */
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
  /** A JSON object whose members are added to the request. A member that this record has a field for is rejected. */
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
  /** `to_phone_number`: the number to be called; not empty, without control characters. Its format is not specified. */
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
  /** `call_insights`: what was found in the conversation, once the call is completed. */
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

/** A docket to be created: a business task that may need several calls. It makes a phone ring. */
export interface DocketRequestV1 {
  /** `agent_id`: see `agents.list`. */
  readonly agentId: IntegerInput;
  /** `to_phone_number`: exactly 12 ASCII digits, the country code included, no `+`: `910000000000`. */
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
  /** The key of this create in the ledger of the client: see `key` of `CreateOptions`. */
  readonly key?: string | null | undefined;
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
  /** `closed_call_id`: the call that closed the docket. It is not known to be a task id. */
  readonly closedCallId?: string;
  /** `latest_call_id`: the most recent call. It is not known to be a task id. */
  readonly latestCallId?: string;
  /** `closure_reason`: `DISPOSITION` where the outcome of a call closed the docket; others are not specified. */
  readonly closureReason?: string;
  /** `outbound_call_count`. */
  readonly outboundCallCount?: Integer;
  /** `notification_status`: `SKIPPED` where no notification was sent; others are not specified. */
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
  /** `docket_id`: which docket; a UUID. Deliveries are not known to be signed: use `webhooks.verify` before you trust one. */
  readonly docketId: string;
  /** `call_insights`: none if no attempt was answered. */
  readonly callInsights?: DocketInsights;
  /** `call_context`: a JSON object, as given when the docket was created. */
  readonly callContext?: JsonValue;
  /** `attempts`: JSON whose shape is not specified. */
  readonly attempts?: JsonValue;
  /** `dashboard_url` of the last answered call; none if none was answered. */
  readonly dashboardUrl?: string;
}

/** A delivery, and the docket as the service has it. */
export interface VerifiedCompletion {
  /** The delivery, as it was received. */
  readonly delivered: DocketCompleted;
  /** The docket, as the service returned it. */
  readonly docket: Docket;
  /** The members of the delivery that the docket contradicts; empty where it is confirmed. `status` where the docket is not completed. */
  readonly contradicted: readonly string[];
  /**
   * The members of the delivery that could not be verified: `call_insights`,
   * `attempts`, `dashboard_url` and others that a docket as fetched does not have, and
   * those that differ but may have changed since, such as `updated_at`.
   */
  readonly unverified: readonly string[];
}

/**
 * What the service says about a delivery: it is JSON, but not the completion of a docket; or the docket
 * is completed, and nothing that it says contradicts the delivery; or it is not completed, or disagrees
 * with the delivery, which may be forged: do not act on it.
 */
export type Verification =
  | { readonly kind: 'not-a-completion' }
  | ({ readonly kind: 'confirmed' | 'contradicted' } & VerifiedCompletion);

/** One result of a batch, with the index of its request and its `externalId`, if it has one. */
export type BatchResult<T> =
  | { readonly index: number; readonly externalId?: string; readonly ok: true; readonly value: T }
  | { readonly index: number; readonly externalId?: string; readonly ok: false; readonly error: VoiceCallingError };

/**
 * A batch. Nothing is sent before `start()`, the first read, or `await`. `await` gives all results in the
 * order of the requests; `for await` each as it comes. Leaving the loop, or `close()`, begins nothing
 * more, waits for the open requests, and logs each docket that was or may have been created and that was
 * not read. The signal begins nothing more either: the open requests are finished, those of an array
 * that were not begun are `NotBegunError`, and after the results of any other iterable the batch ends
 * with the signal's reason.
 *
 * If 1000 results are not read, no more requests are taken, until they are read.
 */
export interface Batch<T> extends PromiseLike<BatchResult<T>[]>, AsyncIterableIterator<BatchResult<T>> {
  /** Begins to send. */
  start(): this;
  /** Ends the batch as leaving its loop does. */
  close(): Promise<void>;
  [Symbol.asyncIterator](): this;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Agents: the voices that make calls. An agent is configured once, before calls are made. */
export interface Agents {
  /**
   * Creates an agent: `POST /agents/`. Any 2xx is success. It is a create, retried as `calls.make` is.
   * If the answer has no `agentId`, `agents.list` finds the agent by its name.
   */
  create(config: AgentConfig, options?: CreateOptions): Promise<CreatedAgent>;
  /**
   * Lists the agents of an organization: `GET /api/v1/agents?organizationId=<organization-id>`.
   *
   * @param organizationId not empty, without control characters; how to obtain it is not specified
   */
  list(organizationId: string, options?: CallOptions): Promise<AgentList>;
}

/** Calls that are made directly, without a docket. */
export interface Calls {
  /**
   * Makes a phone ring: `POST /make_call`.
   *
   * It is a create: it is retried while it is certain that it did nothing, and if the service asks for
   * it (5xx, 408): a call that was placed and then answered so is placed again, and two phones ring.
   * `createRetry: 'not-sent'` turns that off, `createRetry: 'never'` every retry. Once it was sent
   * without a conclusive answer, it rejects with `OutcomeUnknownError`, and is never retried. No attempt
   * begins with less time left than an answer may take.
   */
  make(request: CallRequest, options?: CreateOptions): Promise<StartedCall>;
  /**
   * Gets what is known of a task's calls: `GET /call_details/{task_id}`. An empty list is an answer; a
   * lone object counts as a list of one. What the service answers before the call is completed, or to an
   * unknown task, is not specified.
   *
   * @param taskId not empty, not `.` or `..`, without control characters
   */
  get(taskId: string, options?: CallOptions): Promise<CallDetailsList>;
  /**
   * Polls a task's details until there is at least one record and all are ready: it has insights, or its
   * call was not answered. If time runs out before, it rejects with `WaitTimedOutError`, which has the
   * latest answer.
   *
   * Each poll is a whole `calls.get`, with a timeout of its own. The pause after the first is
   * `backoffMs`; it doubles up to `maxBackoffMs`, and is longer if `retry-after` asks for it. A pause that
   * does not fit into the time that is left ends the wait. A poll that fails in a way that may pass does
   * not end it, unless every poll did: then it rejects with the last error.
   */
  wait(taskId: string, options: WaitOptions): Promise<CallDetailsList>;
}

/**
 * Dockets: business tasks, each of which groups the calls made for it.
 *
 * A docket is for a task that may need several calls, and reports its completion once, by the webhook,
 * with its insights. For one call whose details you fetch by task id use `calls.make`.
 */
export interface Dockets {
  /**
   * Makes a phone ring: `POST /api/v2/dockets`. It is a create, retried as `calls.make` is. An answer
   * whose `docket_id` is not a UUID is `UnexpectedResponseError`.
   */
  create(request: DocketRequest, options?: CreateOptions): Promise<CreatedDocket>;
  /** Makes a phone ring: `POST /api/v1/dockets`, without `externalId`; otherwise as `dockets.create`. */
  createV1(request: DocketRequestV1, options?: CreateOptions): Promise<CreatedDocketV1>;
  /**
   * Makes phones ring: `POST /api/v2/dockets` for each request, at most `maxInFlight` at a time. One
   * failure never hides another, and a rate limit that one request meets slows the others.
   *
   * Nothing further is begun after five failures in a row that are not about the people to be called
   * (whose `nextStep` is not `refused`), or 25 of any kind: the rest are `NotBegunError`, and may be sent
   * later. At first five are sent at once, and one more with each success.
   *
   * @param requests any iterable, sync or async, of any length: requests are taken when they can be sent.
   * Those of an array are checked before anything is sent. If it throws, or one of its requests is
   * refused, the batch ends with that error after the results of those before.
   */
  createEach(
    requests: Iterable<DocketRequestOfBatch> | AsyncIterable<DocketRequestOfBatch>,
    options: BatchOptions,
  ): Batch<CreatedDocket>;
  /**
   * Gets the docket as it stands: `GET /api/v1/dockets/{docket_id}`.
   *
   * @param docketId a UUID in its hyphenated form. An answer with another id is `UnexpectedResponseError`
   */
  get(docketId: string, options?: CallOptions): Promise<Docket>;
  /**
   * Polls the docket until it is completed: its status is `COMPLETED`, or it has `closedAt` and neither of
   * the statuses `OPEN` and `IN_PROGRESS`. If time runs out before, it rejects with `WaitTimedOutError`,
   * whose `last` is the docket as last seen. Pauses and failed polls are those of `calls.wait`.
   */
  wait(docketId: string, options: WaitOptions): Promise<Docket>;
}

/** What the service sends by itself. */
export interface Webhooks {
  /**
   * Reads a delivery as `parseDocketCompleted` does, fetches the docket that it names, and compares the
   * two. Deliveries are not known to be signed, so that anyone may send one: this is what a receiver
   * needs. A docket that the service does not know is `NotFoundError`.
   */
  verify(body: string | Uint8Array, options?: CallOptions): Promise<Verification>;
}

/**
 * Reads the body of a delivery to the webhook of at most 1 MiB, without sending anything. Returns
 * `undefined` if it is JSON, but not the completion of a docket. A value in it whose type is not the
 * specified one is left out.
 *
 * @throws {InvalidInputError} if it is not JSON, or the completion of a docket without a UUID.
 */
export declare function parseDocketCompleted(body: string | Uint8Array): DocketCompleted | undefined;

/**
 * Returns a phone number as people write it as the 12 digits of a docket.
 *
 * @param countryCode that of numbers without one: 1 to 3 digits, without `+`
 * @throws {InvalidInputError} if the text is not such a number.
 */
export declare function normalizeNumber(text: string, countryCode?: string): string;

/** What rules a `ContactRules` has. */
export interface ContactRulesOptions {
  /** Numbers that are not called, as people write them. A number that cannot be compared with them is refused too. */
  readonly doNotCall?: Iterable<string> | undefined;
  /** The country code of numbers without one, without `+`. */
  readonly countryCode?: string | undefined;
  /** When calls may begin, such as `mon-fri 09:30-18:00`; with `timeZone`. */
  readonly hours?: string | undefined;
  /** The time zone of the people who are called, such as `Asia/Kolkata`. */
  readonly timeZone?: string | undefined;
}

/** Whom to call and when: `new VoiceClient({ mayCall: new ContactRules({ … }).mayCall })`. */
export declare class ContactRules {
  /** @throws {InvalidInputError} if a number or the hours cannot be read. */
  constructor(rules?: ContactRulesOptions);
  /** Returns `true`, or why the number may not be called now. */
  readonly mayCall: (request: { readonly toPhoneNumber: string }) => true | string;
}

/**
 * A client of the voice-calling service. It may be used for many calls at once; one client for
 * each service and token is enough.
 *
 * By default a create that was carried out and then answered 5xx or 408 is sent again, and two
 * phones may ring: the result has `mayBeDuplicate`. With `createRetry: 'not-sent'` a create is sent
 * again only if it was not sent, or was refused with 429 or 425; any other one that got no
 * conclusive answer is `OutcomeUnknownError`.
 */
export declare class VoiceClient {
  /** @throws {ConfigurationError} if an option or a variable is missing, unknown or wrong. */
  constructor(options?: ClientOptions);

  readonly agents: Agents;
  readonly calls: Calls;
  readonly dockets: Dockets;
  readonly webhooks: Webhooks;
  /** The ledger, if the client was made with one. */
  readonly ledger: Ledger | undefined;
  /**
   * Returns the same client with other defaults for its operations. `timeoutMs` is that of an
   * operation, of each poll of a wait and of each request of a batch.
   */
  withOptions(options: CallOptions): VoiceClient;
  /**
   * Refuses new calls, waits for those that run, and closes the connections, and the ledger if it was
   * given as a path. A batch that is not read to its end is to be closed first. A program that forgets it ends all the same.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
