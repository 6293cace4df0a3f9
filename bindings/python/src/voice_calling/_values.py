"""The parts of results: records, statuses, outcomes, and free-form JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

__all__ = ["Completed", "Confirmed", "Contradicted", "Json", "NotACompletion", "Pending"]

T = TypeVar("T", covariant=True)

Json: TypeAlias = Mapping[str, object] | Sequence[object] | str | int | float | bool
"""Free-form JSON as an argument: Python values, or a `str` that is JSON text.

Text is passed on as it is, so that its digits and the order of its keys survive."""


def loads(text: str | None) -> Any:
    """Returns the value of JSON text; `None` if there is none. Integers are exact."""
    return None if text is None else json.loads(text)


class Record:
    """A result."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields, in the types of JSON. Where one is JSON as text (`raw_json`), its value has
        the name of the property (`raw`)."""
        made: dict[str, Any] = plain(self)
        return made

    def to_json(self, *, indent: int | None = None) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Returns a result, or a part of one, in the types of JSON. An outcome, such as `Completed`,
    becomes an object with the case as its only member."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Exception):  # an error as the outcome of a request
        return value.to_dict()  # type: ignore[attr-defined]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if not isinstance(value, Record):
        case = snake(type(value).__name__)
        payload = [plain(getattr(value, field.name)) for field in fields(value)]
        return {case: payload[0]} if payload else case
    made: dict[str, Any] = {}
    for field in fields(value):
        name = field.name.removesuffix("_json")
        member = getattr(value, name)
        made[name] = plain(member) if name == field.name else member
    return made


def snake(name: str) -> str:
    """Returns the name of a case, such as `InProgress`, as `in_progress`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


class ServiceStatus(StrEnum):
    """A status in the service's own words. Texts that this version does not know are kept."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if not isinstance(value, str):
            return None
        status = str.__new__(cls, value)
        status._name_ = value
        status._value_ = value
        return status

    @property
    def is_known(self) -> bool:
        """Whether the service's specification has it."""
        return self.name in type(self).__members__

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}.{self.name}" if self.is_known else f"{name}({str(self)!r})"


# How waits and verifications end.


@dataclass(frozen=True, slots=True)
class Completed(Generic[T]):
    """It is completed."""

    value: T


@dataclass(frozen=True, slots=True)
class Pending(Generic[T]):
    """Time ran out before it was completed. `value` was seen last, `None` where nothing was."""

    value: T


@dataclass(frozen=True, slots=True)
class NotACompletion:
    """JSON, but not the completion of a docket."""


@dataclass(frozen=True, slots=True)
class Confirmed(Generic[T]):
    """The docket is completed, and nothing that it says contradicts the delivery."""

    value: T


@dataclass(frozen=True, slots=True)
class Contradicted(Generic[T]):
    """The docket is not completed, or says otherwise than the delivery, which may be forged: do not
    act on it."""

    value: T
