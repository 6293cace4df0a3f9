"""A campaign: many dockets, of which a bounded number is open, within hours and at a pace."""

import asyncio
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    import voice_calling as vc

    from contacts import Contact, Plan
    from dockets import Docket

MOST_REASONS = 1000  # which a campaign that goes on in a new run passes on


@dataclass
class Report:
    """How many dockets ended in which state, why those that are not completed did not, and what is
    open: `unknown` ones wait for a person, and have the question."""

    counts: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    waiting: int = 0


@workflow.defn
class Campaign:
    @workflow.init
    def __init__(self, given: Any) -> None:
        self.report = Report()
        # Signals to a run that goes on are handled before its plan is read.
        if isinstance(given, dict) and isinstance(given.get("report"), dict):
            vars(self.report).update(given["report"])

    @workflow.run
    async def run(self, given: Any) -> Report:
        try:
            plan = Plan.read(given)
        except ValueError as error:
            raise ApplicationError(str(error), type="InvalidPlan", non_retryable=True) from error
        contacts = self.checked(plan)
        while contacts:
            self.report.waiting = len(contacts)
            await workflow.wait_condition(lambda: len(self.report.open) < plan.max_open)
            if opens_in := plan.opens_in(workflow.time()):
                await workflow.sleep(opens_in)
                continue
            if workflow.info().is_continue_as_new_suggested():
                report = asdict(self.report)
                workflow.continue_as_new(asdict(replace(plan, contacts=contacts, report=report)))
            count = 1 if plan.per_minute else min(plan.max_open - len(self.report.open), 100)
            await asyncio.gather(*(self.begin(plan, it) for it in contacts[:count]))
            contacts = contacts[count:]
            if plan.per_minute:
                await workflow.sleep(60 / plan.per_minute)
        self.report.waiting = 0
        await workflow.wait_condition(lambda: not self.report.open)
        return self.report

    def checked(self, plan: Plan) -> list[Any]:
        """Returns the contacts that may be called, each once as it was given, and reports the
        others."""
        do_not_call = {vc.normalize_number(str(number)) for number in plan.do_not_call}
        contacts: dict[str, Any] = {}
        for index, given in enumerate(plan.contacts):
            own = given.get("external_id") if isinstance(given, dict) else None
            external_id = own if isinstance(own, str) and own else f"contacts[{index}]"
            try:
                contact = Contact.read(given)
            except ValueError as error:
                self.end(external_id, "refused", str(error))
                continue
            if contact.to_phone_number in do_not_call:
                self.end(external_id, "do-not-call")
            else:
                contacts.setdefault(external_id, given)
        return list(contacts.values())

    async def begin(self, plan: Plan, given: Any) -> None:
        contact = Contact.read(given)
        if contact.hours is None and contact.time_zone is None:
            contact = replace(contact, hours=plan.hours, time_zone=plan.time_zone)
        self.report.open.append(contact.external_id)
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

    def end(self, external_id: str, state: str, reason: str = "") -> None:
        self.report.counts[state] = self.report.counts.get(state, 0) + 1
        if reason and state != "completed" and len(self.report.reasons) < MOST_REASONS:
            self.report.reasons[external_id] = f"{state}: {reason:.200}"

    @workflow.signal
    def settled(self, external_id: str, state: str, reason: str = "") -> None:
        """Takes the end of a docket, or the question that it waits with."""
        report = self.report
        if external_id in report.open:
            report.open.remove(external_id)
        elif report.unknown.pop(external_id, None) is None:
            return
        if state == "unknown":
            report.unknown[external_id] = reason[:400]
        else:
            self.end(external_id, state, reason)

    @workflow.query
    def progress(self) -> Report:
        return self.report
