"""On Temporal's own server, counted at the mock: no docket is created twice, and none is lost."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from harness import FOLDER, Site, until
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowUpdateFailedError,
)
from temporalio.testing import ActivityEnvironment
from temporalio.worker import Worker
from voice_calling.testing import LOST, UNREACHABLE, Answer, ScriptedService

import service
from campaign import Campaign
from contacts import OWNER, Contact, Plan
from dockets import Docket
from service import Activities

pytestmark = pytest.mark.anyio
ONCE = {"910000000000": 1}
HELD = ("--call-ms", "3600000")  # until `end_calls`


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    # With so short a history, the test's campaign is continued as new. The tests end processes, not
    # the machine: no write is lost.
    options = ["--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40"]
    made = Site(tmp_path, *options, "--sqlite-pragma", "synchronous=OFF")
    yield made
    made.close()


async def test_the_first_docket_by_the_page(site: Site) -> None:
    site.start_mock("--call-ms", "500")
    block = re.search(r"```sh\n(.*?)```", (FOLDER / "README.md").read_text(), re.DOTALL)
    assert block
    commands = block[1].replace("7233", str(site.temporal_port))
    commands += commands[commands.index("temporal workflow execute") :]  # its last one again
    for file in FOLDER.glob("*.py"):
        shutil.copy(file, site.folder)
    script = f"trap 'kill $(jobs -p); wait' EXIT\nset -e\n{commands}"
    run = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=600,
        env={**site.environ, "WEBHOOK_PORT": str(site.webhook_port)},
        cwd=site.folder,
    )
    assert run.stdout.count('"state":"completed"') == 2, run.stdout + run.stderr
    assert await site.rang() == ONCE


@pytest.mark.parametrize("victim", ["worker", "server"])
@pytest.mark.parametrize("moment", ["before the create", "in flight", "answered", "waiting"])
async def test_a_docket_survives_a_kill(site: Site, victim: str, moment: str) -> None:
    fault = {
        "before the create": ["--faults", "create-docket-v2:429:retry-after=5"],
        "in flight": ["--faults", "create-docket-v2:created-then-unanswered"],
        "answered": ["--delay-ms", "1500"],
        "waiting": [],
    }[moment]
    await site.start(*HELD, *fault)
    handle = await site.begin()
    await until(site.creates)
    if moment in ("before the create", "waiting"):
        await until(lambda: site.events(handle, "TIMER_STARTED"))
    if moment == "answered":  # and the answer cannot be recorded
        site.signal("server", signal.SIGSTOP)

        async def is_answered() -> bool:
            status: int = (await site.creates())[0]["status"]
            return status == 200

        await until(is_answered)
        if victim == "worker":
            site.signal("worker", signal.SIGKILL)
            site.signal("server", signal.SIGCONT)
            await site.start_worker()
        else:
            await site.kill_and_restart("server")
    else:
        await site.kill_and_restart(victim)
    await until(site.rang)
    await site.end_calls()
    handle = site.client.get_workflow_handle_for(Docket.run, handle.id)
    outcome = await handle.result()
    assert (outcome.state, outcome.insights["call_disposition"]) == ("completed", "INTERESTED")
    assert await site.rang() == ONCE
    assert len(await site.creates()) == (2 if moment == "before the create" else 1)


async def test_a_create_that_was_lost_with_its_worker_waits_for_a_person(site: Site) -> None:
    await site.start("--faults", "create-docket-v2:hang")
    handle = await site.begin()
    await until(site.creates)
    await site.kill_and_restart("worker")
    assert await until(site.questions) == [handle.id]
    await handle.execute_update(Docket.resolve, None)
    assert (await handle.result()).state == "not-created"
    assert len(await site.creates()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_worker_that_is_asked_to_end_reports_the_answer_to_its_create(
    site: Site, number: int
) -> None:
    await site.start("--delay-ms", "2000")
    handle = await site.begin()
    await until(site.creates)
    site.signal("worker", number)
    await asyncio.to_thread(site.processes["worker"].wait, 120)
    assert len(await site.events(handle, "ACTIVITY_TASK_COMPLETED")) == 1


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (None, "created"),
        (UNREACHABLE, "retry-later"),
        (Answer(429), "retry-later"),
        *((Answer(status), "fix-setting") for status in (401, 402, 403, 404)),
        (LOST, "unknown"),
        *((Answer(status), "unknown") for status in (302, 408, 409, 500, 503)),
        *((Answer(status), "refused") for status in (400, 422)),
    ],
)
async def test_a_create_is_tried_later_only_if_nothing_was_created(reply: Any, state: str) -> None:
    scripted, environment = ScriptedService(*[reply] if reply else []), ActivityEnvironment()
    activities = Activities(scripted.async_client(create_retry="not-sent"))
    owner = f"{environment.info.workflow_id}/{environment.info.workflow_run_id}"
    contact = Contact("crm-1001", 7, "910000000000", {OWNER: owner})
    outcome = await environment.run(activities.create, contact)
    assert (outcome.state, len(scripted.requests)) == (state, int(reply is not UNREACHABLE))


async def test_a_create_that_waited_in_the_queue_until_its_hours_were_over_is_not_sent() -> None:
    scripted, environment = ScriptedService(), ActivityEnvironment()
    activities = Activities(scripted.async_client(create_retry="not-sent"))
    owner = f"{environment.info.workflow_id}/{environment.info.workflow_run_id}"
    opens = datetime.now(UTC) + timedelta(days=2)
    hours: Any = {"hours": f"{opens:%a} 09:00-10:00", "time_zone": "UTC"}
    contact = Contact("crm-1001", 7, "910000000000", {OWNER: owner}, **hours)
    outcome = await environment.run(activities.create, contact)
    assert (outcome.state, outcome.retry_after_s > 86_400) == ("not-begun", True)
    assert scripted.requests == []


@pytest.mark.parametrize(("status", "sent"), [(503, 5), (401, 5), (422, 25)])
async def test_a_worker_stops_after_failures_and_then_sends_one_create_to_find_out(
    status: int, sent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    clock = SimpleNamespace(monotonic=lambda: now_s, time=time.time)
    monkeypatch.setattr(service, "time", clock)
    scripted, environment = ScriptedService(Answer(status, repeated=True)), ActivityEnvironment()
    activities = Activities(scripted.async_client(create_retry="not-sent"))
    owner = f"{environment.info.workflow_id}/{environment.info.workflow_run_id}"
    contact = Contact("crm-1001", 7, "910000000000", {OWNER: owner})

    async def states() -> Counter[str]:
        """Creates sixty dockets as the workflows do, until each has a pause or an end."""

        async def state(number: int) -> str:
            own = replace(contact, external_id=f"crm-{number}")
            while (outcome := await environment.run(activities.create, own)).state == "not-begun":
                if outcome.retry_after_s:
                    break
                await environment.run(activities.wait_for_turn, own.external_id)
            return outcome.state

        return Counter(await asyncio.gather(*map(state, range(60))))

    assert (await states())["not-begun"] == 60 - sent
    assert len(scripted.requests) == sent
    now_s = service.FIRST_PAUSE_S
    assert (await states())["not-begun"] == 59
    assert len(scripted.requests) == sent + 1


async def test_a_webhook_counts_that_comes_before_the_answer(site: Site) -> None:
    await site.start("--faults", "create-docket-v2:completed-first:delay-ms=3600000")
    handle = await site.begin()
    outcome = await handle.result()
    assert outcome.insights
    assert (await site.creates())[0]["status"] is None  # still
    assert await site.rang() == ONCE


async def test_forged_and_doubled_webhooks_do_no_harm(site: Site) -> None:
    await site.start(*HELD, "--faults", "webhook:twice")
    handle = await site.begin()
    await until(lambda: site.events(handle, "TIMER_STARTED"))
    docket_id = (await site.seen())["entries"][0]["id"]
    body = {"docket_id": docket_id, "call_insights": {"call_disposition": "FORGED"}}
    assert await site.deliver(json.dumps(body)) == 503
    assert await site.deliver(json.dumps(body), in_chunks=True) == 503
    assert await site.deliver(json.dumps({**body, "docket_id": "0" * 8 + docket_id[8:]})) == 503
    assert await site.deliver('{"event": "call"}') == 204
    assert await site.deliver("{") == 400
    assert await site.deliver(json.dumps(body), path="another-secret-0123456789") == 404
    assert await site.deliver(json.dumps(body), headers={"content-encoding": "gzip"}) == 415
    assert await site.answer_to_head("content-length: 1048577") == 413
    assert await site.answer_to_head("transfer-encoding: chunked", "", "100001") == 413
    assert await site.answer_to_head("content-length: 1048577", "expect: 100-continue") == 413
    assert await site.answer_to_head("content-length: 2", "expect: 100-continue") == 100
    await site.end_calls()
    outcome = await handle.result()
    assert outcome.insights["call_disposition"] == "INTERESTED"
    assert await site.deliver(json.dumps(body)) == 204  # it has ended
    assert (await handle.result()) == outcome
    assert await site.rang() == ONCE


async def test_a_wrong_token_pauses_until_it_is_right(site: Site) -> None:
    site.start_mock("--call-ms", "500")
    token, site.environ["VOICE_CALLING_API_TOKEN"] = site.environ["VOICE_CALLING_API_TOKEN"], "no"
    await site.start_server()
    await site.start_worker()
    handle = await site.begin()
    assert await until(site.questions) == [handle.id]
    await handle.signal(Docket.resume)

    async def pauses_for_longer() -> bool:
        return await site.pauses(handle) == [timedelta(minutes=it) for it in (1, 2)]

    await until(pauses_for_longer)
    site.environ["VOICE_CALLING_API_TOKEN"] = token
    await site.kill_and_restart("worker")
    await handle.signal(Docket.resume)
    assert (await handle.result()).state == "completed"
    assert await site.rang() == ONCE


async def test_a_token_that_is_revoked_while_a_docket_waits_is_asked_for(site: Site) -> None:
    await site.start("--call-ms", "1000", "--faults", "webhook:lost")
    handle = await site.begin()
    await until(lambda: site.pauses(handle))
    token, site.environ["VOICE_CALLING_API_TOKEN"] = site.environ["VOICE_CALLING_API_TOKEN"], "no"
    await site.kill_and_restart("worker")
    await handle.signal(Docket.resume)  # instead of a minute
    assert await until(site.questions) == [handle.id]
    assert "rejected the token (401)" in await site.question(handle)
    site.environ["VOICE_CALLING_API_TOKEN"] = token
    await site.kill_and_restart("worker")
    await handle.signal(Docket.resume)
    await until(lambda: answered(site))
    await handle.signal(Docket.resume)  # it does not wait for the webhook
    assert (await handle.result()).state == "completed"
    assert await site.questions() == []


async def answered(site: Site) -> bool:
    return not await site.questions()


@pytest.mark.parametrize("moment", ["in flight", "waiting", "polling", "unknown"])
async def test_a_cancelled_docket_says_what_it_had_begun(site: Site, moment: str) -> None:
    faults = {
        "in flight": ["--delay-ms", "3000"],
        "polling": ["--faults", "get-docket:hang"],
        "unknown": ["--faults", "create-docket-v2:503"],
    }
    await site.start(*HELD, *faults.get(moment, []))
    handle = await site.begin()
    await until(site.creates)
    if moment in ("waiting", "polling"):
        await until(lambda: site.pauses(handle))
    if moment == "polling":
        await handle.signal(Docket.resume)  # instead of a minute
        await until(site.polls)
    if moment == "unknown":
        await until(site.questions)
    await handle.cancel()
    outcome = await handle.result()
    begun = [entry["id"] for entry in (await site.seen())["entries"]]
    assert (outcome.state, outcome.docket_id) == ("cancelled", begun[0] if begun else "")
    assert ("Is there a docket to 910000000000" in outcome.reason) == (moment == "unknown")
    assert len(await site.creates()) == 1


async def test_a_docket_that_is_cancelled_before_a_worker_creates_it_is_not_created(
    site: Site,
) -> None:
    site.start_mock()
    await site.start_server()
    async with Worker(site.client, task_queue="voice-calling", workflows=[Docket]):
        handle = await site.begin()
        await until(lambda: site.events(handle, "ACTIVITY_TASK_SCHEDULED"))
        await handle.cancel()
        outcome = await handle.result()
    assert (outcome.state, outcome.reason) == ("cancelled", "nothing was created")
    await site.start_worker()
    assert await site.creates() == []


BAD: dict[str, tuple[Any, str]] = {
    "text": ("crm-1", "the input: found 'crm-1'; allowed: an object"),
    "misspelt": ({"to_phone_numbr": "1"}, "to_phone_numbr: unknown field; allowed: "),
    "missing": ({"agent_id": ...}, "agent_id: missing"),
    "agent-as-text": ({"agent_id": "7"}, "agent_id: found '7'; allowed: an integer"),
    "agent-true": ({"agent_id": True}, "agent_id: found True; allowed: an integer"),
    "context": ({"call_context": "{}"}, "call_context: found '{}'; allowed: an object"),
    "owner": ({"call_context": {OWNER: "x"}}, "call_context: found 'temporal_workflow'"),
    "hours": ({"hours": "always", "time_zone": "UTC"}, "hours: found always; allowed: days"),
    "zone": ({"hours": "mon 9:00-10:00"}, "time_zone: found"),
    "number": ({"to_phone_number": "12345"}, "InvalidInputError: to_phone_number"),
    "other-id": ({"external_id": "crm-1"}, "external_id: allowed: what follows `docket/`"),
    "space ": ({"external_id": "space "}, "external_id: found 'space '"),
}


def bad_contact(name: str) -> Any:
    changes = BAD[name][0]
    if not isinstance(changes, dict):
        return changes
    good = {"external_id": name, "agent_id": 7, "to_phone_number": "910000000000"}
    return {field: it for field, it in {**good, **changes}.items() if it is not ...}


async def test_what_can_never_run_is_refused_at_once_with_the_reason(site: Site) -> None:
    await site.start()
    for name, (_, reason) in BAD.items():
        outcome = await (await site.begin(name, bad_contact(name))).result()
        assert outcome.state == "refused", name
        assert outcome.reason.startswith(reason), (name, outcome.reason)
    assert await site.creates() == []
    plan: dict[str, Any] = {"contacts": [], "max_open": 1}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"contacts": 130_000 * ["a contact"]}, "contacts: found 1690006; allowed: 1500000"),
        ({"max_open": 0}, "max_open: found 0; allowed: 1 or more"),
        ({"per_minute": 0}, "per_minute: found 0; allowed: 0.01 to 100000"),
        ({"do_not_call": ["98765"]}, "text: found"),
        ({"max-open": 1}, "max-open: unknown field; allowed: "),
    ]
    for change, reason in wrong:
        campaign = await site.begin_campaign({**plan, **change}, reason)
        with pytest.raises(WorkflowFailureError) as failure:
            await campaign.result()
        assert reason in str(failure.value.cause)


async def test_a_reset_creates_nothing_again(site: Site) -> None:
    await site.start(*HELD)
    handle = await site.begin()
    await until(lambda: site.events(handle, "TIMER_STARTED"))
    reset = ["temporal", "workflow", "reset", "--type", "FirstWorkflowTask", "--reason", "a test"]
    subprocess.run([*reset, "--workflow-id", handle.id], check=True, env=site.environ)
    assert await until(site.questions) == [handle.id]
    await site.end_calls()
    outcome = await site.client.get_workflow_handle_for(Docket.run, handle.id).result()
    assert outcome.state == "completed"
    assert len(await site.creates()) == 1


@pytest.mark.parametrize(("seconds", "pause_s"), [(3600, 3600), (0, 60)])
async def test_a_rate_limit_is_a_durable_pause_as_long_as_the_service_asks_or_a_minute(
    site: Site, seconds: int, pause_s: int
) -> None:
    fault = f"create-docket-v2:429:retry-after={seconds}"
    await site.start("--call-ms", "500", "--faults", fault)
    handle = await site.begin()
    assert await until(lambda: site.pauses(handle)) == [timedelta(seconds=pause_s)]
    assert await site.questions() == []
    await handle.signal(Docket.resume)
    assert (await handle.result()).state == "completed"
    assert await site.rang() == ONCE


async def test_after_a_503_only_a_docket_of_this_workflow_is_taken(site: Site) -> None:
    await site.start("--call-ms", "500", "--faults", "create-docket-v2:503")
    handle = await site.begin("crm-1001" * 25)
    assert await until(site.questions) == [handle.id]
    question = await site.question(handle)
    assert "910000000000" in question
    assert len(question) == 255  # as long as PostgreSQL and MySQL take it
    other = await (await site.begin("crm-1002")).result()
    with pytest.raises(WorkflowUpdateFailedError):
        await handle.execute_update(Docket.resolve, other.docket_id)
    for wrong in ([], [{"docketid": other.docket_id}]):
        with pytest.raises(WorkflowUpdateFailedError):
            await handle.execute_update("resolve", args=wrong)
    await handle.execute_update(Docket.create_again)
    assert (await handle.result()).state == "completed"
    assert len(await site.creates()) == 3


async def test_a_docket_that_was_created_again_ends_with_its_own_completion(site: Site) -> None:
    await site.start(*HELD, "--faults", "create-docket-v2:created-then-503")
    handle = await site.begin()
    await until(site.questions)
    await site.end_calls(0.5)
    await handle.execute_update(Docket.create_again)

    async def dockets() -> Any:
        entries = (await site.seen())["entries"]
        return entries if len(entries) == 2 else None

    own = (await until(dockets))[1]["id"]
    await until(lambda: site.pauses(handle))
    await site.end_calls(0.5)
    await until(lambda: site.events(handle, "WORKFLOW_EXECUTION_SIGNALED"))
    await site.end_calls(0.5)
    assert (await handle.result()).docket_id == own


async def test_without_the_search_attribute_a_question_waits_until_it_is_there(site: Site) -> None:
    await site.start("--call-ms", "500", "--faults", "create-docket-v2:503")
    attribute = ["temporal", "operator", "search-attribute"]
    name = ["--name", "VoiceCallingQuestion"]
    subprocess.run([*attribute, "remove", *name, "--yes"], check=True, env=site.environ)
    handle = await site.begin()
    await until(lambda: site.events(handle, "WORKFLOW_TASK_FAILED"))
    create = [*attribute, "create", *name, "--type", "Keyword"]
    subprocess.run(create, check=True, env=site.environ)
    assert await until(site.questions) == [handle.id]
    assert len(await site.creates()) == 1


async def test_polls_complete_a_docket_whose_webhook_never_came(site: Site) -> None:
    await site.start("--call-ms", "500", "--faults", "webhook:lost")
    handle = await site.begin()

    async def is_completed() -> bool:
        return [it["status"] for it in (await site.seen())["entries"]] == ["COMPLETED"]

    await until(is_completed)
    await until(lambda: site.events(handle, "TIMER_STARTED"))
    await handle.signal(Docket.resume)  # instead of a minute

    async def waits_for_the_webhook() -> bool:
        return len(await site.events(handle, "TIMER_STARTED")) == 2

    await until(waits_for_the_webhook)
    await handle.signal(Docket.resume)
    outcome = await handle.result()
    assert (outcome.state, outcome.insights) == ("completed", None)


@pytest.mark.parametrize("is_answered", [True, False])
async def test_a_docket_that_is_not_completed_after_30_days_is_left_open(
    site: Site, is_answered: bool
) -> None:
    site.shorten(LONGEST_OPEN="timedelta(0)")
    faults = [] if is_answered else ["--faults", "get-docket:503"]
    await site.start(*HELD, *faults)
    handle = await site.begin()
    await until(lambda: site.pauses(handle))
    await handle.signal(Docket.resume)  # instead of a minute
    outcome = await handle.result()
    assert outcome.state == ("open" if is_answered else "unanswered")
    assert ("answered 503" in outcome.reason) == (not is_answered), outcome.reason
    assert outcome.docket_id


def contacts(count: int) -> list[Contact]:
    return [Contact(f"crm-{n}", 7, f"910000000{n:03}") for n in range(count)]


async def test_a_campaign_has_as_many_open_dockets_as_it_may_until_it_is_cancelled(
    site: Site,
) -> None:
    await site.start(*HELD, "--faults", "create-docket-v2:503")
    twice = [*contacts(1), *contacts(6)]
    campaign = await site.begin_campaign(Plan(twice, max_open=2))

    async def has_begun(count: int) -> None:
        async def has_created() -> bool:
            return len(await site.creates()) >= count

        await until(has_created)
        await asyncio.sleep(1)  # for another
        assert len(await site.creates()) == count

    await has_begun(3)  # one waits for a person, and is not counted
    assert len(await until(site.questions)) == 1
    first, second = [it["external_id"] for it in (await site.seen())["entries"]]
    await site.client.get_workflow_handle(f"docket/{first}").terminate()
    await campaign.signal(Campaign.settled, args=[first, "terminated"])
    await has_begun(4)
    await site.client.get_workflow_handle(f"docket/{second}").cancel()
    await has_begun(5)
    assert (await campaign.query(Campaign.progress)).counts == {"terminated": 1, "cancelled": 1}
    await campaign.cancel()
    with pytest.raises(WorkflowFailureError):
        await campaign.result()
    third = (await site.seen())["entries"][2]["external_id"]
    docket = await site.client.get_workflow_handle(f"docket/{third}").describe()
    assert docket.status == WorkflowExecutionStatus.RUNNING
    assert len(await site.creates()) == 5


async def test_a_campaign_begins_its_dockets_at_its_pace(site: Site) -> None:
    await site.start("--call-ms", "300")
    campaign = await site.begin_campaign(Plan(contacts(3), max_open=10, per_minute=30))
    assert (await campaign.result()).counts == {"completed": 3}
    kind = "START_CHILD_WORKFLOW_EXECUTION_INITIATED"
    begun = [it.event_time.ToDatetime() for it in await site.events(campaign, kind)]
    apart = [later - earlier for earlier, later in pairwise(begun)]
    assert len(apart) == 2
    assert all(it >= timedelta(seconds=2) for it in apart), apart
    assert await site.pauses(campaign) == 3 * [timedelta(seconds=2)]


async def test_a_campaign_runs_each_contact_once(site: Site) -> None:
    await site.start("--call-ms", "300")
    states = []
    given: list[Any] = [asdict(it) for it in contacts(20)]
    always: Any = {"hours": "mon-sun 00:00-24:00", "time_zone": "Asia/Kolkata"}
    for name in ("first", "second"):
        handle = await site.begin_campaign(Plan(given, max_open=4, **always), name)
        states.append((await handle.result()).counts)
        first = site.client.get_workflow_handle(handle.id, run_id=handle.first_execution_run_id)
        [event] = await site.events(first, "WORKFLOW_EXECUTION_CONTINUED_AS_NEW")
        continued = event.workflow_execution_continued_as_new_event_attributes.input.payloads[0]
        # The server bounds its size.
        assert all(it in given for it in json.loads(continued.data)["contacts"])
    assert states == [{"completed": 20}, {"known-before": 20}]
    assert set((await site.rang()).values()) == {1}


async def test_a_campaign_calls_the_good_and_reports_each_of_the_bad(site: Site) -> None:
    await site.start("--call-ms", "300")
    spared = "910000000001"
    given: list[Any] = [asdict(it) for it in contacts(300)]
    bad = {f"contacts[{300 + at}]" if name == "text" else name for at, name in enumerate(BAD)}
    given += [bad_contact(name) for name in BAD if name != "other-id"]
    bad.remove("other-id")
    plan = {"contacts": given, "max_open": 100, "do_not_call": [f"+{spared}"]}
    report = await (await site.begin_campaign(plan)).result()
    assert report.counts == {"completed": 299, "refused": len(bad), "do-not-call": 1}
    assert report.reasons.keys() == bad
    assert all(it.startswith("refused: ") for it in report.reasons.values())
    rang = await site.rang()
    assert (len(rang), set(rang.values()), spared in rang) == (299, {1}, False)


async def test_an_outage_leaves_a_handful_of_questions_and_calls_no_one_twice(site: Site) -> None:
    """A minute is a second here. The outage begins after five creates."""
    site.shorten(FIRST_PAUSE_S="1.0", LONGEST_PAUSE_S="4.0", MINUTE="timedelta(seconds=1)")
    faults = 5 * ["create-docket-v2:slow"] + 150 * ["create-docket-v2:503"]
    await site.start("--call-ms", "300", "--faults", ",".join(faults))
    campaign = await site.begin_campaign(Plan(contacts(150), max_open=50))

    async def failed_ms() -> list[int]:
        return [it["at_ms"] for it in await site.creates() if it["status"] == 503]

    await until(failed_ms)
    await asyncio.sleep(5)
    await site.cancel_faults()
    report = await campaign.result()
    failed = await failed_ms()
    assert len(report.unknown) == len(failed)
    # Five, as many as may be in flight after five successes, and one after each pause of a second.
    assert 5 <= len(failed) <= 10 + (failed[-1] - failed[0]) / 1000, failed
    assert all(it.startswith("Is there a docket to 910000000") for it in report.unknown.values())
    assert report.counts == {"completed": 150 - len(report.unknown)}
    for external_id in report.unknown:
        handle = site.client.get_workflow_handle_for(Docket.run, f"docket/{external_id}")
        await handle.execute_update(Docket.create_again)
        assert (await handle.result()).state == "completed"
    rang = await site.rang()
    assert (len(rang), set(rang.values())) == (150, {1})


async def test_a_campaign_begins_within_its_hours_and_those_of_its_contacts(site: Site) -> None:
    await site.start("--call-ms", "300")
    day = datetime.now(UTC) + timedelta(days=2)
    closed: dict[str, Any] = {"hours": f"{day:%a} 09:00-10:00", "time_zone": "UTC"}
    own: dict[str, Any] = {**asdict(contacts(1)[0]), **closed}
    always = {"hours": "mon-sun 00:00-24:00", "time_zone": "Asia/Kolkata"}
    handle = await site.begin("crm-0", own)
    plan: Any = {"contacts": [{**asdict(contacts(2)[1]), **always}], "max_open": 1, **closed}
    waits = await site.begin_campaign(plan, "june")
    opens = day.replace(hour=9, minute=0, second=0, microsecond=0)
    for it in (handle, waits):
        timer = (await until(partial(site.events, it, "TIMER_STARTED")))[0]
        pause = timer.timer_started_event_attributes.start_to_fire_timeout.ToTimedelta()
        begins = timer.event_time.ToDatetime(UTC) + pause
        assert abs(begins - opens) < timedelta(minutes=1)
    assert (await waits.query(Campaign.progress)).waiting == 1
    assert await site.creates() == []
