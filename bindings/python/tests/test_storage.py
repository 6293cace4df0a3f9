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
    VoiceClient,
)
from voice_calling.testing import CREATED, LOST, Answer, ScriptedService


class Table:
    """Keeps entries in memory."""

    def __init__(self) -> None:
        self.entries: dict[str, LedgerFound] = {}
        self.claims: dict[str, tuple[str, LedgerClaim]] = {}
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

    def observe(self, keys: Sequence[str], docket_id: str, to_phone_number: str) -> None:
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
            raise OSError("no connection")


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
    assert "Table: OSError: no connection" in str(error)
    assert service.requests == []


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"answer": {"docket_id": DOCKET_ID}}, "answer: found dict {'docket_id'"),
        ({"answer": "\ud800"}, "answer: found a lone surrogate"),
        ({"begun_at": datetime(1900, 1, 1, tzinfo=UTC)}, "begun_at: found -"),
        ({"function": None}, "function: found NoneType None"),
        ({"state": "DONE"}, "'DONE' is not a valid LedgerState"),
    ],
)
def test_an_entry_that_a_storage_returns_wrongly_ends_its_create_alone(
    wrong: dict[str, Any], named: str
) -> None:
    table, service = Table(), ScriptedService()
    with service.client(ledger=table) as client:
        create_once(client)
        table.entries[KEY] = replace(table.entries[KEY], **wrong)
        with pytest.raises(ConfigurationProblem, match=named):  # not what ends all that goes on
            create_once(client)
    assert len(service.requests) == 1


@pytest.mark.parametrize("answer", [None, "", False, {"state": "done"}])
def test_a_storage_that_answers_neither_with_a_name_nor_with_an_entry_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setattr(Table, "claim", lambda *_: answer)
    service = ScriptedService()
    with (
        service.client(ledger=Table()) as client,
        pytest.raises(ConfigurationProblem, match="allowed: a name, or a LedgerFound"),
    ):
        create_once(client)
    assert service.requests == []


class Unprintable(Exception):
    def __str__(self) -> str:
        raise ValueError


@pytest.mark.parametrize("error", [Unprintable(), OSError("/tmp/\udcff")])
def test_an_exception_of_a_storage_that_is_no_text_is_reported(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    table = Table()
    monkeypatch.setattr(table, "_fail", fail)
    with ScriptedService().client(ledger=table) as client:
        with pytest.raises(ConfigurationProblem, match=f"Table: {type(error).__name__}"):
            create_once(client)


@pytest.mark.parametrize(("failures", "state"), [(2, LedgerState.DONE), (9, LedgerState.BEGUN)])
def test_an_outcome_that_a_storage_refuses_is_written_again_or_logged(
    failures: int, state: LedgerState, caplog: pytest.LogCaptureFixture
) -> None:
    table = Table()

    def answered(_: Any) -> Answer:
        table.failures = failures
        return CREATED

    with (
        ScriptedService(answered).client(ledger=table) as client,
        caplog.at_level(logging.ERROR, "voice_calling"),
    ):
        assert create_once(client).docket_id == DOCKET_ID
    assert table.entries[KEY].state is state
    lost = [DOCKET_ID in line and "could not be recorded" in line for line in caplog.messages]
    assert lost == ([] if state is LedgerState.DONE else [True])


def test_what_is_no_ledger_is_refused() -> None:
    wrong: Any = 7
    with pytest.raises(ConfigurationProblem, match="a path, a Ledger, or a LedgerStorage"):
        VoiceClient(environ={}, ledger=wrong)
