"""Data sets: one file each with its description, source and license.

The cities of Europe come with the library. The others are looked for in ``NEARER_DATA`` and in the cache folder, and
downloaded only if asked to: ``load_music(download=True)``.
"""

from nearer.datasets import (
    caltech101,
    cars,
    coil20,
    corel5k,
    corel16k001,
    delicious,
    food73,
    isolet,
    letter,
    music,
    newsgroups,
    office_caltech,
    segment,
    svmguide4,
    things,
    vehicle,
    vowel,
)
from nearer.datasets.caltech101 import load_caltech101
from nearer.datasets.cars import Cars, load_cars
from nearer.datasets.coil20 import load_coil20
from nearer.datasets.corel5k import load_corel5k
from nearer.datasets.corel16k001 import load_corel16k001
from nearer.datasets.delicious import load_delicious
from nearer.datasets.europe import Europe, europe
from nearer.datasets.feature_set import FeatureSet
from nearer.datasets.food73 import Food73, load_food73
from nearer.datasets.isolet import load_isolet
from nearer.datasets.label_set import LabelSet
from nearer.datasets.letter import load_letter
from nearer.datasets.music import Music, load_music
from nearer.datasets.newsgroups import Newsgroups, NewsgroupsCounts, load_newsgroups, load_newsgroups_counts
from nearer.datasets.office_caltech import OfficeCaltech, load_office_caltech
from nearer.datasets.segment import load_segment
from nearer.datasets.source import Original, Source
from nearer.datasets.svmguide4 import load_svmguide4
from nearer.datasets.things import Things, load_things
from nearer.datasets.vehicle import load_vehicle
from nearer.datasets.vowel import load_vowel

__all__ = [
    "SOURCES",
    "Cars",
    "Europe",
    "FeatureSet",
    "Food73",
    "LabelSet",
    "Music",
    "Newsgroups",
    "NewsgroupsCounts",
    "OfficeCaltech",
    "Original",
    "Source",
    "Things",
    "describe",
    "europe",
    "load_caltech101",
    "load_cars",
    "load_coil20",
    "load_corel5k",
    "load_corel16k001",
    "load_delicious",
    "load_food73",
    "load_isolet",
    "load_letter",
    "load_music",
    "load_newsgroups",
    "load_newsgroups_counts",
    "load_office_caltech",
    "load_segment",
    "load_svmguide4",
    "load_things",
    "load_vehicle",
    "load_vowel",
    "source_of",
]

# By name, in the order of ``nearer data``.
SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        music.SOURCE,
        food73.SOURCE,
        cars.SOURCE,
        things.SOURCE,
        caltech101.SOURCE,
        office_caltech.SOURCE,
        coil20.SOURCE,
        isolet.SOURCE,
        vehicle.SOURCE,
        vowel.SOURCE,
        letter.SOURCE,
        segment.SOURCE,
        svmguide4.SOURCE,
        newsgroups.SOURCE,
        newsgroups.COUNTS,
        corel5k.SOURCE,
        corel16k001.SOURCE,
        delicious.SOURCE,
    )
}


def source_of(name: str) -> Source:
    """Return the source of a data set by its name.

    Examples
    --------
    >>> from nearer.datasets import source_of
    >>> source_of("cars").license
    'MIT (repository); the pictures, not included, are in the public domain.'
    """
    if name not in SOURCES:
        raise ValueError(f"unknown data set {name!r}; the known ones are {', '.join(SOURCES)}")
    return SOURCES[name]


def describe(name: str) -> str:
    """Return what is known of a data set: content, size, license, citation, addresses, and where it is.

    Parameters
    ----------
    name : str
        One of the names of `SOURCES`.

    Returns
    -------
    str
        Lines of text.

    Examples
    --------
    >>> from nearer.datasets import describe
    >>> print(describe("cars"))
    data set  cars: answers to "which of these three cars is the most central?"
    size      7,097 answers about 60 cars
    ...
    """
    return "\n".join(f"{word:<10}{text}" for word, text in source_of(name).facts())
