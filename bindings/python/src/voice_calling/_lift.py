"""Values of the machine's JSON as what users get. What each is follows from the types in
`_types`."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any, ParamSpec, TypeAlias, TypeVar, Union

from . import _errors, _outcomes, _types
from ._errors import ExecutionFailed, RequestError
from ._failures import sentence

Lift: TypeAlias = Callable[[Any], Any]


T = TypeVar("T")
P = ParamSpec("P")


def _once(function: Callable[P, T]) -> Callable[P, T]:
    """`functools.cache` with the types of the function."""
    cached: Any = functools.cache(function)
    made: Callable[P, T] = cached
    return made


def record(made: type[T]) -> Callable[[Any], T]:
    """What makes a record of its JSON."""
    return lambda wire: _lift_of(made)(wire)


def error(wire: Any, written: Callable[[str], str] = str) -> RequestError:
    """The exception for an error. `written` is what the user calls what the machine names."""
    if wire == "ExecutionFailed":
        return ExecutionFailed("the component could not be run")
    ((case, failure),) = wire.items()
    made = _errors_by_case()[case](
        failure["message"],
        problem=_optional(_types.Problem, failure.get("problem")),
        response=_optional(_types.HttpResponse, failure.get("response")),
        attempts=tuple([_lift_of(_types.Attempt)(it) for it in failure["attempts"]]),
        may_have_created=failure["may_have_created"],
    )
    if made.problem is not None:
        problem = replace(made.problem, subject=written(made.problem.subject))
        made.message = made.message.replace(sentence(made.problem), sentence(problem), 1)
        made.problem = problem
        made.args = (made.message,)
    return made


def _optional(made: type[Any], wire: Any) -> Any:
    return None if wire is None else _lift_of(made)(wire)


@_once
def _errors_by_case() -> dict[str, type[RequestError]]:
    classes = [getattr(_errors, name) for name in _errors.__all__]
    return {_pascal(it.kind): it for it in classes if it.kind}


@_once
def _lift_of(made: Any) -> Lift:
    hints = typing.get_type_hints(made)
    members: list[tuple[str, str, Lift | None]] = []
    for field in fields(made):
        name = field.name
        lift = _seconds if name == "retry_after" else _lift_of_type(hints[name])
        members.append((name, _types.RENAMED.get(name, name), lift))

    def lift_record(wire: Any) -> Any:
        values = {}
        for name, wire_name, lift in members:
            value = wire.get(wire_name)
            values[name] = value if value is None or lift is None else lift(value)
        return made(**values)

    return lift_record


def _lift_of_type(hint: Any) -> Lift | None:
    """What changes the value of a field that is there; `None` where nothing is to be changed."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        parts = tuple([part for part in parts if part is not type(None)])
        cases = {_class_of(part).__name__: part for part in parts}
        if len(cases) > 1 or _is_case(_class_of(parts[0])):
            return _lift_of_variant({name: _payload(part) for name, part in cases.items()})
        return _lift_of_type(parts[0])
    if origin is tuple:
        inner = _lift_of_type(parts[0])
        return tuple if inner is None else lambda wire: tuple([inner(it) for it in wire])
    if hint is int:
        return int  # large ones are texts of digits
    if hint is float:
        return float
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _lift_of_status(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return record(hint)
    return None


def _lift_of_variant(cases: dict[str, Lift | None]) -> Lift:
    def lift_variant(wire: Any) -> Any:
        if isinstance(wire, str):
            return getattr(_outcomes, wire)()
        ((case, payload),) = wire.items()
        lift = cases[case]
        return getattr(_outcomes, case)(
            payload if payload is None or lift is None else lift(payload)
        )

    return lift_variant


def _lift_of_status(made: type[Enum]) -> Lift:
    known = {_pascal(name.lower().replace("_", "-")): member for name, member in _members(made)}

    def lift_status(wire: Any) -> Any:
        return known[wire] if isinstance(wire, str) else made(wire["Other"])

    return lift_status


def _members(made: type[Enum]) -> list[tuple[str, Enum]]:
    return list(made.__members__.items())


def _class_of(hint: Any) -> type[Any]:
    made: type[Any] = typing.get_origin(hint) or hint
    return made


def _is_case(made: type[Any]) -> bool:
    return made.__module__ == _outcomes.__name__


def _payload(hint: Any) -> Lift | None:
    parts = typing.get_args(hint)
    return _lift_of_type(parts[0]) if parts else None


def _seconds(milliseconds: Any) -> float:
    return int(milliseconds) / 1000


def _pascal(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("-"))


def verification(wire: Any) -> _types.Verification:
    """What the service says about a delivery."""
    made: _types.Verification = _lift_of_verification()(wire)
    return made


@_once
def _lift_of_verification() -> Lift:
    lift = _lift_of_type(_types.Verification)
    assert lift is not None
    return lift
