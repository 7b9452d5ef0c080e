"""The tables of docs/coming-from.md: each row's two calls run, and their results are the same where the page says so.

The other libraries need packages of their own: `python benchmarks/peer_environment.py` builds environments for them
beside the package. Where there is none, only our calls run.
"""

import functools
import json
import re
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = {"cblearn": ".venv-peers", "metric-learn": ".venv-metric-learn", "salmon": ".venv-salmon"}
RUN = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
job, names, results = json.load(sys.stdin), {}, []
exec(job["setup"], names)
for call in job["calls"]:
    try:
        result = eval(call, names)
        plain = isinstance(result, (int, float, tuple, np.ndarray, np.generic))
        results.append({"values": np.asarray(result, dtype=float).tolist() if plain else None})
    except Exception as error:
        results.append({"error": f"{call}: {error!r}"})
print("\\n" + json.dumps(results))
"""


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def read_page():
    """Return the data that all sections use, and by library the setups of both sides and the rows of the table."""
    head, *sections = (ROOT / "docs/coming-from.md").read_text(encoding="utf-8").split("\n## From ")
    tables = {}
    for section in sections:
        cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
        rows = [(re.search("`(.+?)`", a)[1], re.search("`(.+?)`", b)[1], result) for a, b, result in cells]
        tables[section.split()[0]] = ("".join(blocks(section, "py")), "".join(blocks(section, "python")), rows)
    return "".join(blocks(head, "python")), tables


DATA, TABLES = read_page()


@functools.cache
def run_ours(library):
    """Return the results of our calls."""
    _, setup, rows = TABLES[library]
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(DATA + setup, names)
        return [eval(call, names) for _, call, _ in rows]


def test_the_page_has_a_table_of_each_library():
    assert set(TABLES) == set(ENVIRONMENTS)
    assert min(len(rows) for *_, rows in TABLES.values()) >= 3
    assert {result for *_, rows in TABLES.values() for *_, result in rows} == {"same", "alike"}


@pytest.mark.parametrize("library", TABLES)
def test_our_calls_run(library):
    assert len(run_ours(library)) == len(TABLES[library][2])


@pytest.mark.parametrize("library", TABLES)
def test_their_calls_run_and_give_the_same(library):
    python = ROOT / ENVIRONMENTS[library] / "bin/python"
    if not python.exists():
        pytest.skip(f"there is no {ENVIRONMENTS[library]} with {library}")
    setup, _, rows = TABLES[library]
    job = json.dumps({"setup": DATA + setup, "calls": [call for call, *_ in rows]})
    done = subprocess.run([python, "-c", RUN], input=job, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    assert [result["error"] for result in theirs if "error" in result] == []
    for (call, _, result), mine, other in zip(rows, run_ours(library), theirs, strict=True):
        if result == "same":
            assert other["values"] is not None, call
            mine, other = (np.atleast_1d(np.asarray(values, dtype=float)) for values in (mine, other["values"]))
            if mine.ndim == 2:  # rows of comparisons, in any order
                mine, other = (np.array(sorted(values.tolist())) for values in (mine, other))
            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9, err_msg=call)
