"""What results have in common: they can be written down as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


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
    """A result, or a part of one, in the types of JSON. Of a variant, such as `Completed`, it is an
    object with the case as its only member."""
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if not isinstance(value, Record):
        case = _snake(type(value).__name__)
        payload = [plain(getattr(value, field.name)) for field in fields(value)]
        return {case: payload[0]} if payload else case
    made: dict[str, Any] = {}
    for field in fields(value):
        name = field.name
        if name.endswith("_json"):
            name = name.removesuffix("_json")
            made[name] = getattr(value, name)
        else:
            made[name] = plain(getattr(value, name))
    return made


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]
