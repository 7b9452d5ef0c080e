"""Where a benchmark puts what it measured: one JSON file a question, with the machine it was measured on."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

from nearer.papers.provenance import describe_machine

RECORDS = Path(__file__).resolve().parents[1] / "docs/benchmarks/records"


def write(name: str, question: str, rows: list[dict], **machine: str) -> None:
    """Write the rows of a question and print them, with more about the machine."""
    record = {
        "question": question,
        "machine": describe_machine() | machine,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "rows": rows,
    }
    RECORDS.mkdir(parents=True, exist_ok=True)
    (RECORDS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"\n{question}")
    for row in rows:
        print("  " + ", ".join(f"{key} {_short(value)}" for key, value in row.items()))


def rows_of(name: str) -> list[dict]:
    """Return the rows that a question has so far."""
    path = RECORDS / f"{name}.json"
    return json.loads(path.read_text())["rows"] if path.exists() else []


def best_of(times: int, run) -> float:
    """Return the shortest of some timed runs, in seconds."""
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)


def _short(value):
    return f"{value:.4g}" if isinstance(value, float) else value
