"""How waits and verifications end. What came of it is `value`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Completed", "Confirmed", "Contradicted", "NotACompletion", "Pending"]

T = TypeVar("T", covariant=True)


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
