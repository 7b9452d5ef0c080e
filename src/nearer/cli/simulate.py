"""``nearer simulate``: answers from known points, to plan a survey or try the other commands."""

from pathlib import Path

import typer

from nearer.cli.app import command, count, writing
from nearer.cli.options import output
from nearer.files import check_writable


@command(
    "nearer simulate -o answers.csv",
    "nearer simulate --objects 200 --answers 50000 --dims 3 --errors 0.1 -o answers.npz",
    "nearer simulate --europe -o europe.csv",
)
def simulate(
    out: Path = output("The file of answers to write."),
    objects: int | None = typer.Option(None, min=3, help="How many objects.", show_default="60"),
    answers: int = typer.Option(8000, min=1, help="How many answers."),
    dims: int | None = typer.Option(None, min=1, help="Dimensions of the objects.", show_default="2"),
    errors: float = typer.Option(0.05, min=0.0, max=1.0, help="Share of wrong answers."),
    seed: int = typer.Option(0, min=0, help="The same seed gives the same answers."),
    europe: bool = typer.Option(False, "--europe", help="Ask about the cities of Europe instead."),
) -> None:
    """Simulate answers to random questions about points.

    Some of the answers are wrong. The points are drawn from a normal distribution and not saved: the file holds
    only the answers.
    """
    import numpy as np

    from nearer import Comparisons, write
    from nearer.formats.io import WRITTEN
    from nearer.formats.tables import check_suffix
    from nearer.simulate import comparisons_from_points

    if europe and (objects is not None or dims is not None):
        raise ValueError("--europe brings its own objects: leave --objects and --dims out")
    check_suffix(out, WRITTEN)
    check_writable(out)
    random = np.random.default_rng(seed)
    names = None
    if europe:
        from nearer.datasets import europe as cities

        points, names = cities().points, cities().names.tolist()
    else:
        points = random.normal(size=(60 if objects is None else objects, 2 if dims is None else dims))
    made = comparisons_from_points(points, answers, random_state=random).flip(errors, random)
    with writing(out):
        write(Comparisons(made, names=names) if names else made, out)
    wrong = round(errors * answers)
    about = f"{count(answers, 'answer')} about {count(len(points), 'object')}"
    print(f"wrote {out}: {about}, {wrong:,} of them wrong")
