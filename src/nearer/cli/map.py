"""``nearer map``: a model as a picture or as an interactive page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import typer

from nearer.cli.app import command, count, writing
from nearer.cli.models import check_objects, find_object
from nearer.cli.options import MODEL, option, output
from nearer.files import check_writable


def _as_weight(cell: Any) -> float:
    from nearer.comparisons.columns import as_number

    weight = as_number(cell)
    if weight != weight:
        raise ValueError(f"a weight must be a number; got {cell!r}")
    return weight


# Of a table of groups: the option of a map, the value for objects that it leaves out, and how a cell is read.
COLUMNS: dict[str, tuple[str, Any, Callable[[Any], Any]]] = {
    "group": ("groups", "other", str),
    "weight": ("weights", 0.0, _as_weight),
}


@command(
    "nearer map europe.nearer -o europe.html",
    'nearer map europe.nearer -o europe.png --title "Europe" --groups regions.csv',
)
def map_(
    model: Path = MODEL,
    out: Path = output("The map to write: .html, .png, .svg or .pdf."),
    title: str | None = option("Title above the map; by default the model's file name."),
    groups: Path | None = option(
        "A table, such as a .csv, with the column name, and group to color by, weight to size dots by, or both."
    ),
    labels: str = typer.Option(
        "auto", metavar="auto|all|none", help="Names to show: those that fit, all even if they overlap, none."
    ),
) -> None:
    """Draw the map that a model has learned.

    The suffix of the output selects the format: .html is one self-contained page for any browser, also offline,
    to pan, zoom, hover and search for a name in; .png, .svg and .pdf are pictures and need matplotlib
    (pip install "nearer[maps]"). Of more than two dimensions, such as those of a kernel, the two widest are
    shown, and the map says so.

    Names are placed so that each is nearest to its own dot: heavy and isolated objects first, spread over the map.
    A page shows more names as one zooms in.

    The axes have no meaning: answers determine a map only up to rotation, reflection and scale.
    """
    from nearer import load_model
    from nearer.maps import write_map
    from nearer.maps.model import learned_objects

    check_writable(out, [model] if groups is None else [model, groups])
    learned = load_model(model)
    check_objects(learned, model)
    points, shown, numbers = learned_objects(learned)
    n = len(learned._asked())
    columns = {} if groups is None else _read_groups(groups, learned.names_, n)
    options = {name: [column[number] for number in numbers] for name, column in columns.items()}
    with writing(out):
        write_map(
            points, out, shown, title=model.stem if title is None else title, labels=cast(Any, labels), **options
        )
    left_out = f"; {count(n - len(points), 'object')} never asked about left out" if len(points) < n else ""
    print(f"wrote {out}, a map of {count(len(points), 'object')}{left_out}")


def _read_groups(path: Path, names: tuple[str, ...] | None, n: int) -> dict[str, list[Any]]:
    """Return groups and weights, as far as the table has them; "other" and 0 for objects that it leaves out."""
    from nearer.formats.features import TABLES
    from nearer.formats.tables import existing_file, filled_cells

    path, suffix = existing_file(path, TABLES, "groups are read from")
    found: dict[str, list[Any]] = {}
    for table in TABLES[suffix](path):
        known = {header.strip().lower(): header for header in table.columns}
        if "name" not in known or not known.keys() & COLUMNS.keys():
            header = ", ".join(map(repr, table.columns))
            raise ValueError(
                f"{path}: wanted a header with the column name, and group, weight or both; got {header}"
            )
        for column in COLUMNS.keys() & known.keys():
            option, otherwise, parse = COLUMNS[column]
            values = found.setdefault(option, [otherwise] * n)
            rows = zip(filled_cells(table, known["name"]), filled_cells(table, known[column]), strict=True)
            for (row, name), (_, cell) in rows:
                try:
                    place = find_object(str(name), names, n, "the model")
                    if names is not None and names[place] != str(name):
                        raise ValueError(f"the model has no object called {str(name)!r}; its objects have names")
                    values[place] = parse(cell)
                except ValueError as error:
                    raise table.error(row, f"is of no use: {error}") from None
    if not found:
        raise ValueError(f"{path} has a header only")
    return found
