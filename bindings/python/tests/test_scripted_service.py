"""`voice_calling.testing`: what a user's tests can play without a network, in no time."""

from __future__ import annotations

import asyncio
import doctest
import math
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from voice_calling import (
    Completed,
    CreatedDocket,
    DocketRequest,
    OutcomeUnknown,
    RateLimited,
    RequestError,
    UnexpectedResponse,
    Unreachable,
    testing,
)
from voice_calling.testing import (
    COMPLETED,
    CREATED,
    LOST,
    UNREACHABLE,
    Answer,
    Reply,
    Request,
    ScriptedService,
    Step,
)

DOCKET: dict[str, Any] = {"agent_id": 7, "to_phone_number": "919876543210", "call_context": {}}
LATE_BODY = Answer(body=CREATED.body, body_after=math.inf)


@pytest.mark.parametrize(
    ("steps", "expected", "attempts"),
    [
        ([Answer(503), CREATED], CreatedDocket, [503, 200]),
        ([UNREACHABLE, CREATED], CreatedDocket, [None, 200]),
        ([Answer(429, headers={"retry-after": "7"}), CREATED], CreatedDocket, [429, 200]),
        ([Answer(429)], RateLimited, [429] * 4),
        ([LOST], OutcomeUnknown, [None]),
        ([UNREACHABLE], Unreachable, [None] * 4),
        ([Answer(body=CREATED.body, after=math.inf)], OutcomeUnknown, [None]),
        ([Answer(body=CREATED.body, after=5)], CreatedDocket, [200]),
        ([LATE_BODY], UnexpectedResponse, [200]),
        ([Answer(body=CREATED.body, cut=20)], UnexpectedResponse, [200]),
        (
            [lambda request: CREATED if request.json["agent_id"] == 7 else LOST],
            CreatedDocket,
            [200],
        ),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_create_ends_as_the_script_says_and_takes_no_time(
    steps: list[Any], expected: type[Any], attempts: list[int | None], is_async: bool
) -> None:
    service = ScriptedService(*steps)

    async def main() -> Any:
        async with service.async_client() as client:
            return await client.dockets.create(**DOCKET)

    began = time.monotonic()
    outcome: Any
    try:
        if is_async:
            outcome = asyncio.run(main())
        else:
            with service.client() as client:
                outcome = client.dockets.create(**DOCKET)
    except RequestError as error:
        outcome = error
    assert time.monotonic() - began < 5
    assert type(outcome) is expected
    assert [attempt.status for attempt in outcome.attempts] == attempts
    assert len(service.requests) == len(attempts)


def test_a_wait_of_hours_takes_no_time() -> None:
    pending = Answer(body={"docket_id": CREATED.body["docket_id"], "status": "OPEN"})
    with ScriptedService(pending).client() as client:
        wait = client.dockets.wait_for(CREATED.body["docket_id"], timeout=7200)
    assert not wait.completed
    assert wait.waited_ms > 7_000_000
    assert wait.polls > 500


def test_a_partial_body_is_kept() -> None:
    with ScriptedService(Answer(body=CREATED.body, cut=20)).client() as client:
        with pytest.raises(UnexpectedResponse) as raised:
            client.dockets.create(**DOCKET)
    assert raised.value.response.body == '{"docket_id":"7f8d3b'
    assert raised.value.response.body_cut


def test_the_docket_that_was_created_completes() -> None:
    service = ScriptedService(CREATED, COMPLETED)
    with service.client() as client:
        docket = client.dockets.create(**DOCKET)
        wait = client.dockets.wait_for(docket.docket_id, timeout=600)
    assert isinstance(wait.outcome, Completed)
    assert wait.outcome.value.docket_id == docket.docket_id
    assert service.requests[1].path == f"/api/v1/dockets/{docket.docket_id}"


def raising(error: BaseException) -> Callable[[Request], Reply]:
    def step(request: Request) -> Reply:
        raise error

    return step


def of_another_type(request: Request) -> Reply:
    return 503  # type: ignore[return-value] # pyright: ignore


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (raising(AssertionError("agent_id")), AssertionError),
        (raising(KeyboardInterrupt()), KeyboardInterrupt),
        (raising(OSError("a file")), OSError),
        (of_another_type, TypeError),
        (lambda request: Answer(body={1, 2}), TypeError),
        (lambda request: Answer(status="200"), TypeError),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_batch", [False, True])
def test_a_mistake_in_a_script_is_raised_by_the_call_and_is_no_answer(
    step: Step, expected: type[BaseException], is_async: bool, is_batch: bool
) -> None:
    service = ScriptedService(step)

    async def in_coroutines() -> None:
        async with service.async_client() as client:
            if is_batch:
                await client.dockets.create_many([DocketRequest(**DOCKET)], timeout=20)
            else:
                await client.dockets.create(**DOCKET)

    def in_threads() -> None:
        with service.client() as client:
            if is_batch:
                client.dockets.create_many([DocketRequest(**DOCKET)], timeout=20)
            else:
                client.dockets.create(**DOCKET)

    with pytest.raises(expected):
        asyncio.run(in_coroutines()) if is_async else in_threads()
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (503, "steps[1]: found int 503; allowed: Answer, Unreachable or Lost"),
        (Answer(body={1}), "set is not JSON serializable"),
        (Answer(status="x"), "steps[1].status: found str 'x'"),  # type: ignore[arg-type]
    ],
)
def test_a_step_that_cannot_be_played_is_refused_at_once(step: Any, said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        ScriptedService(CREATED, step)


def test_the_example_in_its_documentation_is_right() -> None:
    failed, tried = doctest.testmod(testing)
    assert (failed, tried > 0) == (0, True)
