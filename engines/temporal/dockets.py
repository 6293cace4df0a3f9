"""Dockets of the voice-calling service as Temporal workflows: each is created once, and waited for
until the service's webhook, or else a poll, says that it is completed. `worker.py` runs them."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.common import RetryPolicy, SearchAttributeKey
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    import voice_calling as vc

QUESTION = SearchAttributeKey.for_keyword("VoiceCallingQuestion")
OWNER = "temporal_workflow"  # the member of a docket's call_context that names its workflow and run
DEADLINE = timedelta(seconds=30)  # of a create
LONGEST_OPEN = timedelta(days=30)
ONE_ATTEMPT: dict[str, Any] = {
    "retry_policy": RetryPolicy(maximum_attempts=1),
    # Its clock starts when a worker gets the task, and the client gives up before it ends. There is
    # no other timeout: what no worker got stays in the queue, what timed out may have been sent.
    "start_to_close_timeout": 2 * DEADLINE,
}


@dataclass(frozen=True)
class Contact:
    external_id: str  # yours; after `docket/` it is the id of the workflow
    agent_id: int
    to_phone_number: str
    call_context: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Of a workflow: `completed`, `open` (after 30 days), `refused` (by the service), `not-created`
    (by a person's word). Of a create also `created`, `unknown`, `later` (nothing was created)."""

    state: str
    docket_id: str = ""
    reason: str = ""
    retry_after_s: float | None = None
    owner: Any = None  # as the docket's call_context has it
    insights: Any = None  # from the webhook, which anyone may send: the service cannot confirm them


def outcome_of(error: vc.VoiceCallingError) -> Outcome:
    states = {"retry-later": "later", "fix-setting": "later", "refused": "refused"}
    state = states.get(error.next_step, "unknown")
    reason = f"{type(error).__name__}: {error}"
    return Outcome(state, reason=reason, retry_after_s=error.retry_after)


class Activities:
    def __init__(self, voice: vc.AsyncVoiceClient) -> None:
        self.voice = voice.with_options(timeout=DEADLINE.total_seconds(), max_retries=0)

    @activity.defn
    async def create(self, contact: Contact) -> Outcome:
        info = activity.info()
        if contact.call_context[OWNER] != f"{info.workflow_id}/{info.workflow_run_id}":
            return Outcome("unknown", reason="the workflow was reset: it may have created before")
        try:
            docket = await self.voice.dockets.create(**asdict(contact))
        except vc.VoiceCallingError as error:
            return outcome_of(error)
        return Outcome("created", docket.docket_id)

    @activity.defn
    async def verify(self, delivery: str) -> Outcome | None:
        """Returns the docket that a webhook names, `completed` if the service confirms that."""
        verification = await self.voice.webhooks.verify(delivery)
        if verification is None:
            return None
        insights, docket = verification.delivered.call_insights, verification.docket
        return Outcome(
            "completed" if isinstance(verification, vc.Confirmed) else "open",
            docket.docket_id,
            owner=(docket.call_context or {}).get(OWNER),
            insights=insights
            and {
                "call_disposition": insights.call_disposition,
                "call_metadata": insights.call_metadata,
            },
        )


@workflow.defn
class Docket:
    @workflow.init
    def __init__(self, contact: Contact) -> None:
        info = workflow.info()
        self.owner = f"{info.workflow_id}/{info.original_execution_run_id}"
        self.contact = replace(contact, call_context={**contact.call_context, OWNER: self.owner})
        self.docket_id = ""
        self.is_unknown = self.is_resumed = False
        self.outcome: Outcome | None = None

    @workflow.run
    async def run(self, _: Contact) -> Outcome:
        turn = 0
        while not self.outcome:
            pause = timedelta(minutes=min(2**turn, 60))
            if self.docket_id:
                await self.poll(pause)
            elif self.is_unknown:
                await self.pause(None)
            else:
                await self.create(pause)
            turn += 1
        await self.settle(self.outcome.state)
        return self.outcome

    async def create(self, pause: timedelta) -> None:
        create = workflow.start_activity_method(Activities.create, self.contact, **ONE_ATTEMPT)
        await workflow.wait_condition(lambda: create.done() or self.outcome is not None)
        if self.outcome:  # the webhook came before the answer
            return
        try:
            answer = create.result()
        except ActivityError as error:
            answer = Outcome("unknown", reason=str(error.cause or error))
        if answer.state == "created":
            self.docket_id = answer.docket_id
        elif answer.state == "refused":
            self.outcome = answer
        elif answer.state == "later":
            self.ask(f"Not created yet: {answer.reason}")
            wait_s = answer.retry_after_s
            await self.pause(pause if wait_s is None else timedelta(seconds=wait_s))
            self.ask("")
        else:
            self.is_unknown = True
            self.ask(f"Is there a docket of {self.owner}? {answer.reason}")
            await self.settle("unknown")

    async def poll(self, pause: timedelta) -> None:
        await self.pause(pause)
        if self.outcome:
            return
        is_overdue = workflow.now() - workflow.info().start_time > LONGEST_OPEN
        with suppress(ActivityError):  # the service cannot be asked now
            docket = await self.look(self.docket_id)
            if docket.state == "completed":
                await self.pause(timedelta(minutes=1))  # for the webhook: only it has insights
            if docket.state == "completed" or is_overdue:
                self.outcome = self.outcome or docket

    async def look(self, docket_id: str) -> Outcome:
        claim = json.dumps({"docket_id": docket_id, "status": "COMPLETED"})
        seen = await workflow.execute_activity_method(Activities.verify, claim, **ONE_ATTEMPT)
        return seen or Outcome("open")

    async def pause(self, longest: timedelta | None) -> None:
        self.is_resumed = False
        with suppress(TimeoutError):
            await workflow.wait_condition(
                lambda: self.is_resumed or self.outcome is not None, timeout=longest
            )

    def ask(self, question: str) -> None:
        if question:
            workflow.logger.warning(question)
        # PostgreSQL and MySQL take no longer ones: the workflow would not be listed.
        workflow.upsert_search_attributes([QUESTION.value_set(question[:255])])

    async def settle(self, state: str) -> None:
        """Has the campaign begin another docket."""
        if campaign := workflow.info().parent:
            handle = workflow.get_external_workflow_handle(campaign.workflow_id)
            with suppress(ApplicationError):  # it has ended
                await handle.signal("settled", args=[self.contact.external_id, state])

    @workflow.signal
    def completed(self, docket: Outcome) -> None:
        if docket.owner == self.owner:
            self.outcome = self.outcome or docket

    @workflow.signal
    def resume(self) -> None:
        """Ends a pause: the create is tried again, or the docket polled."""
        self.is_resumed = True

    @workflow.update
    async def resolve(self, docket_id: str | None) -> None:
        """A person's answer: the docket that was created, or None if there is none."""
        if docket_id is None:
            self.outcome = Outcome("not-created")
        elif (await self.look(docket_id)).owner != self.owner:
            raise ApplicationError(f"{docket_id} is not the docket of {self.owner}")
        else:
            self.docket_id, self.is_resumed = docket_id, True
            self.ask("")

    @resolve.validator
    def accepts(self, docket_id: str | None) -> None:
        """Refuses an answer that no one asked for, or without a value: that would fail the task."""
        if not self.is_unknown or self.docket_id or self.outcome:
            raise ApplicationError("the docket waits for no answer")
