"""What is made of records: a Markdown table, the figure as PNG and SVG, and one HTML page of all experiments."""

import html
import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.files import replacing
from nearer.papers import PAPERS, experiments
from nearer.papers.experiment import Experiment, Row
from nearer.papers.run import read_record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "format_cell",
    "markdown",
    "markdown_table",
    "notes_of",
    "read_records",
    "report",
    "require_matplotlib",
    "write_figure",
    "write_report",
]

LARGE = 10_000  # integers from which on digits are grouped
HOLDS = {True: "holds", False: "does not hold", None: "cannot be decided here"}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; } h3 { margin-top: 2.5rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.85rem; }
svg { max-width: 100%; height: auto; }
th, td { padding: 0.15rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right; } th { vertical-align: bottom; }
th:first-child, td:first-child, .verdicts td { text-align: left; } .note { background: #fff4d6; padding: 0.3rem 0.6rem; }
.true { color: #106b2f; } .false { color: #a11; } .null { color: #666; } pre { white-space: pre-wrap; font: inherit; }
.source { color: #666; font-size: 0.8rem; }
"""


def format_cell(value: object, digits: int = 3) -> str:
    """Return a number with that many significant digits, a large integer with commas, and anything else as text."""
    if isinstance(value, float) and math.isfinite(value):
        places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
        return f"{value:,.{max(0, places)}f}"
    if isinstance(value, int) and abs(value) >= LARGE:
        return f"{value:,}"
    if isinstance(value, dict | list):
        return json.dumps(value)
    return "–" if value is None else str(value).replace("\n", " ")


def markdown_table(rows: list[Row]) -> str:
    """Return rows as a Markdown table, with columns in order of first appearance."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[format_cell(row.get(name, "")) for name in columns] for row in rows]
    lines = [columns, ["---"] * len(columns), *cells]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def markdown(record: Row, heading: str = "##") -> str:
    """Return a record as Markdown: its table, with what replaces the paper's data, and the verdicts."""
    parts = [f"{heading} {record['title']}"]
    parts += [f"**{text[:1].upper()}{text[1:]}.**" for text in notes_of(record)]
    parts.append(markdown_table(record["table"]))
    verdicts = [
        f"- {verdict['claim']}: **{HOLDS[verdict['holds']]}**. {verdict['measured']}"
        for verdict in record["verdicts"]
    ]
    parts += ["\n".join(verdicts)] if verdicts else []
    return "\n\n".join([*parts, _source(record)]) + "\n"


def notes_of(record: Row) -> list[str]:
    """Return what a reader has to know before the numbers: stand-ins, and sizes below the paper's."""
    return [text.rstrip(".") for text in (record["stand-in"], record["reduced"]) if text]


def _source(record: Row) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in record["machine"].items())
    return f"{record['date']} · {record['seconds'] / 60:.1f} minutes of trials · code {record['code']} · {machine}"


def _results(record: Row) -> list[tuple[Row, Any]]:
    return [(line["trial"], line["result"]) for line in record["trials"]]


def require_matplotlib() -> None:
    """Raise an ImportError that says how to install matplotlib, if it is not there."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError('figures need matplotlib: pip install "nearer[maps]"') from error


def figure_of(experiment: Experiment, record: Row) -> "Figure":
    """Return the figure of an experiment, drawn from its record."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    experiment.draw(figure, _results(record))
    return figure


def write_figure(experiment: Experiment, record: Row, path: Path) -> list[Path]:
    """Write the figure beside the record, as .png and .svg; return the files."""
    figure = figure_of(experiment, record)
    written = []
    for suffix in (".png", ".svg"):
        with replacing(path.with_suffix(suffix)) as temporary:
            metadata = {"Date": None} if suffix == ".svg" else None
            figure.savefig(temporary, format=suffix[1:], dpi=150, metadata=metadata)
        written.append(path.with_suffix(suffix))
    return written


def read_records(folder: Path) -> list[tuple[Experiment, Row, Path]]:
    """Return the records of a folder in the order of the papers; of several scales the largest."""
    found = []
    for paper in PAPERS:
        for name, experiment in experiments(paper).items():
            paths = [folder / f"{paper}-{name}-{scale}.json" for scale in ("full", "quick", "tiny")]
            path = next((path for path in paths if path.exists()), None)
            if path is not None:
                found.append((experiment, read_record(path), path))
    return found


def report(records: Iterable[tuple[Experiment, Row, Path]]) -> str:
    """Return one HTML page of records: verdicts first, then each experiment with its protocol, figure and table."""
    records = list(records)
    page = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>nearer: the papers, rerun</title>",
        f"<meta name='viewport' content='width=device-width'><style>{STYLE}</style></head><body>",
        "<h1>The papers, rerun</h1>",
        "<h2>Claims</h2><div class='wide'><table class='verdicts'>",
        "<tr><th>experiment</th><th>claim</th><th>verdict</th><th>measured</th></tr>",
    ]
    for experiment, record, _ in records:
        anchor = f"<a href='#{record['paper']}-{experiment.name}'>{record['paper']} {experiment.name}</a>"
        for verdict in record["verdicts"]:
            state = f"<span class='{json.dumps(verdict['holds'])}'>{HOLDS[verdict['holds']]}</span>"
            cells = (anchor, html.escape(verdict["claim"]), state, html.escape(verdict["measured"]))
            page.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    page.append("</table></div>")
    last = None
    for experiment, record, _ in records:
        if record["paper"] != last:
            last = record["paper"]
            page.append(f"<h2>{html.escape(PAPERS[last][1])}</h2>")
        page += _section(experiment, record)
    return "\n".join([*page, "</body></html>\n"])


def _section(experiment: Experiment, record: Row) -> list[str]:
    """Return an experiment as HTML."""
    lines = [f"<h3 id='{record['paper']}-{experiment.name}'>{html.escape(record['title'])}</h3>"]
    lines += [f"<p class='note'>{html.escape(text)}</p>" for text in notes_of(record)]
    lines.append(f"<pre>{html.escape(record.get('protocol') or experiment.protocol())}</pre>")
    if experiment.has_figure:
        lines.append(_svg(figure_of(experiment, record)))
    lines += [
        "<div class='wide'>",
        _html_table(record["table"]),
        "</div>",
        f"<p class='source'>{_source(record)}</p>",
    ]
    return lines


def _html_table(rows: list[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = ["".join(f"<td>{html.escape(format_cell(row.get(name, '')))}</td>" for name in columns) for row in rows]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in body)}</table>"


def _svg(figure: "Figure") -> str:
    """Return a figure as SVG to be placed in a page."""
    import io

    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :]


def write_report(folder: Path, path: Path) -> int:
    """Write the HTML page of all records of a folder; return how many there are."""
    records = read_records(folder)
    if not records:
        raise FileNotFoundError(f"there are no records in {folder}: nearer papers run writes them")
    with replacing(path) as temporary:
        temporary.write_text(report(records), encoding="utf-8")
    return len(records)
