"""``nearer demo``: the map of Europe from answers alone, start to end as a user would do it.

The learner reads the very file of answers that is left behind. Geography comes in twice and only afterwards:
to say how good the map is, and to turn it so that north is up.
"""

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer.cli.app import command
from nearer.cli.console import facts, percent
from nearer.cli.interruptible import fitted, say_if_compiling

if TYPE_CHECKING:
    import numpy as np

    from nearer import Comparisons
    from nearer.datasets import Europe

ANSWERS, ERRORS, HELD_OUT, SEED = 8000, 0.05, 0.1, 0
WRONG, BEST = percent(ERRORS, digits=0), percent(1 - ERRORS, digits=0)


@command("nearer demo", "nearer demo --folder europe")
def demo(
    folder: Annotated[Path, typer.Option(help="Where to leave the files; made if it is not there.")] = Path(),
) -> None:
    """Recover the map of Europe from answers alone.

    Simulates 8,000 answers to questions like "is Vienna nearer to Prague or to Rome?", 5 % of them wrong, and
    learns a map from them without any coordinates. Says how well the map predicts answers that it was not
    shown and how well it fits geography, and leaves europe.html, europe.png, europe.csv (the answers) and
    europe.nearer (the model).
    """
    from nearer import OrdinalEmbedding, read, write
    from nearer.datasets import europe

    folder.mkdir(parents=True, exist_ok=True)
    cities = europe()
    write(_answers(cities), folder / "europe.csv")
    answers = read(folder / "europe.csv")
    print(
        f"{len(cities.names)} European cities; {ANSWERS:,} simulated answers to questions like\n"
        f'"is Vienna nearer to Prague or to Rome?", {WRONG} of them wrong.\n'
        "The learner is given these answers and no coordinates.\n",
        flush=True,
    )
    say_if_compiling()
    model = OrdinalEmbedding(n_components=2, random_state=SEED)
    train, test = answers.split(HELD_OUT, random_state=SEED)
    accuracy = _to_the_end(model, train, "trial fit").score(test)
    right = f"{percent(accuracy)} of {test.n_answers} answers that the learner was not shown."
    facts([("held out", f"{right} As {WRONG} are wrong, about {BEST} is the most to be had.")])
    learned = _to_the_end(model, answers, "fit on all")
    learned.save(folder / "europe.nearer")
    order = [cities.names.tolist().index(name) for name in learned.names_]
    _say_fit(learned.embedding_, cities.points[order])
    pictures = _maps(learned, cities, order, folder)
    print(f"\nIn {folder.resolve()}:")
    for name, what in [*pictures, ("europe.csv", "the answers"), ("europe.nearer", "the learned model")]:
        print(f"  {name:<14} {what}")
    # `make demo` leaves the command in an environment below this folder that is not active.
    command_file = Path(sys.executable).with_name("nearer")
    below = command_file.is_relative_to(Path.cwd()) and not shutil.which("nearer")
    here = shlex.quote(str(command_file.relative_to(Path.cwd()))) if below else "nearer"
    print(f"\nNext, try:  {here} neighbors {shlex.quote(str(folder / 'europe.nearer'))} Vienna")


def _answers(cities: "Europe") -> "Comparisons":
    import numpy as np

    from nearer import Comparisons
    from nearer.simulate import comparisons_from_points

    random = np.random.default_rng(SEED)
    said = comparisons_from_points(cities.points, ANSWERS, random_state=random).flip(ERRORS, random)
    return Comparisons(said, names=cities.names.tolist())


def _to_the_end(model: Any, answers: "Comparisons", task: str) -> Any:
    learned, watch = fitted(model, lambda copy: copy.fit(answers), task, quiet=False)
    if watch.interrupted:
        raise KeyboardInterrupt
    return learned


def _say_fit(points: "np.ndarray", truth: "np.ndarray") -> None:
    """Print how near the learned map comes to geography, in kilometres and as the usual number."""
    import numpy as np

    from nearer.metrics import procrustes

    fit = procrustes(points, truth)
    off = np.linalg.norm(fit.aligned - truth, axis=1)
    across = np.linalg.norm(truth[:, None] - truth[None], axis=2).max()
    near = f"Laid over the true map, half of the cities lie within {np.median(off):.0f} km of their place,"
    shape = f"Procrustes disparity {fit.disparity:.4f} (0: the same shape, 1: nothing in common)."
    facts([("geography", f"{near} on a map {across:,.0f} km across. {shape}")])


def _maps(model: Any, cities: "Europe", order: list[int], folder: Path) -> list[tuple[str, str]]:
    """Write the maps, turned onto geography for drawing alone; say of each what it is or what it lacks."""
    from nearer.maps import write_map

    about: dict[str, Any] = {
        "groups": cities.regions[order],
        "title": f"Europe, from {ANSWERS:,} answers alone",
        "reference": cities.points[order],
    }
    write_map(model.embedding_, folder / "europe.html", model.names_, **about)
    written = [("europe.html", "the map, to look around in: open it in a browser")]
    try:
        write_map(model.embedding_, folder / "europe.png", model.names_, **about)
        written.append(("europe.png", "the map as a picture"))
    except ImportError as error:
        written.append(("(europe.png)", f"not drawn: {error}"))
    print("\nFor drawing only, the maps are turned so that north is up; rings show\nthe true places.")
    return written
