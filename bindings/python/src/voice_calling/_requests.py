"""The requests of a batch: a list, or an iterable of any length, from which the caller takes them
one by one, as the core asks for them."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import AsyncIterable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ._conversion import encode_docket_request, encode_text, iterable
from ._errors import described, invalid_input
from ._log import log
from ._types import DocketRequest

_COMPARED = 10_000
"""How many requests of an iterable are compared with each other."""


def check_key(key: object, at: str) -> None:
    """Refuses what cannot be a key in the ledger."""
    if not encode_text(key, at):
        raise invalid_input(at, "an empty text", "a key of its own for each create")


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request of a batch that was checked."""

    index: int
    request: DocketRequest
    encoded: dict[str, Any]
    """The request in the JSON of the core."""
    key: str | None
    """The key in the ledger."""


class _Checks:
    """Checks the requests of a batch one after the other."""

    def __init__(self, once: str | None, compared: int) -> None:
        if once not in (None, "external_id"):
            raise invalid_input("once", described(once), "'external_id' or None")
        self._once = once
        self._compared = compared
        self._count = 0
        self._seen: dict[int, int] = {}
        """The indexes of the latest requests without keys, by their hashes."""

    def check(self, request: Any) -> CheckedRequest:
        index = self._count
        at = f"requests[{index}]"
        if not isinstance(request, DocketRequest):
            raise invalid_input(at, described(request), "DocketRequest")
        encoded = encode_docket_request(request, f"{at}.")
        key = self._key(request, at)
        if key is None:
            self._warn_if_equal(hash(tuple(encoded.items())))
        self._count += 1
        return CheckedRequest(index, request, encoded, key)

    def _key(self, request: DocketRequest, at: str) -> str | None:
        key = request.once
        if key is None and self._once is not None:
            key = request.external_id
            if key is None:
                raise invalid_input(f"{at}.external_id", "None", "a text, which is the key")
        if key is not None:
            check_key(key, f"{at}.once")
        return key

    def _warn_if_equal(self, hashed: int) -> None:
        """Warns of a request that would call the same person for the same."""
        equal = self._seen.setdefault(hashed, self._count)
        if equal != self._count:
            message = "requests[%s] is equal to requests[%s], and neither has a key (`once`): both "
            log(logging.WARNING, message + "are sent", self._count, equal)
        elif len(self._seen) > self._compared:
            del self._seen[next(iter(self._seen))]


def list_of_requests(requests: Iterable[DocketRequest], once: str | None) -> list[CheckedRequest]:
    """Returns all requests of a batch, checked."""
    listed = list(iterable(requests))
    checks = _Checks(once, len(listed))
    taken = [checks.check(request) for request in listed]
    first: dict[str, int] = {}
    for it in taken:
        if it.key is not None and first.setdefault(it.key, it.index) != it.index:
            found = f"{it.key!r}, as requests[{first[it.key]}] has"
            raise invalid_input(f"requests[{it.index}].once", found, "a key of its own")
    return taken


class Source:
    """An iterable of requests. It runs where the results are read."""

    def __init__(
        self,
        requests: Iterable[DocketRequest] | AsyncIterable[DocketRequest],
        once: str | None,
        may_be_async: bool,
    ) -> None:
        self._checks = _Checks(once, _COMPARED)
        self._iterator: Any
        self.is_async: bool = False
        if may_be_async and isinstance(requests, AsyncIterable):
            self._iterator = aiter(requests)
            self.is_async = True
        else:
            self._iterator = iter(iterable(requests))
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def turn(self) -> Iterator[bool]:
        """Yields whether this reader is the only one that takes a request, or closes the
        iterable."""
        is_own = self._lock.acquire(blocking=False)
        try:
            yield is_own
        finally:
            if is_own:
                self._lock.release()

    def take(self) -> CheckedRequest | None:
        """Takes the next request; `None` at the end."""
        try:
            return self._checks.check(next(self._iterator))
        except StopIteration:
            return None

    async def take_async(self) -> CheckedRequest | None:
        """The same for an asynchronous iterable as well."""
        if not self.is_async:
            return self.take()
        try:
            return self._checks.check(await anext(self._iterator))
        except StopAsyncIteration:
            return None

    def close(self) -> None:
        """Closes a generator, unless a reader is taking from it, which closes it then."""
        with self.turn() as is_own:
            if is_own and hasattr(self._iterator, "close"):
                self._iterator.close()

    async def aclose(self) -> None:
        """The same for an asynchronous generator as well."""
        if not self.is_async:
            return self.close()
        with self.turn() as is_own:
            if is_own and hasattr(self._iterator, "aclose"):
                await self._iterator.aclose()
