"""Arguments as the machine's JSON. What it could not take is refused here, by the name that the
user gave it; what is allowed beyond that is the machine's to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from ._failures import invalid_input, wrong_value
from ._json import cut, dumps
from ._types import AgentConfig, AgentText, CallRequest, DocketRequest, DocketRequestV1

_LARGEST_U32 = 2**32 - 1
_LONGEST_DEADLINE_S = 86400
_LONGEST_WAIT_S = _LARGEST_U32 / 1000
_MOST_RETRIES = 99


def integer(value: object, at: str, lowest: int = -(2**63), highest: int = 2**63 - 1) -> int:
    allowed = f"an integer, {lowest} to {highest}"
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_value(at, value, allowed)
    if not lowest <= value <= highest:
        found = f"{value}" if abs(value) < 2**128 else "an integer of more than 128 bits"
        raise invalid_input(at, found, allowed)
    return int(value)


def boolean(value: object, at: str) -> bool:
    if not isinstance(value, bool):
        raise wrong_value(at, value, "True or False")
    return value


def deadline_ms(value: object, at: str) -> int:
    return _milliseconds(value, at, _LONGEST_DEADLINE_S)


def wait_ms(value: object, at: str) -> int:
    return _milliseconds(value, at, _LONGEST_WAIT_S)


def _milliseconds(seconds: object, at: str, most: float) -> int:
    allowed = f"0.001 to {most} seconds"
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise wrong_value(at, seconds, allowed)
    if not 0.001 <= seconds <= most:  # as NaN is
        raise wrong_value(at, seconds, allowed)
    return round(seconds * 1000)


def attempts(retries: object, at: str) -> int:
    """Users say how often it is tried again."""
    return integer(retries, at, 0, _MOST_RETRIES) + 1


def text(value: object, at: str) -> str:
    if not isinstance(value, str):
        raise wrong_value(at, value, "a str")
    return unicode(value, at)


def unicode(value: str, at: str) -> str:
    """The same, which has no lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        found = f"a lone surrogate at position {error.start}"
        raise invalid_input(at, found, "a str that is valid Unicode") from None
    return value


def json_text(value: object, at: str) -> str:
    if value is None:
        raise invalid_input(at, "None", "JSON: Python values, or a str of JSON")
    return unicode(dumps(value, at, invalid_input), at)


def body(value: object) -> str:
    """Text that came from outside. Web frameworks give its bytes, which need not be UTF-8."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        value = bytes(value).decode(errors="replace")
    if not isinstance(value, str):
        raise wrong_value("body", value, "a str or bytes")
    return unicode(value, "body")


def names_and_texts(value: object, at: str) -> list[tuple[str, str]]:
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise wrong_value(at, value, "a mapping of str to str")
    pairs = []
    for name, it in value.items():
        if not isinstance(name, str):
            raise wrong_value(at, name, "names that are a str")
        where = f"{at}.{cut(name)}"
        pairs.append((unicode(name, where), text(it, where)))
    return pairs


def _agent_text(value: object, at: str) -> dict[str, Any]:
    if not isinstance(value, AgentText):
        raise wrong_value(at, value, "AgentText")
    return {
        "default_text": text(value.default_text, f"{at}.default_text"),
        "extra": _extra(value.extra, f"{at}.extra"),
    }


def _extra(value: object, at: str) -> str | None:
    return None if value is None else json_text(value, at)


def agent_config(config: AgentConfig) -> dict[str, Any]:
    wire: dict[str, Any] = {"agent_name": text(config.agent_name, "agent_name")}
    for name in ("prompt", "welcome_text"):
        if (value := getattr(config, name)) is not None:
            wire[name] = _agent_text(value, name)
    for name in (
        "agent_phone_number",
        "voice_id",
        "server_type",
        "call_type",
        "created_at",
        "updated_at",
    ):
        if (value := getattr(config, name)) is not None:
            wire[name] = text(value, name)
    for name in ("enabled", "save_stats"):
        if (value := getattr(config, name)) is not None:
            wire[name] = boolean(value, name)
    if config.version is not None:
        wire["version"] = integer(config.version, "version")
    for name in ("tools", "extra"):
        wire[name] = _extra(getattr(config, name), name)
    return wire


def call_request(request: CallRequest) -> dict[str, Any]:
    agent = request.from_agent_name
    return {
        "from_agent_name": None if agent is None else text(agent, "from_agent_name"),
        "to_phone_number": text(request.to_phone_number, "to_phone_number"),
        "call_context": names_and_texts(request.call_context, "call_context"),
        "extra": _extra(request.extra, "extra"),
    }


def docket_request_v1(request: DocketRequestV1 | DocketRequest, at: str = "") -> dict[str, Any]:
    return {
        "agent_id": integer(request.agent_id, f"{at}agent_id"),
        "to_phone_number": text(request.to_phone_number, f"{at}to_phone_number"),
        "call_context": json_text(request.call_context, f"{at}call_context"),
        "extra": _extra(request.extra, f"{at}extra"),
    }


def docket_request(request: DocketRequest, at: str = "") -> dict[str, Any]:
    wire = docket_request_v1(request, at)
    if request.external_id is not None:
        wire["external_id"] = text(request.external_id, f"{at}external_id")
    return wire


def docket_requests(requests: Iterable[DocketRequest]) -> list[DocketRequest]:
    """The requests of a batch, which may be any iterable that has an order."""
    if isinstance(requests, (str, bytes, Mapping)) or not isinstance(requests, Iterable):
        raise wrong_value("requests", requests, "a list")
    if isinstance(requests, Set):
        raise wrong_value("requests", requests, "a list, since a set has no order")
    listed = list(requests)
    for index, request in enumerate(listed):
        if not isinstance(request, DocketRequest):
            raise wrong_value(f"requests[{index}]", request, "DocketRequest")
    return listed


_RECORDS = ("options", "wait", "config", "request")


def written(path: str, timeout: str = "timeout") -> str:
    """What the user wrote for what the machine names; `timeout` is what the deadline is called.
    Keys of free-form JSON stay."""
    first, dot, rest = path.partition(".")
    if first.startswith("VOICE_CALLING_"):
        return path
    if dot and first in _RECORDS:
        return written(rest, timeout)
    if first in ("prompt", "welcome-text"):
        rest = rest.replace("default-text", "default_text", 1)
    if first in _SHORT:
        return _SHORT[first]
    return timeout if path == "deadline-ms" else first.replace("-", "_") + dot + rest


_SHORT = {"timeout-ms": "timeout"}
