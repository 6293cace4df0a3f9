"""What errors say, both those of the component and those of this package."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import CREATED, DOCKET, DOCKET_ID, Answer, Serve, Service

import voice_calling
from voice_calling import (
    ConfigurationProblem,
    ExecutionFailed,
    HttpResponse,
    InvalidInput,
    NoAnswerError,
    NotFound,
    OutcomeUnknown,
    RateLimited,
    Rejected,
    RequestError,
    ServiceError,
    TimedOut,
    Unauthorized,
    Unavailable,
    UnexpectedResponse,
    Unreachable,
    VoiceClient,
)
from voice_calling._guest import Guest, GuestLost
from voice_calling.testing import CREATED as CREATED_SCRIPT
from voice_calling.testing import UNREACHABLE, ScriptedService
from voice_calling.testing import Answer as Answer_

Operation = Callable[[VoiceClient], object]


def create(client: VoiceClient) -> object:
    return client.dockets.create(**DOCKET)


def read(client: VoiceClient) -> object:
    return client.dockets.get(DOCKET_ID)


def error_of(operation: Operation, service: Service, **options: Any) -> RequestError:
    with VoiceClient(environ=service.environ(), **options) as client:
        with pytest.raises(RequestError) as raised:
            operation(client)
    return raised.value


ONCE: dict[str, Any] = {"max_attempts": 1}

ANSWERED: list[tuple[Operation, list[int], type[RequestError], bool]] = [
    (create, [401], Unauthorized, False),
    (create, [403], Unauthorized, False),
    (create, [404], NotFound, False),
    (create, [410], NotFound, False),
    (create, [400], Rejected, False),
    (create, [409], Rejected, True),
    (create, [302], Rejected, True),
    (create, [202], UnexpectedResponse, True),
    (create, [700], UnexpectedResponse, True),
    (create, [429], RateLimited, False),
    (create, [425], RateLimited, False),
    (create, [503], OutcomeUnknown, True),
    (create, [408], OutcomeUnknown, True),
    (create, [503, 401], Unauthorized, True),
    (create, [503, 400], Rejected, True),
    (create, [503, 429], OutcomeUnknown, True),
    (create, [429, 401], Unauthorized, False),
    (read, [401], Unauthorized, False),
    (read, [404], NotFound, False),
    (read, [409], Rejected, False),
    (read, [302], Rejected, False),
    (read, [202], UnexpectedResponse, False),
    (read, [429], RateLimited, False),
    (read, [503], Unavailable, False),
]


@pytest.mark.parametrize(
    ("operation", "statuses", "expected", "may_have_created"),
    ANSWERED,
    ids=lambda it: getattr(it, "__name__", str(it)),
)
def test_an_error_of_the_service_has_its_answer_and_says_what_may_exist(
    serve: Serve,
    operation: Operation,
    statuses: list[int],
    expected: type[RequestError],
    may_have_created: bool,
) -> None:
    service = serve(*[Answer(status, "") for status in statuses])
    error = error_of(operation, service, max_attempts=max(2, len(statuses)))
    assert type(error) is expected
    assert error.may_have_created is may_have_created
    assert error.is_permanent == error.kind.startswith("permanent-")
    assert error.is_permanent or not error.may_have_created
    assert error.response is not None
    assert isinstance(error, ServiceError) == (expected is not OutcomeUnknown)
    assert not isinstance(error, NoAnswerError)
    assert [attempt.status for attempt in error.attempts][: len(statuses)] == statuses
    assert len(error.attempts) == len(service.requests)
    assert error.problem is None
    assert error.message == str(error)


def test_an_error_without_an_answer_says_so_and_what_may_exist(service: Service) -> None:
    with Hangup() as url:
        unknown = error_of(create, service, base_url=url)
        assert (type(unknown), len(unknown.attempts)) == (OutcomeUnknown, 1)
        assert not isinstance(unknown, (ServiceError, NoAnswerError))
        silent = error_of(read, service, base_url=url, max_attempts=2)
        assert (type(silent), len(silent.attempts)) == (TimedOut, 2)
    service.close()
    nobody = [error_of(operation, service, **ONCE) for operation in (create, read)]
    for error in (silent, *nobody):
        assert isinstance(error, NoAnswerError)
        assert not error.is_permanent
        assert error.attempts[0].transport_error is not None
    assert {type(error) for error in nobody} == {Unreachable}
    assert [error.may_have_created for error in (unknown, silent, *nobody)] == [True, *[False] * 3]
    assert {error.response for error in (unknown, silent, *nobody)} == {None}


class Hangup:
    """A service that closes each connection when it has heard the request."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)

    def __enter__(self) -> str:
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def test_configuration_and_input_are_of_neither_base(service: Service) -> None:
    wrong: Any = {**DOCKET, "agent_id": "7"}
    operations: list[tuple[Operation, type[RequestError], dict[str, Any]]] = [
        (lambda client: client.dockets.create(**wrong), InvalidInput, {}),
        (lambda client: client.dockets.get("d"), InvalidInput, {}),
        (create, ConfigurationProblem, {"token": ""}),
        (lambda client: client.dockets.create(**DOCKET, account="x"), ConfigurationProblem, {}),
    ]
    for operation, expected, options in operations:
        error = error_of(operation, service, **options)
        assert type(error) is expected
        assert not isinstance(error, (ServiceError, NoAnswerError))
        assert error.problem is not None
        assert error.is_permanent
        assert (error.response, error.attempts, error.may_have_created) == (None, (), False)
    assert service.requests == []


def test_an_error_says_all_that_is_known(serve: Serve) -> None:
    headers = {"retry-after": "7200", "x-request-id": "r-1"}
    error = error_of(read, serve(Answer(429, {"detail": "slow down"}, headers)), max_attempts=2)
    assert error.response == HttpResponse(
        status=429,
        body='{"detail": "slow down"}',
        body_cut=False,
        request_id="r-1",
        retry_after=7200.0,
    )
    assert [attempt.status for attempt in error.attempts] == [429]
    assert (error.kind, error.problem) == ("rate-limited", None)
    assert "429" in error.message


def test_a_date_that_is_long_past_asks_for_no_pause(serve: Serve) -> None:
    date = {"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"}
    error = error_of(read, serve(Answer(503, "", date)), **ONCE)
    assert error.response is not None
    assert error.response.retry_after == 0.0


def test_an_answer_that_is_not_json_keeps_what_came(serve: Serve) -> None:
    error = error_of(create, serve(Answer(200, "<html>", {"content-type": "text/html"})))
    assert type(error) is UnexpectedResponse
    assert error.may_have_created
    assert error.response is not None
    assert error.response.body == "<html>"
    assert "text/html" in error.message


def test_an_error_can_be_pickled_and_copied(serve: Serve) -> None:
    error = error_of(create, serve(Answer(409, "twice")))
    for kept in [pickle.loads(pickle.dumps(error)), copy.copy(error)]:
        assert type(kept) is Rejected
        assert (str(kept), vars(kept)) == (str(error), vars(error))
        assert kept.may_have_created


def test_every_error_can_be_made_by_those_who_test_with_it() -> None:
    for name in voice_calling._errors.__all__:
        error = getattr(voice_calling, name)("what happened")
        assert isinstance(error, RequestError)
        assert (str(error), error.message) == ("what happened", "what happened")
        assert (error.problem, error.response, error.attempts) == (None, None, ())
        assert error.may_have_created is False


def test_a_5xx_to_a_create_is_not_retried_where_that_is_turned_off(serve: Serve) -> None:
    for create_retry in ["not-sent", "never"]:
        service = serve(Answer(503, "busy"), CREATED)
        error = error_of(create, service, create_retry=create_retry)
        assert type(error) is OutcomeUnknown
        assert error.response is not None
        assert (error.response.status, error.response.body) == (503, "busy")
        assert len(service.requests) == 1


def test_a_create_that_is_never_retried_is_not_retried_after_a_rate_limit_either(
    serve: Serve,
) -> None:
    service = serve(Answer(429, ""), CREATED)
    assert type(error_of(create, service, create_retry="never")) is RateLimited
    assert len(service.requests) == 1


# ------------------------------------------------------------------------------ a lost guest


def trapping(patch: pytest.MonkeyPatch, event: str) -> None:
    """Lets the guest fail at the first step that has such an event."""
    call = Guest.call

    def failing(self: Guest, name: str, given: Any) -> Any:
        if name == "step" and any(event in it for it in given["events"]):
            patch.undo()
            raise GuestLost("a trap")
        return call(self, name, given)

    patch.setattr(Guest, "call", failing)


@pytest.mark.parametrize(
    ("event", "operation", "expected"),
    [
        ("Begin", create, ExecutionFailed),
        ("Answered", create, OutcomeUnknown),
        ("Failed", create, ExecutionFailed),
        ("Answered", read, ExecutionFailed),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_when_the_guest_is_lost_every_caller_is_told_and_the_next_call_gets_another(
    event: str, operation: Operation, expected: type[RequestError], is_async: bool
) -> None:
    service = ScriptedService(UNREACHABLE if event == "Failed" else CREATED_SCRIPT)
    with pytest.MonkeyPatch.context() as patch:
        trapping(patch, event)
        if is_async:

            async def main() -> RequestError:
                async with service.async_client() as client:
                    with pytest.raises(RequestError) as raised:
                        await operation(client)  # type: ignore[arg-type,misc] # pyright: ignore
                    service.steps[:] = [CREATED_SCRIPT]
                    assert (await client.dockets.create(**DOCKET)).status == "OPEN"
                return raised.value

            error = asyncio.run(main())
        else:
            with service.client() as client:
                with pytest.raises(RequestError) as raised:
                    operation(client)
                service.steps[:] = [CREATED_SCRIPT]
                assert client.dockets.create(**DOCKET).status == "OPEN"
            error = raised.value
    assert type(error) is expected
    assert error.may_have_created == (expected is OutcomeUnknown)
    assert "a trap" in str(error)


def test_calls_of_other_threads_are_told_when_the_guest_is_lost(service: Service) -> None:
    service.gate.clear()
    with (
        VoiceClient(environ=service.environ()) as client,
        ThreadPoolExecutor(4) as threads,
        pytest.MonkeyPatch.context() as patch,
    ):
        creates = [threads.submit(create, client) for _ in range(3)]
        for _ in creates:
            service.wait_for_request()
        trapping(patch, "Begin")
        with pytest.raises(ExecutionFailed):
            read(client)
        for future in creates:
            with pytest.raises(OutcomeUnknown):
                future.result(20)


def test_a_batch_keeps_what_was_told_when_the_guest_is_lost() -> None:
    service = ScriptedService(CREATED_SCRIPT, CREATED_SCRIPT, Answer_(after=3600))
    requests = [voice_calling.DocketRequest(**DOCKET)] * 5
    with service.client(max_in_flight=3, attempt_timeout=20) as client:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Guest, "call", failing_from(10_000))
            outcomes = client.dockets.create_many(requests, timeout=3600)
    kinds = sorted(type(it).__name__ for it in outcomes)
    assert kinds == ["CreatedDocket"] * 2 + ["OutcomeUnknown"] * 3


def failing_from(milliseconds: int) -> Any:
    call = Guest.call

    def failing(self: Guest, name: str, given: Any) -> Any:
        if name == "step" and given["now_ms"] >= milliseconds:
            raise GuestLost("a trap")
        return call(self, name, given)

    return failing


def test_a_guest_that_cannot_be_made_has_created_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise MemoryError("no memory")

    monkeypatch.setattr(Guest, "__init__", failing)
    error = error_of(create, service)
    assert type(error) is ExecutionFailed
    assert (error.may_have_created, error.is_permanent) == (False, False)
    assert "no memory" in str(error)


def test_an_error_can_be_written_as_json(serve: Serve) -> None:
    error = error_of(create, serve(Answer(409, "twice", {"x-request-id": "r-1"})))
    written = json.loads(json.dumps(error.to_dict()))
    assert written["kind"] == "permanent-rejected"
    assert written["may_have_created"] is True
    assert written["response"]["request_id"] == "r-1"
    assert written["attempts"][0]["status"] == 409


def test_items_of_a_batch_say_each_what_may_exist(serve: Serve) -> None:
    service = serve(Answer(503, ""))
    numbers = ["919876543210", "1"]
    requests = [
        voice_calling.DocketRequest(**{**DOCKET, "to_phone_number": number}) for number in numbers
    ]
    with VoiceClient(environ=service.environ(), **ONCE) as client:
        unknown, invalid = client.dockets.create_many(requests, timeout=20)
    assert isinstance(unknown, OutcomeUnknown)
    assert unknown.may_have_created
    assert isinstance(invalid, InvalidInput)
    assert not invalid.may_have_created
