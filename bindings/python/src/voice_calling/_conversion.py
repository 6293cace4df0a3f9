"""Between Python values and the JSON of the core. Arguments are encoded, and what the core could
not take is refused here, by the name that the user gave it; what is allowed beyond that is the
core's to say. Results are decoded as the types in `_types` say."""

from __future__ import annotations

import functools
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields, replace
from enum import Enum
from typing import Any, TypeVar, Union

from . import _errors, _types, _values
from ._errors import RequestError, described, invalid_input, sentence
from ._types import AgentText, Attempt, DocketRequest, HttpResponse, Problem
from ._values import snake

T = TypeVar("T")

# ----------------------------------------------------------------------------------- arguments

_LARGEST_U32 = 2**32 - 1
LONGEST_DEADLINE_S = 86400
LONGEST_WAIT_S = _LARGEST_U32 / 1000
MOST_RETRIES = 99
_LONGEST_KEY = 60


def _wrong(at: str, value: object, allowed: str) -> Exception:
    return invalid_input(at, described(value), allowed)


def encode_integer(value: object, at: str, lowest: int = -(2**63), highest: int = 2**63 - 1) -> int:
    allowed = f"an integer, {lowest} to {highest}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(at, value, allowed)
    if not lowest <= value <= highest:
        found = f"{value}" if abs(value) < 2**128 else "an integer of more than 128 bits"
        raise invalid_input(at, found, allowed)
    return int(value)


def encode_boolean(value: object, at: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(at, value, "True or False")
    return value


def encode_seconds(seconds: object, at: str, most: float) -> int:
    """Returns milliseconds."""
    allowed = f"0.001 to {most} seconds"
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise _wrong(at, seconds, allowed)
    if not 0.001 <= seconds <= most:  # as NaN is
        raise _wrong(at, seconds, allowed)
    return round(seconds * 1000)


def encode_text(value: object, at: str) -> str:
    if not isinstance(value, str):
        raise _wrong(at, value, "a str")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        found = f"a lone surrogate at position {error.start}"
        raise invalid_input(at, found, "a str that is valid Unicode") from None
    return value


def encode_body(value: object) -> str:
    """Encodes text that came from outside. Web frameworks give its bytes, which need not be
    UTF-8."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = bytes(value).decode(errors="replace")
    if not isinstance(value, str):
        raise _wrong("body", value, "a str or bytes")
    return encode_text(value, "body")


def encode_json(value: object, at: str) -> str:
    """Returns the text of free-form JSON; a `str` is such a text."""
    if value is None:
        raise invalid_input(at, "None", "JSON: Python values, or a str of JSON")
    if isinstance(value, str):
        return encode_text(value, at)
    try:
        text = _dumps(value, ensure_ascii=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # lone surrogates, which escapes can say
            text = _dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise invalid_input(at, str(error), "what `json.dumps` takes, or a str of JSON") from None
    return text


def _dumps(value: object, *, ensure_ascii: bool) -> str:
    separators = (",", ":")
    return json.dumps(
        value, ensure_ascii=ensure_ascii, allow_nan=False, separators=separators, default=_as_dict
    )


def _as_dict(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"an object of type {type(value).__name__}")


def encode_texts(value: object, at: str) -> list[tuple[str, str]]:
    """Encodes a mapping of names to texts."""
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise _wrong(at, value, "a mapping of str to str")
    pairs = []
    for name, text in value.items():
        if not isinstance(name, str):
            raise _wrong(at, name, "names that are a str")
        where = f"{at}.{name[:_LONGEST_KEY]}"
        pairs.append((encode_text(name, where), encode_text(text, where)))
    return pairs


def encode_agent_text(value: object, at: str) -> dict[str, Any]:
    if not isinstance(value, AgentText):
        raise _wrong(at, value, "AgentText")
    return {
        "default_text": encode_text(value.default_text, f"{at}.default_text"),
        **given(encode_json, {f"{at}.extra": value.extra}),
    }


def given(encode: Callable[[Any, str], Any], arguments: Mapping[str, object]) -> dict[str, Any]:
    """Encodes optional arguments, without those that were not given."""
    return {
        name.rpartition(".")[2]: encode(value, name)
        for name, value in arguments.items()
        if value is not None
    }


def encode_docket_request(request: DocketRequest, at: str = "") -> dict[str, Any]:
    return {
        "agent_id": encode_integer(request.agent_id, f"{at}agent_id"),
        "to_phone_number": encode_text(request.to_phone_number, f"{at}to_phone_number"),
        "call_context": encode_json(request.call_context, f"{at}call_context"),
        **given(encode_text, {f"{at}external_id": request.external_id}),
        **given(encode_json, {f"{at}extra": request.extra}),
    }


def iterable(requests: object) -> Iterable[Any]:
    """Returns the requests of a batch, which may be any iterable that has an order."""
    if isinstance(requests, (str, bytes, Mapping)) or not isinstance(requests, Iterable):
        raise _wrong("requests", requests, "a list")
    if isinstance(requests, Set):
        raise _wrong("requests", requests, "a list, since a set has no order")
    return requests


# --------------------------------------------------------------------------------------- names

_RECORDS = ("options", "wait", "config", "request")

_METHODS = {
    "agents.create-agent": "agents.create",
    "calls.make-call": "calls.make",
    "dockets.create-docket": "dockets.create_v1",
    "dockets.create-docket-v2": "dockets.create",
}
"""The methods that create, by the functions of the core."""


def method_name(function: str) -> str:
    """Returns the method that has a function of the core."""
    return _METHODS.get(function, function)


def argument_name(path: str, deadline: str = "timeout") -> str:
    """Returns what the user wrote for what the core names; `deadline` is what the method calls the
    deadline. Keys of free-form JSON stay."""
    first, dot, rest = path.partition(".")
    if first.startswith("VOICE_CALLING_"):
        return path
    if dot and first in _RECORDS:
        return argument_name(rest, deadline)
    if first in ("prompt", "welcome-text"):
        rest = rest.replace("default-text", "default_text", 1)
    if path == "deadline-ms":
        return deadline
    return "timeout" if first == "timeout-ms" else first.replace("-", "_") + dot + rest


# ------------------------------------------------------------------------------------- results


def decode(made: type[T], wire: Any) -> T:
    """Returns a record, or an outcome, of its JSON."""
    hint: Any = made
    decoded: T = _decoder(hint)(wire)
    return decoded


@functools.cache
def _decoder(hint: Any) -> Callable[[Any], Any]:
    """Returns what makes a value of this type of its JSON. An option of a value has the decoder of
    the value, since records leave out what is `null`."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        cases = [part for part in parts if part is not type(None)]
        return _decoder(cases[0]) if len(cases) == 1 else _outcome_decoder(cases)
    if origin is tuple:
        decode_item = _decoder(parts[0])
        return lambda wire: tuple([decode_item(it) for it in wire])
    if hint in (int, float):
        return hint  # type: ignore[no-any-return] # large integers are texts of digits
    if issubclass(hint, Enum):
        return lambda wire: (
            hint[snake(wire).upper()] if isinstance(wire, str) else hint(wire["Other"])
        )
    if hasattr(hint, "__dataclass_fields__"):
        return _record_decoder(hint)
    return lambda wire: wire


def _record_decoder(record: Any) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(record)
    names = [field.name for field in fields(record)]
    members = {_types.RENAMED.get(name, name): (name, _decoder(hints[name])) for name in names}

    def decode_record(wire: dict[str, Any]) -> Any:
        values: dict[str, Any] = {}
        for wire_name, value in wire.items():
            if wire_name in members:
                name, decode_value = members[wire_name]
                values[name] = None if value is None else decode_value(value)
        if values.get("retry_after") is not None:
            values["retry_after"] /= 1000
        return record(**values)

    return decode_record


def _outcome_decoder(cases: list[Any]) -> Callable[[Any], Any]:
    """Returns what decodes one of the outcomes in `_values`, whose payload is the argument of its
    type."""
    payloads = {
        (typing.get_origin(it) or it).__name__: [_decoder(of) for of in typing.get_args(it)]
        for it in cases
    }

    def decode_outcome(wire: Any) -> Any:
        if isinstance(wire, str):
            return getattr(_values, wire)()
        ((case, payload),) = wire.items()
        (decode_payload,) = payloads[case]
        return getattr(_values, case)(None if payload is None else decode_payload(payload))

    return decode_outcome


def decode_error(wire: Any, name_of: Callable[[str], str] = argument_name) -> RequestError:
    """Returns the exception for an error. `name_of` is what the user calls what the core names."""
    kind, problem, response = wire["kind"], wire.get("problem"), wire.get("response")
    if kind == "outcome-unknown" and problem and problem["subject"] == "key":
        kind = "in-progress"
    error = _errors_by_kind()[kind](
        wire["message"],
        next_step=wire["next_step"],
        problem=None if problem is None else decode(Problem, problem),
        response=None if response is None else decode(HttpResponse, response),
        attempts=tuple([decode(Attempt, it) for it in wire["attempts"]]),
        may_have_created=wire["may_have_created"],
    )
    if error.problem is not None:
        found, space, function = error.problem.found.rpartition(" ")
        problem = replace(
            error.problem,
            subject=name_of(error.problem.subject),
            found=found + space + method_name(function),
        )
        error.message = error.message.replace(sentence(error.problem), sentence(problem), 1)
        error.problem = problem
        error.args = (error.message,)
    return error


@functools.cache
def _errors_by_kind() -> dict[str, type[RequestError]]:
    classes = [getattr(_errors, name) for name in _errors.__all__]
    return {it.kind: it for it in classes if it.kind}
