/** Serves the workflows of dockets and campaigns to Restate, and the service's webhook by it. */
import { timingSafeEqual } from 'node:crypto';
import http2 from 'node:http2';
import { gunzipSync } from 'node:zlib';
import * as restate from '@restatedev/restate-sdk';
import { VoiceCallingError } from 'voice-calling';
import { campaign, contact } from './campaign.ts';
import { docket, terminal } from './docket.ts';
import { DEADLINE_MS, HOUR_MS, MINUTE_MS, stop, verify } from './service.ts';

const MAX_DELIVERY_BYTES = 1 << 20;
const SECRET = process.env.VOICE_CALLING_WEBHOOK_SECRET ?? '';
if (!/^[A-Za-z0-9]{24,}$/.test(SECRET)) {
  console.error('VOICE_CALLING_WEBHOOK_SECRET: allowed: 24 or more letters and digits; `openssl rand -hex 24`');
  process.exit(1);
}

/** The endpoint for the service, which reports completed dockets there. Its key is the secret. */
const webhook = restate.object({
  name: 'webhook',
  handlers: {
    deliver: restate.handlers.object.shared({ input: restate.serde.binary, accept: '*/*' }, async (ctx, body: Uint8Array) => {
      const [given, secret] = [Buffer.from(ctx.key), Buffer.from(SECRET)];
      if (given.length !== secret.length || !timingSafeEqual(given, secret)) throw terminal(404, 'another secret');
      const isGzip = body[0] === 0x1f && body[1] === 0x8b;
      const delivery = isGzip ? unzipped(body) : body;
      const retries = { initialRetryInterval: 1_000, maxRetryInterval: MINUTE_MS, maxRetryDuration: HOUR_MS };
      const completion = await ctx.run('verify', () => verify(delivery), retries);
      if (completion?.externalId) await ctx.workflowClient(docket, completion.externalId).completed(completion);
    }),
  },
});

function unzipped(body: Uint8Array): Uint8Array {
  try {
    return gunzipSync(body, { maxOutputLength: MAX_DELIVERY_BYTES });
  } catch (error) {
    throw terminal(400, `the delivery: ${error}`);
  }
}

const endpoint = restate.createEndpointHandler({
  services: [docket, campaign, contact, webhook],
  defaultServiceOptions: {
    // A run that waits leaves this process soon. One that creates is not cut off.
    inactivityTimeout: { seconds: 1 },
    abortTimeout: 2 * DEADLINE_MS,
    asTerminalError: (error) =>
      error instanceof VoiceCallingError && error.nextStep === 'refused' ? terminal(400, String(error)) : undefined,
  },
});
http2.createServer(endpoint).listen(Number(process.env.PORT ?? 9080), '127.0.0.1');
process.once('SIGTERM', stop).once('SIGINT', stop);
