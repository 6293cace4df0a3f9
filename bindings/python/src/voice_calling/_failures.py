"""The exceptions for what this package finds by itself."""

from __future__ import annotations

from ._errors import ConfigurationProblem, ExecutionFailed, InvalidInput, OutcomeUnknown
from ._types import Problem

_LONGEST_SHOWN = 60


def invalid_input(subject: str, found: str, allowed: str) -> InvalidInput:
    """An argument at fault, found before anything was sent."""
    problem = Problem(subject=subject, found=found, allowed=allowed)
    return InvalidInput(sentence(problem), problem=problem)


def wrong_value(subject: str, value: object, allowed: str) -> InvalidInput:
    """An argument that is at fault as it is."""
    return invalid_input(subject, described(value), allowed)


def configuration_problem(subject: str, found: str, allowed: str) -> ConfigurationProblem:
    """A setting at fault, found before anything was sent."""
    problem = Problem(subject=subject, found=found, allowed=allowed)
    return ConfigurationProblem(sentence(problem), problem=problem)


def outcome_unknown(message: str) -> OutcomeUnknown:
    """A create that was given up after it may have been sent."""
    return OutcomeUnknown(message, may_have_created=True)


def execution_failed(message: str, may_have_created: bool = False) -> ExecutionFailed:
    return ExecutionFailed(message, may_have_created=may_have_created)


def described(value: object) -> str:
    """A value of the wrong type, for people."""
    try:
        shown = repr(value)
    except Exception:  # such as an integer of more digits than Python writes
        return type(value).__name__
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[:_LONGEST_SHOWN] + "…"
    return f"{type(value).__name__} {shown}"


def sentence(problem: Problem) -> str:
    """What the message of an error says of it."""
    return f"{problem.subject}: found {problem.found}; allowed: {problem.allowed}"
