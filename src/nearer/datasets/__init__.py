"""Data sets that come with the library, one file each: what it is, where it comes from, its licence.

Nothing is downloaded when this package is imported or when one of its functions is called.
"""

from nearer.datasets.europe import Europe, europe

__all__ = ["Europe", "europe"]
