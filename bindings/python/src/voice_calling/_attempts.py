"""What the component writes on its stderr, as log records of the logger `voice_calling`."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

logger = logging.getLogger("voice_calling")


def are_wanted() -> bool:
    """Whether anybody listens to attempts."""
    return logger.isEnabledFor(logging.INFO)


def listener() -> Callable[[bytes], None]:
    """What takes the stderr of one instance. It raises nothing, since nobody could catch it."""
    rest = b""

    def listen(written: bytes) -> None:
        nonlocal rest
        try:
            *lines, rest = (rest + written).split(b"\n")
            for line in lines:
                _log(line.decode(errors="replace"))
        except Exception:
            logger.exception("a line of the component could not be logged")

    return listen


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
    told = [attempt.get("status"), attempt.get("transport_error")]
    return ", ".join(str(it) for it in told if it is not None) or "no answer"
