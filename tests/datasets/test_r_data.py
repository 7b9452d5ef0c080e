"""R data files that R 4.2 wrote, and damaged ones."""

import base64
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearer.datasets.r_data import RVector, read_rda

# accent <- "b\u00e9"; latin <- iconv(accent, "UTF-8", "latin1"); missing <- c("a", NA)
# numbers <- as.character(1:5); count <- 1:5; sorted <- sort(c(3, 1, 2)); truth <- c(TRUE, FALSE, NA)
# level <- factor(c("no", "yes", "no")); nothing <- NULL; again <- list(a = list(a = 1))
# save(accent, latin, missing, numbers, count, sorted, level, truth, nothing, again, file = …, compress = "xz")
VALUES = """
/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4AOqAUFdACkRB1RoEeRuUsqgM8UkXrtrnNeLUzcP1dKbshUqBwT4yAjz6ecVk/LyeuVk
zSjNRlrBfKH19h2Aq+2COP8LSRdTKkRMxT6PYn0VEJ8KOmIkb3AnMr3ztamLiHAzjb35FoOUyA8+Pk3aQrDyVWQdI/VX3+kB8i6y
FU0lm/7BeEsRrv3xKMc1ULCay4WF4egLpfdBiD73shoqj46YF0+4XW+DUCSnDnTcU1OxlgGAMHwmUEhFFdtTVsNEnYilJOPaED+o
qi3jZBAjN08kIN82394HmsAkcE5TvDMhAr7tJXMDsdFW3bLoUu6PSHck6carljd20X8c8lP/gU/mGVsIMijvPv+rCpuqGZxBZbly
s02crZOJ+xSXHU3inJ3gs+MeOqr4WWzIFPK3OjNDETbkNJLENXbWjYdytr14QPiaMumHAAAAAACGLjuYAAHZAqsHAADbQoETPjAN
iwIAAAAAAVla
"""
# code <- function(x) x + 1; save(code, file = …)
CODE = """
H4sIAAAAAAAAAwtyiTDmiuBiYGBgZmBhYmJgZgUyGVhDQ9x0LRiAIkAOIwMLAyeQZknOT0kFUsxA9l80OcYKIPEbiP8BMRuyhDaQ
AKpk+g+hGfhAgvYfGGAApOEfAEgGDfyGAAAA
"""


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "a.rda"
        path.write_bytes(base64.b64decode(content) if isinstance(content, str) else content)
        return path

    return write


def test_values_are_those_of_R(file):
    found = read_rda(file(VALUES))
    values = {name: vector.values for name, vector in found.items() if name not in ("nothing", "again")}
    assert {name: np.asarray(value).tolist() for name, value in values.items()} == {
        "accent": ["bé"],
        "latin": ["bé"],
        "missing": ["a", None],
        "numbers": ["1", "2", "3", "4", "5"],
        "count": [1, 2, 3, 4, 5],
        "sorted": [1.0, 2.0, 3.0],
        "level": [1, 2, 1],
        "truth": [1, 0, np.iinfo(np.int32).min],
    }
    assert found["level"].attributes["levels"].values == ["no", "yes"]
    assert found["nothing"] is None
    assert found["again"]["a"]["a"].values == [1.0]


def test_a_name_that_a_list_does_not_have_is_an_error_with_those_it_has():
    with pytest.raises(ValueError, match="there is no 'c'; there are a, b"):
        RVector([1, 2], {"names": RVector(["a", "b"])})["c"]


def test_code_is_refused(file):
    with pytest.raises(ValueError, match="has an item of type 3, which tables do not have"):
        read_rda(file(CODE))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "does not begin as one"),
        (b"RDA3\nA\n3\n", "does not begin as one"),
        (gzip.compress(b"RDX2\nX\n"), "ends too early"),
        (b"RDX3\nX\n" + np.array([4, 0, 0], dtype=">i4").tobytes(), "version 4; 2 and 3 are known"),
        (base64.b64decode(VALUES)[:-40], "not an R data file that can be read here"),
    ],
    ids=["empty", "text", "cut off", "version", "damaged compression"],  # compressed bytes have the time in them
)
def test_other_files_are_refused(content, words, file):
    with pytest.raises(ValueError, match=words):
        read_rda(file(content))


@given(st.data())
def test_damage_gives_values_or_a_clear_error(tmp_path_factory, data):
    content = bytearray(lzma.decompress(base64.b64decode(VALUES)))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=3)):
        content[place] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "a.rda"
    path.write_bytes(bytes(content))
    refusal = ""
    try:
        read_rda(path)
    except ValueError as error:
        refusal = str(error)
    assert not refusal or str(path) in refusal
