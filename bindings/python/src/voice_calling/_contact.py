"""Whether a person may be called: a check of each create, before its key is claimed."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeAlias, TypeVar

from ._arguments import invalid_input
from ._errors import ConfigurationError
from ._native import ContactRules as NativeRules
from ._native import Operation
from ._records import CallRequest, DocketRequest, Problem

__all__ = ["ContactRules", "MayCall"]

T = TypeVar("T")

Verdict: TypeAlias = bool | str

MayCall: TypeAlias = Callable[[DocketRequest | CallRequest], Verdict | Awaitable[Verdict]]
"""Returns `True` if the person may be called, and otherwise `False` or the reason."""


class ContactRules:
    """Numbers that must not be called, and calling hours: `VoiceClient(may_call=ContactRules(…))`.

    - `do_not_call`: Phone numbers, as people write them.
    - `country_code`: 1 to 3 digits, which are added to national numbers.
    - `hours`, `time_zone`: When calls may begin, such as `mon-fri 09:30-18:00, sat 10:00-13:00`,
      and by whose clock: a name of the IANA database such as `Asia/Kolkata`.

    `InvalidInputError` names a part that cannot be read.
    """

    def __init__(
        self,
        *,
        do_not_call: Iterable[str] | None = None,
        country_code: str | None = None,
        hours: str | None = None,
        time_zone: str | None = None,
    ) -> None:
        numbers = None if do_not_call is None else list(do_not_call)
        self._native = NativeRules(numbers, country_code, hours, time_zone)

    def __call__(self, request: DocketRequest | CallRequest) -> Verdict:
        return self._native.refusal(request.to_phone_number, time.time()) or True


class Checked(Generic[T]):
    """An operation that begins if its check allows it."""

    def __init__(
        self, operation: Operation[T], may_call: MayCall, request: DocketRequest | CallRequest
    ) -> None:
        self.operation = operation
        self._may_call = may_call
        self._request = request

    def verdict(self) -> object:
        return self._may_call(self._request)

    def wait(self) -> T:
        check(self.verdict())
        return self.operation.wait()


async def awaited(value: object) -> object:
    """Returns a value, or what it is awaited for."""
    return await value if inspect.isawaitable(value) else value


def check(verdict: object) -> None:
    """Raises the error of a create that a check does not allow."""
    if verdict is True:
        return
    if verdict is False or isinstance(verdict, str):
        found = verdict or "a number that may not be called"
        raise invalid_input("to_phone_number", found, "a number for which may_call returns True")
    found, allowed = f"the result {verdict!r}", "True, or False or the reason"
    message = f"may_call: found {found}; allowed: {allowed}"
    problem = Problem(subject="may_call", found=found, allowed=allowed)
    raise ConfigurationError(message, problem=problem)
