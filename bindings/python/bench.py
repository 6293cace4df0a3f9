"""Measures the package beside the client that it drives, httpx, and beside aiohttp, on loopback:
`python bench.py` (`--short` shows in seconds that it works).

The service is `host-test mock`; the others send what the package sends, and decode the answer. All
keep as many connections as they use. Figures are of this machine and run: compare within a table.
CPU is that of the process, its threads included. It needs `requirements/bench.txt`, and the
harness,
in HOST_TEST or `target/debug/host-test`.
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

from voice_calling import AsyncVoiceClient, DocketRequest, VoiceClient

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
    with mock_service() as url:
        warm_calls(url, size)
        throughput(url, size)
    with slow_service() as url:
        many_at_once(url, size)
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
def mock_service() -> Iterator[str]:
    """The mock service."""
    command = [HARNESS, "mock", "--port", "0", "--call-ms", "3600000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if found := re.search(r"VOICE_CALLING_BASE_URL=(\S+)", line):
                    yield found[1]
                    break
        finally:
            process.terminate()
            process.communicate()


@contextlib.contextmanager
def slow_service() -> Iterator[str]:
    """A service that takes 50 ms for each docket, in a process of its own."""
    command = [sys.executable, __file__, SLOW]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.communicate()


async def serve_slowly() -> None:
    ids = itertools.count()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if found := re.search(rb"content-length: *(\d+)", head, re.IGNORECASE):
                    await reader.readexactly(int(found[1]))
                else:
                    await reader.readuntil(b"0\r\n\r\n")
                await asyncio.sleep(0.05)
                body = DOCKET_ANSWER % next(ids)
                length = b"content-length: %d\r\n\r\n" % len(body)
                kind = b"content-type: application/json\r\n"
                writer.write(b"HTTP/1.1 200 OK\r\n" + kind + length + body)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


# ------------------------------------------------------------------------------------- calls

Figures = dict[str, list[float]]
"""The medians or rates of rounds, by client."""

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


class Round:
    """What a round took: per call and in all."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def end(self, calls: int) -> tuple[float, float]:
        wall = (time.perf_counter() - self._wall) / calls
        return wall * 1e6, (time.process_time() - self._cpu) / calls * 1e6


def note(wall: Figures, cpu: Figures, name: str, took: tuple[float, float]) -> None:
    wall.setdefault(name, []).append(took[0])
    cpu.setdefault(name, []).append(took[1])


def warm_calls(url: str, size: Size) -> None:
    """One call after the other, in rounds, in which the clients take turns."""
    wall: Figures = {}
    cpu: Figures = {}
    with blocking_clients(url) as calls:
        for _ in range(size.rounds):
            for name, call in calls.items():
                call()
                began = Round()
                for _ in range(size.calls):
                    call()
                note(wall, cpu, name, began.end(size.calls))
    table("A call, one after the other: wall time", "µs", wall, "httpx")
    table("The same: CPU", "µs", cpu, "httpx")
    wall, cpu = asyncio.run(warm_coroutines(url, size))
    table("A call in coroutines, one after the other: wall time", "µs", wall, "httpx")
    table("The same: CPU", "µs", cpu, "httpx")


async def warm_coroutines(url: str, size: Size) -> tuple[Figures, Figures]:
    wall: Figures = {}
    cpu: Figures = {}
    async with coroutine_clients(url) as calls:
        for _ in range(size.rounds):
            for name, call in calls.items():
                await call()
                began = Round()
                for _ in range(size.calls):
                    await call()
                note(wall, cpu, name, began.end(size.calls))
    return wall, cpu


def throughput(url: str, size: Size) -> None:
    """With 64 in flight."""
    count = size.calls * 5
    wall: Figures = {}
    cpu: Figures = {}
    with blocking_clients(url) as calls, ThreadPoolExecutor(64) as threads:
        for _ in range(size.rounds):
            for name, call in calls.items():
                began = Round()
                assert all(threads.map(lambda _, call=call: call(), range(count)))
                note(wall, cpu, name, began.end(count))
    table("64 threads: calls", "/s", rates(wall), "httpx")
    table("The same: CPU per call", "µs", cpu, "httpx")
    wall, cpu = asyncio.run(throughput_of_coroutines(url, size, count))
    table("64 coroutines: calls", "/s", rates(wall), "httpx")
    table("The same: CPU per call", "µs", cpu, "httpx")


def rates(wall: Figures) -> Figures:
    return {name: [1e6 / took for took in values] for name, values in wall.items()}


async def throughput_of_coroutines(url: str, size: Size, count: int) -> tuple[Figures, Figures]:
    wall: Figures = {}
    cpu: Figures = {}
    async with coroutine_clients(url) as calls:
        for _ in range(size.rounds):
            for name, call in calls.items():
                free = asyncio.Semaphore(64)

                async def one(
                    call: Callable[[], Awaitable[str]] = call, free: asyncio.Semaphore = free
                ) -> str:
                    async with free:
                        return await call()

                began = Round()
                assert all(await asyncio.gather(*[one() for _ in range(count)]))
                note(wall, cpu, name, began.end(count))
    return wall, cpu


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

    async def coroutines() -> None:
        async with coroutine_clients(url) as calls:
            for _ in range(size.rounds_at_once):
                for name, call in calls.items():
                    began = time.perf_counter()
                    ids = await asyncio.gather(*[call() for _ in range(size.at_once)])
                    times.setdefault(name, []).append(since_ms(began))
                    assert len(set(ids)) == size.at_once

    asyncio.run(coroutines())
    with (
        VoiceClient(base_url=url, token=TOKEN, environ={}) as client,
        ThreadPoolExecutor(size.at_once) as threads,
    ):
        for _ in range(size.rounds_at_once):
            began = time.perf_counter()
            created = threads.map(
                lambda _: client.dockets.create(**DOCKET).docket_id, range(size.at_once)
            )
            assert len(set(created)) == size.at_once
            times.setdefault("voice-calling, a thread each", []).append(since_ms(began))
    with VoiceClient(base_url=url, token=TOKEN, environ={}, max_in_flight=1000) as client:
        for _ in range(size.rounds_at_once):
            began = time.perf_counter()
            requests = [DocketRequest(**DOCKET)] * size.at_once
            outcomes = client.dockets.create_many(requests, timeout=60)
            for outcome in outcomes:
                if isinstance(outcome, Exception):
                    raise outcome
            times.setdefault("voice-calling, create_many", []).append(since_ms(began))
    title = f"{size.at_once} calls at once, 50 ms each, all answered"
    table(title, "ms", times, "httpx")


def since_ms(began: float) -> float:
    return (time.perf_counter() - began) * 1e3


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
