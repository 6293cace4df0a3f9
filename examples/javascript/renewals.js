// Reminds customers by telephone that their policies are about to end.
//
// componentize-js makes a WebAssembly component of this file. What is imported are the
// functions of voice-calling, what is exported is the interface `renewals` of ../wit. An
// error of an imported function is thrown, with the error itself in `payload`; what an
// exported function throws is its error.

import { listAgents } from 'voice-calling:client/agents@0.2.0';
import { createDocketV2, waitForDocket } from 'voice-calling:client/dockets@0.2.0';

export const renewals = {
    remind(campaign, customers) {
        const agentId = findAgent(campaign);
        // Every docket is created before the first is waited for: the service works on all
        // of them at the same time.
        const reminders = customers.map((customer) => call(agentId, customer));
        return reminders.map((reminder) =>
            reminder.docketId === undefined
                ? reminder
                : { ...reminder, ending: waitFor(reminder.docketId, campaign.waitMs) },
        );
    },
};

function findAgent({ organizationId, agentName }) {
    const found = attempt(() => listAgents(organizationId));
    if (found.error) throw `the agents cannot be listed: ${inWords(found.error)}`;
    const named = found.value.agents.filter((agent) => agent.agentName === agentName);
    // An id is a BigInt: it may have more digits than a number can hold.
    if (named.length === 1 && named[0].agentId !== undefined) return named[0].agentId;
    throw `${named.length} agents have the name ${agentName}; expected one`;
}

// Makes the customer's phone ring. The component has repeated what may be repeated:
// whatever error comes, it is not tried again here.
function call(agentId, { reference, name, phoneNumber, renewalDate }) {
    const context = { reference, customer_name: name, renewal_date: renewalDate };
    const created = attempt(() =>
        createDocketV2({
            agentId,
            toPhoneNumber: phoneNumber,
            callContext: JSON.stringify(context),
            externalId: reference,
        }),
    );
    if (created.error) {
        const tag = mayHaveRung(created.error) ? 'look-before-you-call-again' : 'not-called';
        return { reference, ending: { tag, val: inWords(created.error) } };
    }
    return { reference, docketId: created.value.docketId, ending: pending('just created') };
}

function waitFor(docketId, waitMs) {
    const waited = attempt(() => waitForDocket(docketId, { timeoutMs: waitMs }));
    if (waited.error) return pending(inWords(waited.error));
    const { tag, val: docket } = waited.value.outcome;
    if (tag === 'pending') return pending(`not completed within ${waitMs} ms`);
    const { closureReason, outboundCallCount } = docket;
    return { tag: 'completed', val: { reason: closureReason, calls: outboundCallCount } };
}

const pending = (why) => ({ tag: 'pending', val: why });

// Whether a docket may exist although its creation failed.
const mayHaveRung = ({ tag, val }) => tag === 'execution-failed' || val.mayHaveCreated;

const inWords = ({ tag, val }) =>
    tag === 'execution-failed' ? 'the host could not run the component' : val.message;

// The value that a function of the client returns, or its error. Anything else that is
// thrown is a mistake in this file.
function attempt(imported) {
    try {
        return { value: imported() };
    } catch (thrown) {
        if (thrown?.payload === undefined) throw thrown;
        return { error: thrown.payload };
    }
}
