"""The compiled component in the user's folder: quick where sound, harmless where not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from voice_calling import _cache
from voice_calling._wasmtime import Component, Config, Engine

posix = pytest.mark.skipif(sys.platform == "win32", reason="a matter of POSIX")

# A component that is compiled in no time.
WASM = bytes.fromhex("0061736d0d000100")


@pytest.fixture
def engine() -> Engine:
    return Engine(Config())


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How large what was compiled was."""
    sizes: list[int] = []

    def compiling(engine: Engine, wasm: bytes) -> Component:
        sizes.append(len(wasm))
        return Component(engine, wasm)

    compiling.deserialize = Component.deserialize  # type: ignore[attr-defined] # pyright: ignore
    monkeypatch.setattr(_cache, "Component", compiling)
    return sizes


def test_the_second_use_compiles_nothing(
    engine: Engine, compiled: list[int], tmp_path: Path
) -> None:
    for _ in range(3):
        _cache.load(engine, WASM, "1", tmp_path / "new" / "folder")
    assert compiled == [len(WASM)]
    [file] = (tmp_path / "new" / "folder").iterdir()
    assert file.suffix == ".cwasm"
    if sys.platform != "win32":
        assert file.stat().st_mode & 0o777 == 0o600
        assert file.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("at", [0, 30, 60, 1000, -1])
def test_a_damaged_file_is_replaced(
    engine: Engine, compiled: list[int], tmp_path: Path, at: int
) -> None:
    _cache.load(engine, WASM, "1", tmp_path)
    [file] = tmp_path.iterdir()
    sound = file.read_bytes()
    damaged = bytearray(sound)
    damaged[at] ^= 1
    for content in [bytes(damaged), b"", sound[:50], sound[:-1], WASM]:
        file.write_bytes(content)
        _cache.load(engine, WASM, "1", tmp_path)
        assert file.read_bytes()[:20] == sound[:20]
        assert len(file.read_bytes()) == len(sound)
    assert len(compiled) == 6


def test_another_version_or_component_has_a_file_of_its_own(
    engine: Engine, compiled: list[int], tmp_path: Path
) -> None:
    _cache.load(engine, WASM, "1", tmp_path)
    _cache.load(engine, WASM, "2", tmp_path)
    assert len(list(tmp_path.iterdir())) == len(compiled) == 2


def test_code_for_another_configuration_is_not_run(
    engine: Engine, compiled: list[int], tmp_path: Path
) -> None:
    config = Config()
    config.epoch_interruption = True
    _cache.load(Engine(config), WASM, "1", tmp_path)
    _cache.load(engine, WASM, "1", tmp_path)
    assert len(compiled) == 2


def test_a_folder_that_cannot_be_written_costs_only_time(
    engine: Engine, compiled: list[int], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    for _ in range(2):
        _cache.load(engine, WASM, "1", tmp_path / "file" / "folder")
    assert len(compiled) == 2


@posix
def test_what_others_can_write_is_not_run(
    engine: Engine, compiled: list[int], tmp_path: Path
) -> None:
    _cache.load(engine, WASM, "1", tmp_path)
    [file] = tmp_path.iterdir()
    file.chmod(0o666)
    _cache.load(engine, WASM, "1", tmp_path)
    assert len(compiled) == 2
    assert file.stat().st_mode & 0o777 == 0o600
    tmp_path.chmod(0o777)
    _cache.load(engine, WASM, "1", tmp_path)
    assert len(compiled) == 3


@posix
def test_a_folder_that_others_can_write_to_is_told_once(
    engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o775)
    _cache.load(engine, WASM, "1", tmp_path)
    assert list(tmp_path.iterdir()) == []
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().endswith(f"others may write to {tmp_path}")


@posix
def test_what_belongs_to_another_user_is_not_run(
    engine: Engine, compiled: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cache.load(engine, WASM, "1", tmp_path)
    [file] = tmp_path.iterdir()
    before = file.stat().st_mtime_ns
    fstat = os.fstat

    def of_somebody_else(descriptor: int) -> os.stat_result:
        found = fstat(descriptor)
        return os.stat_result((*found[:4], 54321, *found[5:]))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", of_somebody_else)
        _cache.load(engine, WASM, "1", tmp_path)
    assert len(compiled) == 2
    assert file.stat().st_mtime_ns >= before


def test_many_processes_may_begin_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from voice_calling._engine import runtime\n"
        "runtime(Path(sys.argv[1]))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    [file] = tmp_path.iterdir()
    assert file.suffix == ".cwasm"


def test_the_folder_is_where_the_platform_keeps_such_things(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _cache.default_folder() == tmp_path / "voice-calling"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert _cache.default_folder() == Path.home() / ".cache" / "voice-calling"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert _cache.default_folder() == Path.home() / "Library" / "Caches" / "voice-calling"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert _cache.default_folder() == tmp_path / "voice-calling"
