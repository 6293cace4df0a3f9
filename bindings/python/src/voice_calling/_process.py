"""Forks, and the end of the process."""

from __future__ import annotations

import atexit
import os

from . import _guest, _workers
from ._driver import DRIVERS, Driver
from ._ledger import LEDGERS, Ledger


def watch() -> None:
    """Registers what is done then, once for the whole package."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=_before_fork,
            after_in_parent=_after_fork_in_parent,
            after_in_child=_after_fork_in_child,
        )
    atexit.register(_at_exit)


_held: list[Ledger] = []
"""The ledgers that wait for the end of a fork."""


def _before_fork() -> None:
    _guest.compile_lock.acquire()
    _held.extend(LEDGERS)
    for ledger in _held:
        ledger.before_fork()


def _after_fork_in_parent() -> None:
    for ledger in _held:
        ledger.after_fork_in_parent()
    _held.clear()
    _guest.compile_lock.release()


def _after_fork_in_child() -> None:
    """Forgets what belongs to the parent."""
    _guest.after_fork()
    _workers.after_fork()
    for ledger in _held:
        ledger.after_fork_in_child()
    _held.clear()
    for driver in list(DRIVERS):
        driver.after_fork()


def _at_exit() -> None:
    for driver in list(DRIVERS):
        driver.at_exit()
    Driver.is_refusing = True
    for ledger in list(LEDGERS):
        ledger.close()
    _guest.at_exit()
