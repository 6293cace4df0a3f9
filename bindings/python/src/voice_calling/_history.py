"""A record of everything that went into and came out of a client, for bug reports. `host-test
replay` plays it again. Tokens are masked; phone numbers and all else that is sent are not."""

from __future__ import annotations

import logging
import os
from typing import Any

from ._guest import Guest, encode
from ._log import say


class History:
    """A file of JSON lines, to which clients append. What cannot be written costs a warning and
    the rest of the record, and no call."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._masking: Guest | None = None

    def begins(self, given: dict[str, Any]) -> None:
        """A guest was configured."""
        try:
            self._masking = Guest()  # of its own, since the other may be lost
            self._masking.call("configure", given)
        except Exception as error:
            self._breaks(error)
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
        if self._masking is None:
            return
        try:
            masked: str = self._masking.call("mask", line)["Ok"]
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(masked + "\n")
        except Exception as error:
            self._breaks(error)

    def _breaks(self, error: Exception) -> None:
        self._masking = None
        message = "the history %s ends here, since it cannot be written: %s: %s"
        say(logging.WARNING, message, self._path, type(error).__name__, error)
