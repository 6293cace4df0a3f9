"""A docket of the voice-calling service as a Temporal workflow: it is created once, and waited for
until the service's webhook, or else a poll, says that it is completed."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy, SearchAttributeKey
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError

with workflow.unsafe.imports_passed_through():
    from contacts import OWNER, Contact
    from service import DEADLINE, Activities, Outcome

QUESTION = SearchAttributeKey.for_keyword("VoiceCallingQuestion")
MINUTE = timedelta(minutes=1)
# A run that neither creates nor sees an end of its docket is over then: with pauses of up to an
# hour, its history has fewer than 10,000 events.
LONGEST_OPEN = timedelta(days=30)
ONE_ATTEMPT: dict[str, Any] = {
    "retry_policy": RetryPolicy(maximum_attempts=1),
    # Its clock starts when a worker gets the task, and the client gives up before it ends. There is
    # no other timeout: what no worker got stays in the queue, what timed out may have been sent.
    "start_to_close_timeout": 2 * DEADLINE,
}
TO_ITS_END: dict[str, Any] = {
    # What a worker has begun when the run is cancelled gets its answer.
    "cancellation_type": workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
}


async def answer_to(creating: workflow.ActivityHandle[Outcome]) -> Outcome:
    try:
        return await creating
    except ActivityError as error:
        if isinstance(error.cause, CancelledError):  # no worker had begun it
            return Outcome("retry-later", reason="cancelled")
        return Outcome("unknown", reason=str(error.cause or error))


async def result_of(activity: Any, argument: str) -> Outcome:
    """Returns the result of an activity that may run any number of times, or why there is none."""
    try:
        outcome: Outcome = await workflow.execute_activity_method(activity, argument, **ONE_ATTEMPT)
    except ActivityError as error:
        if isinstance(error.cause, CancelledError):
            raise asyncio.CancelledError from error
        return Outcome("retry-later", reason=str(error.cause or error))
    return outcome


@workflow.defn
class Docket:
    @workflow.init
    def __init__(self, given: Any) -> None:
        info = workflow.info()
        self.external_id = info.workflow_id.removeprefix("docket/")
        self.owner = f"{info.workflow_id}/{info.original_execution_run_id}"
        self.docket_id = self.question = self.unanswered = ""
        self.turn = 0
        self.is_unknown = self.is_resumed = False
        self.outcome: Outcome | None = None

    @workflow.run
    async def run(self, given: Any) -> Outcome:
        try:
            contact = Contact.read(given)
            if workflow.info().workflow_id != f"docket/{contact.external_id}":
                raise ValueError(
                    "external_id: allowed: what follows `docket/` in the workflow's id"
                )
        except ValueError as error:
            return await self.end(Outcome("refused", reason=str(error)))
        try:
            while not self.outcome:
                if self.docket_id:
                    await self.poll()
                elif self.is_unknown:
                    await self.pause(None)
                else:
                    await self.create(contact)
        except asyncio.CancelledError:
            reason = self.question if self.is_unknown else "nothing was created"
            reason = "the service goes on with it" if self.docket_id else reason
            self.outcome = self.outcome or Outcome("cancelled", self.docket_id, reason)
        return await self.end(self.outcome)

    async def end(self, outcome: Outcome) -> Outcome:
        await self.settle(outcome)
        return outcome

    async def create(self, contact: Contact) -> None:
        contact = replace(contact, call_context={**contact.call_context, OWNER: self.owner})
        creating = workflow.start_activity_method(
            Activities.create, contact, **ONE_ATTEMPT, **TO_ITS_END
        )
        try:
            await workflow.wait_condition(lambda: creating.done() or self.outcome is not None)
        except asyncio.CancelledError:
            creating.cancel()
            await self.on_answer(contact, await answer_to(creating))
            raise
        if self.outcome:  # the webhook came before the answer
            return
        answer = await answer_to(creating)
        await self.on_answer(contact, answer)
        wait = timedelta(seconds=answer.retry_after_s)
        if answer.state == "not-begun":
            if not wait:
                turn = await result_of(Activities.wait_for_turn, self.external_id)
                wait = timedelta(seconds=turn.retry_after_s)
            if wait:
                await self.pause(wait)
        elif answer.state in ("retry-later", "fix-setting"):
            if answer.state == "fix-setting":
                self.ask(f"Not created yet: {answer.reason}")
            await self.pause(max(self.back_off(), wait))
            self.ask("")

    async def on_answer(self, contact: Contact, answer: Outcome) -> None:
        if answer.state == "created":
            self.docket_id, self.turn = answer.docket_id, 0
        elif answer.state == "unknown":
            self.is_unknown = True
            sent = f"to {contact.to_phone_number} at {workflow.now():%Y-%m-%d %H:%M} UTC"
            self.ask(f"Is there a docket {sent}, of {self.owner}? {answer.reason}")
            await self.settle(replace(answer, reason=self.question))
        elif answer.state == "refused":
            self.outcome = answer
        elif self.is_overdue():
            self.outcome = replace(answer, state="not-created")

    async def poll(self) -> None:
        await self.pause(self.back_off())
        if self.outcome:
            return
        seen = await result_of(Activities.look, self.docket_id)
        is_answered = seen.state in ("open", "completed")
        self.unanswered = "" if is_answered else seen.reason
        self.ask(f"Fix it: {seen.reason}" if seen.state == "fix-setting" else "")
        if seen.state == "completed":
            await self.pause(MINUTE)  # for the webhook: only it has insights
            self.outcome = self.outcome or seen
        elif self.is_overdue():
            state = "unanswered" if self.unanswered else "open"
            self.outcome = self.outcome or Outcome(state, self.docket_id, self.unanswered)

    def is_overdue(self) -> bool:
        return workflow.now() - workflow.info().start_time > LONGEST_OPEN

    def back_off(self) -> timedelta:
        """Returns the next pause: 1, 2, 4 … 60 minutes."""
        self.turn += 1
        return MINUTE * min(1 << (self.turn - 1), 60)

    async def pause(self, longest: timedelta | None) -> None:
        self.is_resumed = False
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self.is_resumed or self.outcome is not None, timeout=longest
            )

    def ask(self, question: str) -> None:
        if question == self.question:
            return
        if question:
            workflow.logger.warning(question)
        self.question = question
        # PostgreSQL and MySQL take no longer ones: the workflow would not be listed.
        workflow.upsert_search_attributes([QUESTION.value_set(question[:255])])

    async def settle(self, outcome: Outcome) -> None:
        """Has the campaign begin another docket."""
        if campaign := workflow.info().parent:
            handle = workflow.get_external_workflow_handle(campaign.workflow_id)
            arguments = [self.external_id, outcome.state, outcome.reason]
            with suppress(ApplicationError):  # it has ended
                await handle.signal("settled", args=arguments)

    @workflow.signal
    def completed(self, docket: Outcome) -> None:
        # A person may have had another one created.
        if docket.owner == self.owner and self.docket_id in ("", docket.docket_id):
            self.outcome = self.outcome or docket

    @workflow.signal
    def resume(self) -> None:
        """Ends a pause: the create is tried again, or the docket polled."""
        self.is_resumed = True

    @workflow.update
    async def resolve(self, docket_id: str | None) -> None:
        """A person's answer: the docket that was created, or None if there is none."""
        if docket_id is None:
            self.outcome = Outcome("not-created", reason="a person says so")
            return
        seen = await result_of(Activities.look, docket_id)
        if seen.owner != self.owner:
            found = seen.reason or f"it is not the docket of {self.owner}"
            raise ApplicationError(f"{docket_id}: {found}")
        self.accepts_again()  # still
        self.docket_id, self.turn, self.is_resumed = seen.docket_id, 0, True
        self.ask("")

    @workflow.update
    def create_again(self) -> None:
        """A person's answer: there is no docket, and one is to be created."""
        self.is_unknown, self.turn, self.is_resumed = False, 0, True
        self.ask("")

    @resolve.validator
    def accepts(self, docket_id: str | None) -> None:
        """Refuses an answer that no one asked for, or without a value: that would fail the task."""
        self.accepts_again()

    @create_again.validator
    def accepts_again(self) -> None:
        if not self.is_unknown or self.docket_id or self.outcome:
            raise ApplicationError("the docket waits for no answer")
