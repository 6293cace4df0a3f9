// Written from wit-tools/ by `cargo xtask bindings generate`. Do not edit.

/** What each tool is, in the order in which agents read them. */
export const TOOLS = [
  {
    "description": "List the voice agents of an organization: id and name of each.",
    "name": "list-agents",
    "parameters": [
      {
        "description": "the organization's id; ask the user if you do not have it",
        "kind": "string",
        "name": "organization-id",
        "optional": false
      },
      {
        "description": "true for the service's whole answer",
        "kind": "bool",
        "name": "raw",
        "optional": true
      }
    ],
    "rings": false
  },
  {
    "description": "Look at a docket, a task that needs one or more calls: status, number of calls made, why it was closed. COMPLETED means that no further call will be made.",
    "name": "get-docket",
    "parameters": [
      {
        "description": "the docket's UUID",
        "kind": "string",
        "name": "docket-id",
        "optional": false
      },
      {
        "description": "true for the service's whole answer",
        "kind": "bool",
        "name": "raw",
        "optional": true
      }
    ],
    "rings": false
  },
  {
    "description": "Wait until a docket is completed, then return what get-docket returns. Calls may take hours: pending is a normal answer, and asking again rings no one.",
    "name": "wait-for-docket",
    "parameters": [
      {
        "description": "the docket's UUID",
        "kind": "string",
        "name": "docket-id",
        "optional": false
      },
      {
        "description": "how long to wait, 1 to 600 seconds; 50 if absent; keep it below your own timeout",
        "kind": "u32",
        "name": "timeout-s",
        "optional": true
      }
    ],
    "rings": false
  },
  {
    "description": "Look at a call: status, seconds, the person's interest, next action. Not found means not yet known, until the call is over, or an unknown id.",
    "name": "get-call",
    "parameters": [
      {
        "description": "the call's task id",
        "kind": "string",
        "name": "task-id",
        "optional": false
      },
      {
        "description": "true for the service's whole answer",
        "kind": "bool",
        "name": "raw",
        "optional": true
      }
    ],
    "rings": false
  },
  {
    "description": "Verify a webhook delivery, which anyone may have sent, by asking the service. verdict is confirmed, contradicted (do not act on it) or not-a-completion; with it what get-docket returns, and the members of the delivery that are unverified or contradicted.",
    "name": "verify-docket-completed",
    "parameters": [
      {
        "description": "the delivery, as it was received",
        "kind": "string",
        "name": "body",
        "optional": false
      }
    ],
    "rings": false
  },
  {
    "description": "RINGS A PERSON'S TELEPHONE and costs money. Creates a docket: the service calls until someone answers or its attempts are exhausted. Calling this again calls the person again, whatever the external id. If the error says that the outcome is unknown, a phone may be ringing: do not repeat, ask a person.",
    "name": "create-docket-and-call",
    "parameters": [
      {
        "description": "from list-agents",
        "kind": "s64",
        "name": "agent-id",
        "optional": false
      },
      {
        "description": "12 digits with the country code, such as 919876543210",
        "kind": "string",
        "name": "to-phone-number",
        "optional": false
      },
      {
        "description": "text of a JSON object with what the voice agent should know",
        "kind": "string",
        "name": "call-context",
        "optional": false
      },
      {
        "description": "an identifier of yours, such as a CRM id; it does not prevent a second call",
        "kind": "string",
        "name": "external-id",
        "optional": true
      }
    ],
    "rings": true
  },
  {
    "description": "RINGS A PERSON'S TELEPHONE and costs money. Places one call, without retries if the person does not answer; otherwise prefer create-docket-and-call. Calling this again calls the person again. If the error says that the outcome is unknown, a phone may be ringing: do not repeat, ask a person.",
    "name": "place-call",
    "parameters": [
      {
        "description": "from list-agents",
        "kind": "string",
        "name": "agent-name",
        "optional": false
      },
      {
        "description": "with the country code, such as 919876543210",
        "kind": "string",
        "name": "to-phone-number",
        "optional": false
      },
      {
        "description": "text of a JSON object whose values are strings: what the voice agent should know",
        "kind": "string",
        "name": "call-context",
        "optional": true
      }
    ],
    "rings": true
  }
];
