"""What the component writes on its stderr, as log records of the logger `voice_calling`."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("voice_calling")


def are_wanted() -> bool:
    """Whether anybody listens to attempts."""
    return logger.isEnabledFor(logging.INFO)


def listener() -> Callable[[bytes], None]:
    """What takes the stderr of one instance. It raises nothing, since nothing could catch it."""
    rest = b""

    def listen(written: bytes) -> None:
        nonlocal rest
        try:
            *lines, rest = (rest + written).split(b"\n")
            for line in lines:
                _log(line.decode(errors="replace"))
        except BaseException:
            _report_failure()

    return listen


def _report_failure() -> None:
    """As `logging` does where a handler fails. Here even an exit of the handler is a failure, since
    Python did not start the thread."""
    try:
        if logging.raiseExceptions:
            traceback.print_exc()
    except BaseException:
        return


def _log(line: str) -> None:
    try:
        attempt = json.loads(line)
    except ValueError:
        attempt = None
    if not isinstance(attempt, dict) or "attempt" not in attempt:
        if line.strip():
            logger.warning("%s", line)
        return
    level = logging.DEBUG if 200 <= (attempt.get("status") or 0) < 300 else logging.INFO
    logger.log(
        level,
        "%s: attempt %s, %s %s: %s after %s ms",
        attempt.get("function"),
        attempt["attempt"],
        attempt.get("method"),
        attempt.get("path"),
        _outcome(attempt),
        attempt.get("duration_ms"),
        extra={"voice_calling": attempt},
    )


def _outcome(attempt: dict[str, Any]) -> str:
    parts = [attempt.get("status"), attempt.get("transport_error")]
    return ", ".join(str(part) for part in parts if part is not None) or "no answer"
