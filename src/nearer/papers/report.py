"""Reports from records: a Markdown table, the figure as PNG and SVG, and one HTML page of all experiments.

Each of them says what stands in for the data of the paper, and at which size it was run.
"""

import html
import json
import math
import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.datasets import source_of
from nearer.files import replacing
from nearer.papers import PAPERS, SCALES, experiments
from nearer.papers.experiment import Experiment, Row
from nearer.papers.provenance import code_hash
from nearer.papers.records import duration_of, read_record, recomputed

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
    "summary",
    "verdict_text",
    "write_figure",
    "write_report",
]

SMALL = 1e-5  # numbers below which are written with an exponent
LARGE = 10_000  # integers from which on digits are grouped
CAPTION = 7.0  # points
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; } h3 { margin-top: 2.5rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.85rem; }
svg { max-width: 100%; height: auto; }
th, td { padding: 0.15rem 0.6rem; border-bottom: 1px solid #ddd; text-align: right; } th { vertical-align: bottom; }
th:first-child, td:first-child, .verdicts td, .verdicts th { text-align: left; }
.note { background: #fff4d6; padding: 0.3rem 0.6rem; }
.true { color: #106b2f; } .false { color: #a11; } .null { color: #666; } pre { white-space: pre-wrap; font: inherit; }
.source { color: #666; font-size: 0.8rem; }
"""


def format_cell(value: object, digits: int = 3) -> str:
    """Return a number with that many significant digits, a large integer with commas, and anything else as text."""
    if isinstance(value, float) and 0.0 < abs(value) < SMALL:
        return f"{value:.{digits - 1}e}"
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


def claim_text(verdict: Row) -> str:
    """Return a claim in words, which say whether it is ours."""
    return f"ours: {verdict['claim']}" if verdict.get("ours") else str(verdict["claim"])


def verdict_text(holds: bool | None, scale: str) -> str:
    """Return a verdict in words: below the paper's size, it is about that size only."""
    if holds is None:
        return "cannot be decided here"
    return ("holds" if holds else "does not hold") + ("" if scale == "full" else " at this size")


def markdown(record: Row, heading: str = "##") -> str:
    """Return a record as Markdown: its table, with what replaces the paper's data, and the verdicts."""
    parts = [f"{heading} {record['title']}"]
    parts += [f"**{text[:1].upper()}{text[1:]}.**" for text in notes_of(record)]
    parts.append(markdown_table(record["table"]))
    verdicts = [
        f"- {claim_text(verdict)}: **{verdict_text(verdict['holds'], record['scale'])}**. {verdict['measured']}"
        for verdict in record["verdicts"]
    ]
    parts += ["\n".join(verdicts)] if verdicts else []
    return "\n\n".join([*parts, _source(record)]) + "\n"


def notes_of(record: Row) -> list[str]:
    """Return what a reader has to know before the numbers: stand-ins, the size, and what is of earlier code."""
    reason = record.get("earlier protocol")
    earlier = (
        f"of an earlier protocol ({reason}): table and verdicts are shown as they were stored" if reason else ""
    )
    n_earlier = sum(run["trials"] for run in record.get("earlier runs", []) if run["code"] != record["code"])
    extended = f"{n_earlier} of the {len(record['trials'])} trials were run with earlier code" if n_earlier else ""
    return [text.rstrip(".") for text in (record["stand-in"], record["reduced"], earlier, extended) if text]


def size_of(record: Row) -> str:
    """Return the scale of a record and what else limits its verdicts, in a few words."""
    parts = [record["scale"]]
    parts += ["reduced"] if record["scale"] == "full" and record["reduced"] else []
    parts += ["stand-in"] if record["stand-in"] else []
    parts += ["earlier protocol"] if record.get("earlier protocol") else []
    return ", ".join(parts)


def _source(record: Row) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in record["machine"].items())
    parts = [record["date"], duration_of(record), f"code {record['code']}"]
    parts += [f"commit {record['commit']}"] if record.get("commit") else []
    parts += [f"{record['n_jobs']} at a time"] if record.get("n_jobs") else []
    parts += [f"load at the start {load}"] if (load := record.get("load at the start")) is not None else []
    parts += [
        f"{run['trials']} of the {len(record['trials'])} trials: {run['date']}, code {run['code']}"
        for run in record.get("earlier runs", [])
    ]
    return " · ".join([*parts, machine])


def _results(record: Row) -> list[tuple[Row, Any]]:
    return [(line["trial"], line["result"]) for line in record["trials"]]


def require_matplotlib() -> None:
    """Raise an ImportError that says how to install matplotlib, if it is not there."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError('figures need matplotlib: pip install "nearer[maps]"') from error


def figure_of(experiment: Experiment, record: Row) -> "Figure":
    """Return the figure of an experiment, drawn from its record, with the notes on it below."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    experiment.draw(figure, _results(record))
    _add_caption(figure, " ".join(f"{note[:1].upper()}{note[1:]}." for note in notes_of(record)))
    return figure


def _add_caption(figure: "Figure", text: str) -> None:
    """Make a figure higher by small text at its foot; everything else stays where it is, in inches from the top.

    The layout is done before: a layout engine would place legends that are outside of the plots over the text.
    """
    if not text:
        return
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(text, int(width * 72 / (0.65 * CAPTION)), break_on_hyphens=False)
    foot = (1.4 * len(lines) + 1.0) * CAPTION / 72  # inches
    share, shift = height / (height + foot), foot / (height + foot)
    boxes = [axes.get_position() for axes in figure.axes]
    figure.set_size_inches(width, height + foot)
    for axes, box in zip(figure.axes, boxes, strict=True):
        axes.set_position((box.x0, shift + share * box.y0, box.width, share * box.height))
    for legend in figure.legends:
        legend.set_bbox_to_anchor((0.0, shift, 1.0, share), transform=figure.transFigure)
    for other in figure.texts:
        other.set_y(shift + share * other.get_position()[1])
    below = 0.5 * CAPTION / 72 / (height + foot)
    figure.text(0.01, below, "\n".join(lines), fontsize=CAPTION, color="0.35", va="bottom")


def _save(figure: "Figure", file: Any, format: str) -> None:
    """Write a figure; the same figure gives the same file."""
    from matplotlib import rc_context

    metadata = {"Date": None} if format == "svg" else None
    with rc_context({"svg.hashsalt": "nearer"}):  # ids of elements are random otherwise
        figure.savefig(file, format=format, dpi=150, metadata=metadata)


def write_figure(experiment: Experiment, record: Row, path: Path) -> list[Path]:
    """Write the figure beside the record, as .png and .svg; return the files."""
    figure = figure_of(experiment, record)
    written = []
    for suffix in (".png", ".svg"):
        with replacing(path.with_suffix(suffix)) as temporary:
            _save(figure, temporary, suffix[1:])
        written.append(path.with_suffix(suffix))
    return written


def read_records(folder: Path) -> list[tuple[Experiment, Row, Path]]:
    """Return the records of a folder in the order of the papers; of several scales the largest.

    Their tables and verdicts are computed from their trials by the code as it is now, see `recomputed`.

    Warns
    -----
    UserWarning
        If a file is damaged; it is left out.
    """
    found = []
    for paper in PAPERS:
        for name, experiment in experiments(paper).items():
            for path in [folder / f"{paper}-{name}-{scale}.json" for scale in reversed(SCALES)]:
                try:
                    record = read_record(path) if path.exists() else None
                except ValueError as error:
                    warnings.warn(f"left out: {error}", stacklevel=2)
                    continue
                if record is not None:
                    found.append((experiment, recomputed(experiment, record), path))
                    break
    return found


def summary(records: Iterable[tuple[Experiment, Row, Path]]) -> list[Row]:
    """Return a row per record: its size, how long it took, how many of the paper's claims hold, and of ours."""
    rows: list[Row] = []
    for _, record, _ in records:
        decided = [verdict["holds"] for verdict in record["verdicts"] if not verdict.get("ours")]
        ours = [verdict["holds"] for verdict in record["verdicts"] if verdict.get("ours")]
        rows.append(
            {
                "experiment": record["title"],
                "size and data": size_of(record),
                "cost": duration_of(record),
                "hold": decided.count(True),
                "do not hold": decided.count(False),
                "not decided": decided.count(None),
                "ours": ", ".join(
                    f"{ours.count(holds)} {text}"
                    for holds, text in ((True, "hold"), (False, "do not hold"), (None, "not decided"))
                    if holds in ours
                ),
            }
        )
    return rows


def report(records: Iterable[tuple[Experiment, Row, Path]]) -> str:
    """Return one HTML page of records: verdicts first, then each experiment with its protocol, figure and table."""
    records = list(records)
    page = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>nearer: the papers, rerun</title>",
        f"<meta name='viewport' content='width=device-width'><style>{STYLE}</style></head><body>",
        "<h1>The papers, rerun</h1>",
        "<div class='wide'>",
        _html_table(summary(records)),
        "</div>",
        "<h2>Claims</h2><div class='wide'><table class='verdicts'>",
        "<tr><th>experiment</th><th>size and data</th><th>claim</th><th>verdict</th><th>measured</th></tr>",
    ]
    for experiment, record, _ in records:
        anchor = f"<a href='#{record['paper']}-{experiment.name}'>{record['paper']} {experiment.name}</a>"
        for verdict in record["verdicts"]:
            text = verdict_text(verdict["holds"], record["scale"])
            state = f"<span class='{json.dumps(verdict['holds'])}'>{text}</span>"
            claim, measured = html.escape(claim_text(verdict)), html.escape(verdict["measured"])
            cells = (anchor, html.escape(size_of(record)), claim, state, measured)
            page.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    page.append("</table></div>")
    last = None
    for experiment, record, path in records:
        if record["paper"] != last:
            last = record["paper"]
            page.append(f"<h2>{html.escape(PAPERS[last][1])}</h2>")
        page += _section(experiment, record, path)
    return "\n".join([*page, "</body></html>\n"])


def _section(experiment: Experiment, record: Row, path: Path) -> list[str]:
    """Return an experiment as HTML."""
    lines = [f"<h3 id='{record['paper']}-{experiment.name}'>{html.escape(record['title'])}</h3>"]
    lines += [f"<p class='note'>{html.escape(text)}</p>" for text in notes_of(record)]
    if record.get("protocol"):
        lines.append(f"<pre>{html.escape(record['protocol'])}</pre>")
    else:
        lines.append(
            "<p class='note'>The record has no protocol; this is that of the experiment as it is now.</p>"
        )
        lines.append(f"<pre>{html.escape(experiment.protocol())}</pre>")
    if experiment.has_figure and not record.get("earlier protocol"):
        lines.append(_svg(figure_of(experiment, record)))
    elif path.with_suffix(".svg").exists():  # drawn when it was run
        lines.append(_svg_element(path.with_suffix(".svg").read_text(encoding="utf-8")))
    lines += [
        "<div class='wide'>",
        _html_table(record["table"]),
        "</div>",
        f"<p class='source'>{html.escape(_source(record))}{_changed(experiment, record)}</p>",
    ]
    for source in map(source_of, experiment.data):
        text = f"Data {source.name}: {source.citation} License: {source.license}"
        lines.append(f"<p class='source'>{html.escape(text)}</p>")
    return lines


def _changed(experiment: Experiment, record: Row) -> str:
    """Return a note if the library, or Python, is not the one that the record was made with."""
    return "" if record["code"] == code_hash(experiment) else " · the library, or Python, has changed since"


def _html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = ["".join(f"<td>{html.escape(format_cell(row.get(name, '')))}</td>" for name in columns) for row in rows]
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in body)}</table>"


def _svg(figure: "Figure") -> str:
    """Return a figure as SVG to be placed in a page."""
    import io

    file = io.StringIO()
    _save(figure, file, "svg")
    return _svg_element(file.getvalue())


def _svg_element(text: str) -> str:
    """Return the text of an SVG file without its XML declaration."""
    return text[text.index("<svg") :]


def write_report(folder: Path, path: Path) -> int:
    """Write the HTML page of all records of a folder; return how many there are."""
    records = read_records(folder)
    if not records:
        raise FileNotFoundError(f"there are no records in {folder}: nearer papers run writes them")
    with replacing(path) as temporary:
        temporary.write_text(report(records), encoding="utf-8")
    return len(records)
