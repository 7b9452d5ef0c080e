"""Which of two dishes tastes more like a third: 73 of the 100 dishes of Food-100, those with known tastes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer.comparisons import Comparisons
from nearer.datasets.source import Source

__all__ = ["SOURCE", "Food73", "load_food73"]


class Food73(NamedTuple):
    """Comparisons of dishes, with the tastes of these.

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
    by_hand="its public copy is a pickle (dml/food100-dataset/food_3pool.pkl in "
    "github.com/nnadagouda95/InfoNN at 43bda678879cf555354a9a2b48fdafe15b6e2bb8), which could run any code when it is "
    "read. The file has triplets (95183, 3) counted from 0, taste_percent (73, 6), taste_names, image_names and "
    "dish_names.",
    stand_in="a part of Food-100 (190,376 distinct comparisons of 100 dishes), which is no longer public as a whole",
)


def load_food73(download: bool = False, verbose: bool = True) -> Food73:
    """Load comparisons of the tastes of dishes.

    Parameters
    ----------
    download : bool, default=False
        Has no effect: the file has to be put into its folder by hand.
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
