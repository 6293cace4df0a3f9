// Written from wit/ by `cargo xtask bindings generate`. Do not edit.

/** The options of the client that are settings, whose variables have a prefix. */
export const settings = {
  baseUrl: { variable: 'BASE_URL', kind: 'text' },
  token: { variable: 'API_TOKEN', kind: 'secret' },
  maxAttempts: { variable: 'MAX_ATTEMPTS', kind: 'integer' },
  backoffMs: { variable: 'BACKOFF_MS', kind: 'integer' },
  maxBackoffMs: { variable: 'MAX_BACKOFF_MS', kind: 'integer' },
  connectTimeoutMs: { variable: 'CONNECT_TIMEOUT_MS', kind: 'integer' },
  attemptTimeoutMs: { variable: 'ATTEMPT_TIMEOUT_MS', kind: 'integer' },
  deadlineMs: { variable: 'DEADLINE_MS', kind: 'integer' },
  createRetry: { variable: 'CREATE_RETRY', kind: 'choice', words: ['server-errors', 'not-sent', 'never'] },
  maxInFlight: { variable: 'MAX_IN_FLIGHT', kind: 'integer' },
  maxRequestBytes: { variable: 'MAX_REQUEST_BYTES', kind: 'integer' },
  maxResponseBytes: { variable: 'MAX_RESPONSE_BYTES', kind: 'integer' },
  maxDeliveryBytes: { variable: 'MAX_DELIVERY_BYTES', kind: 'integer' },
  allowInsecureHttp: { variable: 'ALLOW_INSECURE_HTTP', kind: 'flag' },
};
