"""Free-form JSON: Python values in, Python values out, and never a digit lost on the way."""

from __future__ import annotations

import json
import math
from collections import UserString
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, object] | Sequence[object] | str | int | float | bool
"""Free-form JSON as an argument: Python values, or a `str` that is JSON text.

Text is passed on as it is, so that its digits and the order of its keys survive."""

_NO_LISTS = (bytes, bytearray, memoryview, UserString)
"""Sequences whose members are not what is meant."""

_LONGEST_KEY = 60

Refuse: TypeAlias = Callable[[str, str, str], Exception]
"""Makes the error for a field, what was found in it, and what is allowed."""


def dumps(value: object, at: str, refuse: Refuse) -> str:
    """JSON text of `value`, which the user gave as `at`; text is taken as JSON text."""
    if isinstance(value, str):
        return value
    try:
        plain = _plain(value, at, refuse)
        text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if _has_lone_surrogate(text):
            text = json.dumps(plain, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise refuse(at, "values nested too deeply", "fewer levels, or a str of JSON") from None
    except ValueError as error:  # an integer of more digits than Python writes
        raise refuse(at, str(error), "a str of JSON") from None
    return text


def loads(text: str | None) -> Any:
    """The value of JSON text; `None` where there is none. Integers are exact."""
    return None if text is None else json.loads(text)


def _plain(value: object, at: str, refuse: Refuse) -> object:
    """The same value in the types that `json` writes without changing them."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise refuse(at, repr(value), "a finite number")
        return value
    if isinstance(value, Mapping):
        plain = {}
        for key, member in value.items():
            if not isinstance(key, str):
                raise refuse(at, f"the key {cut(repr(key))}", "keys that are a str")
            plain[key] = _plain(member, f"{at}.{cut(key)}", refuse)
        return plain
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        raise refuse(at, f"the namedtuple {type(value).__name__}", "its `_asdict()`, or a list")
    if isinstance(value, Sequence) and not isinstance(value, _NO_LISTS):
        return [_plain(member, f"{at}[{i}]", refuse) for i, member in enumerate(value)]
    raise refuse(
        at, type(value).__name__, "a type of JSON: dict, list, str, int, float, bool, None"
    )


def cut(key: str) -> str:
    """As much of a key as an error shows."""
    return key if len(key) <= _LONGEST_KEY else key[:_LONGEST_KEY] + "…"


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
