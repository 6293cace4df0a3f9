"""Measures a campaign on Temporal's dev server and the mock service, while one of two workers is
killed: `python bench.py 10000`. It needs `requirements/test.txt`, and the program `host-test` in
MOCK. CPU and bytes are for each docket: of the server, both workers, its file.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowUpdateFailedError

from campaign import Campaign
from contacts import Contact, Plan
from dockets import Docket

sys.path.append(str(Path(__file__).parent / "tests"))
from harness import Site, until

MAX_OPEN = 200
KILLS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder))
        try:
            figures = asyncio.run(measured(site, int(sys.argv[1]) if sys.argv[1:] else 100))
        finally:
            site.close()
    print(json.dumps(figures))
    assert figures["rang_twice"] == figures["lost"] == 0


async def measured(site: Site, count: int) -> dict[str, Any]:
    await site.start("--call-ms", "1000")
    await site.start_worker("second worker")
    dockets: dict[str, tuple[str, str]] = {}
    listening = asyncio.create_task(listen(site, dockets))
    contacts = [Contact(f"crm-{n}", 7, f"9100{n:08}") for n in range(count)]
    began = time.monotonic()
    campaign = await site.client.start_workflow(
        Campaign.run, Plan(contacts, MAX_OPEN), id="campaign/bench", task_queue="voice-calling"
    )
    worker_cpu_s = 0.0
    for kill in range(KILLS):
        while len(dockets) < count * (kill + 1) / (KILLS + 1):
            await asyncio.sleep(0.05)
        worker_cpu_s += cpu_s(site, "second worker")
        await site.kill_and_restart("second worker")
    report = await campaign.result()
    seconds = time.monotonic() - began
    worker_cpu_s += cpu_s(site, "worker") + cpu_s(site, "second worker")
    server_cpu_s = cpu_s(site, "server")
    size = sum(file.stat().st_size for file in site.folder.glob("temporal.db*"))

    asked = set[str]()

    async def have_ended() -> bool:
        """A person looks for what the kills have left unknown, and no webhook resolves."""
        questions = await site.questions()  # some time after they are asked
        entries = (await site.seen())["entries"] if questions else []
        created = {f"docket/{entry['external_id']}": entry["id"] for entry in entries}
        for workflow_id in questions:
            handle = site.client.get_workflow_handle_for(Docket.run, workflow_id)
            with suppress(WorkflowUpdateFailedError):  # it was answered before
                await handle.execute_update(Docket.resolve, created.get(workflow_id))
            asked.add(workflow_id)
        return not (await site.client.count_workflows("ExecutionStatus = 'Running'")).count

    await until(have_ended)
    ended = Counter[str]()
    for contact in contacts:
        handle = site.client.get_workflow_handle_for(Docket.run, f"docket/{contact.external_id}")
        ended[(await handle.result()).state] += 1
    listening.cancel()
    rang = Counter(number for number, _ in dockets.values())
    return {
        "engine": "temporal",
        "dockets": count,
        "open": MAX_OPEN,
        "kills": KILLS,
        "seconds": round(seconds, 1),
        "dockets_per_s": round(count / seconds, 1),
        "server_cpu_ms": round(server_cpu_s / count * 1000, 1),
        "worker_cpu_ms": round(worker_cpu_s / count * 1000, 1),
        "bytes": size // count,
        "unknown": len(report.unknown),
        "asked": len(asked),
        "rang_twice": sum(times > 1 for times in rang.values()),
        "lost": count
        - ended["completed"]
        - ended["not-created"]
        + abs(len(rang) - ended["completed"]),
    }


async def listen(site: Site, dockets: dict[str, tuple[str, str]]) -> None:
    """Collects the dockets that the mock creates."""
    async for change in site.changes():
        for entry in change["entries"]:
            dockets[entry["id"]] = entry["number"], entry["external_id"]


def cpu_s(site: Site, name: str) -> float:
    """Returns the CPU time that a process has taken."""
    fields = Path(f"/proc/{site.processes[name].pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
