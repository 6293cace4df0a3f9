"""Arguments, results, errors and options, as both clients have them."""

from __future__ import annotations

import asyncio
import inspect
import logging
import pickle
import signal
from pathlib import Path
from typing import Any

import freezegun
import pytest
from conftest import DOCKET, DOCKET_ID, TOKEN

import voice_calling as vc
from voice_calling.testing import LOST, Answer, Request, ScriptedService

faces = pytest.mark.parametrize("face", ["threads", "asyncio"])


def outcome(service: ScriptedService, face: str, call: Any, **options: Any) -> Any:
    """Returns what a call of a new client returns, or the error that it raises."""

    async def main() -> Any:
        async with service.async_client(**options) as client:
            return await call(client)

    try:
        if face == "asyncio":
            return asyncio.run(main())
        with service.client(**options) as client:
            return call(client)
    except vc.VoiceCallingError as error:
        return error


def create(client: Any, **changes: Any) -> Any:
    return client.dockets.create(**{**DOCKET, **changes})


@faces
def test_values_become_json_that_keeps_what_they_are(face: str) -> None:
    service = ScriptedService()
    context = {"name": "आशा", "lone": "\ud800", "number": 2**70, "list": [1.5, None, True]}
    outcome(service, face, lambda it: create(it, call_context=context))
    assert service.requests[0].json["extra_config"]["call_context"] == context


@faces
def test_a_wait_returns_the_docket_or_raises_with_the_last_state(face: str) -> None:
    service = ScriptedService()
    created = outcome(service, face, create)
    late = outcome(service, face, lambda it: it.dockets.wait(created.docket_id, timeout=5))
    assert isinstance(late, vc.WaitTimeoutError)
    assert (late.kind, late.next_step, late.polls) == ("timed-out", "retry-later", 2)
    assert isinstance(late.last, vc.Docket)
    assert late.last.status == "IN_PROGRESS"
    copied = pickle.loads(pickle.dumps(late))
    assert (str(copied), vars(copied)) == (str(late), vars(late))
    docket = outcome(service, face, lambda it: it.dockets.wait(created.docket_id, timeout=3600))
    assert (docket.status, docket.call_context) == ("COMPLETED", {})


def test_an_error_that_is_made_by_hand_says_what_its_kind_does() -> None:
    made = vc.OutcomeUnknownError("no answer")
    assert (str(made), made.next_step, made.may_have_created) == ("no answer", "unknown", True)
    assert (vc.InvalidInputError().next_step, vc.TimedOutError().next_step) == (
        "refused",
        "retry-later",
    )


def test_an_error_is_permanent_unless_nothing_was_created_and_it_may_pass() -> None:
    passing = {"rate-limited", "unavailable", "unreachable", "timed-out", "not-begun"}
    assert {kind for kind, error in vc._errors.ERRORS.items() if not error.is_permanent} == passing


@faces
@pytest.mark.parametrize(
    ("call", "subject", "allowed"),
    [
        (lambda it: create(it, call_context=None), "call_context", "a JSON object"),
        (lambda it: create(it, call_context={"a": {1}}), "call_context", "values of JSON"),
        (lambda it: create(it, call_context=float("nan")), "call_context", "values of JSON"),
        (lambda it: create(it, timeout=0), "timeout", "0.001 seconds or more"),
        (lambda it: create(it, timeout=float("nan")), "timeout", "0.001 seconds or more"),
        (lambda it: create(it, timeout=1e5), "timeout", "86400000 milliseconds"),
        (lambda it: create(it, max_retries=100), "max_retries", "0 to 99"),
        (lambda it: it.dockets.wait(DOCKET_ID, timeout=-1), "timeout", "0.001 seconds"),
        (lambda it: it.webhooks.verify(b"{"), "body", "JSON"),
    ],
)
def test_an_argument_that_is_not_allowed_is_a_value_error_that_names_it(
    face: str, call: Any, subject: str, allowed: str
) -> None:
    service = ScriptedService()
    error = outcome(service, face, call)
    assert isinstance(error, vc.InvalidInputError)
    assert isinstance(error, ValueError)
    assert error.problem is not None
    assert error.problem.subject.replace("-", "_") == subject
    assert allowed in error.problem.allowed
    assert service.requests == []


@pytest.mark.parametrize(
    "changes",
    [{"agent_id": "7"}, {"agent_id": 7.5}, {"to_phone_number": 9}, {"external_id": 5}],
)
def test_a_value_of_the_wrong_type_is_a_type_error(changes: dict[str, Any]) -> None:
    service = ScriptedService()
    with service.client() as client, pytest.raises(TypeError):
        create(client, **changes)
    assert service.requests == []


@pytest.mark.parametrize(
    ("options", "subject"),
    [
        ({"base_url": "ftp://x"}, "VOICE_CALLING_BASE_URL"),
        ({"timeout": 0}, "timeout"),
        ({"attempt_timeout": float("inf")}, "attempt_timeout"),
        ({"connect_timeout": float("nan")}, "connect_timeout"),
        ({"timeout": "5"}, "timeout"),
        ({"max_retries": -1}, "max_retries"),
        ({"max_retries": 1.5}, "max_retries"),
        ({"settings": {"MAX_ATTEMPTS": 101}}, "VOICE_CALLING_MAX_ATTEMPTS"),
        ({"create_retry": "always"}, "VOICE_CALLING_CREATE_RETRY"),
        ({"authorities": "x"}, "certificates"),
        ({"proxy": "socks5://x"}, "proxy"),
        ({"headers": {"host": "x"}}, 'the header "host"'),
    ],
)
def test_settings_are_checked_when_the_client_is_made(
    options: dict[str, Any], subject: str
) -> None:
    usual = {"base_url": "https://service.test", "token": TOKEN, "environ": {}}
    for client in (vc.VoiceClient, vc.AsyncVoiceClient):
        with pytest.raises(vc.ConfigurationError) as raised:
            client(**{**usual, **options})
        assert raised.value.problem is not None
        assert raised.value.problem.subject == subject
        assert TOKEN not in repr(raised.value)


def test_options_of_a_call_replace_those_of_the_client() -> None:
    settings = {"ACCOUNTS": "alpha", "ALPHA_API_TOKEN": "token-of-alpha"}
    service = ScriptedService(Answer(429, repeated=True))
    with service.client(settings=settings, token=TOKEN, max_retries=5) as client:
        alpha = client.with_options(account="alpha", max_retries=0)
        for given, options, attempts in [(alpha, {}, 1), (alpha, {"max_retries": 1}, 2)]:
            with pytest.raises(vc.RateLimitedError) as raised:
                create(given, **options)
            assert len(raised.value.attempts) == attempts
        assert TOKEN not in repr(client)
    assert {it.headers["auth_token"] for it in service.requests} == {"Bearer token-of-alpha"}


def test_a_closed_client_refuses_calls() -> None:
    client = ScriptedService().client()
    client.close()
    assert client.is_closed
    with pytest.raises(RuntimeError, match="closed"):
        create(client)


def test_the_hook_sees_each_attempt_and_adds_headers() -> None:
    service = ScriptedService(Answer(503), Answer(200, json={"docket_id": DOCKET_ID}))
    seen: list[Any] = []

    def hook(attempt: vc.OutgoingAttempt) -> Any:
        attempt.headers["traceparent"] = f"trace-{len(seen)}"
        seen.append((attempt.method, attempt.path_and_query))
        return seen.append

    with service.client(on_attempt=hook, headers={"x-team": "renewals"}) as client:
        create(client)
    line = ("POST", "/api/v2/dockets")
    ended = [vc.EndedAttempt(503, None), vc.EndedAttempt(200, None)]
    assert seen == [line, ended[0], line, ended[1]]
    sent = [(it.headers["traceparent"], it.headers["x-team"]) for it in service.requests]
    assert sent == [("trace-0", "renewals"), ("trace-2", "renewals")]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_exception_of_the_hook_does_not_end_the_create() -> None:
    def hook(_: vc.OutgoingAttempt) -> Any:
        raise RuntimeError("of the hook")

    with ScriptedService().client(on_attempt=hook) as client:
        assert create(client).docket_id


def test_ctrl_c_in_the_hook_ends_the_create_before_it_is_sent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def hook(_: vc.OutgoingAttempt) -> Any:
        raise KeyboardInterrupt

    service = ScriptedService()
    with service.client(on_attempt=hook) as client:
        with pytest.raises(KeyboardInterrupt):
            create(client)
        requests = [vc.DocketRequest(**DOCKET)] * 3
        with pytest.raises(KeyboardInterrupt):
            list(client.dockets.create_each(requests, timeout=60))
    assert service.requests == []
    assert "may exist" not in caplog.text


def test_ctrl_c_while_a_result_is_made_interrupts_and_its_docket_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(vc.CreatedDocket, "__init__", interrupted)
    service = ScriptedService(Answer(json={"docket_id": DOCKET_ID}), LOST)
    monkeypatch.setattr(vc.OutcomeUnknownError, "__init__", interrupted)
    with service.client() as client:
        for logged in (DOCKET_ID, "crm-1"):
            with pytest.raises(KeyboardInterrupt):
                create(client, external_id="crm-1")
            assert logged in caplog.text
            caplog.clear()


def test_ctrl_c_at_the_end_of_an_attempt_interrupts_and_its_docket_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def on_end(_: vc.EndedAttempt) -> Any:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with ScriptedService().client(on_attempt=lambda _: on_end) as client:
            with pytest.raises(KeyboardInterrupt):
                create(client, external_id="crm-1")
    finally:
        signal.signal(signal.SIGINT, former)
    assert "crm-1" in caplog.text


@faces
@pytest.mark.parametrize(
    ("verdict", "kind", "found"),
    [
        (True, None, ""),
        (False, vc.InvalidInputError, "a number that may not be called"),
        ("said no", vc.InvalidInputError, "said no"),
        (None, vc.ConfigurationError, "the result None"),
    ],
)
def test_a_check_decides_on_each_create_before_its_key_is_claimed(
    face: str, verdict: Any, kind: Any, found: str, tmp_path: Path
) -> None:
    service, asked = ScriptedService(), []

    def may_call(request: Any) -> Any:
        asked.append(request)
        return verdict

    async def may_call_soon(request: Any) -> Any:
        await asyncio.sleep(0)
        return may_call(request)

    options = {"ledger": tmp_path / "calls.db"}
    for check in [may_call, may_call_soon][: 1 + (face == "asyncio")]:
        error = outcome(service, face, lambda it: create(it, key="a"), may_call=check, **options)
        assert asked[-1] == vc.DocketRequest(**DOCKET, key="a")
        if kind is not None:
            assert (type(error), error.problem.found) == (kind, found)
    call = {"to_phone_number": "+91 1", "from_agent_name": "renewals"}
    outcome(service, face, lambda it: it.calls.make(**call), may_call=may_call)
    assert asked[-1].to_phone_number == "+91 1"
    with vc.Ledger(tmp_path / "calls.db") as ledger:
        assert (ledger.get("a") is None) == (kind is not None)
    assert len(service.requests) == (0 if kind else 2)


def test_rules_refuse_numbers_and_hours() -> None:
    hours = {"hours": "mon-fri 09:30-18:00", "time_zone": "Asia/Kolkata"}
    rules = vc.ContactRules(do_not_call=["098765 43211"], country_code="91", **hours)
    listed = vc.DocketRequest(**{**DOCKET, "to_phone_number": "919876543211"})
    with freezegun.freeze_time("2026-11-27 06:00"):  # a Friday
        assert rules(vc.DocketRequest(**DOCKET)) is True
        assert rules(listed) == "a number on the do-not-call list"
    with freezegun.freeze_time("2026-11-28 06:00"):
        closed = rules(vc.DocketRequest(**DOCKET))
        assert str(closed).startswith(
            "a number outside of its calling hours until 2026-11-30T09:30"
        )
    with pytest.raises(vc.InvalidInputError, match="0: found"):
        vc.ContactRules(do_not_call=["98765"])
    with pytest.raises(vc.InvalidInputError, match="time_zone: found"):
        vc.ContactRules(hours="mon-fri 09:30-18:00")


@faces
def test_a_function_answers_and_its_exception_is_that_of_the_call(face: str) -> None:
    service = ScriptedService()

    def answer(request: Request) -> Answer | None:
        assert request.json["agent_id"] == 7, "another agent"
        return Answer(422) if request.json["to_phone_number"].endswith("1") else None

    service.answer_with(answer)
    assert outcome(service, face, create).docket_id
    blocked = outcome(service, face, lambda it: create(it, to_phone_number="919876543211"))
    assert isinstance(blocked, vc.RejectedError)
    with pytest.raises(AssertionError, match="another agent"):
        outcome(service, face, lambda it: create(it, agent_id=8))
    requests = [vc.DocketRequest(**{**DOCKET, "agent_id": 8})]
    with service.client() as client, pytest.raises(AssertionError, match="another agent"):
        list(client.dockets.create_each(requests, timeout=60))


def test_a_request_without_a_body_has_no_json() -> None:
    service = ScriptedService()
    service.answer_with(lambda request: Answer(404) if request.json is None else None)
    with service.client() as client:
        docket_id = client.dockets.create(**DOCKET).docket_id
        with pytest.raises(vc.NotFoundError):
            client.dockets.get(docket_id)


def test_an_interim_status_is_no_answer() -> None:
    with pytest.raises(ValueError, match="status is 100; allowed: 200 to 999"):
        Answer(100)


def test_a_coroutine_function_answers_on_its_event_loop() -> None:
    service = ScriptedService()

    async def answer(_: Request) -> Answer:
        await asyncio.sleep(0)
        return Answer(422)

    async def main() -> None:
        service.answer_with(answer)
        async with service.async_client() as client:
            with pytest.raises(vc.RejectedError):
                await create(client)

    asyncio.run(main())


def test_attempts_and_ids_are_in_the_log_and_secrets_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="voice_calling")
    service = ScriptedService(LOST)
    options: dict[str, Any] = {"settings": {"LOG": "attempts"}, "token": TOKEN}
    with service.client(**options) as client, pytest.raises(vc.OutcomeUnknownError):
        create(client, external_id="crm-1001")
    assert "crm-1001" in caplog.text
    assert "the connection was reset" in caplog.text
    assert TOKEN not in caplog.text
    assert "919876543210" not in caplog.text


def test_numbers_are_normalized() -> None:
    assert vc.normalize_number("098765-43210", "91") == "919876543210"
    assert vc.normalize_number("+91 98765 43210") == "919876543210"
    with pytest.raises(vc.InvalidInputError, match="text: found"):
        vc.normalize_number("9.19877E+11")
    with pytest.raises(ValueError, match="country_code: found"):
        vc.normalize_number("9876543210", "+91")


def test_a_breaker_stops_a_series_and_lets_one_create_find_out_whether_to_go_on() -> None:
    breaker, refused = vc.Breaker(), Answer(401, repeated=True)
    with ScriptedService(refused).client(max_retries=0) as client:
        for _ in range(5):
            assert breaker.decide() == "begin"
            with pytest.raises(vc.UnauthorizedError) as failure:
                client.dockets.create(agent_id=7, to_phone_number="910000000000", call_context={})
            breaker.on_failure(failure.value)
    assert breaker.decide() == "stop"
    assert breaker.reason is not None
    assert breaker.reason.startswith("not begun, since 5 requests in a row had failed")
    breaker.resume()
    assert [breaker.decide() for _ in range(2)] == ["begin", "wait"]
    breaker.on_success()
    assert breaker.decide() == "begin"


def test_a_call_begins_when_it_is_due_or_when_the_hours_do() -> None:
    hours, zone = "mon-fri 09:30-18:00", "Asia/Kolkata"
    assert vc.next_calling_time(hours, zone, 0.0) == 14400.0
    assert vc.next_calling_time(hours, zone, 14400.25) == 14400.25
    for wrong, name in [((hours, "Kolkata", 0), "time_zone"), (("always", zone, 0), "hours")]:
        with pytest.raises(vc.InvalidInputError, match=f"{name}: found"):
            vc.next_calling_time(*wrong)
    with pytest.raises(ValueError, match="at: found NaN"):
        vc.next_calling_time(hours, zone, float("nan"))


def test_methods_have_signatures_and_documentation() -> None:
    with ScriptedService().client() as client:
        for group in (client.agents, client.calls, client.dockets, client.webhooks):
            for name in [it for it in dir(group) if not it.startswith("_")]:
                found = getattr(group, name)
                assert found.__doc__, name
                assert "self" not in inspect.signature(found).parameters, name
        with pytest.raises(TypeError, match="to_phone"):
            client.dockets.create(agent_id=7, to_phone="9", call_context={})  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "value"),
    [("agent_id", 2**63), *((it, "\ud800") for it in ("to_phone_number", "external_id", "extra"))],
)
def test_what_no_request_can_hold_is_refused_by_its_name(name: str, value: object) -> None:
    service = ScriptedService()
    with service.client() as client, pytest.raises(vc.InvalidInputError, match=f"{name}: found"):
        client.dockets.create(**{**DOCKET, name: value})
    assert service.requests == []
