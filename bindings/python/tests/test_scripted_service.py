"""`voice_calling.testing`: what a user's tests can play without a network, in no time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import DOCKET, create, drivers, scripted_outcome

from voice_calling import (
    CreatedDocket,
    DocketRequest,
    OutcomeUnknown,
    UnexpectedResponse,
)
from voice_calling.testing import (
    CREATED,
    UNREACHABLE,
    Answer,
    Reply,
    Request,
    ScriptedService,
    Step,
)

LATE_BODY = Answer(body=CREATED.body, body_after=math.inf)


@pytest.mark.parametrize(
    ("steps", "expected", "attempts"),
    [
        ([UNREACHABLE, CREATED], CreatedDocket, [None, 200]),
        ([Answer(body=CREATED.body, after=math.inf)], OutcomeUnknown, [None]),
        ([Answer(body=CREATED.body, after=5)], CreatedDocket, [200]),
        ([LATE_BODY], UnexpectedResponse, [200]),
        ([Answer(body=CREATED.body, cut=20)], UnexpectedResponse, [200]),
    ],
)
@drivers
def test_a_create_ends_as_the_script_says_and_takes_no_time(
    steps: list[Any], expected: type[Any], attempts: list[int | None], driver: str
) -> None:
    service = ScriptedService(*steps)
    began = time.monotonic()
    outcome = scripted_outcome(service, driver, create)
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


def raising(error: BaseException) -> Callable[[Request], Reply]:
    def step(request: Request) -> Reply:
        raise error

    return step


def create_many(client: Any) -> Any:
    return client.dockets.create_many([DocketRequest(**DOCKET)], timeout=20)


def of_another_type(request: Request) -> Reply:
    return 503  # type: ignore[return-value] # pyright: ignore


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (raising(AssertionError("agent_id")), AssertionError),
        (raising(KeyboardInterrupt()), KeyboardInterrupt),
        (of_another_type, TypeError),
        (lambda request: Answer(body={1, 2}), TypeError),
    ],
)
@drivers
@pytest.mark.parametrize("call", [create, create_many])
def test_a_mistake_in_a_script_is_raised_by_the_call_and_is_no_answer(
    step: Step, expected: type[BaseException], driver: str, call: Callable[[Any], Any]
) -> None:
    service = ScriptedService(step)
    with pytest.raises(expected):
        scripted_outcome(service, driver, call)
    assert len(service.requests) == 1
