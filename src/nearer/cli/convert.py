"""``nearer convert``: answers from one file format into another."""

from pathlib import Path

import typer

from nearer.cli.app import command, count, writing
from nearer.cli.reading import COLUMNS, DROP_BAD_ROWS, ENCODING, read_answers
from nearer.files import check_writable


@command("nearer convert answers.csv answers.jsonl", "nearer convert responses.csv answers.npz --drop-bad-rows")
def convert(
    source: Path = typer.Argument(..., metavar="FROM", help="A file of answers; - is standard input."),
    target: Path = typer.Argument(
        ..., metavar="TO", help="The file to write: .csv, .tsv, .jsonl, .npy, .npz or .parquet."
    ),
    columns: str | None = COLUMNS,
    encoding: str | None = ENCODING,
    drop_bad_rows: bool = DROP_BAD_ROWS,
) -> None:
    """Rewrite answers in another format.

    The suffixes of the names select the formats. Odd-one-out answers and rankings become the comparisons that
    they stand for, with a column that keeps the rows of one answer together. .jsonl, .npz and .parquet keep
    everything; .csv and .tsv keep text, without objects that were never asked about; .npy keeps only the numbers
    of objects.
    """
    from nearer import write
    from nearer.formats.io import WRITTEN
    from nearer.formats.tables import check_suffix

    check_suffix(target, WRITTEN)  # before a large file is read
    check_writable(target, [source])
    answers = read_answers(source, columns, encoding, drop_bad_rows)
    with writing(target):
        write(answers, target)
    dropped = f"; {count(answers.n_dropped, 'bad row')} left out" if answers.n_dropped else ""
    print(f"wrote {target}: {count(len(answers), 'row')} about {count(answers.n_objects, 'object')}{dropped}")
