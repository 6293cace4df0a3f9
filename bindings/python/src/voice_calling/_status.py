"""Statuses of the service: known words, and any other as it came."""

from __future__ import annotations

from enum import Enum
from typing import Any


class ServiceStatus(str, Enum):
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

    def __str__(self) -> str:
        return str.__str__(self)

    def __format__(self, form: str) -> str:
        return str.__format__(self, form)

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}.{self.name}" if self.is_known else f"{name}({str(self)!r})"
