"""Calls that are given up: by a cancelled task, by Ctrl-C, by leaving a batch. They end at once,
nothing more is sent, and what is known is said."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from typing import Any

import httpx
import pytest
import trio
from conftest import DOCKET, DOCKET_ID, Answer, Serve, Service

from voice_calling import (
    AsyncVoiceClient,
    CreatedDocket,
    DocketRequest,
    ExecutionFailed,
    InvalidInput,
    OutcomeUnknown,
    RequestError,
    Unavailable,
    VoiceClient,
    outcome_of,
)
from voice_calling import testing as script
from voice_calling._exchange import Abandoned, Exchange
from voice_calling._machine import Machine
from voice_calling._operations import Operation
from voice_calling._settings import Settings
from voice_calling._threads import Waiting
from voice_calling.testing import ScriptedService

REQUESTS = [DocketRequest(**DOCKET) for _ in range(6)]


class Starting:
    """A driver that notes what it is to send."""

    def __init__(self) -> None:
        self.started: list[Exchange] = []

    def start(self, exchange: Exchange) -> None:
        self.started.append(exchange)

    def end(self, exchange: Exchange) -> None: ...

    def wake(self, at: float) -> None: ...


def settings() -> Settings:
    environ = {
        "VOICE_CALLING_BASE_URL": "https://api.example",
        "VOICE_CALLING_API_TOKEN": "token-of-a-test",
    }
    return Settings(environ=environ)


def creation() -> Operation[Any]:
    call = {"agent_id": 7, "to_phone_number": "919876543210", "call_context": "{}"}
    return Operation({"CreateDocketV2": call}, lambda payload: payload, {}, creates=True)


async def requested(service: Service, count: int = 1) -> None:
    for _ in range(1000):
        if len(service.requests) >= count:
            return
        await asyncio.sleep(0.01)
    pytest.fail("no request came")


def test_a_cancelled_create_ends_at_once_and_says_that_it_is_unknown(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    service = serve(Answer(503, ""))
    service.gate.clear()

    async def main() -> BaseException:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            task = asyncio.create_task(client.dockets.create(**DOCKET))
            await requested(service)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as raised:
                await task
            assert task.cancelled()
            service.gate.set()
            await asyncio.sleep(0.1)
            return raised.value

    outcome = outcome_of(asyncio.run(main()))
    assert isinstance(outcome, OutcomeUnknown)
    assert outcome.may_have_created
    assert len(service.requests) == 1
    [warning] = [it for it in caplog.records if it.levelno == logging.WARNING]
    assert warning.getMessage().startswith("a call was cancelled: ")


def test_what_a_timeout_cut_off_is_found_on_the_timeout_error(service: Service) -> None:
    service.gate.clear()

    async def main() -> BaseException:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            with pytest.raises((TimeoutError, asyncio.TimeoutError)) as raised:
                await asyncio.wait_for(client.dockets.create(**DOCKET), 0.3)
            return raised.value

    assert isinstance(outcome_of(asyncio.run(main())), OutcomeUnknown)


def test_a_cancelled_read_says_nothing_in_the_log(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            with pytest.raises((TimeoutError, asyncio.TimeoutError)):
                await asyncio.wait_for(client.agents.list("org-1"), 0.3)

    asyncio.run(main())
    assert [it for it in caplog.records if it.levelno >= logging.WARNING] == []


def test_a_create_that_is_cancelled_in_a_pause_after_a_refusal_has_created_nothing(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    service = serve(Answer(429, "", {"retry-after": "5"}))

    async def main() -> BaseException:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            task = asyncio.create_task(client.dockets.create(**DOCKET))
            await requested(service)
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as raised:
                await task
            return raised.value

    outcome = outcome_of(asyncio.run(main()))
    assert isinstance(outcome, RequestError)
    assert not outcome.may_have_created
    assert [it for it in caplog.records if it.levelno >= logging.WARNING] == []


def test_trio_cancels_as_well(service: Service) -> None:
    service.gate.clear()
    seen: list[Any] = []

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            with trio.move_on_after(0.3) as scope:
                try:
                    await client.dockets.create(**DOCKET)
                except trio.Cancelled as cancelled:
                    seen.append(outcome_of(cancelled))
                    raise
            assert scope.cancelled_caught

    trio.run(main)
    assert isinstance(seen[0], OutcomeUnknown)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("body", "is_whole"),
    [
        (f'{{"docket_id":"{DOCKET_ID}","status":"OPEN","created":true}}', True),
        (f'{{"docket_id":"{DOCKET_ID}","status":"OPEN","created":true', False),
    ],
)
def test_an_answer_that_is_here_counts_when_its_call_is_given_up(body: str, is_whole: bool) -> None:
    driver = Starting()
    machine = Machine(settings(), driver)
    running = machine.operation(creation(), {}, Waiting())
    machine.begin(running)
    [exchange] = driver.started
    exchange.leaves()
    exchange.begins(httpx.Response(200, headers={"x-request-id": "r-1"}))
    exchange.takes(body.encode())
    machine.give_up(running)
    if is_whole:
        assert running.outcome()["docket_id"] == DOCKET_ID
        return
    with pytest.raises(RequestError) as raised:
        running.outcome()
    assert raised.value.may_have_created
    assert raised.value.response is not None
    assert DOCKET_ID in raised.value.response.body


def test_a_create_that_is_given_up_before_its_first_byte_is_never_sent() -> None:
    driver = Starting()
    machine = Machine(settings(), driver)
    running = machine.operation(creation(), {}, Waiting())
    machine.begin(running)
    [exchange] = driver.started
    machine.give_up(running)
    with pytest.raises(RequestError) as raised:
        running.outcome()
    assert not raised.value.may_have_created
    with pytest.raises(Abandoned):
        exchange.leaves()


def test_an_answer_of_a_lost_guest_is_not_taken_for_another() -> None:
    driver = Starting()
    machine = Machine(settings(), driver)
    machine.begin(machine.operation(creation(), {}, Waiting()))
    machine._lose(RuntimeError("a trap"))
    machine.begin(machine.operation(creation(), {}, Waiting()))
    old, new = driver.started
    assert old.number == new.number
    old.is_not_sent("nobody listens")
    machine.ended(old)
    machine.tick()
    assert driver.started == [old, new]
    assert machine.exchanges == [new]


def test_other_calls_go_on_when_one_is_cancelled(service: Service) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            tasks = [asyncio.create_task(client.dockets.create(**DOCKET)) for _ in range(4)]
            await requested(service, 4)
            tasks[0].cancel()
            service.gate.set()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(outcomes[0], asyncio.CancelledError)
        assert all(isinstance(it, CreatedDocket) for it in outcomes[1:])

    asyncio.run(main())


def test_a_callback_that_raises_ends_the_wait(serve: Serve) -> None:
    service = serve(Answer(404, ""))

    def stop(progress: Any) -> None:
        raise ValueError(f"{progress.requests}: {progress.status}")

    with VoiceClient(environ=service.environ(), backoff=5, max_backoff=5) as client:
        with pytest.raises(ValueError, match="1: 404"):
            client.calls.wait_for_details("t-1", timeout=20, on_progress=stop)
    assert len(service.requests) == 1


def test_a_closed_client_refuses_calls_and_finishes_those_in_flight(service: Service) -> None:
    service.gate.clear()
    client = VoiceClient(environ=service.environ())
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(client.dockets.create(**DOCKET)))
    thread.start()
    service.wait_for_request()
    client.close()
    assert client.is_closed
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.dockets.create(**DOCKET)
    service.gate.set()
    thread.join(20)
    assert isinstance(outcomes[0], CreatedDocket)
    assert client._driver._own is not None
    assert client._driver._own.is_closed


def test_a_call_that_is_about_to_begin_keeps_the_connections(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = VoiceClient(environ=service.environ())
    begin = Machine.begin

    def closed_first(machine: Machine, running: Any) -> None:
        client.close()
        begin(machine, running)

    monkeypatch.setattr(Machine, "begin", closed_first)
    assert client.dockets.create(**DOCKET).status == "OPEN"
    assert client._driver._own is not None
    assert client._driver._own.is_closed


def test_a_client_that_nobody_has_any_more_leaves_no_guest_behind() -> None:
    client = ScriptedService().client()
    client.dockets.create(**DOCKET)
    machine = weakref.ref(client._driver._machine)
    del client
    for _ in range(100):
        gc.collect()
        if machine() is None:
            return
        threading.Event().wait(0.02)
    pytest.fail("the machine is still there")


def test_a_client_serves_one_event_loop_after_another() -> None:
    service = ScriptedService(script.Answer(503), script.CREATED)
    client = service.async_client()

    async def main() -> None:
        assert (await client.dockets.create(**DOCKET)).status == "OPEN"

    for _ in range(2):
        asyncio.run(main())
    trio.run(main)
    assert len(service.requests) == 4


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # asyncio's own
def test_a_create_whose_loop_was_closed_is_logged_when_the_client_is_used_again(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    service = serve()
    service.hangs_after = 0
    client = AsyncVoiceClient(environ=service.environ())
    loop = asyncio.new_event_loop()
    task = loop.create_task(client.dockets.create(**DOCKET, external_id="crm-7"))
    loop.run_until_complete(requested(service))
    loop.close()
    service.hangs_after = None
    assert asyncio.run(client.dockets.create(**DOCKET)).status == "OPEN"
    [line] = caplog.messages
    assert line.startswith("the event loop of a call was closed: the request was sent")
    assert "external_id 'crm-7'" in line
    assert not task.done()


# ------------------------------------------------------------------------------------- batches


def test_a_batch_gives_each_result_as_it_comes() -> None:
    late = script.Answer(body=script.CREATED.body, after=5)
    service = ScriptedService(late, script.CREATED, script.CREATED)
    requests = [*REQUESTS[:3], DocketRequest(**{**DOCKET, "to_phone_number": "1"})]
    with service.client() as client:
        results = list(client.dockets.create_each(requests, timeout=60))
    assert sorted(result.index for result in results) == [0, 1, 2, 3]
    by_index = {result.index: result for result in results}
    assert isinstance(by_index[3].error, InvalidInput)
    assert by_index[3].request is requests[3]
    created = [result for result in results if result.created]
    assert [it.created.attempts[0].duration_ms for it in created if it.created] == [0, 0, 5000]


def hanging(serve: Serve, first: int) -> Service:
    """A service that answers so many creates, and then only hears."""
    service = serve()
    service.hangs_after = first
    return service


def test_a_batch_that_is_left_keeps_its_ids_and_tells_what_is_unknown(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    service = hanging(serve, 2)
    with VoiceClient(environ=service.environ(), max_in_flight=2) as client:
        with client.dockets.create_each(REQUESTS, timeout=60) as batch:
            for count, _ in enumerate(batch, 1):
                if count == 2:
                    break
    kinds = [type(result.outcome).__name__ for result in batch.results]
    assert kinds.count("CreatedDocket") == 2
    assert kinds.count("OutcomeUnknown") >= len(service.requests) - 2
    assert list(batch) == []
    warnings = [it for it in caplog.records if "cancelled: " in it.getMessage()]
    assert len(warnings) == kinds.count("OutcomeUnknown")


def test_a_loop_that_is_left_creates_nothing_more(serve: Serve) -> None:
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


def test_who_waits_for_a_batch_that_another_closes_hears_of_it(serve: Serve) -> None:
    with VoiceClient(environ=hanging(serve, 0).environ()) as client:
        batch = client.dockets.create_each(REQUESTS, timeout=60)
        reader = threading.Thread(target=lambda: list(batch), daemon=True)
        reader.start()
        threading.Event().wait(0.2)
        batch.close()
        reader.join(10)
        assert not reader.is_alive()

    async def main() -> None:
        environ = hanging(serve, 0).environ()
        async with AsyncVoiceClient(environ=environ) as client:
            batch = client.dockets.create_each(REQUESTS, timeout=60)

            async def read() -> list[Any]:
                return [result async for result in batch]

            reader = asyncio.create_task(read())
            await asyncio.sleep(0.2)
            await batch.aclose()
            await asyncio.wait_for(reader, 10)

    asyncio.run(main())


def test_ids_of_a_batch_that_nobody_read_are_logged(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    ids = [f"00000000-0000-0000-0000-00000000000{digit}" for digit in range(3)]
    service = serve(*(Answer(200, {"docket_id": it, "status": "OPEN"}) for it in [*ids, ids[0]]))
    service.hangs_after = 3
    with VoiceClient(environ=service.environ(), max_in_flight=3) as client:
        batch = client.dockets.create_each(REQUESTS, timeout=60)
        first = next(batch).created
        while len(service.requests) < 6:
            threading.Event().wait(0.01)
        batch.close()
    assert first is not None
    created = {result.created.docket_id for result in batch.results if result.created}
    assert created == set(ids)
    unread = {it for it in ids if any(it in message for message in caplog.messages)}
    assert unread == created - {first.docket_id}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_batch_in_coroutines_gives_results_and_may_be_left(serve: Serve) -> None:
    async def whole() -> None:
        service = ScriptedService(script.CREATED)
        async with service.async_client() as client:
            results = [it async for it in client.dockets.create_each(REQUESTS, timeout=60)]
            assert sorted(it.index for it in results) == list(range(6))

    async def left() -> None:
        service = hanging(serve, 1)
        async with AsyncVoiceClient(environ=service.environ(), max_in_flight=3) as client:
            async with client.dockets.create_each(REQUESTS, timeout=60) as batch:
                async for _ in batch:
                    break
        kinds = [type(result.outcome).__name__ for result in batch.results]
        assert kinds.count("CreatedDocket") == 1
        assert kinds.count("OutcomeUnknown") >= len(service.requests) - 1

    for main in [whole, left]:
        asyncio.run(main())
        trio.run(main)


def test_a_cancelled_batch_has_its_results_on_the_exception(serve: Serve) -> None:
    service = hanging(serve, 1)

    async def main() -> BaseException:
        async with AsyncVoiceClient(environ=service.environ(), max_in_flight=2) as client:
            task = asyncio.create_task(client.dockets.create_many(REQUESTS, timeout=60))
            await requested(service, 3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as raised:
                await task
            return raised.value

    results = outcome_of(asyncio.run(main()))
    kinds = [type(result.outcome).__name__ for result in results]
    assert kinds.count("CreatedDocket") == 1
    assert kinds.count("OutcomeUnknown") == 2


def test_a_batch_tells_its_progress() -> None:
    told: list[int] = []
    with ScriptedService(script.CREATED).client() as client:
        outcomes = client.dockets.create_many(
            REQUESTS, timeout=60, on_result=lambda result: told.append(result.index)
        )
    assert len(outcomes) == 6
    assert sorted(told) == list(range(6))


def test_a_batch_that_is_refused_as_a_whole_raises() -> None:
    with ScriptedService().client() as client:
        for requests, timeout in [(REQUESTS * 200, 60.0), (REQUESTS, 0.0)]:
            with pytest.raises(InvalidInput):
                list(client.dockets.create_each(requests, timeout=timeout))
        assert client.dockets.create_many([], timeout=60) == []


def test_an_error_of_a_read_is_raised_from_a_scripted_service() -> None:
    with ScriptedService(script.Answer(503)).client(max_attempts=2) as client:
        with pytest.raises(Unavailable) as raised:
            client.agents.list("org-1")
    assert len(raised.value.attempts) == 2
    assert not isinstance(raised.value, ExecutionFailed)
