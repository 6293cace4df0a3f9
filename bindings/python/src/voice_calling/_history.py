"""A record of all that a client was told and told to do, for bug reports. `host-test replay` plays
it again. Tokens are masked; phone numbers and all else that is sent are not."""

from __future__ import annotations

import os
from typing import Any

from ._guest import Guest, encode


class History:
    """A file of JSON lines, to which clients append."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._masking: Guest | None = None

    def begins(self, given: dict[str, Any]) -> None:
        """A guest was configured."""
        self._masking = Guest()  # of its own, since the other may be lost
        self._masking.call("configure", given)
        self._append(encode({"configure": given}))

    def step(self, guest: Guest, given: dict[str, Any]) -> dict[str, Any]:
        """Steps, and writes that down before anything is done about it."""
        text = encode(given)
        try:
            returned, answer = guest.call_text("step", text)
        except Exception:
            self._append(f'{{"step": {text}, "stepped": null}}')
            raise
        self._append(f'{{"step": {text}, "stepped": {answer}}}')
        made: dict[str, Any] = returned
        return made

    def _append(self, line: str) -> None:
        assert self._masking is not None
        masked: str = self._masking.call("mask", line)["Ok"]
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(masked + "\n")
