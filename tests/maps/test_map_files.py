"""Maps as files: pictures that open, pages that stand alone, names that stay names."""

import base64
import builtins
import hashlib
import html
import json
import re
import sys

import numpy as np
import pytest

from nearer.datasets import europe
from nearer.maps import draw, map_html, write_map
from nearer.maps.export import canvas_script

NASTY = [
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "{{script}}",
    "$\\frac{1}{0}$",
    "_hidden & 'quoted' \"twice\"",
    "line\nbreak\u2028\x00\ud800",
]


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(6, 2))


def data_of(page):
    blocks = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert len(blocks) == 1
    return json.loads(blocks[0])


# Pictures


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_pictures_by_suffix(tmp_path, points, suffix, magic):
    path = tmp_path / f"my map.{suffix}"
    write_map(points, path, list("abcdef"), groups=list("xxyyzz"), title="A map", reference=points + 0.1)
    assert path.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_map_is_the_same_file(tmp_path, points):
    for suffix in ("png", "pdf", "html"):
        contents = set()
        for name in "ab":
            write_map(points, tmp_path / f"{name}.{suffix}")
            contents.add((tmp_path / f"{name}.{suffix}").read_bytes())
        assert len(contents) == 1


@pytest.mark.parametrize("n", [1, 2, 130, 2100])
@pytest.mark.parametrize("dims", [1, 2, 5])
def test_any_number_of_objects_and_dimensions(n, dims):
    figure = draw(np.random.default_rng(0).normal(size=(n, dims)), groups=np.arange(n) % 30)
    figure.canvas.draw()
    assert len(figure.axes) == 1


def test_labels_fit_on_the_map_of_europe():
    cities = europe()
    figure = draw(cities.points, cities.names, groups=cities.regions, title="Europe")
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == len(cities.names)
    overlaps = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert overlaps <= 3


def test_names_are_not_mathematics(points):
    figure = draw(points, NASTY, groups=NASTY, title="$x")
    figure.canvas.draw()
    assert NASTY[3] in [text.get_text() for text in figure.axes[0].texts]
    assert "_hidden & 'quoted' \"t…" in [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_pyplot_is_left_alone(points, tmp_path):
    sys.modules.pop("matplotlib.pyplot", None)
    write_map(points, tmp_path / "map.png")
    assert "matplotlib.pyplot" not in sys.modules


def test_without_matplotlib_pages_still_work(points, tmp_path, monkeypatch):
    plain_import = builtins.__import__

    def no_matplotlib(name, *args, **kwargs):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "nearer.maps.figure", raising=False)
    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    write_map(points, tmp_path / "map.html")
    with pytest.raises(ImportError, match=r'pip install "nearer\[maps\]"'):
        write_map(points, tmp_path / "map.png")
    assert not (tmp_path / "map.png").exists()


# Pages


def test_the_page_stands_alone(points):
    page = map_html(points, list("abcdef"), groups=list("xxyyzz"), title="A map", reference=points)
    assert not re.findall(r"https?:|@import|url\(|\bsrc\s*=|fetch\(|XMLHttpRequest|import\(", page)
    assert re.findall(r"<link[^>]*>", page) == ['<link rel="icon" href="data:,">']
    assert not re.search(r"\son\w+\s*=\s*[\"']", page)
    assert "{{" not in page


def test_the_policy_allows_exactly_the_blocks_of_the_page(points):
    page = map_html(points)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (block,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_data_of_the_page(points):
    data = data_of(map_html(points, list("abcdef"), groups=list("yyxxzz"), reference=points * 2))
    assert data["names"] == list("abcdef")
    assert data["groupOrder"] == ["x", "y", "z"]
    everything = np.array(data["points"] + data["reference"])
    assert np.ptp(everything, axis=0).max() == pytest.approx(1)
    assert "nearest" not in data
    assert "line" not in data
    assert data_of(map_html(points[:, 0]))["line"] is True
    deep = data_of(map_html(np.random.default_rng(0).normal(size=(6, 4))))
    assert np.array(deep["nearest"]).shape == (6, 5)


def test_names_are_inert_in_a_page(points, tmp_path):
    title = NASTY[0] + NASTY[2]
    write_map(points, tmp_path / "map.html", NASTY, groups=NASTY, title=title)
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    plain = map_html(points, list("abcdef"), groups=list("abcdef"), title="t")
    for mark in ("<script", "</script", "<!--", "<img", "<"):
        assert page.count(mark) == plain.count(mark)
    assert data_of(page)["names"] == NASTY
    assert f"<h1>{html.escape(title)}</h1>" in page
    assert map_html(points, title="\ud800").encode("utf-8", "replace")


def test_the_canvas_module_defines_one_map():
    script = canvas_script()
    assert "var NearerMap" in script
    assert "innerHTML" not in script
    assert "</" not in script


# What cannot be written


@pytest.mark.parametrize("name", ["map.gif", "map"])
def test_unknown_suffix(tmp_path, points, name):
    with pytest.raises(ValueError, match=rf"^{name}: .*\.png, \.svg, \.pdf, \.html"):
        write_map(points, tmp_path / name)


@pytest.mark.parametrize("suffix", ["png", "html"])
def test_bad_points_leave_the_old_file(tmp_path, suffix):
    path = tmp_path / f"map.{suffix}"
    path.write_text("old")
    with pytest.raises(ValueError, match="row 1"):
        write_map([[0, 1], [np.nan, 2]], path)
    assert path.read_text() == "old"
