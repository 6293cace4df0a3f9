/** The agents of an organization, and the names by which a person knows them. */

export class Agents {
  #names = new Map();

  /** @param organizationId the organization whose agents are listed where none is named */
  constructor(client, organizationId) {
    this.client = client;
    this.organizationId = organizationId;
  }

  async list(organizationId, options) {
    const list = await this.client.agents.list(organizationId, options);
    for (const { agentId, agentName } of list.agents) this.#names.set(String(agentId), agentName);
    return list;
  }

  /** Describes an agent to a person: by its name, if a list had it, or the organization is known. */
  async described(agentId, options) {
    if (!this.#names.has(agentId) && this.organizationId) await this.list(this.organizationId, options).catch(() => {});
    const name = this.#names.get(agentId);
    return name === undefined ? `id ${agentId}, whose name is not known` : `${name} (id ${agentId})`;
  }
}
