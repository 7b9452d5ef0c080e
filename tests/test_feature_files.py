"""Files of features: every kind gives the same table, and what is no number is named by its place."""

import datetime

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_array, issparse, save_npz
from sklearn.pipeline import make_pipeline

from extras import needs
from nearer import RCA, BilinearSimilarity, Comparisons, InformationGain
from nearer.features import FeatureMap, TextFeatures
from nearer.formats import features, read_features, read_texts
from nearer.formats.features import read_table_for

X = np.array([[7.0, 0.5], [3.0, 2.0], [-1.25, 1e-9]])
LABELS, NAMES = ["party", "winter", "party"], ("pump", "boot", "mule")
TEXT = "name,heel,kind,sole\npump,7,party,.5\nboot,3,winter,2\nmule,-1.25,party,1e-9\n"


@pytest.fixture
def file(tmp_path):
    """Write a text into a file and return its path."""

    def make(text, name="shoes.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


def parquet(path, **columns):
    needs("pyarrow")
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("shoes.csv", TEXT),
        ("SHOES.CSV", TEXT),
        ("shoes.csv", "\ufeff" + TEXT.replace("\n", "\r\n") + "\r\n"),
        ("shoes.csv", TEXT.replace(",", ";")),
        ("shoes.csv", TEXT.replace(",", ", ")),
        ("shoes.csv", TEXT.replace("\n", ",,\n")),
        ("shoes.csv", TEXT.replace("7", '"7"').replace("pump", ' "pump"')),
        ("shoes.tsv", TEXT.replace(",", "\t")),
    ],
)
def test_text_of_every_dialect(file, name, text):
    table = read_features(file(text, name), labels="kind")
    assert np.array_equal(table.X, X)
    assert (table.columns, table.names, table.labels.tolist()) == (("heel", "sole"), NAMES, LABELS)
    assert (table.shape, table.others) == ((3, 2), ())


def test_parquet(tmp_path):
    columns = {
        "name": list(NAMES),
        "heel": X[:, 0],
        "kind": LABELS,
        "sole": X[:, 1],
        "__index_level_0__": [4, 2, 0],
    }
    table = read_features(parquet(tmp_path / "shoes.parquet", **columns), labels="kind")
    assert np.array_equal(table.X, X)
    assert (table.columns, table.names, table.labels.tolist()) == (("heel", "sole"), NAMES, LABELS)


@given(
    made=st.integers(1, 4).flatmap(
        lambda d: st.lists(st.lists(st.floats(-1e300, 1e300), min_size=d, max_size=d), min_size=1, max_size=8)
    )
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_come_back_exactly(tmp_path, made):
    lines = [",".join(f"f{place}" for place in range(len(made[0]))), *(",".join(map(repr, row)) for row in made)]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    np.save(tmp_path / "x.npy", np.array(made))
    assert np.array_equal(read_features(tmp_path / "x.csv").X, made)
    assert np.array_equal(read_features(tmp_path / "x.npy").X, made)


def test_arrays_with_labels_and_names(tmp_path):
    np.savez(tmp_path / "shoes.npz", X=X.astype(np.float32), kind=LABELS, names=NAMES, year=[1, 2, 3])
    table = read_features(tmp_path / "shoes.npz", labels="kind")
    assert np.allclose(table.X, X)
    assert table.X.dtype == np.float64
    assert (table.columns, table.names, table.labels.tolist()) == (None, NAMES, LABELS)
    assert read_features(tmp_path / "shoes.npz", labels="year").labels.tolist() == [1, 2, 3]


@pytest.mark.parametrize("sparse", [csr_array, csc_array])
def test_sparse_matrices_as_scipy_saves_them_and_with_labels_beside_their_parts(tmp_path, sparse):
    table = csr_array(X * (X > 0))
    save_npz(tmp_path / "plain.npz", sparse(table))
    parts = {"data": table.data, "indices": table.indices, "indptr": table.indptr, "shape": table.shape}
    np.savez(tmp_path / "parts.npz", **parts, y=LABELS)
    plain, labelled = read_features(tmp_path / "plain.npz"), read_features(tmp_path / "parts.npz", labels="y")
    for found in (plain, labelled):
        assert issparse(found.X)
        assert np.array_equal(found.X.toarray(), table.toarray())
        assert len(found) == 3
    assert labelled.labels.tolist() == LABELS


def test_only_the_columns_asked_for_and_in_that_order(file):
    table = read_features(file(TEXT), columns=["sole", "heel"])
    assert np.array_equal(table.X, X[:, ::-1])
    assert (table.columns, table.others, table.names) == (("sole", "heel"), ("kind",), NAMES)


def test_without_headers_there_are_no_columns_to_name(file):
    table = read_features(file("7,.5\n3,2\n-1.25,1e-9\n"))
    assert np.array_equal(table.X, X)
    assert table.columns is None
    counted = read_features(file("0,1\n7,.5\n3,2\n-1.25,1e-9\n"))  # as pandas writes an array
    assert np.array_equal(counted.X, X)
    assert counted.columns is None


def test_labels_that_are_numbers_and_names_that_are(file, tmp_path):
    table = read_features(file("id,x,y\n7,1,0\n8,2,1\n"), labels="y", names="id")
    assert (table.labels.dtype.kind, table.names) == ("i", ("7", "8"))
    table = read_features(parquet(tmp_path / "x.parquet", id=[7.0, 8.0], x=[1, 2], y=[True, False]), "y", "id")
    assert (table.labels.dtype.kind, table.names) == ("b", ("7", "8"))


def test_a_table_longer_than_a_chunk_is_put_together_and_knows_its_lines(file, monkeypatch):
    monkeypatch.setattr(features, "FEATURE_ROWS", 2)
    text = "name,x,y\n" + "".join(f"o{row},{row},c{row % 2}\n" for row in range(7))
    table = read_features(file(text), labels="y")
    assert table.X.ravel().tolist() == list(range(7))
    assert table.names == tuple(f"o{row}" for row in range(7))
    assert table.labels.tolist() == [f"c{row % 2}" for row in range(7)]
    with pytest.raises(ValueError, match=r"line 7 has 'x' in column 'x'"):
        read_features(file(text.replace("o5,5", "o5,x")), labels="y")
    with pytest.raises(ValueError, match="line 8 has the name 'o1' in column 'name', as a row before it has"):
        read_features(file(text.replace("o6", "o1")), labels="y")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "shoes.csv is empty"),
        ("a,b\n", {}, "shoes.csv is empty: it has no rows"),
        (
            "a,b\n1,2\n\n3,x y\n",
            {},
            "shoes.csv, line 4 has 'x y' in column 'b', where a finite number is wanted; name",
        ),
        (
            "a,b\n1,2\n3,\n",
            {},
            "shoes.csv, line 3 has an empty cell in column 'b', where a finite number is wanted",
        ),
        ("a,b\n1,nan\n", {}, "shoes.csv, line 2 has 'nan' in column 'b', where a finite number is wanted"),
        ("a,b\n1,-inf\n", {}, "shoes.csv, line 2 has '-inf' in column 'b'"),
        ("a,b\n1,2,3\n", {}, "shoes.csv, line 2 has 3 cells where 2 are wanted"),
        ("a,a\n1,2\n", {}, "shoes.csv: two columns are called 'a'"),
        (",a\n0,2\n", {}, "shoes.csv: column 1 has no header; name it, or leave it out if it only counts rows"),
        ("a,b\n1,2\n", {"labels": "c"}, "shoes.csv has no column 'c'; it has 'a', 'b'"),
        ("a,b\n1,2\n", {"names": "c"}, "shoes.csv has no column 'c'; it has 'a', 'b'"),
        ("a,b\n1,2\n", {"columns": ["c", "a", "d"]}, "shoes.csv has no columns 'c', 'd'; it has 'a', 'b'"),
        ("a,b\n1,\n", {"labels": "b"}, "shoes.csv, line 2 has an empty cell in column 'b'"),
        ("name,a\nx,1\n ,2\n", {}, "shoes.csv, line 3 has an empty cell in column 'name'"),
        ("name,a\nx,1\ny,1\nx,2\n", {}, "shoes.csv, line 4 has the name 'x' in column 'name', as a row before"),
        ("name,a\nx,1\n", {"labels": "a"}, "shoes.csv has no column of features: it has 'name', 'a'"),
    ],
)
def test_says_what_is_wrong_and_where(file, text, options, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_features(file(text), **options)
    assert str(caught.value).partition("shoes.csv")[2].startswith(message.partition("shoes.csv")[2])


def test_says_what_is_wrong_in_a_typed_file(tmp_path):
    cases = {
        "day": ([datetime.date(2026, 1, 1), None], "row 0 has '2026-01-01' in column 'day'"),
        "time": (np.array(["2026-01-01", "2026-01-02"], "M8[s]"), "row 0 has '2026-01-01"),
        "gap": ([1, None], "row 1 has an empty cell in column 'gap'"),
        "word": (["1", "x"], "row 1 has 'x' in column 'word'"),
        "list": ([[1, 2], [3]], "row 0 has "),
    }
    for column, (cells, message) in cases.items():
        with pytest.raises(ValueError, match=message):
            read_features(parquet(tmp_path / "x.parquet", **{column: cells}))
    with pytest.raises(ValueError, match="row 1 has an empty cell in column 'kind'"):
        read_features(parquet(tmp_path / "x.parquet", a=[1, 2], kind=["x", None]), labels="kind")


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"Z": X}, {}, "has no array 'X' of features, nor data, indices, indptr, shape of sparse ones; it has Z"),
        ({"X": X}, {"labels": "y"}, "has no array 'y'; it has X"),
        ({"X": X, "y": [1, 2]}, {"labels": "y"}, r"its array 'y' has shape \(2,\); one value for each of the 3"),
        ({"X": X, "y": [1, np.nan, 2]}, {"labels": "y"}, "row 1 has an empty cell in column 'y'"),
        ({"X": X, "names": ["a", "b", "a"]}, {}, "row 2 has the name 'a' in column 'names'"),
        ({"X": X[0]}, {}, r"X must be a table of numbers, one row per object; got float64 of shape \(2,\)"),
        ({"X": X.astype(str)}, {}, "X must be a table of numbers, one row per object; got <U"),
        ({"X": np.array([[1.0, np.inf]])}, {}, "row 0 has inf in column 1, where a finite number is wanted"),
        (
            {"data": [1.0, np.nan], "indices": [0, 3], "indptr": [0, 0, 2], "shape": [2, 4]},
            {},
            "row 1 has nan in column 3, where a finite number is wanted",
        ),
        (
            {"data": [1.0], "indices": [9], "indptr": [0, 1], "shape": [1, 4]},
            {},
            "cannot be read as a sparse matrix: ",
        ),
    ],
)
def test_says_what_is_wrong_with_arrays(tmp_path, arrays, options, message):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match=rf"x\.npz.* ?{message}"):
        read_features(tmp_path / "x.npz", **options)


def test_other_files_are_refused(tmp_path, file):
    with pytest.raises(
        ValueError, match=r"features are read from \.csv, \.tsv, \.txt, \.parquet, \.xlsx, \.npz, \.npy"
    ):
        read_features(file("x", "shoes.jsonl"))
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_features(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="cannot be read as arrays"):
        read_features(file("x", "shoes.npz"))


def test_a_column_of_names_may_be_ignored(file):
    path = file("name,a,kind\nx,1,p\nx,2,q\n")
    table = read_features(path, labels="kind", ignored=["name"])
    assert table.names is None
    assert table.columns == ("a",)


# A table as the X of an estimator


@pytest.fixture
def shoes(file):
    """Twelve objects of two kinds, with two features."""
    made = np.random.default_rng(0).normal(size=(12, 2)).round(3) + np.arange(12)[:, None] % 2
    rows = [f"shoe{row},{made[row, 0]},{'ab'[row % 2]},{made[row, 1]}" for row in range(12)]
    return read_features(file("\n".join(["name,heel,kind,sole", *rows])), labels="kind")


@pytest.mark.filterwarnings("error")
def test_estimators_learn_the_names_of_its_columns(shoes):
    for model in (
        RCA(random_state=0),
        BilinearSimilarity("sdca", n_triplets=100),
        InformationGain(1),
        FeatureMap(),
    ):
        target = shoes.X if isinstance(model, FeatureMap) else shoes.labels
        model.fit(shoes, target)
        assert model.feature_names_in_.tolist() == ["heel", "sole"]
        plain = type(model)(**model.get_params()).fit(shoes.X, target)
        assert not hasattr(plain, "feature_names_in_")
        if hasattr(model, "transform"):
            np.testing.assert_array_equal(model.transform(shoes), plain.transform(shoes.X))
    pipeline = make_pipeline(InformationGain(1), RCA()).fit(shoes, shoes.labels)
    assert pipeline.transform(shoes[:3]).shape == (3, 1)


def test_columns_in_another_order_are_refused_or_read_in_the_order_of_the_model(shoes, file):
    model = RCA().fit(shoes, shoes.labels)
    turned = read_features(shoes.path, labels="kind", columns=["sole", "heel"])
    with pytest.raises(ValueError, match=r"shoes\.csv are not those that the model was fitted with"):
        model.transform(turned)
    lines = [line.split(",") for line in shoes.path.read_text().splitlines()]
    other = file("\n".join(",".join([name, sole, heel]) for name, heel, _, sole in lines), "turned.csv")
    np.testing.assert_array_equal(read_table_for(model, other).X, shoes.X)


def test_comparisons_find_its_rows_by_name(shoes):
    rows = [[0, 2, 1], [1, 3, 0], [4, 6, 5]]
    named = Comparisons(rows, names=shoes.names)
    by_name, by_number = (
        BilinearSimilarity("sdca", regularization=0.1, random_state=0).fit(shoes, comparisons=each)
        for each in (named, rows)
    )
    assert (by_name.matrix_ == by_number.matrix_).all()
    assert by_name.score_comparisons(shoes, named) == by_number.score_comparisons(shoes, rows)


def test_rows_are_selected_with_their_labels_and_names(shoes):
    part = shoes[[3, 1]]
    assert (part.names, part.labels.tolist(), part.columns) == (("shoe3", "shoe1"), ["b", "b"], shoes.columns)
    assert np.array_equal(part.X, shoes.X[[3, 1]])
    assert np.array_equal(np.asarray(shoes), shoes.X)


def test_texts_know_their_column(file):
    table = read_texts(file("body,kind\nred cat,a\nred dog,a\nblue cat,b\nblue dog,b\n"), "body", labels="kind")
    words = TextFeatures().fit(table, table.labels)
    assert words.column_ == "body"
    assert (words.transform(table) != words.transform(table.X.tolist())).nnz == 0
    assert read_table_for(make_pipeline(words, RCA()), table.path).X.tolist() == table.X.tolist()
