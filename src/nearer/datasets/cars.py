"""Which of three cars is the most central: a survey about 60 pictures, with the authors' four classes of cars."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "Cars", "load_cars"]

# Cars of each class, counted from 1, as the authors list them.
CLASSES = {
    "ORDINARY CARS": "2 6 7 8 9 10 11 12 16 17 25 32 35 36 37 38 39 41 44 45 46 55 58 60",
    "SPORTS CARS": "15 19 20 28 40 42 47 48 49 50 51 52 54 56 59",
    "OFF-ROAD/SUV": "1 3 4 5 13 14 18 22 24 26 27 29 31 33 34 43 57",
    "OUTLIERS": "21 23 30 53",
}


class Cars(NamedTuple):
    """Answers about cars, and the classes of the cars.

    Attributes
    ----------
    answers : Comparisons
        7,097 answers over 60 cars, two rows each; the subject is the round of the survey, the column
        ``response_time`` in seconds.
    y : array of int, shape (60,)
        The class of each car.
    classes : array of str
        Ordinary cars, sports cars, off-road cars and outliers.
    """

    answers: Comparisons
    y: NDArray[np.int64]
    classes: NDArray[np.str_]


def make(paths: Sequence[Path]) -> Arrays:
    """Make the arrays from the table of the survey, which counts from 1."""
    with paths[0].open(encoding="utf-8", newline="") as file:
        rounds, centers, *triple, seconds = zip(*list(csv.reader(file))[1:], strict=True)
    classes = np.zeros(60, dtype=np.int8)
    for number, cars in enumerate(CLASSES.values()):
        classes[[int(car) - 1 for car in cars.split()]] = number
    return {
        "query": np.array(triple, dtype=np.int16).T - np.int16(1),
        "chosen_center": np.array(centers, dtype=np.int16) - np.int16(1),
        "survey_round": np.array(rounds, dtype=np.int16),
        "response_time": np.array(seconds, dtype=np.float32),
        "class_id": classes,
        "class_names": np.array(list(CLASSES)),
    }


SOURCE = Source(
    name="cars",
    kind="answers",
    content='answers to "which of these three cars is the most central?"',
    size="7,097 answers about 60 cars",
    license="MIT (repository); the pictures, not included, are in the public domain.",
    citation="Kleindessner and von Luxburg, Lens depth function and k-relative neighborhood graph: versatile tools "
    "for ordinal data analysis, JMLR 18(58), 2017.",
    path="car_similarity/cars.npz",
    arrays=("query", "chosen_center", "survey_round", "response_time", "class_id", "class_names"),
    sha256="0ca4d7d2e2ac2e3b32c2d1c5b12684421ee4cce194b249b9ef6ce2c6b4fd305f",
    originals=(
        Original(
            "https://raw.githubusercontent.com/mperrot/ComparisonHC/"
            "3bed0d9d445c2c5a89fe0f9fb22047aa7b23960c/resources/car/survey_data.csv",
            "479eeb0252b6d4dcd9d80b6bbb20bc1d127c627857e2a8af7e0567d82afa0494",
        ),
    ),
    make=make,
)


def load_cars(download: bool = False, verbose: bool = True) -> Cars:
    """Load answers about cars, of which the most central of three was picked.

    Parameters
    ----------
    download : bool, default=False
        Whether the original may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    Cars
        Comparisons, and classes of the cars.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["cars"].size
    '7,097 answers about 60 cars'
    """
    arrays = SOURCE.load(download, verbose)
    answers = Comparisons.from_most_central(
        arrays["query"],
        arrays["chosen_center"],
        n_objects=60,
        subjects=arrays["survey_round"],
        extra={"response_time": arrays["response_time"]},
    )
    return Cars(answers, arrays["class_id"].astype(np.int64), arrays["class_names"])
