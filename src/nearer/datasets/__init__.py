"""Data sets that come with the library, one file each with its description, source and license.

Nothing is downloaded.
"""

from nearer.datasets.europe import Europe, europe

__all__ = [
    "Europe",
    "europe",
]
