"""``nearer convert``: answers from one kind of file into another."""

from pathlib import Path
from typing import Annotated

import typer

from nearer.cli.app import command
from nearer.cli.console import count, writing
from nearer.files import check_writable


@command("nearer convert answers.csv answers.jsonl", "nearer convert responses.csv answers.npz --drop-bad-rows")
def convert(
    source: Annotated[Path, typer.Argument(metavar="FROM", help="A file of answers.")],
    target: Annotated[
        Path,
        typer.Argument(metavar="TO", help="The file to write: .csv, .tsv, .jsonl, .npy, .npz or .parquet."),
    ],
    drop_bad_rows: Annotated[
        bool, typer.Option("--drop-bad-rows", help="Leave out rows that say nothing, instead of stopping.")
    ] = False,
) -> None:
    """Rewrite answers in another format.

    The ends of the names tell the formats. Odd-one-out answers and rankings become the comparisons that they
    stand for, with a column that keeps the rows of one answer together. .jsonl, .npz and .parquet keep
    everything; .csv and .tsv keep text, without objects that were never asked about; .npy keeps numbers of
    objects alone.
    """
    from nearer import read, write

    check_writable(target, [source])
    given = read(source, bad_rows="drop" if drop_bad_rows else "raise")
    with writing(target):
        write(given, target)
    dropped = f"; {count(given.n_dropped, 'bad row')} left out" if given.n_dropped else ""
    print(f"wrote {target}: {count(len(given), 'row')} about {count(given.n_objects, 'object')}{dropped}")
