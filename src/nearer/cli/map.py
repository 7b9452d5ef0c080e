"""``nearer map``: a model as a picture or as a page to look around in."""

import csv
from pathlib import Path
from typing import Annotated

import typer

from nearer.cli.app import command
from nearer.cli.console import count, writing
from nearer.cli.models import check_objects, n_objects, names_of, object_called, points_of
from nearer.files import check_writable


@command(
    "nearer map europe.nearer -o europe.html",
    'nearer map europe.nearer -o europe.png --title "Europe" --groups regions.csv',
)
def map_(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file of nearer fit or stream.")],
    out: Annotated[
        Path,
        typer.Option("-o", "--output", help="The map to write: .html, .png, .svg or .pdf.", show_default=False),
    ],
    title: Annotated[
        str | None, typer.Option(help="Stands above the map; by default the model's file name.")
    ] = None,
    groups: Annotated[
        Path | None,
        typer.Option(help="A .csv with the columns name and group, to colour the objects by.", show_default=False),
    ] = None,
) -> None:
    """Draw the map that a model has learned.

    The suffix of the output picks the kind: .html is a page of its own that opens in any browser, also
    offline, to pan, zoom, hover and find a name in; .png, .svg and .pdf are pictures and need matplotlib
    (pip install "nearer[maps]"). Of more than two dimensions, such as those of a kernel, the two widest are
    shown, and the map says so.

    The axes mean nothing by themselves: answers fix a map only up to turning, mirroring and scale.
    """
    from nearer import load_model
    from nearer.maps import write_map

    check_writable(out, [model] if groups is None else [model, groups])
    learned = load_model(model)
    check_objects(learned, model)
    colours = None if groups is None else _groups(groups, learned)
    heading = model.stem if title is None else title
    with writing(out):
        write_map(points_of(learned), out, names_of(learned), groups=colours, title=heading)
    print(f"wrote {out}, a map of {count(n_objects(learned), 'object')}")


def _groups(path: Path, model: object) -> list[str]:
    """One group an object, "other" for those that the table leaves out."""
    names = names_of(model)
    found = ["other"] * len(names)
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file, skipinitialspace=True)
        if not {"name", "group"} <= set(table.fieldnames or ()):
            given = ",".join(table.fieldnames or ()) or "nothing"
            raise ValueError(f"{path}: wanted a header with the columns name and group; got {given}")
        for row in table:
            if row["name"] is None or row["group"] is None:
                raise ValueError(f"{path}, line {table.line_num} has too few cells")
            try:
                found[object_called(model, row["name"].strip())] = row["group"].strip()
            except ValueError as error:
                raise ValueError(f"{path}, line {table.line_num}: {error}") from None
    return found
