"""Files and foreign layouts to Comparisons, and back.

What each kind of file keeps: ``.npz``, ``.jsonl`` and ``.parquet`` keep everything. ``.csv`` and ``.tsv``
keep text: objects that occur in no row are lost, names come back in sorted order (the objects are
match_objects), and a column of cells that all look like numbers comes back as numbers. ``.npy`` keeps the rows
alone. Whatever a kind cannot keep in this sense, such as names in an ``.npy``, is refused when writing.

Features of objects are another matter, with a reader of their own: `read_features`; so are texts: `read_texts`.
"""

from nearer.formats.features import FeatureTable, read_features
from nearer.formats.reading import read, scan
from nearer.formats.texts import TextTable, read_texts
from nearer.formats.writing import write

__all__ = ["FeatureTable", "TextTable", "read", "read_features", "read_texts", "scan", "write"]
