"""Tables of the benchmark records, as Markdown: the only way that a measured figure gets into the documentation.

A record is one file in `records/`. A .json file, `{"question": str, "machine": {…}, "date": str, "rows": [{…}]}`,
is shown row by row. A .jsonl file holds one measurement a line, as long runs write them, and is shown as means
over repeated measurements: over all lines that agree in their words and sizes. Run as a script, it prints.
"""

import json
import math
import statistics
from pathlib import Path

MARK = "<!-- the tables of the records -->"
SIZES = ("dims", "n_objects", "n_train", "n_jobs")


def render(folder: Path) -> str:
    """Return the tables of all records in a folder."""
    parts = [_json(path) for path in sorted(folder.glob("*.json"))]
    parts += [_jsonl(path) for path in sorted(folder.glob("*.jsonl"))]
    return "\n\n".join(parts) or "There are no records yet."


def _json(path: Path) -> str:
    record = json.loads(path.read_text(encoding="utf-8"))
    machine = ", ".join(f"{name} {value}" for name, value in record.get("machine", {}).items())
    where = " · ".join(str(part) for part in (record.get("date"), machine, f"`{path.name}`") if part)
    return f"## {record['question']}\n\n{table(record['rows'])}\n\n{where}"


def _jsonl(path: Path) -> str:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    question = next((line["question"] for line in lines if "question" in line), path.stem.replace("_", " "))
    rows = [line for line in lines if "question" not in line]
    return f"## {question[:1].upper()}{question[1:]}\n\n{table(means(rows))}\n\n`{path.name}`"


def means(rows: list[dict]) -> list[dict]:
    """Return one row for each combination of words and sizes: the mean of every measure, ± its standard error."""
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        same = {name: value for name, value in row.items() if isinstance(value, str) or name in SIZES}
        groups.setdefault(tuple(same.items()), []).append(row)
    made = []
    for same, members in groups.items():
        measures = dict.fromkeys(
            name for row in members for name, value in row.items() if isinstance(value, float)
        )
        made.append({**dict(same), "runs": len(members), **{name: _mean(members, name) for name in measures}})
    return made


def _mean(rows: list[dict], name: str) -> str:
    found = [row[name] for row in rows if isinstance(row.get(name), int | float)]
    error = statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else None
    return _shown(statistics.fmean(found)) + ("" if error is None else f" ± {_shown(error, 2)}")


def table(rows: list[dict]) -> str:
    """Return rows as a Markdown table, with the columns in order of first appearance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, ["---"] * len(columns), *([_shown(row.get(name, "")) for name in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _shown(value: object, digits: int = 3) -> str:
    """Return a number with that many telling digits, everything else as it is."""
    if isinstance(value, float) and math.isfinite(value):
        places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
        return f"{value:,.{max(0, places)}f}"
    if isinstance(value, dict | list):
        return json.dumps(value).replace("|", "\\|")
    return "–" if value is None else str(value).replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    print(render(Path(__file__).resolve().parent / "records"))
