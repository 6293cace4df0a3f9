"""Calls that are cancelled, and callers that are gone, beyond the table of cases: what is known is
found on the exception or in the log, and nothing more is sent."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import re
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
from conftest import DOCKET, DOCKET_ID, Serve, Service, create, create_once

from voice_calling import (
    AsyncVoiceClient,
    CreatedDocket,
    DocketRequest,
    OutcomeUnknown,
    VoiceClient,
    _coroutines,
    _threads,
)
from voice_calling._machine import Machine
from voice_calling.testing import CREATED, Answer, ScriptedService

REQUESTS = [DocketRequest(**DOCKET) for _ in range(6)]


def test_other_calls_go_on_when_one_is_cancelled(service: Service) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            tasks = [asyncio.create_task(create(client)) for _ in range(4)]
            for _ in tasks:
                await asyncio.to_thread(service.wait_for_request)
            tasks[0].cancel()
            service.gate.set()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(outcomes[0], asyncio.CancelledError)
        assert all(isinstance(it, CreatedDocket) for it in outcomes[1:])

    asyncio.run(main())


def test_a_create_whose_request_something_else_cancels_ends_at_once(service: Service) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            call = asyncio.create_task(create(client))
            await asyncio.to_thread(service.wait_for_request)
            for task in asyncio.all_tasks() - {call, asyncio.current_task()}:
                task.cancel()
            with pytest.raises(OutcomeUnknown):
                await asyncio.wait_for(call, 5)

    asyncio.run(main())


# --------------------------------------------------------------- clients that are closed or gone


def test_a_closed_client_refuses_calls_and_finishes_those_in_flight(service: Service) -> None:
    service.gate.clear()
    client = VoiceClient(environ=service.environ())
    assert not client.is_closed
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(create(client)))
    thread.start()
    service.wait_for_request()
    client.close()
    assert client.is_closed
    with pytest.raises(RuntimeError, match="the client is closed"):
        create(client)
    service.gate.set()
    thread.join(20)
    assert isinstance(outcomes[0], CreatedDocket)
    assert client._driver._own is not None
    assert client._driver._own.is_closed


def test_a_closed_client_of_coroutines_does_likewise(service: Service, tmp_path: Path) -> None:
    async def main() -> None:
        client = AsyncVoiceClient(environ=service.environ(), ledger=tmp_path / "calls.db")
        assert not client.is_closed
        call = asyncio.create_task(create_once(client))
        await asyncio.to_thread(service.wait_for_request)
        await client.aclose()
        assert client.is_closed
        with pytest.raises(RuntimeError, match="the client is closed"):
            await create(client)
        service.gate.set()
        assert isinstance(await call, CreatedDocket)
        assert client._driver._own is not None
        assert client._driver._own.is_closed
        assert client.ledger is not None
        for _ in range(100):
            if client.ledger._database is None:
                break
            await asyncio.sleep(0.05)
        assert client.ledger._database is None

    service.gate.clear()
    asyncio.run(main())


def test_a_call_that_is_about_to_begin_keeps_the_connections(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = VoiceClient(environ=service.environ())
    begin = Machine.begin

    def closed_first(machine: Machine, running: Any) -> None:
        client.close()
        begin(machine, running)

    monkeypatch.setattr(Machine, "begin", closed_first)
    assert create(client).status == "OPEN"
    assert client._driver._own is not None
    assert client._driver._own.is_closed


def test_a_client_that_was_collected_leaves_no_guest_behind() -> None:
    client = ScriptedService().client()
    create(client)
    machine = weakref.ref(client._driver._machine)
    del client
    for _ in range(100):
        gc.collect()
        if machine() is None:
            return
        threading.Event().wait(0.02)
    pytest.fail("the machine is still there")


def test_a_client_serves_one_event_loop_after_another() -> None:
    service = ScriptedService(Answer(503), CREATED)
    client = service.async_client()

    async def main() -> None:
        assert (await create(client)).status == "OPEN"

    for _ in range(2):
        asyncio.run(main())
    assert len(service.requests) == 3


def test_of_two_event_loops_at_once_a_client_refuses_one(service: Service) -> None:
    client = AsyncVoiceClient(environ=service.environ())

    async def main() -> None:
        call = asyncio.create_task(create(client))
        await asyncio.to_thread(service.wait_for_request)
        with pytest.raises(RuntimeError, match="one event loop at a time"):
            await asyncio.to_thread(asyncio.run, create(client))
        service.gate.set()
        assert isinstance(await call, CreatedDocket)
        await client.aclose()

    service.gate.clear()
    asyncio.run(main())


# ------------------------------------------------------------------------------------- batches


def cancelled_late(monkeypatch: pytest.MonkeyPatch, driver: Any) -> None:
    """Makes a driver cancel what was collected as late as on a machine that is busy."""
    dispatch_cancel = driver.dispatch_cancel
    soon = driver._dispatch

    def late(self: Any, running: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(
                driver,
                "_dispatch",
                lambda self, job: threading.Timer(0.2, soon, (self, job)).start(),
            )
            dispatch_cancel(self, running)

    monkeypatch.setattr(driver, "dispatch_cancel", late)


def test_a_loop_that_is_left_creates_nothing_more(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled_late(monkeypatch, _threads.Threads)
    cancelled_late(monkeypatch, _coroutines.Coroutines)
    requests = [DocketRequest(**DOCKET) for _ in range(1000)]

    def in_a_thread(service: Service) -> None:
        with VoiceClient(environ=service.environ(), max_in_flight=1) as client:
            for _ in client.dockets.create_each(requests, timeout=60):
                break
            assert_ended(service)

    async def in_a_coroutine(service: Service) -> None:
        async with AsyncVoiceClient(environ=service.environ(), max_in_flight=1) as client:
            async for _ in client.dockets.create_each(requests, timeout=60):
                break
            await asyncio.to_thread(assert_ended, service)

    def assert_ended(service: Service) -> None:
        sent = len(service.requests)
        threading.Event().wait(0.3)
        assert len(service.requests) <= sent + 1 < len(requests)

    in_a_thread(serve())
    asyncio.run(in_a_coroutine(serve()))


def test_a_reader_of_a_batch_that_another_closes_is_woken(service: Service) -> None:
    service.gate.clear()
    with VoiceClient(environ=service.environ()) as client:
        batch = client.dockets.create_each(REQUESTS, timeout=60)
        reader = threading.Thread(target=lambda: list(batch), daemon=True)
        reader.start()
        threading.Event().wait(0.2)
        batch.close()
        reader.join(10)
        assert not reader.is_alive()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            batch = client.dockets.create_each(REQUESTS, timeout=60)

            async def read() -> list[Any]:
                return [result async for result in batch]

            reader = asyncio.create_task(read())
            await asyncio.sleep(0.2)
            await batch.aclose()
            await asyncio.wait_for(reader, 10)

    asyncio.run(main())


def test_a_call_that_is_cancelled_at_any_moment_leaves_the_client_usable() -> None:
    """At some moments httpcore leaves a connection behind that never becomes free again."""
    body = b'{"docket_id":"%s"}' % DOCKET_ID.encode()
    answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(EOFError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head)
                await reader.readexactly(int(length[1]) if length else 0)
                writer.write(answer)

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1")
        port = server.sockets[0].getsockname()[1]
        for turns in range(30):
            url = f"http://127.0.0.1:{port}"
            async with AsyncVoiceClient(base_url=url, token="t", max_attempts=1) as client:
                call = asyncio.create_task(create(client))
                for _ in range(turns):
                    await asyncio.sleep(0)
                call.cancel()
                await asyncio.wait([call])
                await client.dockets.create(**DOCKET, timeout=3.0)
        server.close()

    asyncio.run(main())
    gc.collect()
