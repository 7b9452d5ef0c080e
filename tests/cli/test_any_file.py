"""Whatever file a person has is read right, or refused with the remedy: in Python, by `check` and by `fit` alike."""

import re
import warnings

import numpy as np
import pytest

from exported_files import READ, content_of
from nearer import Comparisons, read, scan
from refused_files import REFUSED


def by_name(answers: Comparisons) -> list[tuple[str, ...]]:
    """Return the rows with the names of their objects, or their numbers as text."""
    names = np.array(answers.names if answers.names is not None else range(answers.n_objects), dtype=str)
    return [tuple(row) for row in names[answers.rows].tolist()]


def as_options(options):
    """Return the options of a command that say what the arguments of `read` say."""
    given = []
    if "columns" in options:
        given += ["--columns", ",".join(f"{role}={column}" for role, column in options["columns"].items())]
    if "encoding" in options:
        given += ["--encoding", options["encoding"]]
    return given + ["--drop-bad-rows"] * (options.get("bad_rows") == "drop")


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Write the file of a case into the current folder and return its name."""

    def make(case):
        monkeypatch.chdir(tmp_path)
        (tmp_path / case.name).write_bytes(content_of(case.content))
        return case.name

    return make


@pytest.mark.parametrize("case", READ.values(), ids=READ)
def test_is_read(path, here, case):
    name = path(case)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        answers = read(name, **case.options)
    assert by_name(answers) == case.answers
    assert (answers.names is not None) == case.named
    assert [str(each.message) for each in said if case.warning is None] == []
    assert case.warning is None or case.warning in str(said[0].message)
    if "n_objects" not in case.options:
        told = here("check", name, *as_options(case.options)).stdout
        assert f"rows            {len(case.answers)}\n" in told
    if not name.endswith(".npz") and not said:
        assert by_name(Comparisons.of(scan(name, chunk_rows=1, **case.options))) == case.answers


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_is_refused_by_check_and_fit_with_the_remedy(path, here, case):
    name = path(case)
    if case.by_read:
        with pytest.raises(ValueError, match=re.escape(case.message)):
            read(name, **case.options)
    for command in (["check", name], ["fit", name, "-o", "model.nearer"]) if case.by_command else ():
        told = here(*command, *as_options(case.options), code=2)
        assert case.message in " ".join((told.stdout + told.stderr).split()) or case.message in told.stderr
