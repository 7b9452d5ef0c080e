"""The search for a setting on a grid, which is extended while the best value is at its end."""

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["by_factor", "chose_end", "is_at_end", "search_grid"]

Beyond = Callable[[float, bool], float | None]


def search_grid(
    values: Sequence[float], score: Callable[[float], Any], beyond: Beyond | None = None
) -> tuple[float, dict[float, Any]]:
    """Return the value of the highest score, and all scores by their values.

    Of equal scores the first one tried counts. While the best value is the largest or the smallest, the one that
    ``beyond`` returns for it and for whether it is the largest is tried as well; None ends the search.

    Examples
    --------
    >>> from nearer.papers.grid import by_factor, search_grid
    >>> search_grid([1.0, 2.0], lambda x: -abs(x - 8.0), by_factor(2.0))[0]
    8.0
    """
    scores = {value: score(value) for value in values}
    while True:
        best = max(scores, key=lambda value: scores[value])
        if beyond is None or len(values) == 1 or not is_at_end(best, scores):
            return best, scores
        further = beyond(best, best == max(scores))
        if further is None or further in scores:
            return best, scores
        scores[further] = score(further)


def by_factor(factor: float, lowest: float = 1e-9, highest: float = 1e9) -> Beyond:
    """Return a function for `search_grid`: values larger or smaller by a factor, to three digits, within bounds.

    There is none beyond zero, which stands for no penalty.
    """

    def beyond(best: float, is_largest: bool) -> float | None:
        further = float(f"{best * factor if is_largest else best / factor:.3g}")
        return further if best and lowest <= further <= highest else None

    return beyond


def is_at_end(value: float, tried: Any) -> bool:
    """Whether a value is the largest or the smallest of several that were tried; zero, no penalty, is no end."""
    return len(tried) > 1 and value != 0.0 and value in (min(tried), max(tried))


def chose_end(result: dict[str, Any]) -> bool:
    """Whether the value that a trial chose is at the end of those it tried, so that one beyond it may be better."""
    return is_at_end(result["chosen"], result.get("tried") or ())
