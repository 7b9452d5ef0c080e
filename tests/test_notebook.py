"""What a notebook shows of comparisons, reports and maps, and model.plot()."""

import builtins
import html
import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from extras import needs
from nearer import ComparisonKernel, Comparisons, OrdinalEmbedding
from nearer.maps import draw, map_html
from nearer.progress import Progress
from nearer.selection import held_out
from nearer.simulate import comparisons_from_points

NAMES = ["<b>", "Oslo", "Rome & Bonn", "d", "e", "f"]


@pytest.fixture(scope="module")
def answers():
    points = np.random.default_rng(0).normal(size=(6, 2))
    return Comparisons(comparisons_from_points(points, 300, random_state=0), names=NAMES)


@pytest.fixture(scope="module")
def model(answers):
    return OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0).fit(answers)


def cells(shown, tag):
    return [html.unescape(cell) for cell in re.findall(rf"<{tag} [^>]*>(.*?)</{tag}>", shown)]


def test_comparisons_show_their_first_rows(answers):
    shown = answers._repr_html_()
    assert "300 triplets · 6 objects" in shown
    assert cells(shown, "th") == ["anchor", "near", "far"]
    first = [NAMES[number] for number in answers.rows[:8].ravel()]
    assert cells(shown, "td") == [*first, "…", "…", "…"]
    assert "<b>" not in shown
    few = Comparisons([[0, 1, 2, 3]] * 3, answers=[0, 0, 1], weights=[1, 2, 3])._repr_html_()
    assert "3 quadruplets · 4 objects · 2 answers" in few
    assert cells(few, "td")[:6] == ["0", "1", "2", "3", "1.0", "0"]
    assert "…" not in few
    assert "0 triplets" in Comparisons(np.empty((0, 3), dtype=int))._repr_html_()


def test_a_report_shows_a_table(answers):
    report = answers.report()
    assert repr(report) == str(report)
    assert repr(report).startswith("objects         6\nrows            300\n")
    assert cells(report._repr_html_(), "td")[:4] == ["objects", "6", "rows", "300"]


def test_a_held_out_accuracy_shows_a_table(answers):
    result = held_out(OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0), answers, random_state=0)
    assert repr(result) == str(result)
    assert repr(result).startswith("held out        ")
    assert cells(result._repr_html_(), "td")[::2][:2] == ["held out", "chance"]


def test_a_frame_and_back(answers):
    needs("pandas")
    people = [f"p{i % 3}" for i in range(300)]
    whole = Comparisons(answers, subjects=people, weights=np.arange(300.0), extra={"seconds": np.ones(300)})
    frame = whole.to_frame()
    assert list(frame.columns) == ["anchor", "near", "far", "weight", "subject", "seconds"]
    again = Comparisons(frame)
    assert sorted(again.names) == sorted(NAMES)
    for number in range(3):
        old, new = ([made.names[i] for i in made.rows[:, number]] for made in (whole, again))
        assert old == new
    assert again.subjects.tolist() == people
    assert again.weights.tolist() == whole.weights.tolist()
    assert Comparisons([[0, 1, 2]]).to_frame().iloc[0].tolist() == [0, 1, 2]


def test_a_frame_needs_pandas(answers, monkeypatch):
    plain_import = builtins.__import__

    def no_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        answers.to_frame()


def test_pages_and_pictures_draw_themselves():
    page = map_html(np.eye(3), ["<b>", '"', "c"])
    frame = page._repr_html_()
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == page
    assert 'sandbox="allow-scripts"' in frame
    needs("matplotlib")
    assert draw(np.eye(3))._repr_png_().startswith(b"\x89PNG")


def test_plot_returns_axes(model, answers):
    needs("matplotlib")
    import matplotlib.pyplot as plt

    ax = model.plot(title="$x", groups=list("aabbcc"))
    assert {text.get_text() for text in ax.texts} == set(NAMES)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert ax.figure.number in plt.get_fignums()
    figure, (left, right) = plt.subplots(1, 2)
    assert model.plot(ax=left, title="$x", labels="none") is left
    assert left.get_title() == "$x"
    assert not left.texts
    model.plot(ax=right, weights=[9, 1, 1, 1, 1, 1])
    assert "<b>" in {text.get_text() for text in right.texts}
    figure.canvas.draw()
    kernel = ComparisonKernel(regularization=0.01, max_iter=50).fit(answers)
    assert len(kernel.plot().texts) == 6
    plt.close("all")


def test_plot_of_some_objects(answers):
    needs("matplotlib")
    import matplotlib.pyplot as plt

    gaps = OrdinalEmbedding(loss="ste", regularization=0.01, random_state=0).fit(
        Comparisons(answers.rows + 2, n_objects=9)
    )
    ax = gaps.plot(groups=list("xyaabbccz"))
    assert {text.get_text() for text in ax.texts} == set("234567")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    plt.close("all")
    with pytest.raises(ValueError, match="groups: 2 for 9 objects"):
        gaps.plot(groups=["a", "b"])
    with pytest.raises(NotFittedError):
        OrdinalEmbedding().plot()


def test_a_finished_bar_is_full_and_an_interrupted_one_is_not(capsys):
    for complete, end in ((True, "100%"), (False, "30%")):
        progress = Progress(shown=True)
        for fraction in np.linspace(0, 0.3, 7):
            progress.show(fraction, "fit", "")
        bar = progress._bar
        progress.close(complete)
        assert bar.n == (1.0 if complete else pytest.approx(0.3))
        assert end in capsys.readouterr().err.split("\r")[-1]
