"""Arguments as the bridge takes them."""

from __future__ import annotations

import json
from typing import Literal, TypeAlias, TypeVar

from ._errors import InvalidInputError
from ._records import AgentText, DocketRequest, Json, Problem

T = TypeVar("T")

Key: TypeAlias = Literal["external_id"] | None

Options: TypeAlias = tuple[str | None, float | None, int | None]
"""Options of a call: `account`, `timeout`, `max_retries`."""

Request: TypeAlias = tuple[int, str, str, str | None, str | None]
"""A docket: `agent_id`, `to_phone_number`, `call_context`, `external_id`, `extra`."""


def text(value: T, name: str) -> T:
    """Returns a text that UTF-8 can hold. The bridge refuses what is no text."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise invalid_input(name, "a lone surrogate", "text that UTF-8 can hold") from error
    return value


def json_text(value: Json | None, name: str) -> str | None:
    """Returns JSON as text. Text is passed on as it is, and checked by the core."""
    if value is None or isinstance(value, str):
        return text(value, name)
    try:
        dumped = _dumps(value, ensure_ascii=False)
        try:
            dumped.encode()
        except UnicodeEncodeError:  # a lone surrogate, which JSON can escape
            dumped = _dumps(value, ensure_ascii=True)
        return dumped
    except (TypeError, ValueError, RecursionError) as error:
        raise invalid_input(name, str(error), "values of JSON, or JSON text") from error


def _dumps(value: object, *, ensure_ascii: bool) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False, separators=(",", ":"))


def invalid_input(subject: str, found: str, allowed: str) -> InvalidInputError:
    """Returns the error for an argument."""
    problem = Problem(subject=subject, found=found, allowed=allowed)
    message = f"{subject}: found {found}; allowed: {allowed}"
    return InvalidInputError(message, problem=problem)


def docket_request(docket: DocketRequest) -> Request:
    """Returns the arguments of a docket."""
    context = json_text(docket.call_context, "call_context")
    if context is None:
        raise invalid_input("call_context", "None", "a JSON object")
    agent_id = docket.agent_id
    if isinstance(agent_id, int) and not -(2**63) <= agent_id < 2**63:
        raise invalid_input("agent_id", str(agent_id), "an integer of 64 bits")
    number = text(docket.to_phone_number, "to_phone_number")
    external_id = text(docket.external_id, "external_id")
    return agent_id, number, context, external_id, json_text(docket.extra, "extra")


def docket_argument(request: DocketRequest, key: Key, index: int) -> tuple[Request, str | None]:
    """Returns a request of a batch, and its key."""
    if not isinstance(request, DocketRequest):
        found = type(request).__name__
        raise invalid_input(f"requests[{index}]", found, "a DocketRequest")
    if key is not None and request.key is None and request.external_id is None:
        allowed = "a text, since it is to be the key"
        raise invalid_input(f"requests[{index}].external_id", "None", allowed)
    own_key = request.key if request.key is not None or key is None else request.external_id
    return docket_request(request), own_key


def agent_text(text: AgentText | None, name: str) -> tuple[str, str | None] | None:
    """Returns a text of an agent."""
    return None if text is None else (text.default_text, json_text(text.extra, f"{name}.extra"))


def body_text(body: str | bytes | bytearray | memoryview) -> str:
    """Returns a delivery as text, in which broken characters are replaced."""
    return body if isinstance(body, str) else bytes(body).decode(errors="replace")
