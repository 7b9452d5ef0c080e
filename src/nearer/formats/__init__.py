"""Files: answers to Comparisons and back, and tables of features or texts.

What each format keeps of Comparisons: ``.npz``, ``.jsonl`` and ``.parquet`` keep everything. ``.csv`` and ``.tsv``
keep text: objects that occur in no row are lost, names come back in sorted order, numbers of objects with gaps come
back as names, and a column of cells that all look like numbers comes back as numbers. ``.npy`` keeps the rows only.
Writing refuses what the format cannot keep, such as names in an ``.npy`` file. ``.txt``, ``.json`` and ``.xlsx`` are
read only.

`io` selects the module of a format, which yields the file as `tables`. Those of delimited text and Excel workbooks
pass `records`, the cells of each line, on to one search for the header; `text` opens whatever is text. `source` opens
files that are read in parts and chunks.
"""

from nearer.formats.features import FeatureTable, read_features, read_texts
from nearer.formats.io import read, write
from nearer.formats.source import scan

__all__ = ["FeatureTable", "read", "read_features", "read_texts", "scan", "write"]
