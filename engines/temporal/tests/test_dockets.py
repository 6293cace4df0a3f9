"""On Temporal's own server, counted at the mock: no docket is created twice, and none is lost."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from harness import FOLDER, Site, until
from temporalio.client import (
    WorkflowExecutionStatus,
    WorkflowFailureError,
    WorkflowUpdateFailedError,
)
from temporalio.testing import ActivityEnvironment
from voice_calling.testing import LOST, UNREACHABLE, Answer, ScriptedService

import dockets
from campaign import Campaign, Plan
from dockets import OWNER, Activities, Contact, Docket

pytestmark = pytest.mark.anyio
ONCE = {"910000000000": 1}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    # With so short a history, the test's campaign is continued as new.
    made = Site(tmp_path, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40")
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
        timeout=120,
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
    await site.start("--call-ms", "10000", *fault)
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
    assert await until(site.questions, 120) == [handle.id]
    await handle.execute_update(Docket.resolve, None)
    assert (await handle.result()).state == "not-created"
    assert len(await site.creates()) == 1


async def test_a_worker_that_is_asked_to_end_reports_the_answer_to_its_create(site: Site) -> None:
    await site.start("--delay-ms", "2000")
    handle = await site.begin()
    await until(site.creates)
    site.signal("worker", signal.SIGTERM)
    await asyncio.to_thread(site.processes["worker"].wait, 30)
    assert len(await site.events(handle, "ACTIVITY_TASK_COMPLETED")) == 1


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (None, "created"),
        (UNREACHABLE, "later"),
        *((Answer(status), "later") for status in (401, 402, 403, 404, 429)),
        (LOST, "unknown"),
        *((Answer(status), "unknown") for status in (302, 408, 409, 500, 503)),
        *((Answer(status), "refused") for status in (400, 422)),
    ],
)
async def test_a_create_is_tried_later_only_if_nothing_was_created(reply: Any, state: str) -> None:
    service, environment = ScriptedService(*[reply] if reply else []), ActivityEnvironment()
    activities = Activities(service.async_client(create_retry="not-sent"))
    owner = f"{environment.info.workflow_id}/{environment.info.workflow_run_id}"
    contact = Contact("crm-1001", 7, "910000000000", {OWNER: owner})
    outcome = await environment.run(activities.create, contact)
    assert (outcome.state, len(service.requests)) == (state, int(reply is not UNREACHABLE))


async def test_a_webhook_counts_that_comes_before_the_answer(site: Site) -> None:
    await site.start("--faults", "create-docket-v2:completed-first:delay-ms=8000")
    handle = await site.begin()
    outcome = await handle.result()
    assert outcome.insights
    assert (await site.creates())[0]["status"] is None  # still
    assert await site.rang() == ONCE


async def test_forged_and_doubled_webhooks_do_no_harm(site: Site) -> None:
    await site.start("--call-ms", "6000", "--faults", "webhook:twice")
    handle = await site.begin()
    await until(lambda: site.events(handle, "TIMER_STARTED"))
    docket_id = (await site.seen())["entries"][0]["id"]
    body = {"docket_id": docket_id, "call_insights": {"call_disposition": "FORGED"}}
    assert await site.deliver(json.dumps(body)) == 503
    assert await site.deliver(json.dumps(body), in_chunks=True) == 503
    assert await site.deliver(json.dumps({**body, "docket_id": "0" * 8 + docket_id[8:]})) == 503
    assert await site.deliver('{"event": "call"}') == 204
    assert await site.deliver("{") == 400
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


async def test_a_reset_creates_nothing_again(site: Site) -> None:
    await site.start("--call-ms", "8000")
    handle = await site.begin()
    await until(lambda: site.events(handle, "TIMER_STARTED"))
    reset = ["temporal", "workflow", "reset", "--type", "FirstWorkflowTask", "--reason", "a test"]
    subprocess.run([*reset, "--workflow-id", handle.id], check=True, env=site.environ)
    assert await until(site.questions) == [handle.id]
    outcome = await site.client.get_workflow_handle_for(Docket.run, handle.id).result()
    assert outcome.state == "completed"
    assert len(await site.creates()) == 1


async def test_an_hour_of_rate_limit_is_a_durable_pause(site: Site) -> None:
    await site.start("--call-ms", "500", "--faults", "create-docket-v2:429:retry-after=3600")
    handle = await site.begin()
    assert await until(lambda: site.pauses(handle)) == [timedelta(hours=1)]
    await handle.signal(Docket.resume)
    assert (await handle.result()).state == "completed"
    assert await site.rang() == ONCE


async def test_after_a_503_only_a_docket_of_this_workflow_is_taken(site: Site) -> None:
    await site.start("--call-ms", "500", "--faults", "create-docket-v2:503")
    handle = await site.begin("crm-1001" * 25)
    assert await until(site.questions) == [handle.id]
    question = (await handle.describe()).typed_search_attributes[dockets.QUESTION]
    assert len(question) == 255  # as long as PostgreSQL and MySQL take it
    other = await (await site.begin("crm-1002")).result()
    with pytest.raises(WorkflowUpdateFailedError):
        await handle.execute_update(Docket.resolve, other.docket_id)
    for wrong in ([], [{"docketid": other.docket_id}]):
        with pytest.raises(WorkflowUpdateFailedError):
            await handle.execute_update("resolve", args=wrong)
    await handle.execute_update(Docket.resolve, None)
    assert (await handle.result()).state == "not-created"
    assert len(await site.creates()) == 2


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


async def test_a_docket_that_is_not_completed_after_30_days_is_left_open(site: Site) -> None:
    for file in FOLDER.glob("*.py"):
        text = file.read_text().replace(
            "LONGEST_OPEN = timedelta(days=30)", "LONGEST_OPEN = timedelta(0)"
        )
        (site.folder / file.name).write_text(text)
    site.recipe = site.folder
    await site.start("--call-ms", "3600000")
    handle = await site.begin()
    await until(lambda: site.pauses(handle))
    await handle.signal(Docket.resume)  # instead of a minute
    assert (await handle.result()).state == "open"


def contacts(count: int) -> list[Contact]:
    return [Contact(f"crm-{n}", 7, f"9100000000{n:02}") for n in range(count)]


async def test_a_campaign_has_as_many_open_dockets_as_it_may_until_it_is_cancelled(
    site: Site,
) -> None:
    await site.start("--call-ms", "3600000", "--faults", "create-docket-v2:503")
    twice = [*contacts(1), *contacts(5)]
    campaign = await site.begin_campaign(Plan(twice, max_open=2))

    async def has_begun(count: int) -> None:
        async def has_created() -> bool:
            return len(await site.creates()) >= count

        await until(has_created)
        await asyncio.sleep(1)  # for another
        assert len(await site.creates()) == count

    await has_begun(3)  # one waits for a person, and is not counted
    assert len(await site.questions()) == 1
    first, second = [it["external_id"] for it in (await site.seen())["entries"]]
    await site.client.get_workflow_handle(f"docket/{first}").terminate()
    await campaign.signal(Campaign.settled, args=[first, "terminated"])
    await has_begun(4)
    await campaign.cancel()
    with pytest.raises(WorkflowFailureError):
        await campaign.result()
    docket = await site.client.get_workflow_handle(f"docket/{second}").describe()
    assert docket.status == WorkflowExecutionStatus.RUNNING
    assert len(await site.creates()) == 4


async def test_a_campaign_begins_its_dockets_at_its_pace(site: Site) -> None:
    await site.start("--call-ms", "300")
    campaign = await site.begin_campaign(Plan(contacts(3), max_open=10, per_minute=30))
    assert await campaign.result() == {"completed": 3}
    kind = "START_CHILD_WORKFLOW_EXECUTION_INITIATED"
    begun = [it.event_time.ToDatetime() for it in await site.events(campaign, kind)]
    pauses = [later - earlier for earlier, later in pairwise(begun)]
    assert len(pauses) == 2
    assert all(timedelta(seconds=2) <= pause < timedelta(seconds=6) for pause in pauses), pauses


async def test_a_campaign_runs_each_contact_once(site: Site) -> None:
    await site.start("--call-ms", "300")
    states = []
    for name in ("first", "second"):
        handle = await site.begin_campaign(Plan(contacts(20), max_open=4), name)
        states.append(await handle.result())
        latest = await site.client.get_workflow_handle(handle.id).describe()
        assert latest.run_id != handle.first_execution_run_id  # it was continued as new
    assert states == [{"completed": 20}, {"known-before": 20}]
    assert set((await site.rang()).values()) == {1}
