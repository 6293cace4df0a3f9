"""Options of a client and of accounts, over the variables of the environment. What is allowed is
the core's to say."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from conftest import TOKEN, create

from voice_calling import (
    Account,
    ConfigurationProblem,
    TimedOut,
    Unauthorized,
    VoiceClient,
)
from voice_calling.testing import Answer, ScriptedService

URL = "https://own.test"


def problem_of(**options: Any) -> str:
    """Returns what the error of a client says that cannot be used."""
    with pytest.raises(ConfigurationProblem) as raised:
        with ScriptedService().client(**options) as client:
            create(client)
    assert raised.value.problem is not None
    assert "secret" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"token": b"secret"}, "token: found bytes; allowed: a str"),
        ({"token": "secret\0"}, "VOICE_CALLING_API_TOKEN: found a NUL"),
        ({"deadline": float("inf")}, "deadline: found float inf"),
        ({"environ": "secret"}, "environ: found str; allowed: a mapping of variables"),
        ({"accounts": {"a,b": Account()}}, "accounts: found str 'a,b'"),
        ({"accounts": {"alpha": "secret"}}, "accounts.alpha: found str; allowed: an Account"),
        # What the core finds has the name of the option and that of the variable.
        ({"deadline": 0}, 'deadline (VOICE_CALLING_DEADLINE_MS): found "0";'),
        ({"create_retry": "x"}, "create_retry (VOICE_CALLING_CREATE_RETRY): found "),
        (
            {"accounts": {"a-1": Account(token="secret-1", deadline=0)}},
            'accounts.a-1.deadline (VOICE_CALLING_A_1_DEADLINE_MS): found "0";',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_setting_that_cannot_be_used_is_named(options: dict[str, Any], message: str) -> None:
    assert problem_of(**options).startswith(message)


def test_options_stand_over_the_environment_which_environ_replaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VOICE_CALLING_API_TOKEN", "token-of-the-environment")
    monkeypatch.setenv("VOICE_CALLING_BASE_URL", URL)
    service = ScriptedService()
    environ = {"VOICE_CALLING_API_TOKEN": "token-of-environ", "VOICE_CALLING_BASE_URL": URL}
    given: list[dict[str, Any]] = [{}, {"environ": environ}, {"environ": environ, "token": "own"}]
    for options in given:
        with VoiceClient(http_client=service.http_client(), **options) as client:
            create(client)
    tokens = [request.headers["auth_token"] for request in service.requests]
    assert tokens == [
        f"Bearer {it}" for it in ("token-of-the-environment", "token-of-environ", "own")
    ]


def test_options_are_in_the_units_of_python() -> None:
    late = ScriptedService(Answer(after=3600))
    with late.client(attempt_timeout=0.25, max_attempts=1) as client:
        with pytest.raises(TimedOut) as raised:
            client.agents.list("org-1")
    assert raised.value.attempts[0].duration_ms == 250


def test_accounts_are_added_to_those_of_the_environment_and_stand_over_them() -> None:
    environ = {
        "VOICE_CALLING_ACCOUNTS": "alpha,beta",
        "VOICE_CALLING_ALPHA_API_TOKEN": "alpha-of-the-environment",
        "VOICE_CALLING_BETA_API_TOKEN": "beta-of-the-environment",
    }
    accounts = {"alpha": Account(token="alpha-token"), "gamma-2": Account(token="gamma-token")}
    service = ScriptedService()
    with service.client(environ=environ, accounts=accounts) as client:
        for account in ["alpha", "beta", "gamma-2", None]:
            create(client.with_options(account=account))
    tokens = [request.headers["auth_token"].removeprefix("Bearer ") for request in service.requests]
    assert tokens == ["alpha-token", "beta-of-the-environment", "gamma-token", "test-token"]


def test_the_token_is_in_nothing_that_is_shown_or_pickled() -> None:
    accounts = {"alpha": Account(token=TOKEN)}
    service = ScriptedService(Answer(401, f"no such token: {TOKEN}"))
    client = service.client(token=TOKEN, accounts=accounts)
    with pytest.raises(Unauthorized) as raised:
        create(client)
    owners = [client, client._driver, client._driver._machine, raised.value]
    shown = [repr(accounts), *(repr(it) + str(it) + repr(vars(it)) for it in owners)]
    assert not any(TOKEN in text for text in shown)
    for secret in [client, client._driver._machine._settings]:
        with pytest.raises(TypeError):
            pickle.dumps(secret)
