"""A user's own storage in place of a ledger's file. What its entries mean is in the table of cases,
which is played with one as well."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from conftest import DOCKET_ID, KEY, create_once, drivers, scripted_outcome

from voice_calling import (
    ConfigurationProblem,
    LedgerClaim,
    LedgerFound,
    LedgerState,
    OutcomeUnknown,
)
from voice_calling.testing import CREATED, LOST, Answer, ScriptedService


class Untold(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise ValueError


class Table:
    """Keeps entries in memory."""

    def __init__(self) -> None:
        self.entries: dict[str, LedgerFound] = {}
        self.claims: dict[str, tuple[str, LedgerClaim]] = {}
        self.error: Exception = OSError("no connection \udcff")
        self.failures = 0
        """How many of the next calls fail."""
        self._numbers = itertools.count()

    def claim(self, claim: LedgerClaim) -> str | LedgerFound:
        self._fail()
        found = self.entries.get(claim.key)
        if found is not None and found.state is not LedgerState.FREE:
            known = self.claims[claim.key][1].arguments
            differs = [name for name in known if known[name] != claim.arguments.get(name)]
            return replace(found, differs_in=differs[0] if differs else None)
        name = str(next(self._numbers))
        self.claims[claim.key] = (name, claim)
        self.entries[claim.key] = LedgerFound(
            function=claim.function, state=LedgerState.BEGUN, begun_at=datetime.now(UTC)
        )
        return name

    def record(
        self, key: str, claim: str, state: LedgerState, answer: str | None, message: str | None
    ) -> None:
        self._fail()
        assert self.claims[key][0] == claim
        assert (answer is None) == (state is not LedgerState.DONE)
        self.entries[key] = replace(self.entries[key], state=state, answer=answer)

    def observe(
        self, keys: Sequence[str], docket_id: str, to_phone_number: str, created_day: int | None
    ) -> None:
        for key in keys:
            if key in self.entries and self.entries[key].state is LedgerState.UNKNOWN:
                assert self.claims[key][1].arguments["to_phone_number"] == to_phone_number
                answer = json.dumps({"docket_id": docket_id})
                self.entries[key] = replace(
                    self.entries[key], state=LedgerState.DONE, answer=answer
                )

    def _fail(self) -> None:
        if self.failures > 0:
            self.failures -= 1
            raise self.error


def test_a_docket_that_is_fetched_resolves_what_is_unknown_in_the_storage() -> None:
    docket = {"docket_id": DOCKET_ID, "external_id": KEY, "to_phone_number": "919876543210"}
    table, service = Table(), ScriptedService(LOST, Answer(body=docket))
    with service.client(ledger=table) as client:
        with pytest.raises(OutcomeUnknown):
            create_once(client)
        client.dockets.get(DOCKET_ID)
        assert create_once(client).docket_id == DOCKET_ID
        assert client.ledger is None


@drivers
def test_a_storage_that_cannot_take_a_key_has_sent_nothing(driver: str) -> None:
    table, service = Table(), ScriptedService()
    table.failures = 1
    error = scripted_outcome(service, driver, create_once, ledger=table)
    assert type(error) is ConfigurationProblem
    assert "Table: OSError: no connection ?" in str(error)
    assert service.requests == []


FOUND: dict[str, Any] = {
    "function": "dockets.create-docket-v2",
    "state": LedgerState.DONE,
    "begun_at": datetime.now(UTC),
}


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (LedgerFound(**{**FOUND, "answer": {"docket_id": DOCKET_ID}}), "answer: found dict {'dock"),
        (LedgerFound(**{**FOUND, "answer": "\ud800"}), "answer: found a lone surrogate"),
        (
            LedgerFound(**{**FOUND, "begun_at": datetime(1900, 1, 1, tzinfo=UTC)}),
            "begun_at: found -",
        ),
        (LedgerFound(**{**FOUND, "function": None}), "function: found NoneType None"),
        (LedgerFound(**{**FOUND, "state": "DONE"}), "'DONE' is not a valid LedgerState"),
        (None, "allowed: a name, or a LedgerFound"),
        ("", "allowed: a name, or a LedgerFound"),
        ({"state": "done"}, "allowed: a name, or a LedgerFound"),
    ],
)
def test_what_a_storage_answers_wrongly_ends_its_create_alone_and_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, found: Any, named: str
) -> None:
    service = ScriptedService()
    with service.client(ledger=Table()) as client:
        with monkeypatch.context() as patch:
            patch.setattr(Table, "claim", lambda *_: found)
            with pytest.raises(ConfigurationProblem, match=named):
                create_once(client)
        assert create_once(client).docket_id == DOCKET_ID  # not what ends all that goes on
    assert len(service.requests) == 1


def test_an_outcome_that_a_storage_refuses_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    table = Table()

    def answered(_: Any) -> Answer:
        table.error, table.failures = Untold(), 1
        return CREATED

    with (
        ScriptedService(answered).client(ledger=table) as client,
        caplog.at_level(logging.ERROR, "voice_calling"),
    ):
        assert create_once(client).docket_id == DOCKET_ID
    assert table.entries[KEY].state is LedgerState.BEGUN
    [line] = caplog.messages
    assert DOCKET_ID in line
    assert "could not be recorded" in line
