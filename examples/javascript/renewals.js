// Reminds customers by telephone that their policies are about to end.
//
// componentize-js makes a WebAssembly component of this file. What is imported are the
// functions of voice-calling, what is exported is the interface `renewals` of ../wit. An
// error of an imported function is thrown, with the error itself in `payload`; what an
// exported function throws is its error.

import { listAgents } from 'voice-calling:client/agents@0.1.0';
import { createDocketV2, waitForDocket } from 'voice-calling:client/dockets@0.1.0';

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
    const named = found.value.filter((agent) => agent.agentName === agentName);
    // An id is a BigInt: it may have more digits than a number can hold.
    if (named.length === 1 && named[0].agentId !== undefined) return named[0].agentId;
    throw `${named.length} agents have the name ${agentName}, and allowed is one`;
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
    const options = { timeoutMs: waitMs, notFoundIsPending: false };
    const waited = attempt(() => waitForDocket(docketId, options));
    if (waited.error) return pending(inWords(waited.error));
    if (!waited.value.completed) return pending(`not completed within ${waitMs} ms`);
    const { closureReason, outboundCallCount } = waited.value.docket;
    return { tag: 'completed', val: { reason: closureReason, calls: outboundCallCount } };
}

const pending = (why) => ({ tag: 'pending', val: why });

const LEAVES_IT_OPEN = [
    'execution-failed',
    'permanent-outcome-unknown',
    'permanent-unexpected-response',
    'unavailable',
];

// Whether a docket may exist although its creation failed.
function mayHaveRung({ tag, val }) {
    if (LEAVES_IT_OPEN.includes(tag)) return true;
    // An attempt before the last may have been answered in a way that leaves it open.
    return (val.attempts ?? []).some(
        ({ status }) => [3, 5].includes(Math.floor(status / 100)) || [408, 409].includes(status),
    );
}

function inWords({ tag, val }) {
    switch (tag) {
        case 'execution-failed':
            return 'the host could not run the component';
        case 'permanent-configuration':
            return `${val.variable}: found ${val.found}, and allowed is ${val.allowed}`;
        case 'permanent-invalid-input':
            return `${val.field}: found ${val.found}, and allowed is ${val.allowed}`;
        default:
            return val.message;
    }
}

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
