"""How arguments reach the core: what only Python has among them, and what they are called in
errors. What is allowed beyond that is the core's to say."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from unittest.mock import create_autospec

import pytest
from conftest import DOCKET, DOCKET_ID

from voice_calling import (
    Account,
    AsyncVoiceClient,
    DocketRequest,
    InvalidInput,
    RequestError,
    Unavailable,
    VoiceClient,
)
from voice_calling.testing import Answer, ScriptedService

CIRCLE: dict[str, object] = {}
CIRCLE["again"] = CIRCLE


def make_call(client: VoiceClient, context: Any) -> object:
    return client.calls.make(from_agent_name="a", to_phone_number="1", call_context=context)


def create(**changed: Any) -> Callable[[VoiceClient], object]:
    return lambda client: client.dockets.create(**{**DOCKET, **changed})


def wait(**options: Any) -> Callable[[VoiceClient], object]:
    return lambda client: client.dockets.wait_for(DOCKET_ID, **options)


def many(requests: Any, **options: Any) -> Callable[[VoiceClient], object]:
    return lambda client: client.dockets.create_many(requests, **{"timeout": 5, **options})


def each(requests: Any, **options: Any) -> Callable[[VoiceClient], object]:
    return lambda client: next(client.dockets.create_each(requests, timeout=5, **options))


REFUSED: list[tuple[Callable[[VoiceClient], object], str]] = [
    (create(agent_id="7"), "agent_id: found str '7'; allowed: an integer, -9223372036854775808 to"),
    (create(agent_id=2**63), "agent_id: found 9223372036854775808"),
    (create(external_id="\ud800"), "external_id: found a lone surrogate at position 0"),
    (create(call_context=b"{}"), "call_context: found an object of type bytes"),
    (create(call_context={"a": float("nan")}), "call_context: found Out of range float"),
    (create(call_context={"a": Decimal("1.10")}), "call_context: found an object of type Decimal"),
    (create(call_context={"a": 10**5000}), "call_context: found Exceeds the limit"),
    (create(call_context='{"a": "\ud800"}'), "call_context: found a lone surrogate"),
    (create(call_context=CIRCLE), "call_context: found Circular reference"),
    (wait(timeout=20, poll_timeout=0), "poll_timeout: found int 0"),
    (many([], item_timeout=0), "item_timeout: found int 0"),
    (each(iter([DocketRequest(**DOCKET, once="a")])), "requests[0].once: found 'a' for a client"),
    (
        each(iter([DocketRequest(**DOCKET)]), once="external_id"),
        "requests[0].external_id: found None",
    ),
    (create(once="a"), "once: found 'a' for a client without a ledger"),
    (many([DocketRequest(**DOCKET, once="a")]), "once: found 'a' for a client without a ledger"),
    (
        many([DocketRequest(**DOCKET, once=it) for it in "aba"]),
        "requests[2].once: found 'a', as requests[0] has",
    ),
    (many(set()), "requests: found set set(); allowed: a list, since a set has no order"),
    (many([DocketRequest(**{**DOCKET, "agent_id": "7"})]), "requests[0].agent_id: found str '7'"),
    (lambda client: make_call(client, {"name": 1}), "call_context.name: found int 1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_an_argument_that_is_not_allowed_is_named_and_nothing_is_sent(
    call: Callable[[VoiceClient], object], message: str
) -> None:
    service = ScriptedService()
    with service.client() as client, pytest.raises(InvalidInput) as refused:
        call(client)
    error, problem = refused.value, refused.value.problem
    assert error.message.startswith(message)
    assert problem is not None
    assert str(error) == f"{problem.subject}: found {problem.found}; allowed: {problem.allowed}"
    assert (error.attempts, error.may_have_created, service.requests) == ((), False, [])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"é": "日本", "n": 2**70}, '{"é":"日本","n":1180591620717411303424}'),
        ({"lone": "\ud800"}, '{"lone":"\\ud800"}'),
        (OrderedDict(b=1, a=(1, 2.5)), '{"b":1,"a":[1,2.5]}'),
        (MappingProxyType({"a": MappingProxyType({})}), '{"a":{}}'),
    ],
)
def test_python_values_are_json_without_loss(value: Any, text: str) -> None:
    service = ScriptedService()
    with service.client() as client:
        client.dockets.create(**{**DOCKET, "call_context": value})
    assert f'"call_context":{text}' in service.requests[0].body


REQUESTS = [DocketRequest(**DOCKET)]
COMPLETION = f'{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}'

CALLS: dict[str, Callable[..., Any]] = {
    "agents.create": lambda c, **o: c.agents.create(agent_name="a", **o),
    "agents.list": lambda c, **o: c.agents.list("org-1", **o),
    "calls.make": lambda c, **o: c.calls.make(from_agent_name="a", to_phone_number="1", **o),
    "calls.get_details": lambda c, **o: c.calls.get_details("t-1", **o),
    "calls.wait_for_details": lambda c, **o: c.calls.wait_for_details("t-1", timeout=20, **o),
    "dockets.create": lambda c, **o: c.dockets.create(**DOCKET, **o),
    "dockets.create_v1": lambda c, **o: c.dockets.create_v1(**DOCKET, **o),
    "dockets.get": lambda c, **o: c.dockets.get(DOCKET_ID, **o),
    "dockets.wait_for": lambda c, **o: c.dockets.wait_for(DOCKET_ID, timeout=20, **o),
    "dockets.create_many": lambda c, **o: c.dockets.create_many(REQUESTS, timeout=20, **o),
    "dockets.create_each": lambda c, **o: list(c.dockets.create_each(REQUESTS, timeout=20, **o)),
    "webhooks.verify": lambda c, **o: c.webhooks.verify(COMPLETION, **o),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_takes_an_account_and_a_number_of_retries(name: str) -> None:
    service = ScriptedService(Answer(503), Answer(503), Answer(401))
    with service.client(accounts={"alpha": Account(token="alpha-token")}) as client:
        with contextlib.suppress(RequestError):
            CALLS[name](client, account="alpha", max_retries=1)
    # A poll of a wait is an operation of its own, and a first one that fails does not end it.
    assert len(service.requests) == (3 if "wait" in name else 2)
    tokens = {request.headers["auth_token"] for request in service.requests}
    assert tokens == {"Bearer alpha-token"}


def test_options_may_be_set_for_many_calls() -> None:
    service = ScriptedService(Answer(503))
    with service.client(accounts={"alpha": Account(token="alpha-token")}) as client:
        alpha = client.with_options(account="alpha", max_retries=2)
        once = alpha.with_options(max_retries=0)
        for each, max_retries in [(client, None), (alpha, None), (once, None), (once, 1)]:
            with pytest.raises(Unavailable):
                each.dockets.get(DOCKET_ID, max_retries=max_retries)
    tokens = [request.headers["auth_token"] for request in service.requests]
    assert tokens == ["Bearer test-token"] * 4 + ["Bearer alpha-token"] * 6
    with pytest.raises(RuntimeError, match="the client is closed"):
        alpha.dockets.get(DOCKET_ID)


def test_a_mock_with_the_spec_of_a_client_has_its_methods() -> None:
    client = create_autospec(VoiceClient, instance=True)
    coroutines = create_autospec(AsyncVoiceClient, instance=True)
    client.dockets.create.return_value = created = object()
    assert client.dockets.create(**DOCKET) is created
    client.dockets.create.assert_called_once_with(**DOCKET)
    coroutines.dockets.get.return_value = created
    assert asyncio.run(coroutines.dockets.get(DOCKET_ID)) is created
    for mock in (client, coroutines):
        with pytest.raises(TypeError):
            mock.dockets.create(agent=7)
        with pytest.raises(AttributeError):
            mock.dockets.remove(DOCKET_ID)
