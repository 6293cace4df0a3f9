"""Options of the constructor over the variables of the environment."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from conftest import DOCKET, DOCKET_ID, TOKEN, Answer, Serve, Service

from voice_calling import Account, ConfigurationProblem, TimedOut, Unavailable, VoiceClient


def subject(raised: pytest.ExceptionInfo[ConfigurationProblem]) -> str:
    assert raised.value.problem is not None
    return raised.value.problem.subject


def test_options_stand_over_the_environment(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    service = serve(Answer(503, ""))
    for name, value in service.environ(MAX_ATTEMPTS="3").items():
        monkeypatch.setenv(name, value)
    with VoiceClient() as client, pytest.raises(Unavailable) as raised:
        client.dockets.get(DOCKET_ID)
    assert len(raised.value.attempts) == 3
    with VoiceClient(max_attempts=2) as client, pytest.raises(Unavailable) as raised:
        client.dockets.get(DOCKET_ID)
    assert len(raised.value.attempts) == 2


def test_environ_replaces_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICE_CALLING_BASE_URL", "http://127.0.0.1:9")
    with VoiceClient(environ={}, token=TOKEN) as client:
        with pytest.raises(ConfigurationProblem) as raised:
            client.dockets.get(DOCKET_ID)
    assert subject(raised) == "VOICE_CALLING_BASE_URL"


def test_durations_are_seconds(serve: Serve) -> None:
    service = serve()
    service.gate.clear()
    with VoiceClient(environ=service.environ(), attempt_timeout=0.05, max_attempts=1) as client:
        with pytest.raises(TimedOut) as raised:
            client.dockets.get(DOCKET_ID)
    assert 50 <= raised.value.attempts[0].duration_ms < 5000


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("base_url", 7),
        ("token", 1234567),
        ("deadline", "20"),
        ("deadline", float("inf")),
        ("deadline", True),
        ("deadline", 10**400),
        ("http_client", 7),
        ("http_client", httpx.AsyncClient()),
        ("max_attempts", 3.0),
        ("max_attempts", "3"),
        ("allow_insecure_http", "true"),
        ("create_retry", False),
        ("token", "a\0b"),
    ],
)
def test_an_option_of_the_wrong_type_is_named(option: str, value: Any) -> None:
    with pytest.raises(ConfigurationProblem) as raised:
        VoiceClient(environ={}, **{option: value})
    assert subject(raised) in (option, "VOICE_CALLING_API_TOKEN")
    assert "1234567" not in str(raised.value)


@pytest.mark.parametrize(
    ("option", "value", "variable"),
    [
        ("base_url", "ftp://service.example", "BASE_URL"),
        ("base_url", "http://service.example", "BASE_URL"),
        ("deadline", 0, "DEADLINE_MS"),
        ("deadline", -1.5, "DEADLINE_MS"),
        ("max_attempts", 101, "MAX_ATTEMPTS"),
        ("create_retry", "always", "CREATE_RETRY"),
        ("token", "", "API_TOKEN"),
    ],
)
def test_an_option_out_of_range_is_told_by_the_first_call(
    service: Service, option: str, value: Any, variable: str
) -> None:
    with VoiceClient(environ=service.environ(), **{option: value}) as client:
        with pytest.raises(ConfigurationProblem) as raised:
            client.dockets.get(DOCKET_ID)
    assert subject(raised) == f"{option} (VOICE_CALLING_{variable})"
    assert str(raised.value).startswith(subject(raised) + ": found ")
    assert service.requests == []


def test_an_option_of_an_account_is_named_with_the_account(service: Service) -> None:
    accounts = {"alpha": Account(token=TOKEN, deadline=0)}
    with VoiceClient(environ=service.environ(), accounts=accounts) as client:
        with pytest.raises(ConfigurationProblem) as raised:
            client.dockets.get(DOCKET_ID)
    assert subject(raised) == "accounts.alpha.deadline (VOICE_CALLING_ALPHA_DEADLINE_MS)"


def test_an_environ_that_is_no_mapping_is_named_and_not_shown() -> None:
    with pytest.raises(ConfigurationProblem) as raised:
        VoiceClient(environ=TOKEN)  # type: ignore[arg-type] # pyright: ignore
    assert str(raised.value) == "environ: found str; allowed: a mapping of variables"


@pytest.mark.parametrize("value", ["0", "9" * 20, "9" * 5000, "86400001", "x"])
def test_a_deadline_that_is_none_is_told_by_the_machine(service: Service, value: str) -> None:
    with VoiceClient(environ=service.environ(DEADLINE_MS=value)) as client:
        with pytest.raises(ConfigurationProblem) as raised:
            client.dockets.get(DOCKET_ID)
    assert subject(raised) == "VOICE_CALLING_DEADLINE_MS"
    with VoiceClient(environ=service.environ(), deadline=1e11) as client:
        with pytest.raises(ConfigurationProblem):
            client.dockets.get(DOCKET_ID)


def test_an_environ_of_something_else_than_text_is_told(service: Service) -> None:
    environ: Any = {**service.environ(), "VOICE_CALLING_MAX_ATTEMPTS": 3, 7: 8}
    with pytest.raises(ConfigurationProblem) as raised:
        VoiceClient(environ=environ)
    assert subject(raised) == "VOICE_CALLING_MAX_ATTEMPTS"
    assert raised.value.problem is not None
    assert raised.value.problem.found == "int"


def test_a_client_that_could_not_be_made_can_be_shown() -> None:
    made = object.__new__(VoiceClient)
    with pytest.raises(ConfigurationProblem):
        made.__init__(environ={}, max_attempts="x")  # type: ignore[misc] # pyright: ignore
    assert repr(made) == "<VoiceClient, not made>"


def test_a_misspelt_variable_is_told(service: Service) -> None:
    environ = {**service.environ(), "VOICE_CALLING_DEADLINE": "20"}
    with VoiceClient(environ=environ) as client, pytest.raises(ConfigurationProblem) as raised:
        client.dockets.get(DOCKET_ID)
    assert subject(raised) == "VOICE_CALLING_DEADLINE"


def test_a_variable_of_something_else_is_no_setting(service: Service) -> None:
    environ = {**service.environ(), "VOICE_CALLING_SERVICE_HOST": "10.0.0.1"}
    with VoiceClient(environ=environ) as client:
        client.dockets.create(**DOCKET)
    assert len(service.requests) == 1


def test_an_option_that_is_none_is_as_good_as_absent(service: Service) -> None:
    with VoiceClient(environ=service.environ(), token=None, deadline=None) as client:
        client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    assert json.loads(service.requests[0].body)["agent_id"] == 7
