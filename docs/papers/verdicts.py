"""What the records of the papers' experiments say, as Markdown: inserted where the documentation has a mark.

``<!-- verdicts: sdca table2 -->`` is replaced by what the paper claims and whether it holds, ``<!-- table: … -->`` by
the numbers, ``<!-- figure: … -->`` by the figure. Without an experiment, it is all experiments of the paper. The
records are in `records/`, written by ``nearer papers run``; of several scales the largest is shown. As a script, it
prints the verdicts of all records.
"""

import re
from pathlib import Path

from nearer.papers.report import HOLDS, markdown_table
from nearer.papers.run import read_record

MARK = re.compile(r"<!-- (verdicts|table|figure): ([\w-]+)(?: ([\w-]+))? -->")
SCALES = ("full", "quick")
RECORDS = Path(__file__).resolve().parent / "records"


def insert_records(text: str, folder: Path = RECORDS, address: str = "papers/records") -> str:
    """Replace the marks in a page; ``address`` is where the folder is, seen from the page."""

    def found(mark: re.Match) -> str:
        what, paper, experiment = mark.groups()
        paths = find_records(folder, paper, experiment)
        if not paths:
            return f"Not recorded yet: `nearer papers run {paper} {experiment or ''}".rstrip() + "` measures it."
        return "\n\n".join(render(what, path, address, heading=experiment is None) for path in paths)

    return MARK.sub(found, text)


def find_records(folder: Path, paper: str, experiment: str | None = None) -> list[Path]:
    """Return the record of an experiment, or those of all experiments of a paper, of the largest scale."""
    stems: dict[str, Path] = {}
    for scale in SCALES:
        for path in sorted(folder.glob(f"{paper}-{experiment or '*'}-{scale}.json")):
            stems.setdefault(path.stem.removesuffix(f"-{scale}"), path)
    return [stems[stem] for stem in sorted(stems)]


def render(what: str, path: Path, address: str, heading: bool) -> str:
    """Return the verdicts, the table or the figure of a record."""
    record = read_record(path)
    if what == "figure":
        return f"![{record['title']}]({address}/{path.stem}.svg)" if path.with_suffix(".svg").exists() else ""
    if what == "table":
        return markdown_table(record["table"])
    parts = [f"### {record['title']}"] if heading else []
    if notes := [text.rstrip(".") for text in (record["stand-in"], record["reduced"]) if text]:
        parts.append(f"*{'. '.join(f'{text[:1].upper()}{text[1:]}' for text in notes)}.*")
    rows = [
        {"the paper says": row["claim"], "measured here": row["measured"], "so it": HOLDS[row["holds"]]}
        for row in record["verdicts"]
    ]
    parts.append(markdown_table(rows) if rows else "The paper makes no claim that could be checked.")
    machine = record["machine"]["processor"]
    parts.append(f"`{path.name}`, {record['date']}, {record['seconds'] / 60:.1f} minutes of trials on {machine}")
    return "\n\n".join(parts)


if __name__ == "__main__":
    print("\n\n".join(render("verdicts", path, "records", heading=True) for path in find_records(RECORDS, "*")))
