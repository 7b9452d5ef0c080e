"""``nearer export``: what a model has learned as a table: coordinates, and neighbors with their distances."""

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer.cli.app import command, count, writing
from nearer.cli.models import load_with_table
from nearer.cli.options import FEATURES, MODEL, NAMES, output
from nearer.files import check_writable, replacing

if TYPE_CHECKING:
    from nearer.formats import FeatureTable

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*DELIMITERS, ".json")
BLOCK = 1000  # objects whose distances from all others are in memory at a time
Neighbors = list[tuple[str, float]]


@command(
    "nearer export europe.nearer -o points.csv",
    "nearer export europe.nearer -o points.json --neighbors 5",
    "nearer export shoes.nearer --features shoes.csv -o points.csv",
)
def export(
    model: Path = MODEL,
    out: Path = output("The table to write: .csv, .tsv or .json."),
    neighbors: int = typer.Option(
        0, min=0, metavar="K", help="Also list the K nearest objects of each, with distances."
    ),
    features: Path | None = FEATURES,
    names: str | None = NAMES,
) -> None:
    """Write the coordinates of a model's objects as a table.

    A .csv or .tsv has one line per object: its name, or its number if it has none, and its coordinates x1, x2, …
    With --neighbors, the columns neighbor1, distance1, neighbor2, … follow, the nearest first. A .json is a list of
    objects with "name", "point" and "neighbors".

    A kernel has as many coordinates as dimensions, the widest first. The distances between the points, or their
    inner products where the model is a similarity, are those of the model.

    The objects of a model of features are those of --features. A similarity has similarity1, … instead of
    distance1, …, and no coordinates where it compares queries and items in different ways.
    """
    if out.suffix.lower() not in SUFFIXES:
        raise ValueError(f"cannot tell the format of {out}: its name must end in {', '.join(SUFFIXES)}")
    check_writable(out, [model] if features is None else [model, features])
    learned, table = load_with_table(model, features, names)
    labels, points, numbers = _objects(learned, table)
    n = len(labels)
    if points is None and not neighbors:
        kind = type(learned).__name__
        raise ValueError(f"{model} is a {kind} without coordinates; with --neighbors K it lists similar objects")
    word = "similarity" if table is not None and not hasattr(learned, "distance") else "distance"
    near = _neighbors(learned, table, labels, numbers, min(neighbors, n - 1))
    with writing(out), replacing(out) as temporary:
        if out.suffix.lower() == ".json":
            _write_json(temporary, labels, points, near, word)
        else:
            _write_text(temporary, DELIMITERS[out.suffix.lower()], labels, points, near, word)
    each = [] if points is None else [count(len(points[0]), "coordinate")]
    each += [count(len(near[0]), "neighbor")] if near else []
    print(f"wrote {out}, {count(n, 'object')} with {' and '.join(each)} each")


def _objects(model: Any, table: "FeatureTable | None") -> tuple[list[str], list[list[float]] | None, list[int]]:
    """Return the names of the objects, their coordinates, or None for a model that has none, and their numbers."""
    import numpy as np

    from nearer.maps.model import learned_objects

    if table is None:
        shown = learned_objects(model)
        return shown.names, shown.points.tolist(), shown.numbers.tolist()
    numbers = list(range(len(table)))
    names = list(map(str, numbers)) if table.names is None else list(table.names)
    has_points = hasattr(model, "transform")
    points = np.asarray(model.transform(table), dtype=np.float64).tolist() if has_points else None
    return names, points, numbers


def _neighbors(
    model: Any, table: "FeatureTable | None", names: list[str], numbers: list[int], k: int
) -> list[Neighbors]:
    """Return the k nearest objects of each, with distances or similarities; nothing if k is 0."""
    if k < 1:
        return []
    if table is not None:
        found = [model.neighbors(None, table, k)]
    else:
        objects = numbers if model.names_ is None else names
        found = [model.neighbors(objects[start : start + BLOCK], k) for start in range(0, len(objects), BLOCK)]
    return [
        [
            (names[other] if table is not None else str(other), float(value))
            for other, value in zip(*pair, strict=True)
        ]
        for values, others in found
        for pair in zip(others, values, strict=True)
    ]


def _write_text(
    path: Path,
    delimiter: str,
    labels: list[str],
    points: list[list[float]] | None,
    near: list[Neighbors],
    word: str,
) -> None:
    header = ["name", *(f"x{axis}" for axis in range(1, len(points[0]) + 1 if points else 1))]
    header += [
        f"{what}{rank}" for rank in range(1, len(near[0]) + 1 if near else 1) for what in ("neighbor", word)
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(header)
        for i, label in enumerate(labels):
            cells = [cell for pair in near[i] for cell in pair] if near else []
            writer.writerow([label, *(points[i] if points else []), *cells])


def _write_json(
    path: Path, labels: list[str], points: list[list[float]] | None, near: list[Neighbors], word: str
) -> None:
    records: list[dict[str, Any]] = [{"name": label} for label in labels]
    for i, record in enumerate(records):
        if points:
            record["point"] = points[i]
        if near:
            record["neighbors"] = [{"name": name, word: value} for name, value in near[i]]
    with path.open("w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(record, ensure_ascii=False) for record in records) + "\n]\n")
