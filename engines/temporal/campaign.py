"""A campaign: many dockets, of which a bounded number is open, at a pace."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from dockets import Contact, Docket


@dataclass(frozen=True)
class Plan:
    contacts: list[Contact]
    max_open: int
    per_minute: float | None = None
    open: list[str] = field(default_factory=list)  # begun before, and no more in `contacts`
    counts: dict[str, int] = field(default_factory=dict)


@workflow.defn
class Campaign:
    @workflow.init
    def __init__(self, plan: Plan) -> None:
        self.open, self.counts = set(plan.open), Counter(plan.counts)
        self.max_open = plan.max_open

    @workflow.run
    async def run(self, plan: Plan) -> dict[str, int]:
        contacts = list({contact.external_id: contact for contact in plan.contacts}.values())
        while contacts:
            await workflow.wait_condition(lambda: len(self.open) < self.max_open)
            if workflow.info().is_continue_as_new_suggested():
                reached = replace(plan, open=sorted(self.open), counts=dict(self.counts))
                workflow.continue_as_new(replace(reached, contacts=contacts))
            count = 1 if plan.per_minute else min(self.max_open - len(self.open), 100)
            await asyncio.gather(*map(self.begin, contacts[:count]))
            contacts = contacts[count:]
            if plan.per_minute:
                await workflow.sleep(60 / plan.per_minute)
        await workflow.wait_condition(lambda: not self.open)
        return dict(self.counts)

    async def begin(self, contact: Contact) -> None:
        self.open.add(contact.external_id)
        try:
            await workflow.start_child_workflow(
                Docket.run,
                contact,
                id=f"docket/{contact.external_id}",
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            )
        except WorkflowAlreadyStartedError:
            self.settled(contact.external_id, "known-before")

    @workflow.signal
    def settled(self, external_id: str, state: str) -> None:
        if external_id in self.open:
            self.open.remove(external_id)
            self.counts[state] += 1
