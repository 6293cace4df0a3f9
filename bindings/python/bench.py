"""Measures the package beside the client that it drives, httpx, and beside aiohttp, on loopback:
`python bench.py` (`--short` shows in seconds that it works).

The service is `host-test mock`; the others send what the package sends, and decode the answer. All
keep as many connections as they use. Figures are of this machine and run: compare within a table.
CPU is that of the process, its threads included. It needs `requirements/bench.txt`, and the
harness, in HOST_TEST or `target/debug/host-test`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import httpx

from voice_calling import AsyncVoiceClient, CreatedDocket, DocketRequest, VoiceClient

ROOT = Path(__file__).parent.parent.parent
HARNESS = os.environ.get("HOST_TEST") or str(ROOT / "target" / "debug" / "host-test")
TOKEN = "mock-token-0001"
HEADERS = {"auth_token": f"Bearer {TOKEN}"}
SLOW = "slow-service"
DOCKET: dict[str, Any] = {
    "agent_id": 7,
    "to_phone_number": "919876543210",
    "call_context": {"reference": "crm-1001"},
    "external_id": "crm-1001",
}
DOCKET_ANSWER = b'{"docket_id":"00000000-0000-0000-0000-%012d","status":"OPEN","created":true}'
BODY = {
    "agent_id": 7,
    "to_phone_number": "919876543210",
    "extra_config": {"call_context": {"reference": "crm-1001"}},
    "external_id": "crm-1001",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the package beside native clients")
    parser.add_argument("--short", action="store_true", help="only shows that it works")
    size = Size(short=parser.parse_args().short)
    with service([HARNESS, "mock", "--port", "0", "--call-ms", "3600000"]) as url:
        for in_flight in (1, 64):
            in_threads(url, size, in_flight)
            asyncio.run(in_coroutines(url, size, in_flight))
    with service([sys.executable, __file__, SLOW]) as url:
        many_at_once(url, size)
        with_ledger(url, size)
    imports(size)
    memory()


class Size:
    """How much is measured."""

    def __init__(self, short: bool) -> None:
        self.rounds = 2 if short else 7
        self.calls = 20 if short else 200
        self.at_once = 50 if short else 1000
        self.rounds_at_once = 1 if short else 3
        self.processes = 2 if short else 11


@contextlib.contextmanager
def service(command: list[str]) -> Iterator[str]:
    """A service in a process of its own, which prints its URL."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(
                found[0] for line in process.stdout if (found := re.search(r"http://\S+", line))
            )
        finally:
            process.terminate()
            process.communicate()


async def serve_slowly() -> None:
    """A service that takes 50 ms for each docket, or 20 below the path `/fast`."""
    ids = itertools.count()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if found := re.search(rb"content-length: *(\d+)", head, re.IGNORECASE):
                    await reader.readexactly(int(found[1]))
                else:
                    await reader.readuntil(b"0\r\n\r\n")
                await asyncio.sleep(0.02 if b" /fast/" in head else 0.05)
                body = DOCKET_ANSWER % next(ids)
                length = b"content-length: %d\r\n\r\n" % len(body)
                kind = b"content-type: application/json\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + kind + length + body)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


# ------------------------------------------------------------------------------------- calls

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


class Figures:
    """Wall time and CPU of each client, a figure for each round. Unit: microseconds per call."""

    def __init__(self) -> None:
        self.wall: dict[str, list[float]] = {}
        self.cpu: dict[str, list[float]] = {}

    @contextlib.contextmanager
    def round(self, name: str, calls: int) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall.setdefault(name, []).append((time.perf_counter() - wall) / calls * 1e6)
        self.cpu.setdefault(name, []).append((time.process_time() - cpu) / calls * 1e6)

    def print(self, title: str) -> None:
        table(f"{title}: wall time of a call", "µs", self.wall, "httpx")
        table("The same: CPU", "µs", self.cpu, "httpx")


def in_threads(url: str, size: Size, in_flight: int) -> None:
    """Calls in rounds, in which the clients take turns."""
    figures = Figures()
    count = size.calls if in_flight == 1 else size.calls * 5
    with blocking_clients(url) as calls, ThreadPoolExecutor(in_flight) as threads:
        for _ in range(size.rounds):
            for name, call in calls.items():
                call()
                with figures.round(name, count):
                    if in_flight == 1:
                        for _ in range(count):
                            call()
                    else:
                        assert all(threads.map(lambda _, call=call: call(), range(count)))
    figures.print(f"{in_flight} in flight, in threads")


async def in_coroutines(url: str, size: Size, in_flight: int) -> None:
    """The same in coroutines."""
    figures = Figures()
    count = size.calls if in_flight == 1 else size.calls * 5

    async def some(call: Callable[[], Awaitable[str]]) -> None:
        for _ in range(count // in_flight):
            await call()

    async with coroutine_clients(url) as calls:
        for _ in range(size.rounds):
            for name, call in calls.items():
                await call()
                with figures.round(name, count // in_flight * in_flight):
                    await asyncio.gather(*[some(call) for _ in range(in_flight)])
    figures.print(f"{in_flight} in flight, in coroutines")


@contextlib.contextmanager
def blocking_clients(url: str) -> Iterator[dict[str, Callable[[], str]]]:
    """A call of each client."""
    with (
        VoiceClient(base_url=url, token=TOKEN, environ={}) as client,
        httpx.Client(headers=HEADERS, timeout=60, limits=LIMITS) as native,
    ):
        yield {
            "voice-calling": lambda: client.dockets.create(**DOCKET).docket_id,
            "httpx": lambda: str(
                native.post(f"{url}/api/v2/dockets", json=BODY).json()["docket_id"]
            ),
        }


@contextlib.asynccontextmanager
async def coroutine_clients(url: str) -> AsyncIterator[dict[str, Callable[[], Awaitable[str]]]]:
    """The same in coroutines."""
    async with (
        AsyncVoiceClient(base_url=url, token=TOKEN, environ={}) as client,
        httpx.AsyncClient(headers=HEADERS, timeout=300, limits=LIMITS) as by_httpx,
        aiohttp.ClientSession(
            headers=HEADERS, connector=aiohttp.TCPConnector(limit=0)
        ) as by_aiohttp,
    ):

        async def ours() -> str:
            return (await client.dockets.create(**DOCKET)).docket_id

        async def httpx_() -> str:
            answer = await by_httpx.post(f"{url}/api/v2/dockets", json=BODY)
            return str(answer.json()["docket_id"])

        async def aiohttp_() -> str:
            async with by_aiohttp.post(f"{url}/api/v2/dockets", json=BODY) as answer:
                return str((await answer.json())["docket_id"])

        yield {"voice-calling": ours, "httpx": httpx_, "aiohttp": aiohttp_}


def many_at_once(url: str, size: Size) -> None:
    """All calls begin at once, on a service that takes 50 ms; each has to be answered."""
    times: dict[str, list[float]] = {}

    @contextlib.contextmanager
    def answers_to(name: str) -> Iterator[list[str]]:
        ids: list[str] = []
        began = time.perf_counter()
        yield ids
        times.setdefault(name, []).append((time.perf_counter() - began) * 1e3)
        assert len(set(ids)) == size.at_once

    async def coroutines() -> None:
        async with coroutine_clients(url) as calls:
            for _ in range(size.rounds_at_once):
                for name, call in calls.items():
                    with answers_to(name) as ids:
                        ids += await asyncio.gather(*[call() for _ in range(size.at_once)])

    asyncio.run(coroutines())
    with (
        VoiceClient(base_url=url, token=TOKEN, environ={}, max_in_flight=1000) as client,
        ThreadPoolExecutor(size.at_once) as threads,
    ):
        create = client.dockets.create
        for _ in range(size.rounds_at_once):
            with answers_to("voice-calling, a thread each") as ids:
                ids += threads.map(lambda _: create(**DOCKET).docket_id, range(size.at_once))
            with answers_to("voice-calling, create_many") as ids:
                requests = [DocketRequest(**DOCKET)] * size.at_once
                for outcome in client.dockets.create_many(requests, timeout=60):
                    assert isinstance(outcome, CreatedDocket), outcome
                    ids.append(outcome.docket_id)
    table(f"{size.at_once} calls at once, 50 ms each, all answered", "ms", times, "httpx")


def with_ledger(url: str, size: Size) -> None:
    """64 threads, on a service that takes 20 ms: what a ledger costs."""
    figures = Figures()
    keys = itertools.count()
    options: dict[str, Any] = {"base_url": f"{url}/fast", "token": TOKEN, "environ": {}}
    with (
        tempfile.TemporaryDirectory() as folder,
        VoiceClient(**options, ledger=Path(folder) / "calls.db", max_in_flight=64) as client,
        ThreadPoolExecutor(64) as threads,
    ):
        for _ in range(size.rounds):
            for name, has_key in (("without a ledger", False), ("with a ledger", True)):

                def call(_: int, has_key: bool = has_key) -> str:
                    once = str(next(keys)) if has_key else None
                    return client.dockets.create(**DOCKET, once=once).docket_id

                count = size.calls * 5
                with figures.round(name, count):
                    assert all(threads.map(call, range(count)))
    title = "64 in flight, in threads, on a service that takes 20 ms: wall time of a call"
    table(title, "µs", figures.wall, "without a ledger")
    table("The same: CPU", "µs", figures.cpu, "without a ledger")


# ---------------------------------------------------------------------------------------- start


def imports(size: Size) -> None:
    """Until a process of its own has imported a client, or read a webhook by it."""
    with tempfile.TemporaryDirectory() as cache:
        environ = {**os.environ, "XDG_CACHE_HOME": cache}
        head = "import time; began = time.perf_counter(); "
        tail = "; print((time.perf_counter() - began) * 1e3)"
        first = "from voice_calling import parse_docket_completed as p; p(b'null')"
        programs = {
            "voice-calling, imported": "import voice_calling",
            "voice-calling, and a first value from it": first,
            "httpx, imported": "import httpx",
            "aiohttp, imported": "import aiohttp",
        }
        compiled = measured(head + first + tail, environ)
        print(f"\nThe very first call of a machine, which compiles the module: {compiled:.0f} ms")
        times: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(size.processes):
            for name, program in programs.items():
                times[name].append(measured(head + program + tail, environ))
    table("Import in a new process", "ms", times, "httpx, imported")


def memory() -> None:
    """What a process has in memory (Linux only)."""
    if not Path("/proc/self/status").exists():
        print("\nMemory: measured on Linux only")
        return
    tail = "; print(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    ours = "from voice_calling import parse_docket_completed as p; p(b'null')"
    programs = {
        "python": "import re",
        "voice-calling, after a first value": f"import re; {ours}",
        "httpx, imported": "import re, httpx",
        "aiohttp, imported": "import re, aiohttp",
    }
    sizes = {
        name: [measured(program + tail, dict(os.environ)) / 1024]
        for name, program in programs.items()
    }
    table("Memory", "MB", sizes, "httpx, imported")


def measured(program: str, environ: dict[str, str]) -> float:
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    return float(run.stdout)


# ---------------------------------------------------------------------------------------- tables


def table(title: str, unit: str, figures: dict[str, list[float]], baseline: str) -> None:
    """Medians of the rounds, from the lowest to the highest, and the ratio to a baseline."""
    base = statistics.median(figures[baseline])
    print(f"\n{title}")
    for name, values in figures.items():
        median = statistics.median(values)
        spread = f"{min(values):.0f} to {max(values):.0f}"
        print(f"  {name:<42}{median:>9.0f} {unit:<3} ({spread}){median / base:>7.2f} x {baseline}")


if __name__ == "__main__":
    if sys.argv[1:] == [SLOW]:
        asyncio.run(serve_slowly())
    else:
        main()
