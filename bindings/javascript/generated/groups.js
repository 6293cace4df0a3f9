// Written from wit/ by `cargo xtask bindings generate`. Do not edit.

/**
 * Agents: the voices that make calls. An agent is configured once, before calls
 * are made.
 */
export class Agents {
  #call;

  constructor(call) {
    this.#call = call;
  }

  create(config, options) {
    return this.#call('agents.create', [config], options);
  }

  list(organizationId, options) {
    return this.#call('agents.list', [organizationId], options);
  }
}

/** Calls that are made directly, without a docket. */
export class Calls {
  #call;

  constructor(call) {
    this.#call = call;
  }

  make(request, options) {
    return this.#call('calls.make', [request], options);
  }

  getDetails(taskId, options) {
    return this.#call('calls.get-details', [taskId], options);
  }

  waitForDetails(taskId, options) {
    return this.#call('calls.wait-for-details', [taskId], options);
  }
}

/**
 * Dockets: business tasks, each of which groups the call attempts made for it.
 *
 * A docket is for a task that may need several calls, and reports its completion
 * once, by the webhook, with its insights. For one call whose details you fetch by
 * task id use `calls.make`. Version 2 of the creation adds `externalId` and
 * `created`.
 */
export class Dockets {
  #call;

  constructor(call) {
    this.#call = call;
  }

  createV1(request, options) {
    return this.#call('dockets.create-v1', [request], options);
  }

  create(request, options) {
    return this.#call('dockets.create', [request], options);
  }

  get(docketId, options) {
    return this.#call('dockets.get', [docketId], options);
  }

  waitFor(docketId, options) {
    return this.#call('dockets.wait-for', [docketId], options);
  }

  createMany(requests, options) {
    return this.#call('dockets.create-many', [requests], options);
  }
}

/** What the service sends by itself. */
export class Webhooks {
  #call;

  constructor(call) {
    this.#call = call;
  }

  parse(body) {
    return this.#call('webhooks.parse', [body]);
  }

  verify(body, options) {
    return this.#call('webhooks.verify', [body], options);
  }
}

/** The groups of a client, whose calls are made by `call`. */
export function groups(call) {
  return {
    agents: new Agents(call),
    calls: new Calls(call),
    dockets: new Dockets(call),
    webhooks: new Webhooks(call),
  };
}
