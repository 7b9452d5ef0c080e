"""Tables of the benchmark records, as Markdown: the only source of measured figures in the documentation.

A record is one file in `records/`. A .json file, `{"question": str, "machine": {…}, "date": str, "rows": [{…}]}`,
is shown row by row. A .jsonl file has one measurement per line, as long runs write them, and is shown as means
over repeated measurements: over all lines with the same text columns and sizes. As a script, it prints the tables.
"""

import json
import math
import re
import statistics
from pathlib import Path

from nearer.papers.report import format_cell, markdown_table

MARK = "<!-- the tables of the records -->"
COLUMNS = re.compile(r"<!-- record (\w+)(?:\[([^\]]+)\])?: ([^>]+) -->")  # a mark for some columns of one record
SIZES = ("dims", "n_objects", "n_train", "n_jobs")


def render(folder: Path) -> str:
    """Return the tables of all records in a folder."""
    parts = [render_json(path) for path in sorted(folder.glob("*.json"))]
    parts += [render_jsonl(path) for path in sorted(folder.glob("*.jsonl"))]
    return "\n\n".join(parts) or "There are no records yet."


def insert_columns(text: str, folder: Path) -> str:
    """Replace each mark ``<!-- record NAME: column | column -->`` by these columns of the record.

    ``NAME[column]`` takes the rows that have this column.
    """

    def found(mark: re.Match) -> str:
        rows = json.loads((folder / f"{mark[1]}.json").read_text(encoding="utf-8"))["rows"]
        names = [name.strip() for name in mark[3].split("|")]
        unknown = {name for name in (mark[2], *names) if name and not any(name in row for row in rows)}
        if unknown:
            raise ValueError(f"{mark[0]}: the record has no columns {', '.join(sorted(unknown))}")
        chosen = [row for row in rows if mark[2] is None or mark[2] in row]
        return markdown_table([{name.replace("_", " "): row.get(name, "") for name in names} for row in chosen])

    return COLUMNS.sub(found, text)


def render_json(path: Path) -> str:
    record = json.loads(path.read_text(encoding="utf-8"))
    machine = ", ".join(f"{name} {value}" for name, value in record.get("machine", {}).items())
    source = " · ".join(str(part) for part in (record.get("date"), machine, f"`{path.name}`") if part)
    return f"## {record['question']}\n\n{markdown_table(record['rows'])}\n\n{source}"


def render_jsonl(path: Path) -> str:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    question = next((line["question"] for line in lines if "question" in line), path.stem.replace("_", " "))
    rows = [line for line in lines if "question" not in line]
    return f"## {question[:1].upper()}{question[1:]}\n\n{markdown_table(means(rows))}\n\n`{path.name}`"


def means(rows: list[dict]) -> list[dict]:
    """Return one row per combination of text columns and sizes: the mean of each measure, ± its standard error."""
    groups: dict[tuple, list[dict]] = {}
    for row in rows:
        key = {name: value for name, value in row.items() if isinstance(value, str) or name in SIZES}
        groups.setdefault(tuple(key.items()), []).append(row)
    result = []
    for key, members in groups.items():
        measures = dict.fromkeys(
            name for row in members for name, value in row.items() if isinstance(value, float)
        )
        means = {name: format_mean(members, name) for name in measures}
        result.append({**dict(key), "runs": len(members), **means})
    return result


def format_mean(rows: list[dict], name: str) -> str:
    """Return the mean of a measure, ± its standard error if there are several."""
    values = [row[name] for row in rows if isinstance(row.get(name), int | float)]
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return format_cell(statistics.fmean(values)) + ("" if error is None else f" ± {format_cell(error, 2)}")


if __name__ == "__main__":
    print(render(Path(__file__).resolve().parent / "records"))
