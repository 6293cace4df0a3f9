"""Options of a call, accounts, and what holds without any: asserted on the wire."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import CREATED, DOCKET, DOCKET_ID, TOKEN, Answer, Serve, Service

from voice_calling import (
    Account,
    AsyncVoiceClient,
    Completed,
    ConfigurationProblem,
    DocketRequest,
    InvalidInput,
    NotFound,
    OutcomeUnknown,
    Pending,
    RequestError,
    Unavailable,
    VoiceClient,
)

DONE = Answer(200, {"docket_id": DOCKET_ID, "status": "COMPLETED"})
OPEN = Answer(200, {"docket_id": DOCKET_ID, "status": "OPEN"})
DETAILS = [{"call_status": "BUSY"}]
COMPLETION = json.dumps({"docket_id": DOCKET_ID, "status": "COMPLETED"})


# -------------------------------------------------------------------------------- no options


def test_a_wait_for_details_takes_404_for_not_yet(serve: Serve) -> None:
    service = serve(Answer(404, ""), Answer(200, DETAILS))
    with VoiceClient(environ=service.environ()) as client:
        done = client.calls.wait_for_details("t-1", timeout=20)
    assert isinstance(done.outcome, Completed)
    assert [call.call_status for call in done.outcome.value.calls] == ["BUSY"]
    assert (done.completed, done.polls, done.failed_polls) == (True, 2, 0)
    assert [request.path for request in service.requests] == ["/call_details/t-1"] * 2


def test_a_wait_for_a_docket_ends_at_404(serve: Serve) -> None:
    service = serve(Answer(404, ""), DONE)
    with VoiceClient(environ=service.environ()) as client, pytest.raises(NotFound):
        client.dockets.wait_for(DOCKET_ID, timeout=20)
    assert len(service.requests) == 1


def test_what_404_means_can_be_said(serve: Serve) -> None:
    service = serve(Answer(404, ""), DONE)
    with VoiceClient(environ=service.environ()) as client:
        done = client.dockets.wait_for(DOCKET_ID, timeout=20, not_found_is_pending=True)
        assert isinstance(done.outcome, Completed)
        service.answers[:] = [Answer(404, "")]
        with pytest.raises(NotFound):
            client.calls.wait_for_details("t-1", timeout=20, not_found_is_pending=False)
    assert len(service.requests) == 3


def test_there_are_four_attempts(serve: Serve) -> None:
    service = serve(Answer(503, ""))
    with VoiceClient(environ=service.environ()) as client:
        with pytest.raises(Unavailable) as unavailable:
            client.dockets.get(DOCKET_ID)
        with pytest.raises(OutcomeUnknown) as unknown:
            client.dockets.create(**DOCKET)
    assert len(unavailable.value.attempts) == len(unknown.value.attempts) == 4
    assert [request.method for request in service.requests] == ["GET"] * 4 + ["POST"] * 4


def test_a_create_is_retried_after_5xx_and_says_that_there_may_be_two(serve: Serve) -> None:
    service = serve(Answer(503, ""), Answer(200, CREATED.body, {"x-request-id": "r-2"}), CREATED)
    with VoiceClient(environ=service.environ()) as client:
        first, second = client.dockets.create(**DOCKET), client.dockets.create(**DOCKET)
    assert [attempt.status for attempt in first.attempts] == [503, 200]
    assert (first.may_be_duplicate, first.request_id) == (True, "r-2")
    assert (second.may_be_duplicate, second.request_id) == (False, None)
    assert len(second.attempts) == 1


def test_nothing_is_sent_that_was_not_given(service: Service) -> None:
    service.answers[:] = [Answer(200, {"task_id": "t-1"})]
    with VoiceClient(environ=service.environ()) as client:
        client.calls.make(from_agent_name="renewals", to_phone_number="+91 98")
        client.agents.create(agent_name="renewals")
    calls, agents = [json.loads(request.body) for request in service.requests]
    assert calls == {"from_agent_name": "renewals", "to_phone_number": "+91 98"}
    assert agents == {"agent_name": "renewals", "tools": None}


def test_a_wait_that_runs_out_has_what_was_seen_last(serve: Serve) -> None:
    service = serve(OPEN)
    environ = service.environ(BACKOFF_MS="60000", MAX_BACKOFF_MS="60000")
    with VoiceClient(environ=environ) as client:
        wait = client.dockets.wait_for(DOCKET_ID, timeout=5)
        service.answers[:] = [Answer(404, "")]
        unseen = client.dockets.wait_for(DOCKET_ID, timeout=5, not_found_is_pending=True)
    assert isinstance(wait.outcome, Pending)
    assert wait.outcome.value is not None
    assert wait.outcome.value.status == "OPEN"
    assert not wait.completed
    assert unseen.outcome == Pending(None)


# ------------------------------------------------------------------------- options of a call

CALLS: list[tuple[str, Callable[..., object]]] = [
    ("agents.create", lambda c, **o: c.agents.create(agent_name="a", **o)),
    ("agents.list", lambda c, **o: c.agents.list("org-1", **o)),
    ("calls.make", lambda c, **o: c.calls.make(from_agent_name="a", to_phone_number="1", **o)),
    ("calls.get_details", lambda c, **o: c.calls.get_details("t-1", **o)),
    ("calls.wait_for_details", lambda c, **o: c.calls.wait_for_details("t-1", timeout=20, **o)),
    ("dockets.create", lambda c, **o: c.dockets.create(**DOCKET, **o)),
    ("dockets.create_v1", lambda c, **o: c.dockets.create_v1(**DOCKET, **o)),
    ("dockets.get", lambda c, **o: c.dockets.get(DOCKET_ID, **o)),
    ("dockets.wait_for", lambda c, **o: c.dockets.wait_for(DOCKET_ID, timeout=20, **o)),
    (
        "dockets.create_many",
        lambda c, **o: raised_by(c.dockets.create_many([DocketRequest(**DOCKET)], timeout=20, **o)),
    ),
    ("webhooks.verify", lambda c, **o: c.webhooks.verify(COMPLETION, **o)),
]


def raised_by(outcomes: Any) -> None:
    for outcome in outcomes:
        if isinstance(outcome, RequestError):
            raise outcome


@pytest.mark.parametrize(("name", "call"), CALLS, ids=[name for name, _ in CALLS])
def test_every_call_takes_an_account_and_a_number_of_retries(
    serve: Serve, name: str, call: Callable[..., object]
) -> None:
    service = serve(Answer(503, ""), Answer(503, ""), Answer(401, ""))
    accounts = {"alpha": Account(token="alpha-token")}
    with VoiceClient(environ=service.environ(), accounts=accounts) as client:
        with pytest.raises(RequestError) as raised:
            call(client, account="alpha", max_retries=1)
    # A poll of a wait is an operation of its own, and a first one that fails does not end it.
    assert len(raised.value.attempts) == (1 if "wait" in name else 2)
    tokens = {request.headers["auth_token"] for request in service.requests}
    assert tokens == {"Bearer alpha-token"}


def test_a_timeout_is_seconds_and_is_kept(service: Service) -> None:
    service.gate.clear()
    with VoiceClient(environ=service.environ()) as client:
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            client.dockets.create(**DOCKET, timeout=0.3)
        assert 0.25 < time.monotonic() - began < 5
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("options", "error", "subject"),
    [
        ({"account": "beta"}, ConfigurationProblem, "account"),
        ({"account": 7}, InvalidInput, "account"),
        ({"timeout": 0}, InvalidInput, "timeout"),
        ({"timeout": 100_000}, InvalidInput, "timeout"),
        ({"timeout": "1"}, InvalidInput, "timeout"),
        ({"timeout": float("nan")}, InvalidInput, "timeout"),
        ({"max_retries": -1}, InvalidInput, "max_retries"),
        ({"max_retries": 100}, InvalidInput, "max_retries"),
        ({"max_retries": 1.0}, InvalidInput, "max_retries"),
    ],
)
def test_an_option_that_is_not_allowed_is_named_and_nothing_is_sent(
    service: Service, options: dict[str, Any], error: type[RequestError], subject: str
) -> None:
    with VoiceClient(environ=service.environ()) as client, pytest.raises(error) as raised:
        client.dockets.create(**DOCKET, **options)
    assert raised.value.problem is not None
    assert raised.value.problem.subject == subject
    assert raised.value.message.startswith(subject)
    assert not raised.value.may_have_created
    assert service.requests == []


def test_how_often_a_call_may_be_retried_is_said_as_it_was_given(service: Service) -> None:
    with VoiceClient(environ=service.environ()) as client, pytest.raises(InvalidInput) as raised:
        client.dockets.create(**DOCKET, max_retries=100)
    assert str(raised.value) == "max_retries: found 100; allowed: an integer, 0 to 99"


def test_options_of_polls_and_of_items_have_their_own_names(service: Service) -> None:
    with VoiceClient(environ=service.environ()) as client:
        with pytest.raises(InvalidInput, match=r"^poll_timeout: "):
            client.dockets.wait_for(DOCKET_ID, timeout=20, poll_timeout=0)
        with pytest.raises(InvalidInput, match=r"^item_timeout: "):
            client.dockets.create_many([DocketRequest(**DOCKET)], timeout=20, item_timeout=0)
    assert service.requests == []


def test_options_may_be_set_for_many_calls(serve: Serve) -> None:
    service = serve(Answer(503, ""))
    accounts = {"alpha": Account(token="alpha-token")}
    with VoiceClient(environ=service.environ(), accounts=accounts) as client:
        alpha = client.with_options(account="alpha", max_retries=2)
        once = alpha.with_options(max_retries=0)
        attempts = []
        for each in [client, alpha, once]:
            with pytest.raises(Unavailable) as raised:
                each.dockets.get(DOCKET_ID)
            attempts.append(len(raised.value.attempts))
        with pytest.raises(Unavailable) as raised:
            once.dockets.get(DOCKET_ID, max_retries=1)
        assert len(raised.value.attempts) == 2
    assert attempts == [4, 3, 1]
    assert tokens(service) == [f"Bearer {TOKEN}"] * 4 + ["Bearer alpha-token"] * 6
    with pytest.raises(RuntimeError, match="the client is closed"):
        alpha.dockets.get(DOCKET_ID)


# -------------------------------------------------------------------------------- accounts


def create(client: VoiceClient, account: str | None) -> None:
    client.dockets.create(**DOCKET, account=account)


def tokens(service: Service) -> list[str]:
    return [request.headers["auth_token"] for request in service.requests]


def test_each_account_sends_its_own_token_to_its_own_service(serve: Serve) -> None:
    own, other = serve(), serve()
    accounts = {
        "alpha": Account(token="alpha-token"),
        "beta-2": Account(token="beta-token", base_url=other.url),
    }
    with VoiceClient(environ=own.environ(), accounts=accounts) as client:
        for account in [None, "alpha", "beta-2", None]:
            create(client, account)
    assert tokens(own) == [f"Bearer {TOKEN}", "Bearer alpha-token", f"Bearer {TOKEN}"]
    assert tokens(other) == ["Bearer beta-token"]


def test_accounts_may_be_in_the_environment_and_options_stand_over_it(service: Service) -> None:
    environ = service.environ(
        ACCOUNTS="alpha,beta",
        ALPHA_API_TOKEN="alpha-of-the-environment",
        BETA_API_TOKEN="beta-of-the-environment",
        BETA_MAX_ATTEMPTS="1",
    )
    accounts = {"alpha": Account(token="alpha-token"), "gamma": Account(token="gamma-token")}
    with VoiceClient(environ=environ, accounts=accounts) as client:
        for account in ["alpha", "beta", "gamma"]:
            create(client, account)
        service.answers[:] = [Answer(503, "")]
        with pytest.raises(OutcomeUnknown) as raised:
            create(client, "beta")
    assert len(raised.value.attempts) == 1
    assert tokens(service)[:3] == [
        "Bearer alpha-token",
        "Bearer beta-of-the-environment",
        "Bearer gamma-token",
    ]


def test_a_client_of_accounts_needs_no_token_of_its_own(service: Service) -> None:
    accounts = {"alpha": Account(token="alpha-token", base_url=service.url)}
    with VoiceClient(environ={}, accounts=accounts) as client:
        create(client, "alpha")
        with pytest.raises(ConfigurationProblem):
            create(client, None)
    assert tokens(service) == ["Bearer alpha-token"]


def test_an_account_without_a_token_is_told(service: Service) -> None:
    with VoiceClient(environ=service.environ(), accounts={"alpha": Account()}) as client:
        with pytest.raises(ConfigurationProblem) as raised:
            create(client, "alpha")
    assert raised.value.problem is not None
    assert raised.value.problem.subject == "VOICE_CALLING_ALPHA_API_TOKEN"


@pytest.mark.parametrize(
    ("accounts", "subject"),
    [
        ([], "accounts"),
        ({"": Account()}, "accounts"),
        ({"Alpha": Account()}, "accounts"),
        ({"a,b": Account()}, "accounts"),
        ({"alpha\n": Account()}, "accounts"),
        ({7: Account()}, "accounts"),
        ({"alpha": "a-token"}, "accounts.alpha"),
        ({"alpha": Account(token=1234567)}, "accounts.alpha.token"),  # type: ignore[arg-type]
        ({"alpha": Account(deadline="1")}, "accounts.alpha.deadline"),  # type: ignore[arg-type]
    ],
)
def test_an_account_that_is_not_one_is_named(accounts: Any, subject: str) -> None:
    with pytest.raises(ConfigurationProblem) as raised:
        VoiceClient(environ={}, accounts=accounts)
    assert raised.value.problem is not None
    assert raised.value.problem.subject == subject
    assert "1234567" not in str(raised.value)
    assert "a-token" not in str(raised.value)


def test_a_rate_limit_of_one_account_does_not_slow_another(serve: Serve) -> None:
    service = serve(Answer(429, "", {"retry-after": "3600"}), CREATED)
    accounts = {"alpha": Account(token="alpha-token")}
    with VoiceClient(environ=service.environ(), accounts=accounts) as client:
        with pytest.raises(RequestError):
            create(client, "alpha")
        began = time.monotonic()
        create(client, None)
        assert time.monotonic() - began < 5


def test_the_token_of_an_account_is_in_nothing_that_is_shown(service: Service) -> None:
    account = Account(token="alpha-token-that-nobody-may-see")
    client = VoiceClient(environ=service.environ(), accounts={"alpha": account})
    shown = [repr(account), repr(client), repr(vars(client)), repr(vars(client._driver))]
    assert not any("nobody-may-see" in text for text in shown)
    with pytest.raises(TypeError):
        pickle.dumps(client)


def test_accounts_are_for_coroutines_as_well(service: Service) -> None:
    import asyncio

    async def main() -> None:
        accounts = {"alpha": Account(token="alpha-token")}
        async with AsyncVoiceClient(environ=service.environ(), accounts=accounts) as client:
            await client.dockets.create(**DOCKET, account="alpha")

    asyncio.run(main())
    assert tokens(service) == ["Bearer alpha-token"]
