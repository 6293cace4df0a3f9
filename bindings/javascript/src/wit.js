/**
 * The types and functions of the WIT (`wit/`), as far as users meet them. By these tables arguments
 * are checked and results are read.
 */

/** The last fields of an answer. */
const ANSWER = {
  'raw-json': 'json',
  'request-id': { option: 'string' },
  'attempts': { list: 'attempt' },
};

/** The last fields of an answer to a create. */
const CREATED = { ...ANSWER, 'may-be-duplicate': 'bool' };

/** The last fields of a wait. */
const POLLS = {
  'polls': 'u32',
  'failed-polls': 'u32',
  'waited-ms': 'u32',
  'held-back-ms': 'u32',
};

/** The named types: fields of records and cases of variants, in the WIT's order. */
export const types = {
  'call-options': {
    record: {
      'account': { option: 'string' },
      'deadline-ms': { option: 'u32' },
      'max-attempts': { option: 'u32' },
    },
  },
  'problem': {
    record: {
      'subject': 'string',
      'found': 'string',
      'allowed': 'string',
    },
  },
  'http-response': {
    record: {
      'status': 'u16',
      'body': 'string',
      'body-cut': 'bool',
      'request-id': { option: 'string' },
      'retry-after-ms': { option: 'u32' },
    },
  },
  'attempt': {
    record: {
      'status': { option: 'u16' },
      'transport-error': { option: 'string' },
      'started-ms': 'u32',
      'duration-ms': 'u32',
    },
  },
  'failure': {
    record: {
      'message': 'string',
      'problem': { option: 'problem' },
      'response': { option: 'http-response' },
      'attempts': { list: 'attempt' },
      'may-have-created': 'bool',
    },
  },
  'request-error': {
    variant: {
      'execution-failed': null,
      'permanent-configuration': 'failure',
      'permanent-invalid-input': 'failure',
      'permanent-unauthorized': 'failure',
      'permanent-not-found': 'failure',
      'permanent-rejected': 'failure',
      'permanent-unexpected-response': 'failure',
      'permanent-outcome-unknown': 'failure',
      'rate-limited': 'failure',
      'unavailable': 'failure',
      'unreachable': 'failure',
      'timed-out': 'failure',
    },
  },
  'agent-text': {
    record: {
      'default-text': 'string',
      'extra': { option: 'json' },
    },
  },
  'agent-config': {
    record: {
      'prompt': { option: 'agent-text' },
      'agent-name': 'string',
      'agent-phone-number': { option: 'string' },
      'voice-id': { option: 'string' },
      'version': { option: 's64' },
      'welcome-text': { option: 'agent-text' },
      'tools': { option: 'json' },
      'enabled': { option: 'bool' },
      'save-stats': { option: 'bool' },
      'server-type': { option: 'string' },
      'call-type': { option: 'string' },
      'created-at': { option: 'string' },
      'updated-at': { option: 'string' },
      'extra': { option: 'json' },
    },
  },
  'created-agent': {
    record: {
      'agent-id': { option: 's64' },
      'raw-json': { option: 'json' },
      'raw-text': { option: 'string' },
      'request-id': { option: 'string' },
      'attempts': { list: 'attempt' },
      'may-be-duplicate': 'bool',
    },
  },
  'agent-summary': {
    record: {
      'agent-id': { option: 's64' },
      'agent-name': { option: 'string' },
    },
  },
  'agent-list': {
    record: {
      'agents': { list: 'agent-summary' },
      ...ANSWER,
    },
  },
  'call-request': {
    record: {
      'from-agent-name': { option: 'string' },
      'to-phone-number': 'string',
      'call-context': { list: { tuple: ['string', 'string'] } },
      'extra': { option: 'json' },
    },
  },
  'started-call': {
    record: {
      'task-id': 'string',
      ...CREATED,
    },
  },
  'call-status': {
    variant: {
      'answered': null,
      'no-answer': null,
      'busy': null,
      'other': 'string',
    },
  },
  'user-interest': {
    record: {
      'status': { option: 'string' },
      'confidence-score': { option: 'f64' },
      'reasoning': { option: 'string' },
    },
  },
  'next-action': {
    record: {
      'value': { option: 'string' },
      'reason': { option: 'string' },
    },
  },
  'call-insights': {
    record: {
      'metadata': { option: 'json' },
      'user-interest': { option: 'user-interest' },
      'next-action': { option: 'next-action' },
    },
  },
  'call-details': {
    record: {
      'agent-name': { option: 'string' },
      'call-context': { option: 'json' },
      'call-insights': { option: 'call-insights' },
      'call-recording-url': { option: 'string' },
      'from-number': { option: 'string' },
      'to-number': { option: 'string' },
      'call-status': { option: 'call-status' },
      'call-duration-s': { option: 'f64' },
    },
  },
  'call-details-list': {
    record: {
      'calls': { list: 'call-details' },
      ...ANSWER,
    },
  },
  'docket-request': {
    record: {
      'agent-id': 's64',
      'to-phone-number': 'string',
      'call-context': 'json',
      'extra': { option: 'json' },
    },
  },
  'docket-request-v2': {
    record: {
      'agent-id': 's64',
      'to-phone-number': 'string',
      'call-context': 'json',
      'external-id': { option: 'string' },
      'extra': { option: 'json' },
    },
  },
  'docket-status': {
    variant: {
      'open': null,
      'in-progress': null,
      'completed': null,
      'other': 'string',
    },
  },
  'created-docket': {
    record: {
      'docket-id': 'string',
      'status': { option: 'docket-status' },
      ...CREATED,
    },
  },
  'created-docket-v2': {
    record: {
      'docket-id': 'string',
      'status': { option: 'docket-status' },
      'created': { option: 'bool' },
      ...CREATED,
    },
  },
  'docket': {
    record: {
      'docket-id': 'string',
      'agent-name': { option: 'string' },
      'status': { option: 'docket-status' },
      'call-type': { option: 'string' },
      'from-number': { option: 'string' },
      'to-phone-number': { option: 'string' },
      'call-context': { option: 'json' },
      'external-id': { option: 'string' },
      'closed-call-id': { option: 'string' },
      'latest-call-id': { option: 'string' },
      'closure-reason': { option: 'string' },
      'outbound-call-count': { option: 's64' },
      'notification-status': { option: 'string' },
      'first-called-at': { option: 'string' },
      'closed-at': { option: 'string' },
      'created-at': { option: 'string' },
      'updated-at': { option: 'string' },
      ...ANSWER,
    },
  },
  'wait-options': {
    record: {
      'timeout-ms': 'u32',
      'not-found-is-pending': { option: 'bool' },
    },
  },
  'call-details-outcome': {
    variant: {
      'completed': 'call-details-list',
      'pending': { option: 'call-details-list' },
    },
  },
  'call-details-wait': {
    record: {
      'outcome': 'call-details-outcome',
      ...POLLS,
    },
  },
  'docket-outcome': {
    variant: {
      'completed': 'docket',
      'pending': { option: 'docket' },
    },
  },
  'docket-wait': {
    record: {
      'outcome': 'docket-outcome',
      ...POLLS,
    },
  },
  'docket-insights': {
    record: {
      'call-disposition': { option: 'string' },
      'call-metadata': { option: 'json' },
    },
  },
  'docket-completed': {
    record: {
      'docket-id': 'string',
      'call-insights': { option: 'docket-insights' },
      'call-context': { option: 'json' },
      'attempts': { option: 'json' },
      'dashboard-url': { option: 'string' },
      'raw-json': 'json',
    },
  },
  'verified-completion': {
    record: {
      'delivered': 'docket-completed',
      'docket': 'docket',
      'contradicted': { list: 'string' },
      'unverified': { list: 'string' },
    },
  },
  'verification': {
    variant: {
      'not-a-completion': null,
      'confirmed': 'verified-completion',
      'contradicted': 'verified-completion',
    },
  },
};

/** The functions, by what the client without I/O calls them. */
export const functions = {
  CreateAgent: {
    wit: 'agents.create-agent',
    parameters: { 'config': 'agent-config', 'options': { option: 'call-options' } },
    ok: 'created-agent',
    creates: true,
  },
  ListAgents: {
    wit: 'agents.list-agents',
    parameters: { 'organization-id': 'string', 'options': { option: 'call-options' } },
    ok: 'agent-list',
    creates: false,
  },
  MakeCall: {
    wit: 'calls.make-call',
    parameters: { 'request': 'call-request', 'options': { option: 'call-options' } },
    ok: 'started-call',
    creates: true,
  },
  GetCallDetails: {
    wit: 'calls.get-call-details',
    parameters: { 'task-id': 'string', 'options': { option: 'call-options' } },
    ok: 'call-details-list',
    creates: false,
  },
  WaitForCallDetails: {
    wit: 'calls.wait-for-call-details',
    parameters: { 'task-id': 'string', 'wait': 'wait-options', 'options': { option: 'call-options' } },
    ok: 'call-details-wait',
    creates: false,
  },
  CreateDocket: {
    wit: 'dockets.create-docket',
    parameters: { 'request': 'docket-request', 'options': { option: 'call-options' } },
    ok: 'created-docket',
    creates: true,
  },
  CreateDocketV2: {
    wit: 'dockets.create-docket-v2',
    parameters: { 'request': 'docket-request-v2', 'options': { option: 'call-options' } },
    ok: 'created-docket-v2',
    creates: true,
  },
  GetDocket: {
    wit: 'dockets.get-docket',
    parameters: { 'docket-id': 'string', 'options': { option: 'call-options' } },
    ok: 'docket',
    creates: false,
  },
  WaitForDocket: {
    wit: 'dockets.wait-for-docket',
    parameters: { 'docket-id': 'string', 'wait': 'wait-options', 'options': { option: 'call-options' } },
    ok: 'docket-wait',
    creates: false,
  },
  CreateDocketsV2: {
    wit: 'bulk.create-dockets-v2',
    parameters: { 'requests': { list: 'docket-request-v2' }, 'timeout-ms': 'u32', 'options': { option: 'call-options' } },
    ok: { list: { result: ['created-docket-v2', 'request-error'] } },
    creates: true,
  },
  ParseDocketCompleted: {
    wit: 'webhooks.parse-docket-completed',
    parameters: { 'body': 'body' },
    ok: { option: 'docket-completed' },
    creates: false,
  },
  VerifyDocketCompleted: {
    wit: 'webhooks.verify-docket-completed',
    parameters: { 'body': 'body', 'options': { option: 'call-options' } },
    ok: 'verification',
    creates: false,
  },
};
