"""Learn what is like what from answers to "is A nearer to B or to C?".

The public names are imported on first use, so that ``import nearer`` costs nothing and the command line answers
``--help`` at once. `nearer.registry` lists them.
"""

from typing import TYPE_CHECKING, Any

from nearer.registry import REGISTRY, public_names
from nearer.registry import load as _load

__version__ = "0.2.0"
__all__ = ["__version__", *public_names()]

if TYPE_CHECKING:  # type checkers do not see the registry: they read what each package exports
    from nearer.comparisons import *
    from nearer.embedding import *
    from nearer.features import *
    from nearer.formats import *
    from nearer.kernel import *
    from nearer.models import *
    from nearer.ranking import LabelRanker as LabelRanker  # its baselines are called as those of similarities
    from nearer.similarity import *


def __getattr__(name: str) -> Any:
    if name in REGISTRY and REGISTRY[name].top_level:
        return _load(name)
    raise AttributeError(f"module 'nearer' has no attribute {name!r}; it has {', '.join(public_names())}")


def __dir__() -> list[str]:
    return sorted({*globals(), *public_names()})
