"""The cache of compiled loops returns the right code: after changes, across processes, where it cannot be used."""

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

from nearer import jit
from nearer.jit import bind, cache_folder, cache_size, clear_cache, noinline
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


def test_two_processes_that_save_a_loop_for_different_types_do_not_mix_them(tmp_path, monkeypatch):
    first, second = (jit._LoopIndex(str(tmp_path), "loop", "stamp") for _ in range(2))
    codes = {"float64": b"code for float64", "float32": b"code for float32"}
    stale, write = second._load_index(), first._save_data

    def write_last(name, data):
        """The other process, which has read the index before, saves while this one does."""
        monkeypatch.setattr(second, "_load_index", lambda: dict(stale))
        second.save("float32", codes["float32"])
        write(name, data)

    monkeypatch.setattr(first, "_save_data", write_last)
    first.save("float64", codes["float64"])
    later = jit._LoopIndex(str(tmp_path), "loop", "stamp")
    for types, code in codes.items():
        assert later.load(types) in (None, code)  # None: it is compiled again


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


class Own:
    """A loss with the value given."""

    def __init__(self, value):
        self.value = value

    def slopes(self, near, far):
        return 1.0, -1.0

    def probability(self, near, far):
        return 0.5


def test_a_module_and_an_array_that_change_are_noticed():
    constants = ModuleType("constants")
    near, far = np.full(1, 3.0), np.zeros(1)
    constants.K = 2.0
    scope = {"constants": constants, "TABLE": np.ones(2000)}
    exec("def value(near, far): return constants.K * near + TABLE[1000] - far", scope)
    assert bind(total, Own(scope["value"]))(near, far) == 7.0
    constants.K = 50.0
    assert bind(total, Own(scope["value"]))(near, far) == 151.0
    scope["TABLE"] = np.where(np.arange(2000) == 1000, 1.000000004, 1.0)
    assert bind(total, Own(scope["value"]))(near, far) == 150.0 + 1.000000004


def test_what_python_allows_a_loss_to_be():
    @dataclass(slots=True)
    class Slotted:
        strength: np.float32 = np.float32(2.0)  # noqa: RUF009

        def value(self, near, far):
            return self.strength * near + self.SHIFT - far

        def slopes(self, near, far):
            return self.strength, -1.0

        def probability(self, near, far):
            return 0.5

    Slotted.SHIFT = 5.0
    assert bind(total, Slotted())(np.ones(1), np.zeros(1)) == 7.0

    def helper(x, by=3.0):
        return x * by

    assert bind(total, Own(lambda near, far: helper(near) - far))(np.ones(1), np.zeros(1)) == 3.0


def forever(x):
    return forever(x)


class Hidden(Own):
    def __init__(self):
        self._k = 1.0

    def value(self, near, far):
        return self._k * near


class Calling(Hidden):
    def value(self, near, far):
        return self.other(near)

    def other(self, near):
        return near


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Own(max), "not a plain Python function"),
        (Own(lambda near, far: forever(near)), "forever calls itself"),
        (Hidden(), "cannot begin with an underscore: _k"),
        (Calling(), "cannot be compiled. A loss may use numbers stored on self"),
    ],
)
def test_what_cannot_be_compiled_says_so(loss, words):
    with pytest.raises(ValueError, match=words):
        bind(total, loss)(np.ones(1), np.zeros(1))


def test_a_user_without_a_home_is_no_obstacle(monkeypatch):
    for name in ("NEARER_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        "pathlib.Path.home", classmethod(lambda cls: (_ for _ in ()).throw(RuntimeError("no home")))
    )
    assert cache_size() == (0, 0)
    assert bind(total, TSTE(17.25))(np.ones(1), np.zeros(1)) > 0


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


def sum_of_scores(x):
    total = 0.0
    for i in range(x.size):
        total += through(x[i])
    return total


@noinline
def through(x):
    return score(x) + 1.0  # noqa: F821 (bound)


def test_functions_are_bound_like_losses_also_where_a_helper_calls_them():
    def plus(x):
        return x + offset  # noqa: F821 (bound)

    x = np.arange(3.0)
    assert bind(sum_of_scores, score=plus, offset=10.0)(x) == 3 + 3 * 11
    assert bind(sum_of_scores, score=plus, offset=20.0)(x) == 3 + 3 * 21
    assert bind(sum_of_scores, score=np.sqrt)(x) == pytest.approx(np.sqrt(x).sum() + 3)


def test_the_same_arguments_give_the_same_loop_and_others_another():
    def plus(x):
        return x + offset  # noqa: F821 (bound)

    loop = bind(sum_of_scores, score=plus, offset=10.0)
    assert bind(sum_of_scores, score=plus, offset=10.0) is loop
    assert bind(sum_of_scores, score=plus, offset=11.0) is not loop


def test_a_loss_whose_parameter_was_set_anew_gets_another_loop():
    def total(near, far):
        return value(near, far)  # noqa: F821 (bound)

    loss = TSTE(alpha=1.0)
    before = bind(total, loss)(1.0, 3.0)
    after = bind(total, loss.set_params(alpha=9.0))(1.0, 3.0)
    assert before == pytest.approx(TSTE(1.0).value(1.0, 3.0))
    assert after == pytest.approx(TSTE(9.0).value(1.0, 3.0))
