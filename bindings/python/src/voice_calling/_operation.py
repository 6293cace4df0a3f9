"""One operation of a client, as it goes to the core, and the results of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from . import _conversion as conversion
from ._errors import RequestError
from ._requests import CheckedRequest, Source
from ._types import CreatedDocket, DocketRequest
from ._values import Record

__all__ = ["BatchResult"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult(Record):
    """The outcome of one request of a batch."""

    index: int
    """The index of the request."""

    request: DocketRequest
    """The request."""

    outcome: CreatedDocket | RequestError
    """The docket that was created; otherwise the error, which says whether one may exist."""

    @property
    def created(self) -> CreatedDocket | None:
        """The docket that was created; `None` if `outcome` is an error."""
        return self.outcome if isinstance(self.outcome, CreatedDocket) else None

    @property
    def error(self) -> RequestError | None:
        """Why nothing was created, or may not have been."""
        return self.outcome if isinstance(self.outcome, RequestError) else None


@dataclass(slots=True, eq=False)
class Operation(Generic[T]):
    """An operation to run, checked and in the JSON of the core."""

    call: dict[str, Any]
    """The case of the variant `call`."""

    made: type[T]
    """The type of the payload of the answer."""

    options: dict[str, Any]
    """The options that were given."""

    deadline: str = "timeout"
    """The name that the method has for its deadline: a wait has another timeout."""

    key: str | None = None
    """The key in the ledger, unless it is a batch."""

    creates: bool = False
    """Whether it creates something, which may exist although its answer was lost."""

    is_batch: bool = False

    requests: list[CheckedRequest] | None = None
    """Those of a batch, unless they come from its `source`."""

    source: Source | None = None

    def error(self, wire: Any, named: Callable[[str], str] = str) -> RequestError:
        """Returns the exception for an error, in the user's words. `named` is what the user calls
        a setting."""

        def name_of(path: str) -> str:
            return named(conversion.argument_name(path, self.deadline))

        return conversion.decode_error(wire, name_of)


def options(
    account: str | None, timeout: float | None, max_retries: int | None, name: str = "timeout"
) -> dict[str, Any]:
    """Returns the options of one call, without those that were not given."""
    encoded: dict[str, Any] = {}
    if account is not None:
        encoded["account"] = conversion.encode_text(account, "account")
    if timeout is not None:
        encoded["deadline_ms"] = conversion.encode_seconds(
            timeout, name, conversion.LONGEST_DEADLINE_S
        )
    if max_retries is not None:
        retries = conversion.encode_integer(max_retries, "max_retries", 0, conversion.MOST_RETRIES)
        encoded["max_attempts"] = retries + 1
    return encoded
