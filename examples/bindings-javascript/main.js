// Calls a customer by the component alone, with bindings that jco makes from it.
//
//     npm run bindings && node main.js +91…
//
// The settings are those of the component: VOICE_CALLING_BASE_URL, VOICE_CALLING_API_TOKEN.
import { env } from 'node:process';

// A create is then sent again only if it was not sent: no phone rings twice. The component reads
// the environment when it is called first.
env.VOICE_CALLING_CREATE_RETRY ??= 'not-sent';
const { agents, dockets, webhooks } = await import('./generated/voice-calling.js');

const [number] = process.argv.slice(2);

try {
  const [agent] = agents.listAgents('org-1').agents;
  console.log('agent', String(agent.agentId), agent.agentName);
  const { docketId } = dockets.createDocketV2({
    agentId: agent.agentId,
    toPhoneNumber: number,
    callContext: JSON.stringify({ name: 'Asha' }),
    externalId: 'crm-1',
  });
  console.log('docket', docketId);

  const { outcome } = dockets.waitForDocket(docketId, { timeoutMs: 60_000 });
  console.log(outcome.tag, outcome.val.closureReason);

  // What the webhook delivers is not signed: the component compares it with the service.
  const delivery = JSON.stringify({ docket_id: docketId, status: 'COMPLETED' });
  console.log('delivery', webhooks.verifyDocketCompleted(delivery).tag);
} catch (error) {
  // A `request-error` of the WIT: its case, and the failure with `kind`, `nextStep` and the rest.
  const failure = error.payload?.val;
  if (failure === undefined) throw error;
  if (failure.mayHaveCreated) {
    console.log('unknown: the phone may ring, so it is not sent again:', failure.message);
    process.exitCode = 3;
  } else {
    console.log(failure.kind, failure.nextStep, failure.message);
    process.exitCode = 1;
  }
}
