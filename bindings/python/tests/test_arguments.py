"""What is asked of arguments, before anything is sent, and how they reach the service."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict, UserString
from collections.abc import Iterator
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple
from unittest.mock import create_autospec

import pytest
from conftest import DOCKET_ID, Answer, Service

from voice_calling import (
    AgentText,
    AsyncVoiceClient,
    DocketRequest,
    InvalidInput,
    Problem,
    VoiceClient,
)

HUGE = 10**5000
"""Python writes no integer of so many digits."""


class Point(NamedTuple):
    x: int
    y: int


@pytest.fixture
def client(service: Service) -> Iterator[VoiceClient]:
    with VoiceClient(environ=service.environ()) as client:
        yield client


def docket(**changed: Any) -> dict[str, Any]:
    fields = {"agent_id": 7, "to_phone_number": "919876543210", "call_context": {"a": 1}}
    return {**fields, **changed}


def problem_of(refused: pytest.ExceptionInfo[InvalidInput]) -> Problem:
    assert refused.value.problem is not None
    assert (refused.value.attempts, refused.value.may_have_created) == ((), False)
    return refused.value.problem


def sent(service: Service) -> str:
    [request] = service.requests
    return request.body


def test_a_docket_is_sent_as_it_was_given(client: VoiceClient, service: Service) -> None:
    created = client.dockets.create(**docket(external_id="crm-1", extra={"b": [None, True]}))
    assert created.docket_id == DOCKET_ID
    assert json.loads(sent(service)) == {
        "agent_id": 7,
        "to_phone_number": "919876543210",
        "extra_config": {"call_context": {"a": 1}},
        "external_id": "crm-1",
        "b": [None, True],
    }


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("agent_id", "7", "str '7'"),
        ("agent_id", True, "bool True"),
        ("agent_id", 7.0, "float 7.0"),
        ("agent_id", None, "NoneType None"),
        ("agent_id", 2**63, "9223372036854775808"),
        ("agent_id", -(2**63) - 1, "-9223372036854775809"),
        ("agent_id", HUGE, "an integer of more than 128 bits"),
        ("to_phone_number", 919876543210, "int 919876543210"),
        ("to_phone_number", b"919876543210", "bytes b'919876543210'"),
        ("external_id", 1001, "int 1001"),
        ("external_id", "\ud800", "a lone surrogate at position 0"),
        ("call_context", None, "None"),
        ("call_context", b"{}", "bytes"),
        ("call_context", {1: "a"}, "the key 1"),
        ("call_context", {"a": {None: 1}}, "the key None"),
        ("call_context", {"a": float("nan")}, "nan"),
        ("call_context", {"a": [float("inf")]}, "inf"),
        ("call_context", {"a": Decimal("1.10")}, "Decimal"),
        ("call_context", {"a": {1, 2}}, "set"),
        ("call_context", {"a": UserString("text")}, "UserString"),
        ("call_context", {"a": Point(1, 2)}, "the namedtuple Point"),
        ("call_context", {b"k" * 1000: 1}, "kkk…"),
        ("call_context", {"a": HUGE}, "Exceeds the limit"),
        ("to_phone_number", HUGE, "int"),
        ("call_context", '{"a": "\ud800"}', "a lone surrogate"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_sent_as_it_is_is_refused_and_named(
    client: VoiceClient, service: Service, field: str, value: object, found: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        client.dockets.create(**docket(**{field: value}))
    problem = problem_of(refused)
    assert problem.subject.partition(".")[0] == field
    assert found in problem.found
    assert refused.value.is_permanent
    expected = f"{problem.subject}: found {problem.found}; allowed: {problem.allowed}"
    assert refused.value.message == str(refused.value) == expected
    assert service.requests == []


def test_the_place_in_free_form_json_is_named(client: VoiceClient) -> None:
    with pytest.raises(InvalidInput, match=r"^call_context\.a\[1\]\.b: found object"):
        client.dockets.create(**docket(call_context={"a": [0, {"b": object()}]}))


def test_a_long_key_is_cut(client: VoiceClient) -> None:
    with pytest.raises(InvalidInput) as refused:
        client.dockets.create(**docket(call_context={"k" * 1000: object()}))
    assert problem_of(refused).subject == f"call_context.{'k' * 60}…"


def test_values_that_contain_themselves_are_refused(client: VoiceClient) -> None:
    circle: dict[str, object] = {}
    circle["again"] = circle
    with pytest.raises(InvalidInput, match="nested too deeply") as refused:
        client.dockets.create(**docket(call_context=circle))
    assert problem_of(refused).subject.startswith("call_context")


def test_a_misspelt_field_is_refused(client: VoiceClient, service: Service) -> None:
    with pytest.raises(TypeError, match="external_identifier"):
        client.dockets.create(**docket(external_identifier="crm-1"))
    assert service.requests == []


def test_text_is_json_text_to_the_last_digit(client: VoiceClient, service: Service) -> None:
    text = '{"price": 0.10, "big": 1' + "0" * 400 + ', "price": 0.20, "s": "\\ud800"}'
    client.dockets.create(**docket(call_context=text))
    assert text in sent(service)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"é": "日本", "n": 2**70}, '{"é":"日本","n":1180591620717411303424}'),
        ({"lone": "\ud800"}, '{"lone":"\\ud800"}'),
        (OrderedDict(b=1, a=(1, 2.5)), '{"b":1,"a":[1,2.5]}'),
        (MappingProxyType({"a": MappingProxyType({})}), '{"a":{}}'),
    ],
)
def test_python_values_are_json_without_loss(
    client: VoiceClient, service: Service, value: Any, text: str
) -> None:
    client.dockets.create(**docket(call_context=value))
    assert f'"call_context":{text}' in sent(service)


def test_the_context_of_a_call_is_names_and_texts_in_their_order(
    client: VoiceClient, service: Service
) -> None:
    service.answers[:] = [Answer(200, {"task_id": "t-1"})]
    context = MappingProxyType({"name": "Asha", "b": "é", "a": ""})
    extra = {"extra_config": {"language": "hi"}}
    client.calls.make(from_agent_name="a", to_phone_number="1", call_context=context, extra=extra)
    assert '"call_context":{"name":"Asha","b":"é","a":""}' in sent(service)
    assert json.loads(sent(service))["extra_config"]["language"] == "hi"


@pytest.mark.parametrize(
    ("context", "subject"),
    [
        ({"name": 1}, "call_context.name"),
        ({"name": None}, "call_context.name"),
        ({"name": "\ud800"}, "call_context.name"),
        ({1: "a"}, "call_context"),
        ('{"name": "Asha"}', "call_context"),
        ([("name", "Asha")], "call_context"),
    ],
)
def test_another_context_of_a_call_is_refused(
    client: VoiceClient, service: Service, context: Any, subject: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        client.calls.make(from_agent_name="a", to_phone_number="1", call_context=context)
    assert problem_of(refused).subject == subject
    assert service.requests == []


def test_what_the_component_refuses_is_named_as_it_was_written(client: VoiceClient) -> None:
    with pytest.raises(InvalidInput) as refused:
        client.dockets.create(**docket(to_phone_number="+91 98765"))
    assert problem_of(refused).subject == "to_phone_number"
    with pytest.raises(InvalidInput) as refused:
        client.dockets.create(**docket(extra={"agent_id": 8}))
    assert problem_of(refused).subject == "extra.agent_id"
    with pytest.raises(InvalidInput) as refused:
        client.agents.create(agent_name="a", prompt=AgentText(default_text="p", extra="[]"))
    assert problem_of(refused).subject == "prompt.extra"
    with pytest.raises(InvalidInput) as refused:
        client.dockets.wait_for(DOCKET_ID, timeout=0)
    assert problem_of(refused).subject == "timeout"


@pytest.mark.parametrize(
    "timeout", [-1, 0, 0.0001, float("nan"), float("inf"), 1e10, 10**400, "10", True, None]
)
def test_a_timeout_is_a_number_of_seconds(client: VoiceClient, timeout: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        client.dockets.wait_for(DOCKET_ID, timeout=timeout)
    assert problem_of(refused).subject == "timeout"
    assert problem_of(refused).allowed == "0.001 to 4294967.295 seconds"
    with pytest.raises(InvalidInput) as refused:
        client.dockets.create(**docket(timeout=timeout if timeout is not None else 86401))
    assert problem_of(refused).subject == "timeout"
    assert problem_of(refused).allowed == "0.001 to 86400 seconds"


def test_one_wrong_request_of_a_batch_is_named_and_nothing_is_sent(
    client: VoiceClient, service: Service
) -> None:
    no_records: Any = [docket()]
    text: Any = "ab"
    requests = [DocketRequest(**docket()), DocketRequest(**docket(agent_id="7"))]
    with pytest.raises(InvalidInput) as refused:
        client.dockets.create_many(requests, timeout=5)
    assert problem_of(refused).subject == "requests[1].agent_id"
    with pytest.raises(InvalidInput) as refused:
        client.dockets.create_many(no_records, timeout=5)
    assert problem_of(refused).subject == "requests[0]"
    with pytest.raises(InvalidInput) as refused:
        client.dockets.create_many(text, timeout=5)
    assert problem_of(refused).subject == "requests"
    unordered: Any = set(requests[:0])
    with pytest.raises(InvalidInput, match=r"requests: found set set\(\); allowed: a list, since"):
        client.dockets.create_many(unordered, timeout=5)
    assert service.requests == []


def test_a_batch_takes_any_iterable_and_tells_each_outcome(
    client: VoiceClient, service: Service
) -> None:
    numbers = ["919876543210", "1", "919876543211"]
    requests = (DocketRequest(**docket(to_phone_number=number)) for number in numbers)
    first, second, third = client.dockets.create_many(requests, timeout=5)
    assert not isinstance(first, Exception)
    assert first.docket_id == DOCKET_ID
    assert isinstance(second, InvalidInput)
    assert second.problem is not None
    assert second.problem.subject == "to_phone_number"
    assert not isinstance(third, Exception)
    assert len(service.requests) == 2


def test_a_mock_with_the_spec_of_a_client_has_its_methods() -> None:
    client = create_autospec(VoiceClient).return_value
    client.dockets.create(agent_id=7, to_phone_number="919876543210", call_context={})
    with pytest.raises(TypeError):
        client.dockets.create(agent=7)
    coroutines = create_autospec(AsyncVoiceClient).return_value
    asyncio.run(coroutines.dockets.get("7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"))
