"""Measures a list of so many rows on the mock service, while the command is killed and run again:
`python list_bench.py 10000`. It needs the program of the command in COMMAND, of the mock in MOCK.
CPU and bytes are for each row: of all runs, and of the ledger.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.request import urlopen

KILLS = 3


def main() -> None:
    count = int(sys.argv[1]) if sys.argv[1:] else 100
    with tempfile.TemporaryDirectory() as folder:
        mock = [os.environ["MOCK"], "--child", "--call-ms", "1000"]
        with subprocess.Popen(mock, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as service:
            assert service.stdout is not None
            figures = measured(Path(folder), json.loads(service.stdout.readline()), count)
    print(json.dumps(figures))
    assert figures["rang_twice"] == figures["lost"] == 0


def measured(folder: Path, service: dict[str, Any], count: int) -> dict[str, Any]:
    rows, ledger, results = folder / "list.csv", folder / "calls.db", folder / "results.csv"
    with rows.open("w") as file:
        csv.writer(file).writerows([("id", "phone"), *((n, f"9100{n:08}") for n in range(count))])
    options = ["--agent-id", "7", "--number-column", "phone", "--key-column", "id"]
    options += ["--campaign", "bench", "--ledger", str(ledger), "--results", str(results)]
    # Each kill leaves so many that may never ring, and those that come later have to.
    in_flight = min(200, count // 10)
    options += ["--in-flight", str(in_flight), "--wait", "--poll-seconds", "3", str(rows)]
    settings = {"BASE_URL": service["base_url"], "API_TOKEN": service["token"]}
    environ = {**os.environ, **{f"VOICE_CALLING_{name}": it for name, it in settings.items()}}
    log = (folder / "log").open("w")

    def run() -> subprocess.Popen[bytes]:
        command = [os.environ["COMMAND"], "call-list", *options]
        return subprocess.Popen(command, env=environ, stdout=log, stderr=log)

    def numbers() -> list[str]:
        with urlopen(f"{service['control_url']}/changes") as changes:
            return [entry["number"] for entry in json.load(changes)["entries"]]

    began = time.monotonic()
    process = run()
    for kill in range(KILLS):
        due = count * (kill + 1) / (KILLS + 1)
        while process.poll() is None and len(numbers()) < due:
            time.sleep(0.2)
        assert len(numbers()) >= due, (folder / "log").read_text()
        process.kill()
        process.wait()
        process = run()
    process.wait()
    seconds = time.monotonic() - began

    with results.open() as file:
        ended = Counter(row["call_status"] or row["call_outcome"] for row in csv.DictReader(file))
    # The creates that were open when the command was killed. A person finds out what came of them.
    unknown = ended["in progress"] + ended["unknown"]
    rang = Counter(numbers())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "engine": "command",
        "dockets": count,
        "kills": KILLS,
        "seconds": round(seconds, 1),
        "dockets_per_s": round(count / seconds, 1),
        "server_cpu_ms": None,
        "worker_cpu_ms": round((used.ru_utime + used.ru_stime) / count * 1000, 1),
        "bytes": ledger.stat().st_size // count,
        "unknown": unknown,
        "rang_twice": sum(times > 1 for times in rang.values()),
        "lost": count - ended["COMPLETED"] - unknown,
    }


if __name__ == "__main__":
    main()
