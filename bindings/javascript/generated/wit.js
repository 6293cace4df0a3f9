// Written from wit/ by `cargo xtask bindings generate`. Do not edit.

/** The named types: fields of records and cases of variants, in the WIT's order. */
export const types = {
  'invalid-input': {
    record: {
      'field': 'string',
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
      'retry-after-ms': { option: 'u64' },
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
  'configuration-problem': {
    record: {
      'variable': 'string',
      'found': 'string',
      'allowed': 'string',
      'attempts': { list: 'attempt' },
    },
  },
  'http-failure': {
    record: {
      'message': 'string',
      'response': 'http-response',
      'attempts': { list: 'attempt' },
    },
  },
  'transport-failure': {
    record: {
      'message': 'string',
      'attempts': { list: 'attempt' },
    },
  },
  'unknown-outcome': {
    record: {
      'message': 'string',
      'response': { option: 'http-response' },
      'attempts': { list: 'attempt' },
    },
  },
  'request-error': {
    variant: {
      'execution-failed': null,
      'permanent-configuration': 'configuration-problem',
      'permanent-invalid-input': 'invalid-input',
      'permanent-unauthorized': 'http-failure',
      'permanent-not-found': 'http-failure',
      'permanent-rejected': 'http-failure',
      'permanent-unexpected-response': 'http-failure',
      'permanent-outcome-unknown': 'unknown-outcome',
      'rate-limited': 'http-failure',
      'unavailable': 'http-failure',
      'unreachable': 'transport-failure',
      'timed-out': 'transport-failure',
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
    },
  },
  'agent-summary': {
    record: {
      'agent-id': { option: 's64' },
      'agent-name': { option: 'string' },
      'raw-json': 'json',
    },
  },
  'call-request': {
    record: {
      'from-agent-name': { option: 'string' },
      'to-phone-number': 'string',
      'call-context': { option: 'json' },
      'extra': { option: 'json' },
    },
  },
  'started-call': {
    record: {
      'task-id': 'string',
      'raw-json': 'json',
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
      'raw-json': 'json',
    },
  },
  'next-action': {
    record: {
      'value': { option: 'string' },
      'reason': { option: 'string' },
      'raw-json': 'json',
    },
  },
  'call-insights': {
    record: {
      'metadata': { option: 'json' },
      'user-interest': { option: 'user-interest' },
      'next-action': { option: 'next-action' },
      'raw-json': 'json',
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
      'raw-json': 'json',
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
      'raw-json': 'json',
    },
  },
  'created-docket-v2': {
    record: {
      'docket-id': 'string',
      'status': { option: 'docket-status' },
      'created': { option: 'bool' },
      'raw-json': 'json',
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
      'raw-json': 'json',
    },
  },
  'wait-options': {
    record: {
      'timeout-ms': 'u32',
      'not-found-is-pending': 'bool',
    },
  },
  'call-details-wait': {
    record: {
      'completed': 'bool',
      'details': { list: 'call-details' },
      'polls': 'u32',
      'failed-polls': 'u32',
      'waited-ms': 'u32',
    },
  },
  'docket-wait': {
    record: {
      'completed': 'bool',
      'docket': { option: 'docket' },
      'polls': 'u32',
      'failed-polls': 'u32',
      'waited-ms': 'u32',
    },
  },
  'docket-insights': {
    record: {
      'call-disposition': { option: 'string' },
      'call-metadata': { option: 'json' },
      'raw-json': 'json',
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
};

/** The functions, by what the client calls them. */
export const functions = {
  'agents.create': {
    core: 'voice-calling:client/agents@0.1.0#create-agent',
    parameters: { 'config': 'agent-config' },
    fromOptions: null,
    result: { result: ['created-agent', 'request-error'] },
    creates: true,
  },
  'agents.list': {
    core: 'voice-calling:client/agents@0.1.0#list-agents',
    parameters: { 'organization-id': 'string' },
    fromOptions: null,
    result: { result: [{ list: 'agent-summary' }, 'request-error'] },
    creates: false,
  },
  'calls.make': {
    core: 'voice-calling:client/calls@0.1.0#make-call',
    parameters: { 'request': 'call-request' },
    fromOptions: null,
    result: { result: ['started-call', 'request-error'] },
    creates: true,
  },
  'calls.get-details': {
    core: 'voice-calling:client/calls@0.1.0#get-call-details',
    parameters: { 'task-id': 'string' },
    fromOptions: null,
    result: { result: [{ list: 'call-details' }, 'request-error'] },
    creates: false,
  },
  'calls.wait-for-details': {
    core: 'voice-calling:client/calls@0.1.0#wait-for-call-details',
    parameters: { 'task-id': 'string', 'options': 'wait-options' },
    fromOptions: 'options',
    result: { result: ['call-details-wait', 'request-error'] },
    creates: false,
  },
  'dockets.create-v1': {
    core: 'voice-calling:client/dockets@0.1.0#create-docket',
    parameters: { 'request': 'docket-request' },
    fromOptions: null,
    result: { result: ['created-docket', 'request-error'] },
    creates: true,
  },
  'dockets.create': {
    core: 'voice-calling:client/dockets@0.1.0#create-docket-v2',
    parameters: { 'request': 'docket-request-v2' },
    fromOptions: null,
    result: { result: ['created-docket-v2', 'request-error'] },
    creates: true,
  },
  'dockets.get': {
    core: 'voice-calling:client/dockets@0.1.0#get-docket',
    parameters: { 'docket-id': 'string' },
    fromOptions: null,
    result: { result: ['docket', 'request-error'] },
    creates: false,
  },
  'dockets.wait-for': {
    core: 'voice-calling:client/dockets@0.1.0#wait-for-docket',
    parameters: { 'docket-id': 'string', 'options': 'wait-options' },
    fromOptions: 'options',
    result: { result: ['docket-wait', 'request-error'] },
    creates: false,
  },
  'dockets.create-many': {
    core: 'voice-calling:client/bulk@0.1.0#create-dockets-v2',
    parameters: { 'requests': { list: 'docket-request-v2' }, 'timeout-ms': 'u32' },
    fromOptions: 'timeout-ms',
    result: { result: [{ list: { result: ['created-docket-v2', 'request-error'] } }, 'request-error'] },
    creates: true,
  },
  'webhooks.parse-docket-completed': {
    core: 'voice-calling:client/webhooks@0.1.0#parse-docket-completed',
    parameters: { 'body': { list: 'u8' } },
    fromOptions: null,
    result: { result: [{ option: 'docket-completed' }, 'request-error'] },
    creates: false,
  },
};
