"""Reads what cblearn_real_answers.py recorded, without the peers' environment."""

import json

from record import RECORDS

MOST_MISSING = 4  # a method with fewer splits than this leaves is too thin to be called a peer's best


def peers_errors() -> dict[tuple[str, int, str], dict[int, float]]:
    """Return held-out errors by (set, dims, method) and split."""
    errors: dict[tuple[str, int, str], dict[int, float]] = {}
    path = RECORDS / "cblearn_real_answers.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        fit = json.loads(line)
        if fit["error"] is not None:
            errors.setdefault((fit["dataset"], fit["dims"], fit["method"]), {})[fit["split"]] = fit["error"]
    return {key: splits for key, splits in errors.items() if len(splits) >= 10 - MOST_MISSING}
