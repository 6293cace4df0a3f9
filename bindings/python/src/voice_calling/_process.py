"""Forks, and the end of the process."""

from __future__ import annotations

import atexit
import os

from . import _guest, _workers
from ._driver import DRIVERS, Driver
from ._ledger import LEDGERS


def watch() -> None:
    """Registers what is done then, once for the whole package."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_guest.compile_lock.acquire,
            after_in_parent=_guest.compile_lock.release,
            after_in_child=_after_fork,
        )
    atexit.register(_at_exit)


def _after_fork() -> None:
    """Forgets, in the child, what belongs to the parent."""
    _guest.after_fork()
    _workers.after_fork()
    for ledger in list(LEDGERS):
        ledger.after_fork()
    for driver in list(DRIVERS):
        driver.after_fork()


def _at_exit() -> None:
    for driver in list(DRIVERS):
        driver.at_exit()
    Driver.is_refusing = True
    for ledger in list(LEDGERS):
        ledger.close()
    _guest.at_exit()
