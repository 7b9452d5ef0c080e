"""``nearer demo``: the map of Europe from answers alone, with the same steps that a user would take.

The model is fitted to the file of answers that is left behind. Geography is used only afterwards: to report how
good the map is, and to rotate it so that north is up.
"""

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer.cli.app import command, percent, print_facts
from nearer.cli.fit import note_if_compiling
from nearer.cli.models import fit_copy, take_settings

if TYPE_CHECKING:
    import numpy as np

    from nearer import Comparisons
    from nearer.datasets import Europe

ANSWERS, ERRORS, HELD_OUT, SEED = 8000, 0.05, 0.1, 0
WRONG, BEST = percent(ERRORS, digits=0), percent(1 - ERRORS, digits=0)


@command("nearer demo", "nearer demo --folder europe")
def demo(
    folder: Path = typer.Option(Path(), help="Where to leave the files; created if it does not exist."),
) -> None:
    """Recover the map of Europe from answers alone.

    Simulates 8,000 answers to questions like "is Vienna nearer to Prague or to Rome?", 5 % of them wrong, and
    learns a map from them without any coordinates. Reports how well the map predicts held-out answers and how well
    it fits geography, and leaves europe.html, europe.png, europe.csv (the answers) and europe.nearer (the model).
    """
    import numpy as np

    from nearer import Comparisons, OrdinalEmbedding, read, write
    from nearer.datasets import europe
    from nearer.simulate import comparisons_from_points

    folder.mkdir(parents=True, exist_ok=True)
    cities, random = europe(), np.random.default_rng(SEED)
    simulated = comparisons_from_points(cities.points, ANSWERS, random_state=random).flip(ERRORS, random)
    write(Comparisons(simulated, names=cities.names.tolist()), folder / "europe.csv")
    answers = read(folder / "europe.csv")
    print(
        f"{len(cities.names)} European cities; {ANSWERS:,} simulated answers to questions like\n"
        f'"is Vienna nearer to Prague or to Rome?", {WRONG} of them wrong.\n'
        "The model is fitted to these answers, without any coordinates.\n",
        flush=True,
    )
    note_if_compiling()
    model = OrdinalEmbedding(n_components=2, random_state=SEED)
    train, test = answers.split(HELD_OUT, random_state=SEED)
    trial = _fit(model, train)
    right = f"{percent(trial.score(test))} of {test.n_answers} answers that the fit was not shown."
    print_facts([("held out", f"{right} As {WRONG} are wrong, about {BEST} is the best possible.")])
    take_settings(model, trial, len(train) / len(answers))
    learned = _fit(model, answers)
    learned.save(folder / "europe.nearer")
    order = [cities.names.tolist().index(name) for name in learned.names_]
    _print_geography(learned.embedding_, cities.points[order])
    pictures = _write_maps(learned, cities, order, folder)
    print(f"\nIn {folder.resolve()}:")
    for name, what in [*pictures, ("europe.csv", "the answers"), ("europe.nearer", "the learned model")]:
        print(f"  {name:<14} {what}")
    # `make demo` leaves the command in an environment below this folder that is not active.
    command_file = Path(sys.executable).with_name("nearer")
    below = command_file.is_relative_to(Path.cwd()) and not shutil.which("nearer")
    here = shlex.quote(str(command_file.relative_to(Path.cwd()))) if below else "nearer"
    print(f"\nNext, try:  {here} neighbors {shlex.quote(str(folder / 'europe.nearer'))} Vienna")


def _fit(model: Any, answers: "Comparisons") -> Any:
    learned, interrupted = fit_copy(model, lambda copy: copy.fit(answers), quiet=False)
    if interrupted:
        raise KeyboardInterrupt
    return learned


def _print_geography(points: "np.ndarray", truth: "np.ndarray") -> None:
    """Print how close the learned map comes to geography, in kilometers and as the Procrustes disparity."""
    import numpy as np

    from nearer.metrics import procrustes

    fit = procrustes(points, truth)
    errors = np.linalg.norm(fit.aligned - truth, axis=1)
    width = np.linalg.norm(truth[:, None] - truth[None], axis=2).max()
    near = f"Aligned with the true map, half of the cities are within {np.median(errors):.0f} km of their place,"
    shape = f"Procrustes disparity {fit.disparity:.4f} (0: the same shape, 1: nothing in common)."
    print_facts([("geography", f"{near} on a map {width:,.0f} km across. {shape}")])


def _write_maps(model: Any, cities: "Europe", order: list[int], folder: Path) -> list[tuple[str, str]]:
    """Write the maps, aligned with geography only for drawing; return what each is, or why it is missing."""
    from nearer.maps import write_map

    options: dict[str, Any] = {
        "groups": cities.regions[order],
        "title": f"Europe, from {ANSWERS:,} answers alone",
        "reference": cities.points[order],
    }
    write_map(model.embedding_, folder / "europe.html", model.names_, **options)
    written = [("europe.html", "the interactive map: open it in a browser")]
    try:
        write_map(model.embedding_, folder / "europe.png", model.names_, **options)
        written.append(("europe.png", "the map as a picture"))
    except ImportError as error:
        written.append(("(europe.png)", f"not drawn: {error}"))
    print("\nFor drawing only, the maps are rotated so that north is up; rings show\nthe true places.")
    return written
