"""The voice-calling service as activities: creating a docket, looking at one."""

import asyncio
import json
import logging
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any

import voice_calling as vc
from temporalio import activity

from contacts import OWNER, Contact

DEADLINE = timedelta(seconds=30)  # of a create
LONGEST_TURN_S = 30.0  # for which a create waits for others
RESERVED_S = 10.0
MOST_WAITING = 50  # of the activities that a worker runs at a time
FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 3600.0


@dataclass(frozen=True)
class Outcome:
    """Of a workflow, `README.md` has the states. Of a create `created`, `not-begun`, or what
    follows from its failure: `retry-later`, `fix-setting`, `refused`, `unknown`."""

    state: str
    docket_id: str = ""
    reason: str = ""
    retry_after_s: float = 0
    owner: Any = None  # as the docket's call_context has it
    insights: Any = None  # from the webhook, which anyone may send: the service cannot confirm them


def outcome_of(error: vc.VoiceCallingError) -> Outcome:
    reason = f"{type(error).__name__}: {error}"
    return Outcome(error.next_step, reason=reason, retry_after_s=error.retry_after or 0)


class Brake:
    """Keeps a worker from sending creates to a service that fails: the package's breaker, which is
    resumed after a pause, and then lets one create find out whether the service has recovered."""

    def __init__(self) -> None:
        self.breaker = vc.Breaker()
        self.pause_s, self.opens_at = FIRST_PAUSE_S, 0.0
        self.ended = asyncio.Event()
        self.waiting = 0
        self.reserved: dict[str, asyncio.TimerHandle] = {}

    def begin(self, external_id: str) -> Outcome | None:
        """Returns why a create may not begin now, or `None` if it begins."""
        if timer := self.reserved.pop(external_id, None):
            timer.cancel()
            return None
        while (decision := self.breaker.decide()) != "begin":
            now = time.monotonic()
            if decision == "wait":
                return Outcome("not-begun", reason="creates in flight have to end first")
            if not self.opens_at:
                self.opens_at = now + self.pause_s
                self.pause_s = min(2 * self.pause_s, LONGEST_PAUSE_S)
                logging.error("no docket is created for a while: %s", self.breaker.reason)
            elif now < self.opens_at:
                left_s = self.opens_at - now
                return Outcome("not-begun", reason=self.breaker.reason or "", retry_after_s=left_s)
            else:
                self.opens_at = 0
                self.breaker.resume()
        return None

    async def reserve(self, external_id: str) -> Outcome:
        """Waits until a create may begin, and keeps its turn for a short time."""
        latest = time.monotonic() + LONGEST_TURN_S
        self.waiting += 1
        try:
            while wait := self.begin(external_id):
                if self.waiting > MOST_WAITING and not wait.retry_after_s:
                    return replace(wait, retry_after_s=RESERVED_S)
                if wait.retry_after_s or time.monotonic() > latest:
                    return wait
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.ended.wait(), 1)
        finally:
            self.waiting -= 1
        release = asyncio.get_running_loop().call_later(RESERVED_S, self.release, external_id)
        self.reserved[external_id] = release
        return Outcome("reserved")

    def release(self, external_id: str) -> None:
        del self.reserved[external_id]
        self.end(vc.NotBegunError("its turn was not taken"))

    def end(self, error: vc.VoiceCallingError | None) -> None:
        if error:
            self.breaker.on_failure(error)
            self.pause_s = max(self.pause_s, error.retry_after or 0)
        else:
            self.breaker.on_success()
            self.pause_s = FIRST_PAUSE_S
        self.ended.set()
        self.ended = asyncio.Event()


class Activities:
    def __init__(self, voice: vc.AsyncVoiceClient) -> None:
        self.voice = voice.with_options(timeout=DEADLINE.total_seconds(), max_retries=0)
        self.brake = Brake()

    @activity.defn
    async def create(self, contact: Contact) -> Outcome:
        info = activity.info()
        if contact.call_context[OWNER] != f"{info.workflow_id}/{info.workflow_run_id}":
            return Outcome("unknown", reason="the workflow was reset: it may have created before")
        # Here, since a task may have waited in the queue until the hours were over.
        if opens_in := contact.opens_in(time.time()):
            return Outcome("not-begun", reason="not within its hours", retry_after_s=opens_in)
        if wait := self.brake.begin(contact.external_id):
            return wait
        unanswered = vc.OutcomeUnknownError("no answer", next_step="unknown")
        error: vc.VoiceCallingError | None = unanswered
        request = asdict(contact)
        del request["hours"], request["time_zone"]
        try:
            docket = await self.voice.dockets.create(**request)
            error = None
        except vc.VoiceCallingError as failed:
            error = failed
            return outcome_of(failed)
        except asyncio.CancelledError:  # the worker ends before the answer
            return outcome_of(unanswered)
        finally:
            self.brake.end(error)
        return Outcome("created", docket.docket_id)

    @activity.defn
    async def wait_for_turn(self, external_id: str) -> Outcome:
        """Not in `create`, since a worker may be killed meanwhile: nothing was sent."""
        return await self.brake.reserve(external_id)

    @activity.defn
    async def look(self, docket_id: str) -> Outcome:
        """Returns the docket as the service has it, or why the service does not say."""
        try:
            claim = json.dumps({"docket_id": docket_id, "status": "COMPLETED"})
            return await self.verify(claim) or Outcome("open")
        except vc.VoiceCallingError as error:
            return outcome_of(error)

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
