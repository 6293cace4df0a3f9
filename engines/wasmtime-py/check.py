"""What wasmtime's Python package says to the component for WASI 0.3, which it cannot run.

    python check.py <component for WASI 0.3> <component for WASI 0.2>

Ends with 1 if it says anything else, or if the component for WASI 0.2 does not load either. To be
run with each version of `wasmtime` that the README of this folder names.
"""

import sys
from importlib.metadata import version

from wasmtime import Engine, Store, WasiConfig, WasmtimeError
from wasmtime.component import Component, Linker

# Since this version a component may have async functions. Nothing calls them from Python yet.
FIRST_TO_LOAD = 46

REFUSED = "`stream` requires the component model async feature"
NOT_LINKED = (
    "component imports instance `wasi:cli/environment@0.3.2`, "
    "but a matching implementation was not found in the linker"
)


def outcome(path: str) -> str:
    """How far the component comes, as a user would load it: the error, or `instantiated`."""
    engine = Engine()
    try:
        component = Component.from_file(engine, path)
    except WasmtimeError as error:
        return f"not loaded: {error}"
    linker = Linker(engine)
    linker.add_wasip2()
    store = Store(engine)
    store.set_wasi(WasiConfig())
    if hasattr(linker, "add_wasi_http"):
        linker.add_wasi_http()
        store.set_wasi_http()
    try:
        linker.instantiate(store, component)
    except WasmtimeError as error:
        return f"not instantiated: {error}"
    return "instantiated"


def differences(installed: str, async_outcome: str, sync_outcome: str) -> list[str]:
    """What is not as the README says, for this version of the package."""
    major = int(installed.split(".")[0])
    if major < FIRST_TO_LOAD:
        start, text = "not loaded: ", REFUSED
        # Versions as old as that have no wasi:http, so neither file can be instantiated.
        expected_sync = "not instantiated: component imports instance `wasi:http/"
    else:
        start, text = "not instantiated: ", NOT_LINKED
        expected_sync = "instantiated"
    found = []
    if not (async_outcome.startswith(start) and text in async_outcome):
        found.append(f"WASI 0.3: expected `{start}… {text} …`, found `{async_outcome}`")
    if not sync_outcome.startswith(expected_sync):
        found.append(f"WASI 0.2: expected `{expected_sync}`, found `{sync_outcome}`")
    return found


def main() -> int:
    if len(sys.argv) != 3:
        print("usage: check.py <component for WASI 0.3> <component for WASI 0.2>", file=sys.stderr)
        return 1
    installed = version("wasmtime")
    async_outcome, sync_outcome = (outcome(path) for path in sys.argv[1:])
    print(f"wasmtime {installed}\nWASI 0.3: {async_outcome}\nWASI 0.2: {sync_outcome}")
    found = differences(installed, async_outcome, sync_outcome)
    for difference in found:
        print(f"DIFFERENT  {difference}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
