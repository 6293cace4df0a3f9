"""How exceptions are made: of what the component reports, and of what this package finds."""

from __future__ import annotations

from typing import Any, TypeVar

from ._errors import (
    ConfigurationProblem,
    ExecutionFailed,
    InvalidInput,
    OutcomeUnknown,
    RequestError,
    TimedOut,
)

E = TypeVar("E", bound=RequestError)

_LONGEST_SHOWN = 60


def failure(error: type[E], payload: dict[str, Any]) -> E:
    """The exception whose attributes are the members of the component's payload."""
    attributes = dict(payload)
    attributes.update(attributes.pop("response", None) or {})
    retry_after_ms = attributes.pop("retry_after_ms", None)
    if retry_after_ms is not None:
        attributes["retry_after"] = retry_after_ms / 1000
    made = error(_sentence(attributes))
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def invalid_input(field: str, found: str, allowed: str) -> InvalidInput:
    """An argument at fault, found before anything was sent."""
    return failure(InvalidInput, {"field": field, "found": found, "allowed": allowed})


def wrong_value(field: str, value: object, allowed: str) -> InvalidInput:
    """An argument that is at fault as it is."""
    return invalid_input(field, described(value), allowed)


def configuration_problem(variable: str, found: str, allowed: str) -> ConfigurationProblem:
    """A setting at fault, found before anything was sent."""
    payload = {"variable": variable, "found": found, "allowed": allowed}
    return failure(ConfigurationProblem, payload)


def outcome_unknown(message: str) -> OutcomeUnknown:
    return failure(OutcomeUnknown, {"message": message})


def timed_out(message: str) -> TimedOut:
    return failure(TimedOut, {"message": message})


def execution_failed(message: str, may_exist: bool = False) -> ExecutionFailed:
    """It is permanent where what was to be created may exist."""
    return failure(ExecutionFailed, {"message": message, "is_permanent": may_exist})


def described(value: object) -> str:
    """A value of the wrong type, for people."""
    try:
        shown = repr(value)
    except Exception:  # such as an integer of more digits than Python writes
        return type(value).__name__
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[:_LONGEST_SHOWN] + "…"
    return f"{type(value).__name__} {shown}"


def _sentence(attributes: dict[str, Any]) -> str:
    at_fault = attributes.get("field") or attributes.get("variable")
    if at_fault:
        return f"{at_fault}: found {attributes['found']}, allowed: {attributes['allowed']}"
    message: str = attributes.get("message") or "the request failed"
    status = attributes.get("status")
    return message if status is None or str(status) in message else f"{message} (HTTP {status})"
