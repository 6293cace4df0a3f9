"""Faults of the program around a client, at every step of a request. `test_cases` plays them; as a
program of its own this file is one that goes away."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import httpx
import pytest

from voice_calling import AsyncVoiceClient, BatchResult, RequestError, VoiceClient, outcome_of

Call = Callable[[Any], Any]
"""Calls an operation of a client."""


class Step:
    """A step of the first request, at which something happens to the program. The others of a batch
    have their answers by then, so that no request comes later."""

    def __init__(self, at: str, acts: Callable[[], None], requests: int) -> None:
        self.at = at
        self.acts = acts
        self.released = threading.Event()
        """Set when the exchange may go on."""
        self.is_every = False
        """Whether it happens to every request."""
        self._heads_before = requests - (at in ("before-request", "request-begun"))
        self._heads = 0
        self._has_come = False
        self._turn = threading.Lock()

    def _turns(self, at: str) -> Iterator[None]:
        """Yields for as long as the exchange has to wait."""
        with self._turn:
            self._heads += at == "head"
            if at != self.at or (self._has_come and not self.is_every):
                return
            self._has_come = True
        while self._heads < self._heads_before:
            yield
        self.acts()
        while not self.released.is_set():
            yield

    def reach(self, at: str) -> None:
        for _ in self._turns(at):
            time.sleep(0.001)

    async def reach_async(self, at: str) -> None:
        for _ in self._turns(at):
            await asyncio.sleep(0.001)


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of an answer, whose first piece comes in two."""

    def __init__(self, inner: Any, step: Step) -> None:
        self.inner = inner
        self.step = step

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.inner:
            yield piece[:20]
            self.step.reach("body")
            yield piece[20:]

    def close(self) -> None:
        self.step.reach("end")
        self.inner.close()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self.inner:
            yield piece[:20]
            await self.step.reach_async("body")
            yield piece[20:]

    async def aclose(self) -> None:
        await self.step.reach_async("end")
        await self.inner.aclose()


def client_at(step: Step) -> httpx.Client:
    """An `httpx` client with hooks of the user's, which reach each step."""

    def on_request(request: httpx.Request) -> None:
        trace = request.extensions["trace"]

        def traced(name: str, info: Any) -> None:
            trace(name, info)
            if name == "http11.send_request_body.complete":
                step.reach("request-begun")

        request.extensions["trace"] = traced
        step.reach("before-request")

    def on_response(response: httpx.Response) -> None:
        step.reach("head")
        response.stream = Body(response.stream, step)

    return httpx.Client(event_hooks={"request": [on_request], "response": [on_response]})


def async_client_at(step: Step) -> httpx.AsyncClient:
    async def on_request(request: httpx.Request) -> None:
        trace = request.extensions["trace"]

        async def traced(name: str, info: Any) -> None:
            await trace(name, info)
            if name == "http11.send_request_body.complete":
                await step.reach_async("request-begun")

        request.extensions["trace"] = traced
        await step.reach_async("before-request")

    async def on_response(response: httpx.Response) -> None:
        await step.reach_async("head")
        response.stream = Body(response.stream, step)

    return httpx.AsyncClient(event_hooks={"request": [on_request], "response": [on_response]})


def requests_of(case: dict[str, Any]) -> int:
    return len(case["arguments"].get("requests", [None]))


def connection_error() -> None:
    raise httpx.ConnectError("connection refused")


def interrupt_main() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def interrupt_at_return(frame: FrameType, event: str, _: Any) -> Any:
    """A tracer that interrupts when an outcome is handed over."""
    if frame.f_code.co_name != "run" or "voice_calling" not in frame.f_code.co_filename:
        return None
    if event == "return":
        sys.settrace(None)
        raise KeyboardInterrupt
    return interrupt_at_return


def play(
    client: type[Any], case: dict[str, Any], call: Call, caplog: pytest.LogCaptureFixture
) -> tuple[Any, list[str]]:
    """What reached the caller, and what a user sees in the log without any configuration."""
    does, at = case["program"]["does"], case["program"]["at"]
    if does == "close":
        return None, gone(client, case)
    caplog.clear()
    player = play_async if client is AsyncVoiceClient else play_blocking
    outcome = player(case["settings"], does, at, call, requests_of(case))
    return outcome, [it.getMessage() for it in caplog.records if it.name == "voice_calling"]


def settle(client: VoiceClient) -> None:
    """Waits for what the package does on its own."""
    began = time.monotonic()
    driver = client._driver
    while driver._open or driver._orphans or not driver._machine.is_idle:
        assert time.monotonic() < began + 10, "the package does not come to an end"
        time.sleep(0.001)
        if time.monotonic() > began + 0.1:
            gc.collect()  # an exception may hold the caller, and be held by it


def play_blocking(settings: dict[str, str], does: str, at: str, call: Call, requests: int) -> Any:
    step = Step(at, connection_error if does == "connection-error" else interrupt_main, requests)
    step.is_every = does == "connection-error"
    # It is ignored where a shell runs the tests in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with client_at(step) as http_client:
        client = VoiceClient(environ=settings, http_client=http_client)
        try:
            if does == "leave":
                return first_of(call(client.dockets.create_each))
            if at == "result":
                sys.settrace(interrupt_at_return)
            return call(client)
        except RequestError as error:
            return error
        except KeyboardInterrupt as interrupted:
            return outcome_of(interrupted)
        finally:
            sys.settrace(None)
            signal.signal(signal.SIGINT, before)
            step.released.set()
            settle(client)


def first_of(batch: Any) -> list[BatchResult]:
    for result in batch:
        return [result]
    return []


def play_async(settings: dict[str, str], does: str, at: str, call: Call, requests: int) -> Any:
    task: Any = None

    def acts() -> None:
        if does == "connection-error":
            connection_error()
        task.cancel()
        if at == "result":
            step.released.set()

    # The last moment before a result is handed over in which anything else runs.
    step = Step("end" if at == "result" else at, acts, requests)
    step.is_every = does == "connection-error"

    async def calls(client: AsyncVoiceClient) -> Any:
        if does == "leave":
            step.at = "never"
            async for result in call(client.dockets.create_each):
                return [result]
        return await call(client)

    async def main() -> Any:
        nonlocal task
        async with async_client_at(step) as http_client:
            client = AsyncVoiceClient(environ=settings, http_client=http_client)
            task = asyncio.create_task(calls(client))
            try:
                return await task
            except RequestError as error:
                return error
            except asyncio.CancelledError as cancelled:
                return outcome_of(cancelled)
            finally:
                step.released.set()
                while client._driver._open or not client._driver._machine.is_idle:
                    gc.collect()
                    await asyncio.sleep(0.005)

    return asyncio.run(main())


def gone(client: type[Any], case: dict[str, Any]) -> list[str]:
    """The log of a process that ends at the step: while a thread of it waits, or after it has
    closed its event loop."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.run(
        [sys.executable, __file__, client.__name__, json.dumps(case)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return process.stderr.splitlines()


def go_away(client: str, case: dict[str, Any]) -> None:
    from test_cases import call

    arguments = (case["operation"], case["arguments"])
    if client == VoiceClient.__name__:
        reached = threading.Event()
        step = Step(case["program"]["at"], reached.set, requests_of(case))
        blocking = VoiceClient(environ=case["settings"], http_client=client_at(step))
        threading.Thread(target=call, args=(blocking, *arguments), daemon=True).start()
        assert reached.wait(20)
        return

    loop = asyncio.new_event_loop()
    step = Step(case["program"]["at"], loop.stop, requests_of(case))

    async def main() -> None:
        http_client = async_client_at(step)
        await call(AsyncVoiceClient(environ=case["settings"], http_client=http_client), *arguments)

    held = loop.create_task(main())
    loop.run_forever()
    loop.close()
    assert not held.done()


if __name__ == "__main__":
    go_away(sys.argv[1], json.loads(sys.argv[2]))
