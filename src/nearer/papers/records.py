"""Records of experiments: JSON files with all that was measured.

The trials of a record are what was measured. Its table and verdicts are computed from them anew whenever it is read, by
the code as it is now, if the experiment still has the same trials.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nearer.files import replacing
from nearer.papers.experiment import Experiment, Row, Trial

__all__ = [
    "duration_of",
    "has_trials",
    "json_round_trip",
    "limits_of",
    "outcome_of",
    "partial_path",
    "read_record",
    "recomputed",
    "record_path",
    "write_record",
]

NEEDED = (
    "paper",
    "experiment",
    "scale",
    "sizes",
    "title",
    "stand-in",
    "reduced",
    "code",
    "machine",
    "date",
    "table",
    "verdicts",
)


def record_path(folder: Path, paper: str, experiment: Experiment, scale: str) -> Path:
    """Return where the record of an experiment is."""
    return folder / f"{paper}-{experiment.name}-{scale}.json"


def partial_path(record: Path) -> Path:
    """Return where the results are kept until the record is written."""
    return record.with_suffix(".jsonl")


def read_record(path: Path) -> Row:
    """Return a record as it is stored.

    Raises
    ------
    ValueError
        If the file does not hold a record.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        for key in (*NEEDED, "processor seconds" if "processor seconds" in record else "seconds"):
            record[key]
        for line in record["trials"]:
            line["trial"], line["result"]
        record["machine"]["processor"]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(f"{path} is damaged or not the record of an experiment: remove it") from error
    return dict(record)


def recomputed(experiment: Experiment, record: Row) -> Row:
    """Return a record with its table and verdicts computed from its trials, and its notes as the code now has them.

    One of an earlier protocol, whose trials or results are not those of the experiment, is returned as it is stored,
    with the reason under the key ``"earlier protocol"``.
    """
    try:
        if not has_trials(experiment.trials(**record["sizes"]), record):
            return record | {"earlier protocol": "its trials are others"}
        outcome = outcome_of(experiment, [(line["trial"], line["result"]) for line in record["trials"]])
        return record | outcome | limits_of(experiment, record["scale"], record["sizes"])
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        return record | {
            "earlier protocol": f"its trials cannot be evaluated by this version: {type(error).__name__}: {error}"
        }


def limits_of(experiment: Experiment, scale: str, sizes: Row) -> Row:
    """Return what now is said of the data of an experiment, and of its size unless that has changed."""
    limits = {"stand-in": experiment.stand_in}
    if sizes == json_round_trip(experiment.sizes[scale]):
        limits["reduced"] = experiment.reduced if scale == "full" else f"run at the scale {scale!r}"
    return limits


def has_trials(trials: list[Trial], record: Row) -> bool:
    """Whether a record has just these trials."""
    return bool(json_round_trip(trials) == [line["trial"] for line in record["trials"]])


def outcome_of(experiment: Experiment, results: list[tuple[Trial, Any]]) -> Row:
    """Return what the results say: the table and the verdicts."""
    table = experiment.table(results)
    verdicts = [asdict(verdict) for verdict in experiment.verdicts(table, results)]
    return dict(json_round_trip({"table": table, "verdicts": verdicts}))


def json_round_trip(value: Any) -> Any:
    """Return what is read after a value was written as JSON."""
    return json.loads(json.dumps(value, allow_nan=False))


def duration_of(record: Row) -> str:
    """Return how long the trials of a record took; of those of old records it is the time by the clock."""
    named = {"seconds": "minutes of trials", "processor seconds": "minutes of processor time"}
    return " and ".join(f"{record[key] / 60:.1f} {unit}" for key, unit in named.items() if key in record)


def write_record(record: Row, path: Path) -> None:
    """Write a record as JSON, with a line per value, and per row of the table, verdict and trial."""

    def text(value: Any) -> str:
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            return "[\n  " + ",\n  ".join(map(text, value)) + "\n ]"
        return json.dumps(value, allow_nan=False, ensure_ascii=False)

    lines = ",\n".join(f" {json.dumps(key)}: {text(value)}" for key, value in record.items())
    with replacing(path) as temporary:
        temporary.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
