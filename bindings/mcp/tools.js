/** What each tool is, in the order in which agents read them. */
export const TOOLS = [
  {
    "name": "list-agents",
    "rings": false,
    "description": "List the voice agents of an organization: id and name of each.",
    "parameters": [
      { "name": "organization-id", "kind": "string", "optional": false, "description": "the organization's id; ask the user if you do not have it" },
      { "name": "raw", "kind": "bool", "optional": true, "description": "true for the service's whole answer" }
    ]
  },
  {
    "name": "get-docket",
    "rings": false,
    "description": "Look at a docket, a task that needs one or more calls: status, number of calls made, why it was closed; not what the person said, which only its webhook has. COMPLETED means that no further call will be made.",
    "parameters": [
      { "name": "docket-id", "kind": "string", "optional": false, "description": "the docket's UUID" },
      { "name": "raw", "kind": "bool", "optional": true, "description": "true for the service's whole answer" }
    ]
  },
  {
    "name": "wait-for-docket",
    "rings": false,
    "description": "Wait until a docket is completed, then return what get-docket returns. Calls may take hours: pending is a normal answer, and asking again rings no one.",
    "parameters": [
      { "name": "docket-id", "kind": "string", "optional": false, "description": "the docket's UUID" },
      { "name": "timeout-s", "kind": "u32", "optional": true, "description": "how long to wait, 1 to 600 seconds; 50 if absent; keep it below your own timeout" }
    ]
  },
  {
    "name": "get-call",
    "rings": false,
    "description": "Look at a call: status, seconds, the person's interest, next action. Not found means not yet known, until the call is over, or an unknown id.",
    "parameters": [
      { "name": "task-id", "kind": "string", "optional": false, "description": "the call's task id" },
      { "name": "raw", "kind": "bool", "optional": true, "description": "true for the service's whole answer" }
    ]
  },
  {
    "name": "verify-docket-completed",
    "rings": false,
    "description": "Verify a webhook delivery, which anyone may have sent, by asking the service. verdict is confirmed, contradicted (do not act on it) or not-a-completion; with it what get-docket returns, and the members of the delivery that are unverified or contradicted.",
    "parameters": [
      { "name": "body", "kind": "string", "optional": false, "description": "the delivery, as it was received" }
    ]
  },
  {
    "name": "create-docket-and-call",
    "rings": true,
    "description": "RINGS A PERSON'S TELEPHONE and costs money. Creates a docket: the service calls until someone answers or its attempts are exhausted. Calling this again calls the person again, whatever the external id. If the error says that the outcome is unknown, a phone may be ringing: do not repeat, ask a person.",
    "parameters": [
      { "name": "agent-id", "kind": "s64", "optional": false, "description": "from list-agents" },
      { "name": "to-phone-number", "kind": "string", "optional": false, "description": "12 digits with the country code, such as 910000000000" },
      { "name": "call-context", "kind": "string", "optional": false, "description": "text of a JSON object with what the voice agent should know" },
      { "name": "external-id", "kind": "string", "optional": true, "description": "an identifier of yours, such as a CRM id; it does not prevent a second call" }
    ]
  },
  {
    "name": "place-call",
    "rings": true,
    "description": "RINGS A PERSON'S TELEPHONE and costs money. Places one call, without retries if the person does not answer; otherwise prefer create-docket-and-call. Calling this again calls the person again. If the error says that the outcome is unknown, a phone may be ringing: do not repeat, ask a person.",
    "parameters": [
      { "name": "agent-name", "kind": "string", "optional": false, "description": "from list-agents" },
      { "name": "to-phone-number", "kind": "string", "optional": false, "description": "with the country code, such as 910000000000" },
      { "name": "call-context", "kind": "string", "optional": true, "description": "text of a JSON object whose values are strings: what the voice agent should know" }
    ]
  }
];
