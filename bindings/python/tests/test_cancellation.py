"""Calls that somebody gives up, in coroutines and threads: what they end in, and that nothing more
is sent."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import pickle
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from conftest import CREATED, DOCKET, DOCKET_ID, Answer, Serve, Service

from voice_calling import (
    AsyncVoiceClient,
    CreatedDocket,
    ExecutionFailed,
    OutcomeUnknown,
    RequestError,
    TimedOut,
    VoiceClient,
)
from voice_calling._engine import Instance
from voice_calling._pool import Pool
from voice_calling._wasmtime import WasmtimeError

BUSY = Answer(503, "")
cancelling = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="tasks tell since Python 3.11 that they were cancelled"
)


def create(client: AsyncVoiceClient) -> Coroutine[Any, Any, CreatedDocket]:
    return client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})


async def until_requested(service: Service) -> None:
    await asyncio.to_thread(service.wait_for_request)


async def until_idle(client: AsyncVoiceClient) -> None:
    """Until no call runs any more in the threads of the client."""
    pool: Pool = client._pool
    for _ in range(1000):
        if len(pool._idle) == pool._threads:
            return
        await asyncio.sleep(0.01)
    pytest.fail("a call still runs")


def until_all_are_idle(pool: Pool) -> None:
    for _ in range(1000):
        if len(pool._idle) == pool._threads:
            return
        time.sleep(0.01)
    pytest.fail("a call still runs")


def run_with_a_create_that_hangs(
    serve: Serve,
    scenario: Callable[[Service, AsyncVoiceClient], Coroutine[Any, Any, None]],
) -> None:
    """Plays a scenario on a service that says 503 when its gate opens, and is asked once."""
    service = serve(BUSY)
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ(), max_attempts=5) as client:
            await scenario(service, client)
            service.gate.set()
            await until_idle(client)

    asyncio.run(main())
    assert len(service.requests) == 1


def test_a_cancelled_create_that_was_sent_is_unknown_and_not_repeated(
    serve: Serve,
) -> None:
    async def scenario(service: Service, client: AsyncVoiceClient) -> None:
        task = asyncio.create_task(create(client))
        await until_requested(service)
        task.cancel()
        with pytest.raises(OutcomeUnknown) as raised:
            await task
        assert isinstance(raised.value.__cause__, asyncio.CancelledError)
        assert raised.value.is_permanent
        assert raised.value.attempts == ()

    run_with_a_create_that_hangs(serve, scenario)


def test_a_create_that_wait_for_ends_is_unknown(serve: Serve) -> None:
    async def scenario(service: Service, client: AsyncVoiceClient) -> None:
        with pytest.raises(OutcomeUnknown):
            await asyncio.wait_for(create(client), 0.5)
        await until_requested(service)

    run_with_a_create_that_hangs(serve, scenario)


def test_a_create_that_a_timeout_ends_is_unknown(serve: Serve) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("asyncio.timeout came with Python 3.11")
        return

    async def scenario(service: Service, client: AsyncVoiceClient) -> None:
        with pytest.raises(OutcomeUnknown):
            async with asyncio.timeout(0.5):
                await create(client)
        await until_requested(service)

    run_with_a_create_that_hangs(serve, scenario)


async def dial_three(client: AsyncVoiceClient) -> None:
    """What users write to go through a list, whatever fails."""
    for _ in range(3):
        with contextlib.suppress(RequestError):
            await create(client)


@cancelling
def test_a_loop_that_is_cancelled_calls_nobody_else(serve: Serve) -> None:
    async def scenario(service: Service, client: AsyncVoiceClient) -> None:
        task = asyncio.create_task(dial_three(client))
        await until_requested(service)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_with_a_create_that_hangs(serve, scenario)


@cancelling
def test_a_loop_that_a_task_group_ends_calls_nobody_else(serve: Serve) -> None:
    async def scenario(service: Service, client: AsyncVoiceClient) -> None:
        async def fail() -> None:
            await until_requested(service)
            raise ValueError("another member")

        async def both() -> None:
            async with asyncio.TaskGroup() as group:  # type: ignore[attr-defined] # pyright: ignore
                group.create_task(dial_three(client))
                group.create_task(fail())

        with pytest.raises(Exception, match="unhandled errors"):
            await both()

    run_with_a_create_that_hangs(serve, scenario)


@cancelling
def test_a_loop_that_a_timeout_or_wait_for_ends_calls_nobody_else(serve: Serve) -> None:
    async def by_timeout(service: Service, client: AsyncVoiceClient) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):  # type: ignore[attr-defined] # pyright: ignore
                await dial_three(client)
        await until_requested(service)

    async def by_wait_for(service: Service, client: AsyncVoiceClient) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(dial_three(client), 0.5)
        await until_requested(service)

    run_with_a_create_that_hangs(serve, by_timeout)
    run_with_a_create_that_hangs(serve, by_wait_for)


@cancelling
def test_after_a_timeout_further_creates_are_made(serve: Serve) -> None:
    service = serve()
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            for _ in range(2):
                with pytest.raises(OutcomeUnknown):
                    async with asyncio.timeout(0.3):  # type: ignore[attr-defined] # pyright: ignore
                        await create(client)
            with pytest.raises(OutcomeUnknown):
                await asyncio.wait_for(create(client), 0.3)
            service.gate.set()
            async with asyncio.timeout(20):  # type: ignore[attr-defined] # pyright: ignore
                assert (await create(client)).docket_id == DOCKET_ID
            assert (await asyncio.wait_for(create(client), 20)).docket_id == DOCKET_ID

    asyncio.run(main())
    assert len(service.requests) >= 2


@cancelling
def test_a_cancellation_is_not_lost_where_no_worker_becomes_free(serve: Serve) -> None:
    async def scenario(service: Service, client: AsyncVoiceClient) -> None:
        client._pool._max_workers = 1
        first = asyncio.create_task(create(client))
        await until_requested(service)
        client._caller._patience = 0.0
        late = asyncio.create_task(create(client))
        await asyncio.sleep(0)
        late.cancel()  # in the same turn of the loop in which the patience ends
        with pytest.raises((asyncio.CancelledError, TimedOut)):
            await late
        assert late.cancelled()
        first.cancel()
        with pytest.raises(OutcomeUnknown):
            await first

    run_with_a_create_that_hangs(serve, scenario)


def test_a_create_that_is_stopped_while_it_is_given_up_is_unknown_all_the_same(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancel = Pool.cancel

    def cancel_and_wait(self: Pool, job: Any) -> Any:
        seen = cancel(self, job)
        service.gate.set()
        job.future.exception(20)
        return seen

    async def scenario(_: Service, client: AsyncVoiceClient) -> None:
        task = asyncio.create_task(create(client))
        await until_requested(service)
        task.cancel()
        with pytest.raises(OutcomeUnknown):
            await task

    service = serve(BUSY)
    monkeypatch.setattr(Pool, "cancel", cancel_and_wait)
    run_with_a_create_that_hangs(lambda *_: service, scenario)


@pytest.mark.parametrize("has_started", [True, False])
def test_ctrl_c_while_a_thread_starts_sends_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch, has_started: bool
) -> None:
    start, work = threading.Thread.start, Pool._work
    interrupted = threading.Event()

    def start_and_be_interrupted(self: threading.Thread) -> None:
        if not self.name.startswith("voice-calling-"):
            start(self)
            return
        if has_started:
            start(self)
        raise KeyboardInterrupt

    def work_later(self: Pool, *arguments: Any) -> None:
        assert interrupted.wait(20)
        work(self, *arguments)

    before = threads_of_clients()
    with VoiceClient(environ=service.environ(), max_workers=1) as client:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", start_and_be_interrupted)
            patch.setattr(Pool, "_work", work_later)
            with pytest.raises(KeyboardInterrupt):
                client.dockets.create(**DOCKET)
        interrupted.set()
        until_no_threads_but(before)
        assert service.requests == []
        client.dockets.create(**DOCKET)  # the only place in the pool is free again
    assert len(service.requests) == 1


def test_a_place_that_was_given_while_ctrl_c_came_is_free_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("voice_calling._pool.IDLE_SECONDS", 0.5)
    before = threads_of_clients()
    with VoiceClient(environ=service.environ(), max_workers=1) as client:
        client.dockets.create(**DOCKET)
        until_all_are_idle(client._pool)
        with client._pool._lock:
            client._pool._idle.clear()  # and nothing is put into the inbox
        until_no_threads_but(before)
        client.dockets.create(**DOCKET)
    assert len(service.requests) == 2


def test_calls_that_wait_when_the_client_is_closed_are_refused_and_never_sent(
    service: Service,
) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ(), max_workers=1) as client:
            first = asyncio.create_task(create(client))
            await until_requested(service)
            others = [asyncio.create_task(create(client)) for _ in range(3)]
            await asyncio.sleep(0)
        for error in await asyncio.gather(*others, return_exceptions=True):
            assert isinstance(error, RuntimeError)
            assert str(error) == "the client is closed"
        service.gate.set()
        assert (await first).docket_id == DOCKET_ID

    asyncio.run(main())
    assert len(service.requests) == 1


def test_a_client_may_be_closed_in_the_midst_of_anything(service: Service) -> None:
    """As by a signal's handler, or by the garbage collector in whatever thread."""
    client = VoiceClient(environ=service.environ(), max_workers=1)
    pool = client._pool
    client.dockets.create(**DOCKET)
    until_all_are_idle(pool)
    with pool._lock:
        client.close()
        assert client.is_closed
    before = threads_of_clients()
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.dockets.create(**DOCKET)
    until_no_threads_but(before - 1)
    assert len(service.requests) == 1


def test_an_error_that_cannot_be_told_leaves_nobody_waiting(service: Service) -> None:
    class Untold(WasmtimeError):
        def __str__(self) -> str:
            raise MemoryError

    def trapping(*_: object) -> None:
        raise Untold("")

    with VoiceClient(environ=service.environ(), max_workers=1) as client:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Instance, "call", trapping)
            with pytest.raises(ExecutionFailed, match="may exist"):
                client.dockets.create(**DOCKET)
        assert client.dockets.create(**DOCKET).docket_id == DOCKET_ID


def test_an_instance_that_cannot_be_thrown_away_leaves_nobody_waiting(service: Service) -> None:
    def failing(*_: object) -> None:
        raise MemoryError

    with VoiceClient(environ=service.environ(), max_workers=1) as client:
        client.dockets.create(**DOCKET)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("voice_calling._pool.CALLS_PER_INSTANCE", 0)
            patch.setattr(Instance, "close", failing)
            with pytest.raises(MemoryError):
                client.dockets.create(**DOCKET)
        assert client.dockets.create(**DOCKET).docket_id == DOCKET_ID
    assert len(service.requests) == 2


def test_a_cancelled_read_is_cancelled(serve: Serve) -> None:
    async def scenario(service: Service, client: AsyncVoiceClient) -> None:
        task = asyncio.create_task(client.dockets.get(DOCKET_ID))
        await until_requested(service)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_with_a_create_that_hangs(serve, scenario)


def test_a_create_that_still_waited_for_its_turn_is_cancelled_and_never_sent(
    serve: Serve,
) -> None:
    service = serve()
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ(), max_workers=1) as client:
            first = asyncio.create_task(create(client))
            await until_requested(service)
            second = asyncio.create_task(create(client))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            service.gate.set()
            assert (await first).docket_id == DOCKET_ID
            await until_idle(client)

    asyncio.run(main())
    assert len(service.requests) == 1


def test_a_cancelled_create_whose_answer_is_there_returns_it(service: Service) -> None:
    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            task = asyncio.create_task(create(client))
            await asyncio.sleep(0)
            service.wait_for_request()  # the loop stands still
            [job] = jobs
            job.future.exception(20)
            task.cancel()
            assert (await task).docket_id == DOCKET_ID

    jobs: list[Any] = []
    submit = Pool.submit
    with pytest.MonkeyPatch.context() as patch:

        def noting(self: Pool, job: Any) -> None:
            jobs.append(job)
            submit(self, job)

        patch.setattr(Pool, "submit", noting)
        asyncio.run(main())


def test_other_calls_go_on_when_one_is_cancelled(serve: Serve) -> None:
    service = serve(BUSY, BUSY, BUSY, CREATED)
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            tasks = [asyncio.create_task(create(client)) for _ in range(3)]
            for _ in tasks:
                await until_requested(service)
            tasks[1].cancel()
            with pytest.raises(OutcomeUnknown):
                await tasks[1]
            service.gate.set()
            assert (await tasks[0]).docket_id == (await tasks[2]).docket_id == DOCKET_ID
            assert (await create(client)).docket_id == DOCKET_ID

    asyncio.run(main())
    assert len(service.requests) == 6


def test_calls_do_not_block_the_loop_and_run_at_the_same_time(service: Service) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            calls = asyncio.gather(*[create(client) for _ in range(20)])
            for _ in range(20):
                await until_requested(service)
            service.gate.set()
            assert {docket.docket_id for docket in await calls} == {DOCKET_ID}

    asyncio.run(main())


def test_a_call_for_which_no_worker_becomes_free_times_out_unsent(service: Service) -> None:
    service.gate.clear()

    async def from_a_coroutine() -> None:
        environ = service.environ()
        async with AsyncVoiceClient(environ=environ, max_workers=1) as client:
            client._caller._patience = 0.2
            first = asyncio.create_task(create(client))
            await until_requested(service)
            with pytest.raises(TimedOut, match="all workers of the client were busy") as raised:
                await create(client)
            assert raised.value.attempts == ()
            first.cancel()
            with pytest.raises(OutcomeUnknown):
                await first

    asyncio.run(from_a_coroutine())
    service.answers[:] = [Answer(200, [])]
    with VoiceClient(environ=service.environ(), max_workers=1) as client:
        client._caller._patience = 0.1
        waiting = threading.Thread(target=lambda: client.agents.list("org"), daemon=True)
        waiting.start()
        service.wait_for_request()
        with pytest.raises(TimedOut, match="nothing was sent"):
            client.dockets.get(DOCKET_ID)
        service.gate.set()
        waiting.join(20)
    assert len(service.requests) == 2


def test_many_threads_share_a_client(service: Service) -> None:
    found: list[str] = []

    def call() -> None:
        for _ in range(5):
            created = client.dockets.create(
                agent_id=7, to_phone_number="919876543210", call_context={}
            )
            found.append(created.docket_id)

    with VoiceClient(environ=service.environ(), max_workers=4) as client:
        threads = [threading.Thread(target=call) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client._pool._threads <= 4
    assert found == [DOCKET_ID] * 80


def test_a_closed_client_says_so(service: Service) -> None:
    client = VoiceClient(environ=service.environ())
    with client:
        client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert client.is_closed
    assert "closed" in repr(client)
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.dockets.get(DOCKET_ID)
    client.close()


def test_a_call_in_flight_is_finished_when_the_client_is_closed(service: Service) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            task = asyncio.create_task(create(client))
            await until_requested(service)
        service.gate.set()
        assert (await task).docket_id == DOCKET_ID
        with pytest.raises(RuntimeError, match="closed"):
            await create(client)
        await client.aclose()

    asyncio.run(main())


def threads_of_clients() -> int:
    return sum(thread.name.startswith("voice-calling-") for thread in threading.enumerate())


def until_no_threads_but(expected: int) -> None:
    for _ in range(500):
        if threads_of_clients() <= expected:
            return
        time.sleep(0.01)
    pytest.fail("threads are left over")


def test_a_client_that_is_forgotten_leaves_no_threads(service: Service) -> None:
    before = threads_of_clients()
    client = VoiceClient(environ=service.environ())
    client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert threads_of_clients() == before + 1
    del client
    gc.collect()
    until_no_threads_but(before)


def test_what_is_taken_from_a_client_keeps_it_open(service: Service) -> None:
    dockets = VoiceClient(environ=service.environ()).dockets
    gc.collect()
    created = dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert created.docket_id == DOCKET_ID


def test_threads_without_work_end(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voice_calling._pool.IDLE_SECONDS", 0.01)
    before = threads_of_clients()
    with VoiceClient(environ=service.environ()) as client:
        for _ in range(3):
            client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
            until_no_threads_but(before)
        assert client._pool._threads == 0
    assert len(service.requests) == 3


def test_an_instance_that_traps_is_replaced(service: Service) -> None:
    call = Instance.call
    instances: list[Instance] = []

    def trapping(self: Instance, function: Any, arguments: Any) -> Any:
        instances.append(self)
        if len(instances) == 1:
            self.stop()  # ends the call at the first step that the component takes
        return call(self, function, arguments)

    with VoiceClient(environ=service.environ()) as client, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Instance, "call", trapping)
        with pytest.raises(ExecutionFailed, match="what it was to create may exist") as raised:
            client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
        assert raised.value.is_permanent
        assert pickle.loads(pickle.dumps(raised.value)).is_permanent
        created = client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert created.docket_id == DOCKET_ID
    assert len(service.requests) == 1
    assert instances[0] is not instances[1]


def test_an_instance_that_cannot_be_made_is_told_and_nothing_is_sent(service: Service) -> None:
    with pytest.MonkeyPatch.context() as patch:

        def failing(*_: object) -> None:
            raise WasmtimeError("no memory\n\nCaused by:\n    mmap failed\n")

        patch.setattr(Instance, "__init__", failing)
        with VoiceClient(environ=service.environ()) as client:
            with pytest.raises(ExecutionFailed, match=r"sent: mmap failed$") as raised:
                client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert not raised.value.is_permanent
    assert service.requests == []


def test_an_instance_is_renewed_after_many_calls(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("voice_calling._pool.CALLS_PER_INSTANCE", 2)
    with VoiceClient(environ=service.environ()) as client:
        for _ in range(5):
            client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert len(service.requests) == 5
