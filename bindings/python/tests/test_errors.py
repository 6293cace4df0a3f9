"""What errors say, both those of the component and those of this package."""

from __future__ import annotations

import asyncio
import copy
import pickle
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import CREATED, DOCKET, DOCKET_ID, Answer, Serve, Service

import voice_calling
from voice_calling import (
    AsyncVoiceClient,
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
from voice_calling._engine import Instance
from voice_calling._wasmtime import WasmtimeError

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


# ---------------------------------------------------------------- errors that this package makes


@pytest.fixture
def trapping() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        call = Instance.call

        def stopped(self: Instance, function: Any, arguments: Any) -> Any:
            self.stop()  # ends the call at the first step that the component takes
            return call(self, function, arguments)

        patch.setattr(Instance, "call", stopped)
        yield patch


@pytest.mark.usefixtures("trapping")
@pytest.mark.parametrize(("operation", "may_have_created"), [(create, True), (read, False)])
def test_a_component_that_traps_in_a_create_may_have_created(
    service: Service, operation: Operation, may_have_created: bool
) -> None:
    error = error_of(operation, service)
    assert type(error) is ExecutionFailed
    assert (error.may_have_created, error.is_permanent) == (may_have_created, may_have_created)


def test_a_component_that_cannot_be_started_has_created_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise WasmtimeError("no memory")

    monkeypatch.setattr(Instance, "__init__", failing)
    error = error_of(create, service)
    assert type(error) is ExecutionFailed
    assert (error.may_have_created, error.is_permanent) == (False, False)


def test_a_create_that_is_cancelled_on_its_way_may_have_created(service: Service) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            task = asyncio.create_task(client.dockets.create(**DOCKET))
            await asyncio.to_thread(service.wait_for_request)
            task.cancel()
            with pytest.raises(OutcomeUnknown) as raised:
                await task
            assert raised.value.may_have_created
            assert raised.value.response is None

    asyncio.run(main())


def test_a_batch_that_is_cancelled_on_its_way_may_have_created(service: Service) -> None:
    service.gate.clear()

    async def main() -> None:
        async with AsyncVoiceClient(environ=service.environ()) as client:
            requests = [voice_calling.DocketRequest(**DOCKET)]
            task = asyncio.create_task(client.dockets.create_many(requests, timeout=20))
            await asyncio.to_thread(service.wait_for_request)
            task.cancel()
            with pytest.raises(OutcomeUnknown) as raised:
                await task
            assert raised.value.may_have_created

    asyncio.run(main())


def test_a_create_for_which_no_worker_becomes_free_has_created_nothing(service: Service) -> None:
    service.gate.clear()
    with VoiceClient(environ=service.environ(), max_workers=1) as client:
        threading.Thread(target=create, args=(client,), daemon=True).start()
        service.wait_for_request()
        with pytest.raises(TimedOut, match=r"busy for 0\.1 s") as raised:
            client.dockets.create(**DOCKET, deadline=0.1)
        assert isinstance(raised.value, NoAnswerError)
        assert (raised.value.may_have_created, raised.value.is_permanent) == (False, False)
        service.gate.set()


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
