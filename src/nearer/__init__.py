"""Learn what is like what from answers to "is A nearer to B or to C?".

The public names are imported on first use, so that ``import nearer`` costs nothing and the command line
answers ``--help`` at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "BilinearSimilarity": "nearer.similarity",
    "ComparisonKernel": "nearer.kernel",
    "Comparisons": "nearer.comparisons",
    "FeatureMap": "nearer.features",
    "ITML": "nearer.similarity",
    "InformationGain": "nearer.features",
    "LEGO": "nearer.similarity",
    "LMNN": "nearer.similarity",
    "LabelRanker": "nearer.ranking",
    "LowRankSimilarity": "nearer.similarity",
    "OnlineKernel": "nearer.kernel",
    "OrdinalEmbedding": "nearer.embedding",
    "RCA": "nearer.similarity",
    "load_model": "nearer.models",
    "read": "nearer.formats",
    "scan": "nearer.formats",
    "write": "nearer.formats",
}

__all__ = [
    "ITML",
    "LEGO",
    "LMNN",
    "RCA",
    "BilinearSimilarity",
    "ComparisonKernel",
    "Comparisons",
    "FeatureMap",
    "InformationGain",
    "LabelRanker",
    "LowRankSimilarity",
    "OnlineKernel",
    "OrdinalEmbedding",
    "__version__",
    "load_model",
    "read",
    "scan",
    "write",
]

if TYPE_CHECKING:
    from nearer.comparisons import Comparisons
    from nearer.embedding import OrdinalEmbedding
    from nearer.features import FeatureMap, InformationGain
    from nearer.formats import read, scan, write
    from nearer.kernel import ComparisonKernel, OnlineKernel
    from nearer.models import load_model
    from nearer.ranking import LabelRanker
    from nearer.similarity import ITML, LEGO, LMNN, RCA, BilinearSimilarity, LowRankSimilarity


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'nearer' has no attribute {name!r}; it has {', '.join(sorted(_HOME))}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
