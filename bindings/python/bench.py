"""Measures the package beside httpx on loopback: `python bench.py`
(`--short` shows in seconds that it works).

The service is `voice-calling-mock`; httpx sends what the package sends, and decodes the answer.
Both keep as many connections as they use. Figures are of this machine and run: compare within a
table. CPU is that of the process, its threads included. It needs the package, and the mock, in MOCK
or `target/debug/voice-calling-mock`.
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
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from voice_calling import AsyncVoiceClient, VoiceClient

ROOT = Path(__file__).parent.parent.parent
MOCK = os.environ.get("MOCK") or str(ROOT / "target" / "debug" / "voice-calling-mock")
TOKEN = "mock-token-0001"
HEADERS = {"auth_token": f"Bearer {TOKEN}"}
DOCKET: dict[str, Any] = {
    "agent_id": 7,
    "to_phone_number": "919876543210",
    "call_context": {"reference": "crm-1001"},
    "external_id": "crm-1001",
}
BODY = {
    "agent_id": 7,
    "to_phone_number": "919876543210",
    "extra_config": {"call_context": {"reference": "crm-1001"}},
    "external_id": "crm-1001",
}
LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the package beside httpx")
    parser.add_argument("--short", action="store_true", help="only shows that it works")
    rounds, calls = (2, 20) if parser.parse_args().short else (7, 200)
    for delay_ms in (0, 20):
        with service(delay_ms) as url:
            for in_flight in (1, 64):
                count = calls if in_flight == 1 else calls * 5
                print(f"\nA service that takes {delay_ms} ms, {in_flight} in flight")
                in_threads(url, rounds, count, in_flight)
                asyncio.run(in_coroutines(url, rounds, count, in_flight))


@contextlib.contextmanager
def service(delay_ms: int) -> Iterator[str]:
    """The mock service, which prints its URL."""
    command = [MOCK, "--port", "0", "--call-ms", "3600000"]
    command += ["--delay-ms", str(delay_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(
                found[0] for line in process.stdout if (found := re.search(r"http://\S+", line))
            )
        finally:
            process.terminate()
            process.communicate()


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
        table(f"{title}: wall time of a call", self.wall)
        table("The same: CPU", self.cpu)


def in_threads(url: str, rounds: int, count: int, in_flight: int) -> None:
    """Calls in rounds, in which the clients take turns."""
    figures = Figures()
    keys = itertools.count()
    options: dict[str, Any] = {"base_url": url, "token": TOKEN, "environ": {}, "max_in_flight": 64}
    with (
        tempfile.TemporaryDirectory() as folder,
        VoiceClient(**options, ledger=Path(folder) / "calls.db") as client,
        httpx.Client(headers=HEADERS, timeout=60, limits=LIMITS) as by_httpx,
        ThreadPoolExecutor(in_flight) as threads,
    ):
        create = client.dockets.create
        calls: dict[str, Callable[[object], object]] = {
            "voice-calling": lambda _: create(**DOCKET).docket_id,
            "voice-calling, with a key": lambda _: create(**DOCKET, key=str(next(keys))).docket_id,
            "httpx": lambda _: by_httpx.post(f"{url}/api/v2/dockets", json=BODY).json()[
                "docket_id"
            ],
        }
        for _ in range(rounds):
            for name, call in calls.items():
                call(None)
                with figures.round(name, count):
                    assert all(threads.map(call, range(count)))
    figures.print("In threads")


async def in_coroutines(url: str, rounds: int, count: int, in_flight: int) -> None:
    """The same in coroutines."""
    figures = Figures()
    async with (
        AsyncVoiceClient(base_url=url, token=TOKEN, environ={}, max_in_flight=64) as client,
        httpx.AsyncClient(headers=HEADERS, timeout=300, limits=LIMITS) as by_httpx,
    ):

        async def with_httpx() -> Any:
            return (await by_httpx.post(f"{url}/api/v2/dockets", json=BODY)).json()["docket_id"]

        async def some(call: Callable[[], Awaitable[Any]]) -> None:
            for _ in range(count // in_flight):
                assert await call()

        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "voice-calling": lambda: client.dockets.create(**DOCKET),
            "httpx": with_httpx,
        }
        for _ in range(rounds):
            for name, call in calls.items():
                await call()
                with figures.round(name, count // in_flight * in_flight):
                    await asyncio.gather(*[some(call) for _ in range(in_flight)])
    figures.print("In coroutines")


def table(title: str, figures: dict[str, list[float]]) -> None:
    """Medians of the rounds, from the lowest to the highest, and the ratio to httpx."""
    base = statistics.median(figures["httpx"])
    print(f"\n{title}")
    for name, values in figures.items():
        median = statistics.median(values)
        spread = f"{min(values):.0f} to {max(values):.0f}"
        print(f"  {name:<42}{median:>9.0f} µs ({spread}){median / base:>7.2f} x httpx")


if __name__ == "__main__":
    main()
