"""Reminds customers by telephone that their policies are about to end.

componentize-py makes a WebAssembly component of this file. `wit_world` is generated from
../wit: its exports are what is implemented here, its imports are the functions of
voice-calling. An error of such a function is raised as `Err`, with the error in `value`.
"""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.renewals import (
    Campaign,
    Completion,
    Customer,
    Ending,
    Ending_Completed,
    Ending_LookBeforeYouCallAgain,
    Ending_NotCalled,
    Ending_Pending,
    Reminder,
)
from wit_world.imports import agents, dockets, types


class Renewals(exports.Renewals):
    """The interface `renewals`."""

    def remind(self, campaign: Campaign, customers: list[Customer]) -> list[Reminder]:
        agent_id = find_agent(campaign)
        # Every docket is created before the first is waited for: the service works on all
        # of them at the same time.
        reminders = [call(agent_id, customer) for customer in customers]
        for reminder in reminders:
            if reminder.docket_id is not None:
                reminder.ending = wait_for(reminder.docket_id, campaign.wait_ms)
        return reminders


def find_agent(campaign: Campaign) -> int:
    try:
        found = agents.list_agents(campaign.organization_id, None).agents
    except Err as error:
        raise Err(f"the agents cannot be listed: {in_words(error.value)}") from error
    ids = [agent.agent_id for agent in found if agent.agent_name == campaign.agent_name]
    match ids:
        case [int(agent_id)]:
            return agent_id
    raise Err(f"{len(ids)} agents have the name {campaign.agent_name}; expected one")


def call(agent_id: int, customer: Customer) -> Reminder:
    """Makes the customer's phone ring. The component has repeated what may be repeated:
    whatever error comes, it is not tried again here."""
    context = {
        "reference": customer.reference,
        "customer_name": customer.name,
        "renewal_date": customer.renewal_date,
    }
    request = types.DocketRequestV2(
        agent_id=agent_id,
        to_phone_number=customer.phone_number,
        call_context=json.dumps(context),
        external_id=customer.reference,
        extra=None,
    )
    try:
        docket = dockets.create_docket_v2(request, None)
    except Err as error:
        why = in_words(error.value)
        unknown = may_have_rung(error.value)
        ending = Ending_LookBeforeYouCallAgain(why) if unknown else Ending_NotCalled(why)
        return Reminder(customer.reference, None, ending)
    return Reminder(customer.reference, docket.docket_id, Ending_Pending("just created"))


def wait_for(docket_id: str, wait_ms: int) -> Ending:
    wait = types.WaitOptions(timeout_ms=wait_ms, not_found_is_pending=None)
    try:
        outcome = dockets.wait_for_docket(docket_id, wait, None).outcome
    except Err as error:
        return Ending_Pending(in_words(error.value))
    match outcome:
        case types.DocketOutcome_Completed(docket):
            return Ending_Completed(Completion(docket.closure_reason, docket.outbound_call_count))
    return Ending_Pending(f"not completed within {wait_ms} ms")


def may_have_rung(error: types.RequestError) -> bool:
    """Whether a docket may exist although its creation failed."""
    match error:
        case types.RequestError_ExecutionFailed():
            return True
    return error.value.may_have_created


def in_words(error: types.RequestError) -> str:
    match error:
        case types.RequestError_ExecutionFailed():
            return "the host could not run the component"
    return error.value.message
