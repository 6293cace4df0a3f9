/** Services that the mock cannot be: one that waits for company, and one that is silent. */
import { once } from 'node:events';
import { createServer } from 'node:http';

/** Answers nobody before `count` requests are there at the same time, each with its own name. */
export async function companionable(count) {
  const waiting = [];
  const service = await listening((request, response) => {
    const organization = new URL(request.url, 'http://service').searchParams.get('organizationId');
    waiting.push(() => response.end(JSON.stringify([{ agent_id: 1, agent_name: organization }])));
    if (waiting.length === count) for (const answer of waiting.splice(0)) answer();
  });
  return service;
}

/** Takes requests and never answers; `received` counts them. */
export async function silent() {
  const service = await listening((request) => {
    service.received += 1;
    request.resume();
  });
  service.received = 0;
  return service;
}

/** An address where nobody listens. */
export async function nobody() {
  const service = await listening(() => {});
  service.close();
  return service.url;
}

async function listening(answer) {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
