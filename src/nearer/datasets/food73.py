"""Which of two dishes tastes more like a third: 73 of the 100 dishes of Food-100, those with known tastes.

The public copy of the comparisons is a pickle. Only lists, tuples, texts and numbers are read from it: a pickle that
names anything else, which could run code, is refused.
"""

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.datasets.source import Arrays, Original, Source

__all__ = ["SOURCE", "Food73", "load_food73"]


class Food73(NamedTuple):
    """Comparisons of dishes, and the tastes of the dishes.

    Attributes
    ----------
    answers : Comparisons
        95,183 triplets over 73 dishes by name, with repetitions and contradictions.
    tastes : array of float, shape (73, 6)
        How strong each taste is, in percent.
    taste_names : array of str
        Salty, savory, sour, bitter, sweet and spicy.
    images : array of str
        File names of the pictures that people saw; the pictures are not included.
    """

    answers: Comparisons
    tastes: NDArray[np.float64]
    taste_names: NDArray[np.str_]
    images: NDArray[np.str_]


REPOSITORY = "https://raw.githubusercontent.com/nnadagouda95/InfoNN/43bda678879cf555354a9a2b48fdafe15b6e2bb8"
FOLDER = f"{REPOSITORY}/dml/food100-dataset"
# The numbers of the dishes in the comparisons, as places of their pictures in alphabetical order. The public copy has
# this order in a file that is damaged.
# fmt: off
ORDER = (
    66, 69, 10, 6, 48, 8, 9, 44, 32, 51, 55, 22, 1, 26, 23, 18, 14, 34, 36, 35, 71, 39, 40, 19, 57, 38, 16, 43, 52, 28,
    63, 37, 41, 46, 64, 30, 31, 58, 17, 72, 21, 50, 15, 12, 68, 49, 25, 5, 45, 53, 4, 67, 60, 62, 54, 47, 42, 56, 20, 0,
    65, 24, 59, 11, 7, 29, 61, 27, 13, 33, 3, 70, 2,
)
# fmt: on
ENCODE = ("_codecs", "encode")  # old pickles have bytes as text


def make(paths: Sequence[Path]) -> Arrays:
    """Make the triplets from lists of pairs, one list per dish, and names and tastes from the table of ingredients."""
    with paths[0].open("rb") as file:
        pairs = _PlainUnpickler(file, encoding="latin-1").load()["3pool"]
    dishes = json.loads(paths[1].read_bytes())
    alphabetical = sorted(picture for picture, dish in dishes.items() if dish and dish["tastes"])
    pictures = [alphabetical[place] for place in ORDER]
    tastes = [[taste["percent"] for taste in dishes[picture]["tastes"]] for picture in pictures]
    return {
        "triplets": np.array([(a, b, c) for a, of_dish in enumerate(pairs) for b, c in of_dish], dtype=np.int16),
        "taste_percent": np.array(tastes, dtype=np.float32),
        "taste_names": np.array([taste["name"] for taste in dishes[pictures[0]]["tastes"]]),
        "image_names": np.array(pictures),
        "dish_names": np.array([dishes[picture]["name"] for picture in pictures]),
    }


class _PlainUnpickler(pickle.Unpickler):
    """Reads lists, dictionaries, texts and numbers, those of numpy included; refuses any other name."""

    def find_class(self, module: str, name: str) -> Any:
        """Return what makes numbers and arrays of numpy."""
        of_numpy = module in ("numpy", "numpy.core.multiarray", "numpy._core.multiarray")
        if (of_numpy and name in ("scalar", "dtype", "ndarray", "_reconstruct")) or (module, name) == ENCODE:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"it names {module}.{name}")


SOURCE = Source(
    name="food73",
    kind="answers",
    content='answers to "which of these dishes taste alike?", expanded to triplets',
    size="95,183 comparisons of 73 dishes",
    license='MIT (repository); the pictures, not included: "copyrighted material under the educational fair use '
    'exemption".',
    citation="Wilber, Kwak and Belongie, Cost-effective HITs for relative similarity comparisons, HCOMP 2014.",
    path="food73_taste/food73.npz",
    arrays=("triplets", "taste_percent", "taste_names", "image_names", "dish_names"),
    sha256="9e1181e963a80bf4ebf4c21ca8a5de0b9b7ca07d9a2f3fc9358a776faa38b7f2",
    originals=(
        Original(f"{FOLDER}/food_3pool.pkl"),
        Original(f"{FOLDER}/ingredients.json", "ae147b6a02e084b1bd0dcbc3dfafec2f692646bd6974672e6ee7d94d834ebe44"),
    ),
    make=make,
    stand_in="a part of Food-100 (190,376 distinct comparisons of 100 dishes)",
)


def load_food73(download: bool = False, verbose: bool = True) -> Food73:
    """Load comparisons of the tastes of dishes.

    Parameters
    ----------
    download : bool, default=False
        Whether the originals may be downloaded if the data are not on this machine.
    verbose : bool, default=True
        Show a progress bar of a download.

    Returns
    -------
    Food73
        Comparisons, and tastes of the dishes.

    Examples
    --------
    >>> from nearer.datasets import SOURCES
    >>> SOURCES["food73"].size
    '95,183 comparisons of 73 dishes'
    """
    arrays = SOURCE.load(download, verbose)
    return Food73(
        Comparisons(arrays["triplets"], names=arrays["dish_names"].tolist()),
        arrays["taste_percent"].astype(np.float64),
        arrays["taste_names"],
        arrays["image_names"],
    )
