"""``nearer map``: a model as a picture or as an interactive page."""

import csv
from pathlib import Path

from nearer.cli.app import command, count, writing
from nearer.cli.models import check_objects, find_object, points_of
from nearer.cli.options import MODEL, option, output
from nearer.files import check_writable


@command(
    "nearer map europe.nearer -o europe.html",
    'nearer map europe.nearer -o europe.png --title "Europe" --groups regions.csv',
)
def map_(
    model: Path = MODEL,
    out: Path = output("The map to write: .html, .png, .svg or .pdf."),
    title: str | None = option("Title above the map; by default the model's file name."),
    groups: Path | None = option("A .csv with the columns name and group, to color the objects by."),
) -> None:
    """Draw the map that a model has learned.

    The suffix of the output selects the format: .html is one self-contained page for any browser, also offline,
    to pan, zoom, hover and search for a name in; .png, .svg and .pdf are pictures and need matplotlib
    (pip install "nearer[maps]"). Of more than two dimensions, such as those of a kernel, the two widest are
    shown, and the map says so.

    The axes have no meaning: answers determine a map only up to rotation, reflection and scale.
    """
    from nearer import load_model
    from nearer.maps import write_map

    check_writable(out, [model] if groups is None else [model, groups])
    learned = load_model(model)
    check_objects(learned, model)
    points = points_of(learned)
    colors = None if groups is None else _read_groups(groups, learned.names_, len(points))
    with writing(out):
        write_map(points, out, learned.names_, groups=colors, title=model.stem if title is None else title)
    print(f"wrote {out}, a map of {count(len(points), 'object')}")


def _read_groups(path: Path, names: tuple[str, ...] | None, n: int) -> list[str]:
    """Return one group per object, "other" for those that the table leaves out."""
    groups = ["other"] * n
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file, skipinitialspace=True)
        if not {"name", "group"} <= set(table.fieldnames or ()):
            header = ",".join(table.fieldnames or ()) or "nothing"
            raise ValueError(f"{path}: wanted a header with the columns name and group; got {header}")
        for row in table:
            if row["name"] is None or row["group"] is None:
                raise ValueError(f"{path}, line {table.line_num} has too few cells")
            try:
                groups[find_object(row["name"].strip(), names, n, "the model")] = row["group"].strip()
            except ValueError as error:
                raise ValueError(f"{path}, line {table.line_num}: {error}") from None
    return groups
