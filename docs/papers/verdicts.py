"""What the records of the papers' experiments say, as Markdown: inserted where the documentation has a mark.

``<!-- verdicts: sdca table2 -->`` is replaced by what the paper claims and whether it holds, ``<!-- table: … -->`` by
the numbers, ``<!-- figure: … -->`` by the figure. Without an experiment, it is all experiments of the paper.
``<!-- summary -->`` is replaced by how many claims of each experiment hold.

The records are in `records/`, written by ``nearer papers run``; tables and verdicts are computed from their trials by
the code as it is now. As a script, it prints the verdicts of all records; with ``--write``, it stores tables, verdicts
and figures again first, without running anything.
"""

import re
import sys
from pathlib import Path

from nearer.papers.records import duration_of, write_record
from nearer.papers.report import (
    claim_text,
    markdown_table,
    notes_of,
    read_records,
    summary,
    verdict_text,
    write_figure,
)

MARK = re.compile(r"<!-- (verdicts|table|figure): ([\w-]+)(?: ([\w-]+))? -->")
SUMMARY = "<!-- summary -->"
RECORDS = Path(__file__).resolve().parent / "records"


def insert_records(text: str, folder: Path = RECORDS, address: str = "papers/records") -> str:
    """Replace the marks in a page; ``address`` is where the folder is, seen from the page."""

    records = read_records(folder) if MARK.search(text) or SUMMARY in text else []

    def found(mark: re.Match) -> str:
        what, paper, name = mark.groups()
        chosen = [
            (record, path)
            for experiment, record, path in records
            if record["paper"] == paper and name in (None, experiment.name)
        ]
        if not chosen:
            return f"Not recorded yet: `nearer papers run {paper} {name or ''}".rstrip() + "` measures it."
        return "\n\n".join(render(what, record, path, address, heading=name is None) for record, path in chosen)

    return MARK.sub(found, text).replace(
        SUMMARY, markdown_table(summary(records)) if records else "There are no records yet."
    )


def render(what: str, record: dict, path: Path, address: str, heading: bool) -> str:
    """Return the verdicts, the table or the figure of a record."""
    if what == "figure":
        return f"![{record['title']}]({address}/{path.stem}.svg)" if path.with_suffix(".svg").exists() else ""
    if what == "table":
        return markdown_table(record["table"])
    parts = [f"### {record['title']}"] if heading else []
    if notes := notes_of(record):
        parts.append(f"*{'. '.join(f'{text[:1].upper()}{text[1:]}' for text in notes)}.*")
    rows = [
        {
            "claim": claim_text(row),
            "verdict": verdict_text(row["holds"], record["scale"]),
            "measured": row["measured"],
        }
        for row in record["verdicts"]
    ]
    parts.append(markdown_table(rows) if rows else "The paper makes no claim that could be checked.")
    machine = record["machine"]["processor"]
    parts.append(f"`{path.name}`, {record['date']}, {duration_of(record)} on {machine}")
    return "\n\n".join(parts)


def write_again(folder: Path = RECORDS) -> None:
    """Store the tables, verdicts and .svg figures of records as they are computed now; not of earlier protocols."""
    for experiment, record, path in read_records(folder):
        if record.get("earlier protocol"):
            continue
        write_record(record, path)
        if experiment.has_figure:
            write_figure(experiment, record, path)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        write_again()
    for _, record, path in read_records(RECORDS):
        print(render("verdicts", record, path, "records", heading=True) + "\n")
