"""What the tests and the bench run: the mock service, a Temporal server with its file, a worker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHandle
from temporalio.common import WorkflowIDReusePolicy

from campaign import Campaign, Report
from contacts import Contact, Plan
from dockets import QUESTION, Docket
from service import Outcome

FOLDER = Path(__file__).parent.parent
SECRET = "0123456789abcdef01234567"
TEMPORAL = str(Path(sys.executable).parent / "temporal")


async def until(is_so: Callable[[], Awaitable[Any]], seconds: float = 300) -> Any:
    """Returns what is awaited, as soon as it is true."""
    end = time.monotonic() + seconds
    while not (value := await is_so()):
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.05)
    return value


def free_port() -> int:
    """Returns a free port below those that the system gives to connections, and above those that
    the tests on Restate take, which run beside."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as listening, contextlib.suppress(OSError):
            listening.bind(("127.0.0.1", port))
            return port


class Site:
    def __init__(self, folder: Path, *server_options: str) -> None:
        self.folder, self.server_options = folder, server_options
        self.recipe = FOLDER
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.temporal_port, self.webhook_port = free_port(), free_port()
        self.environ = {
            **{name: it for name, it in os.environ.items() if not name.startswith("VOICE_CALLING")},
            "TEMPORAL_ADDRESS": f"127.0.0.1:{self.temporal_port}",
            "VOICE_CALLING_WEBHOOK_SECRET": SECRET,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }

    async def start(self, *mock: str) -> None:
        self.start_mock(*mock)
        await self.start_server()
        await self.start_worker()

    def start_mock(self, *options: str) -> None:
        webhook = f"http://127.0.0.1:{self.webhook_port}/{SECRET}"
        command = [os.environ["MOCK"], "--port", "0", "--calls", "answered"]
        command += ["--webhook", webhook, "--webhook-retries", "10"]
        process = self.spawn("mock", [*command, *options])
        assert process.stdout
        for line in process.stdout:
            if found := re.search(r"(VOICE_CALLING_\w+)=(\S+)", line):
                self.environ[found[1]] = found[2]
            if found := re.search(r"The page: (\S+)", line):
                self.page = found[1]
                return
        raise AssertionError("the mock did not start")

    async def start_server(self) -> None:
        port, attribute = str(self.temporal_port), "VoiceCallingQuestion=Keyword"
        command = [TEMPORAL, "server", "start-dev", "--headless", "--port", port]
        command += ["--db-filename", str(self.folder / "temporal.db"), "--log-level", "error"]
        command += ["--search-attribute", attribute]
        self.spawn("server", [*command, *self.server_options])
        self.client: Client = await until(self.connected)

    async def connected(self) -> Client | None:
        assert self.processes["server"].poll() is None, "the server did not start"
        try:
            return await Client.connect(self.environ["TEMPORAL_ADDRESS"])
        except RuntimeError:
            return None

    async def start_worker(self, name: str = "worker") -> None:
        """Starts a worker. The service delivers to the one that is called `worker`."""
        port = str(self.webhook_port if name == "worker" else free_port())
        command = ["env", f"WEBHOOK_PORT={port}", sys.executable, str(self.recipe / "worker.py")]
        process = self.spawn(name, command)
        assert process.stdout
        assert await asyncio.to_thread(process.stdout.readline) == "ready\n"

    def spawn(self, name: str, command: list[str]) -> subprocess.Popen[str]:
        out = (self.folder / f"{name}.log").open("a")
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=out, text=True, env=self.environ
        )
        out.close()
        self.processes[name] = process
        return process

    def signal(self, name: str, number: int) -> None:
        self.processes[name].send_signal(number)
        if number == signal.SIGKILL:
            self.processes.pop(name).communicate()

    async def kill_and_restart(self, name: str) -> None:
        self.signal(name, signal.SIGKILL)
        await (self.start_server() if name == "server" else self.start_worker(name))

    async def begin(
        self, external_id: str = "crm-1001", contact: Any = None
    ) -> WorkflowHandle[Docket, Outcome]:
        handle: WorkflowHandle[Docket, Outcome] = await self.client.start_workflow(
            Docket.run,
            contact or Contact(external_id, 7, "910000000000"),
            id=f"docket/{external_id}",
            task_queue="voice-calling",
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        )
        return handle

    async def begin_campaign(
        self, plan: Plan | dict[str, Any], name: str = "may"
    ) -> WorkflowHandle[Campaign, Report]:
        handle: WorkflowHandle[Campaign, Report] = await self.client.start_workflow(
            Campaign.run, plan, id=f"campaign/{name}", task_queue="voice-calling"
        )
        return handle

    async def events(self, handle: WorkflowHandle[Any, Any], kind: str) -> list[Any]:
        """Returns the events of a kind in the history."""
        wanted = EventType.Value(f"EVENT_TYPE_{kind}")
        return [it async for it in handle.fetch_history_events() if it.event_type == wanted]

    def shorten(self, **constants: str) -> None:
        """Runs a copy of the recipe in which these constants have other values."""
        self.recipe = self.folder
        for file in FOLDER.glob("*.py"):
            text = file.read_text()
            for name, value in constants.items():
                text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.MULTILINE)
            (self.folder / file.name).write_text(text)

    async def pauses(self, handle: WorkflowHandle[Any, Any]) -> list[timedelta]:
        timers = await self.events(handle, "TIMER_STARTED")
        pauses = [it.timer_started_event_attributes.start_to_fire_timeout for it in timers]
        return [pause.ToTimedelta() for pause in pauses]

    async def questions(self) -> list[str]:
        query = "VoiceCallingQuestion != '' AND ExecutionStatus = 'Running'"
        return [it.id async for it in self.client.list_workflows(query)]

    async def question(self, handle: WorkflowHandle[Any, Any]) -> str:
        return (await handle.describe()).typed_search_attributes[QUESTION]

    async def changes(self) -> AsyncGenerator[Any, None]:
        """Yields the dockets and requests that the mock has, then those that are new or change."""
        async with (
            httpx.AsyncClient(timeout=None) as http,
            http.stream("GET", f"{self.page}/events") as events,
        ):
            async for line in events.aiter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])

    async def seen(self) -> Any:
        async with httpx.AsyncClient(timeout=30) as http:
            return (await http.get(f"{self.page}/changes")).json()

    async def cancel_faults(self) -> None:
        async with httpx.AsyncClient(timeout=30) as http:
            (await http.delete(f"{self.page}/faults")).raise_for_status()

    async def end_calls(self, hours: float = 1) -> None:
        """Ends the calls that take up to an hour, or the part that has passed."""
        async with httpx.AsyncClient(timeout=30) as http:
            advance_ms = int(hours * 3_600_000)
            clock = await http.post(f"{self.page}/clock", json={"advance_ms": advance_ms})
            clock.raise_for_status()

    async def creates(self) -> list[Any]:
        requests = (await self.seen())["requests"]
        return [it for it in requests if it["endpoint"] == "create-docket-v2"]

    async def polls(self) -> list[Any]:
        return [it for it in (await self.seen())["requests"] if it["endpoint"] == "get-docket"]

    async def rang(self) -> Counter[str]:
        """Returns how many dockets each phone number has."""
        return Counter(entry["number"] for entry in (await self.seen())["entries"])

    async def deliver(
        self,
        body: str,
        *,
        in_chunks: bool = False,
        path: str = SECRET,
        headers: dict[str, str] | None = None,
    ) -> int:
        async def chunks() -> AsyncGenerator[bytes, None]:
            for at in range(0, len(body), 20):
                yield body[at : at + 20].encode()

        async with httpx.AsyncClient(timeout=30) as http:
            url = f"http://127.0.0.1:{self.webhook_port}/{path}"
            content = chunks() if in_chunks else body
            return (await http.post(url, content=content, headers=headers)).status_code

    async def answer_to_head(self, *lines: str) -> int:
        """Returns the status of the first answer to a delivery of which no more is sent."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.webhook_port)
        head = [f"POST /{SECRET} HTTP/1.1", "host: 127.0.0.1", *lines]
        writer.write("\r\n".join([*head, "", ""]).encode())
        status = await reader.readline()
        writer.close()
        return int(status.split()[1])

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()
