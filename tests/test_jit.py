"""The cache of compiled loops returns the right code: after changes, across processes, where it cannot be used."""

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nearer.jit import bind, cache_folder, cache_size, clear_cache
from nearer.losses import STE, TSTE, ops

PROGRAM = """
import sys, numpy as np
from nearer.jit import bind
from nearer.losses import ops
{helper}
class Mine:
    def __init__(self, strength): self.strength = strength
    def value(self, near, far): return self.strength * helper(near - far)
    def slopes(self, near, far): return self.strength, -self.strength
    def probability(self, near, far): return 0.5
def total(near, far):
    s = 0.0
    for p in range(near.size):
        s += value(near[p], far[p])
    return s
print(bind(total, Mine({strength}))(np.full(3, 5.0), np.full(3, 3.0)))
"""
TWICE, THRICE = "def helper(x): return 2.0 * x", "def helper(x): return 3.0 * x"


def start(folder, helper=TWICE, strength=1.0):
    """Run the program as code without a source file, as in a REPL."""
    code = PROGRAM.format(helper=helper, strength=strength)
    environment = {**os.environ, "NEARER_CACHE": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def compiled(folder):
    return sorted(p.name for p in (folder / "loops").glob("*.nbc"))


def test_another_process_finds_the_loop_and_changes_are_noticed(tmp_path):
    assert start(tmp_path) == 12.0
    first = compiled(tmp_path)
    assert len(first) == 1
    assert start(tmp_path) == 12.0
    assert compiled(tmp_path) == first, "the second process should have loaded what the first compiled"
    assert start(tmp_path, strength=10.0) == 120.0, "a changed parameter"
    assert start(tmp_path, helper=THRICE) == 18.0, "a changed helper"
    assert len(compiled(tmp_path)) == 3


def test_two_processes_at_once(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(start, [tmp_path] * 2)) == [12.0, 12.0]
    assert start(tmp_path) == 12.0


def test_a_torn_file_is_compiled_again(tmp_path):
    start(tmp_path)
    for file in (tmp_path / "loops").iterdir():
        file.write_bytes(file.read_bytes()[:50])
    assert start(tmp_path) == 12.0


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert start(blocked) == 12.0


def total(near, far):
    s = 0.0
    for p in range(near.size):
        s += value(near[p], far[p])  # noqa: F821
    return s


def test_parameters_are_told_apart_in_one_process():
    near, far = np.array([1.0, 2.0]), np.array([3.0, 0.5])
    for alpha in (4.0, 9.0, 4.0):
        assert bind(total, TSTE(alpha))(near, far) == pytest.approx(TSTE(alpha).value(near, far).sum())
    assert bind(total, STE()) is bind(total, STE())


def scaled(x):
    return x * FACTOR


FACTOR = 2.0


class WithGlobal:
    def value(self, near, far):
        return scaled(near) - far

    def slopes(self, near, far):
        return FACTOR, -1.0

    def probability(self, near, far):
        return 0.5


def test_a_global_of_a_helper_is_noticed(monkeypatch):
    near, far = np.ones(1), np.zeros(1)
    assert bind(total, WithGlobal())(near, far) == 2.0
    monkeypatch.setitem(scaled.__globals__, "FACTOR", 5.0)
    assert bind(total, WithGlobal())(near, far) == 5.0


def test_constants_and_closures_are_bound():
    def closing(offset):
        class Closed:
            def value(self, near, far):
                return near - far + offset

            def slopes(self, near, far):
                return 1.0, -1.0

            def probability(self, near, far):
                return ops.where(near < far, 1.0, 0.0)

        return Closed()

    def shifted(near, far):
        return value(near[0], far[0]) + SHIFT  # noqa: F821

    near, far = np.ones(1), np.zeros(1)
    assert bind(shifted, closing(10.0), SHIFT=100.0)(near, far) == 111.0
    assert bind(shifted, closing(20.0), SHIFT=100.0)(near, far) == 121.0
    assert bind(shifted, closing(20.0), SHIFT=0.0)(near, far) == 21.0


def test_what_cannot_be_compiled_says_so():
    class Builtin:
        value = slopes = probability = staticmethod(max)

    with pytest.raises(ValueError, match="not a plain Python function"):
        bind(total, Builtin())


def test_the_folder_can_be_measured_and_cleared(tmp_path, monkeypatch):
    monkeypatch.setenv("NEARER_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path / "loops"
    assert cache_size() == (0, 0)
    start(tmp_path)
    loops, size = cache_size()
    assert loops == 1
    assert size > 1000
    clear_cache()
    assert cache_size() == (0, 0)


def test_importing_nearer_imports_nothing_heavy():
    code = textwrap.dedent(
        """
        import sys, nearer
        heavy = {"numpy", "numba", "sklearn", "scipy", "torch", "typer", "pandas", "matplotlib"} & set(sys.modules)
        assert not heavy, heavy
        """
    )
    subprocess.run([sys.executable, "-c", code], check=True)
