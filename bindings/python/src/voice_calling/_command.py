"""The command `voice-calling`."""

import signal
import sys
from typing import NoReturn

from ._native import run_command


def main() -> NoReturn:
    """Runs the command, to which signals do what they do to any program."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_command(sys.argv[1:]))
