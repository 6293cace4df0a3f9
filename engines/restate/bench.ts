/**
 * Measures dockets on Restate beside a mock whose calls take a second, and kills the service on the way:
 * `node bench.ts 10000`. It fails if a phone rang twice, or if a docket has neither ended nor asks a person.
 */
import { setTimeout } from 'node:timers/promises';
import { Site, posted } from './test/site.ts';

const dockets = Number(process.argv[2] ?? 200);
const open = 200;
const kills = 5;

const key = (index: number) => `crm-${index}`;
const order = (index: number) => ({
  agentId: 7,
  pollAfterMs: 3_000,
  toPhoneNumber: `91${String(index).padStart(10, '0')}`,
  callContext: { name: 'Asha', reference: key(index) },
});

await Site.with(['--call-ms', '1000'], async (site) => {
  // Nothing waits for its turn between the claim and the create.
  const env = { VOICE_CALLING_MAX_IN_FLIGHT: String(open) };
  await site.signal('service', 'SIGKILL');
  await site.start('service', env);
  const before = { bytes: site.bytes(), service: site.cpu('service'), server: site.cpu('server') };
  const started = performance.now();
  const states: Record<string, number> = {};
  let submitted = 0;
  let ended = 0;

  /** Runs dockets one after the other; `open` of these do so at once. */
  async function line() {
    while (submitted < dockets) {
      const index = submitted++;
      await site.submit(key(index), order(index));
      const { state } = await site.outcome(key(index));
      states[state] = (states[state] ?? 0) + 1;
      ended++;
    }
  }
  async function kill() {
    for (let killed = 1; killed <= kills; killed++) {
      while (ended < (dockets * killed) / (kills + 1)) await setTimeout(50);
      await site.signal('service', 'SIGKILL');
      await site.start('service', env);
    }
  }
  /** Looks whom the mock has called, and answers questions that no webhook has answered meanwhile. */
  async function look() {
    let asked: string[] = [];
    for (; ended < dockets; await setTimeout(2_000)) {
      await site.look();
      const open = asked;
      asked = await site.asked();
      for (const key of asked.filter((key) => open.includes(key))) {
        const number = order(Number(key.slice(4))).toPhoneNumber;
        const [docketId] = [...site.rang].find(([, it]) => it === number) ?? [];
        const answer = docketId ? { docketId } : { notCreated: 'no phone rang' };
        await posted(`${site.ingress}/docket/${key}/answer`, answer).catch(() => {});
      }
    }
  }
  await Promise.all([...Array.from({ length: Math.min(open, dockets) }, line), kill(), look()]);

  const seconds = (performance.now() - started) / 1000;
  await site.look();
  const rang = new Set(site.rang.values());
  const each = (value: number) => Number((value / dockets).toFixed(2));
  const result = {
    engine: 'restate',
    dockets,
    open,
    kills,
    // Of each docket; `worker` is the service.
    dockets_per_s: Number((dockets / seconds).toFixed(1)),
    server_cpu_ms: each(site.cpu('server') - before.server),
    worker_cpu_ms: each(site.cpu('service') - before.service),
    bytes: Math.round((site.bytes() - before.bytes) / dockets),
    rang: rang.size,
    rang_twice: site.rang.size - rang.size,
    not_created: states['not-created'] ?? 0,
    lost: dockets - (states.completed ?? 0) - (states['not-created'] ?? 0),
  };
  console.log(JSON.stringify(result));
  if (result.rang_twice > 0 || result.lost > 0 || rang.size !== states.completed) process.exitCode = 1;
});
