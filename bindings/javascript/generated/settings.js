// Written from wit/ by `cargo xtask bindings generate`. Do not edit.

/** The options of the client that are settings of the component. */
export const settings = {
  baseUrl: { variable: 'VOICE_CALLING_BASE_URL', kind: 'text' },
  token: { variable: 'VOICE_CALLING_API_TOKEN', kind: 'secret' },
  maxAttempts: { variable: 'VOICE_CALLING_MAX_ATTEMPTS', kind: 'integer' },
  backoffMs: { variable: 'VOICE_CALLING_BACKOFF_MS', kind: 'integer' },
  maxBackoffMs: { variable: 'VOICE_CALLING_MAX_BACKOFF_MS', kind: 'integer' },
  connectTimeoutMs: { variable: 'VOICE_CALLING_CONNECT_TIMEOUT_MS', kind: 'integer' },
  attemptTimeoutMs: { variable: 'VOICE_CALLING_ATTEMPT_TIMEOUT_MS', kind: 'integer' },
  deadlineMs: { variable: 'VOICE_CALLING_DEADLINE_MS', kind: 'integer' },
  createRetry: { variable: 'VOICE_CALLING_CREATE_RETRY', kind: 'choice', words: ['server-errors', 'not-sent'] },
  maxInFlight: { variable: 'VOICE_CALLING_MAX_IN_FLIGHT', kind: 'integer' },
  maxRequestBytes: { variable: 'VOICE_CALLING_MAX_REQUEST_BYTES', kind: 'integer' },
  maxResponseBytes: { variable: 'VOICE_CALLING_MAX_RESPONSE_BYTES', kind: 'integer' },
  allowInsecureHttp: { variable: 'VOICE_CALLING_ALLOW_INSECURE_HTTP', kind: 'flag' },
};
