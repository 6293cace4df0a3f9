"""`voice_calling.testing`: what a user's tests can play without a network, in no time."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import DOCKET, create, scripted_outcome

from voice_calling import (
    CreatedDocket,
    DocketRequest,
    OutcomeUnknown,
    RateLimited,
    UnexpectedResponse,
    Unreachable,
)
from voice_calling.testing import (
    CREATED,
    LOST,
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
@pytest.mark.parametrize("driver", ["threads", "asyncio"])
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
        (raising(OSError("a file")), OSError),
        (of_another_type, TypeError),
        (lambda request: Answer(body={1, 2}), TypeError),
        (lambda request: Answer(status="200"), TypeError),  # type: ignore[arg-type]
    ],
)
@pytest.mark.parametrize("driver", ["threads", "asyncio"])
@pytest.mark.parametrize("call", [create, create_many])
def test_a_mistake_in_a_script_is_raised_by_the_call_and_is_no_answer(
    step: Step, expected: type[BaseException], driver: str, call: Callable[[Any], Any]
) -> None:
    service = ScriptedService(step)
    with pytest.raises(expected):
        scripted_outcome(service, driver, call)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (503, "steps[1]: found int 503; allowed: Answer, Unreachable or Lost"),
        (Answer(body={1}), "set is not JSON serializable"),
        (Answer(status="x"), "steps[1].status: found str 'x'"),  # type: ignore[arg-type]
        (Answer(headers={"retry-after": 5}), "Header value must be str"),  # type: ignore[dict-item]
    ],
)
def test_a_step_that_cannot_be_played_is_refused_at_once(step: Any, message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(message)):
        ScriptedService(CREATED, step)
