"""What the workflows are started with, checked before anything is sent."""

import json
import unicodedata
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Self, get_origin

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    import voice_calling as vc

OWNER = "temporal_workflow"  # the member of a docket's call_context that names its workflow and run
MOST_BYTES = 1_500_000  # of a plan: a server takes no input of more than 2 MiB, report included
WORDS = {int: "an integer", str: "text", dict: "an object", list: "a list"}


def problem(name: str, found: Any, allowed: str) -> ValueError:
    return ValueError(f"{name}: found {found!r:.100}; allowed: {allowed}")


class Input:
    """A record that is read from JSON. A field that is unknown, missing or of another type is a
    `ValueError` that names it."""

    @classmethod
    def read(cls, given: Any) -> Self:
        if not isinstance(given, dict):
            raise problem("the input", given, "an object")
        known = {it.name: it for it in fields(cls)}  # type: ignore[arg-type]
        if unknown := sorted(given.keys() - known.keys()):
            raise ValueError(f"{unknown[0]}: unknown field; allowed: {', '.join(known)}")
        for name, it in known.items():
            origin: Any = get_origin(it.type)
            kind: Any = origin if origin in WORDS else it.type
            if name not in given:
                if it.default is it.default_factory is MISSING:
                    raise ValueError(f"{name}: missing")
            elif isinstance(given[name], bool) or not isinstance(given[name], kind):
                raise problem(name, given[name], WORDS.get(kind, str(kind).replace(" |", " or")))
        read = cls(**given)
        read.check()
        return read

    def check(self) -> None: ...


@dataclass(frozen=True)
class Hours:
    """When calls may begin. Without it, at any time."""

    hours: str | None = field(default=None, kw_only=True)  # such as "mon-fri 09:30-18:00"
    time_zone: str | None = field(default=None, kw_only=True)  # such as "Asia/Kolkata"

    def opens_in(self, at: float) -> float:
        """Returns how long a call that is due at this time has to wait. Unit: seconds."""
        if self.hours is None and self.time_zone is None:
            return 0
        opens = vc.next_calling_time(self.hours or "", self.time_zone or "", at)
        if opens is None:
            raise problem("hours", self.hours, "hours that come again")
        return opens - at


@dataclass(frozen=True)
class Contact(Hours, Input):
    external_id: str  # yours; after `docket/` it is the id of the workflow
    agent_id: int
    to_phone_number: str
    call_context: dict[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        it = self.external_id
        is_one_text = it.isprintable() and it == unicodedata.normalize("NFC", it).strip()
        if not is_one_text or not 1 <= len(it.encode()) <= 900:
            allowed = "1 to 900 bytes of printable text in NFC, without space around it"
            raise problem("external_id", it, allowed)
        if OWNER in self.call_context:
            raise problem("call_context", OWNER, "another name: this one is the workflow's")
        self.opens_in(0)


@dataclass(frozen=True)
class Plan(Hours, Input):
    """A campaign: whom to call, of whom at most `max_open` are waited for at a time."""

    contacts: list[Any]
    max_open: int
    per_minute: int | float | None = None
    do_not_call: list[Any] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)  # of a campaign that goes on in a new run

    def check(self) -> None:
        size = len(json.dumps([self.contacts, self.do_not_call]))
        if size > MOST_BYTES:
            raise problem("contacts", size, f"{MOST_BYTES} bytes with do_not_call")
        if self.max_open < 1:
            raise problem("max_open", self.max_open, "1 or more")
        if self.per_minute is not None and not 0.01 <= self.per_minute <= 100_000:
            raise problem("per_minute", self.per_minute, "0.01 to 100000")
        for number in self.do_not_call:
            vc.normalize_number(str(number))
        self.opens_in(0)
