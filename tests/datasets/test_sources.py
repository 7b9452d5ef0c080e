"""A data set is found, made, downloaded if asked to, and never taken on trust."""

import hashlib
import re
from dataclasses import replace
from http.client import IncompleteRead

import numpy as np
import pytest

from extras import needs
from nearer import datasets
from nearer.datasets import SOURCES, Original, Source
from nearer.datasets.source import contents_checksum, loader
from nearer.formats.parquet import write_columns

CONTENT = {"rows": np.array([[0, 1, 2], [2, 1, 0]], dtype=np.int16)}
TEXT = "1 2 3\n3 2 1\n"


def make(paths):
    (path,) = paths
    return {"rows": np.loadtxt(path, dtype=np.int16) - np.int16(1)}


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "public" / "rows.txt"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


@pytest.fixture
def source(original):
    return Source(
        name="tiny",
        kind="answers",
        content="two answers",
        size="2 answers",
        license="CC0.",
        citation="Nobody.",
        path="tiny_folder/tiny.npz",
        arrays=("rows",),
        sha256=contents_checksum(CONTENT),
        originals=(Original(original.as_uri(), hashlib.sha256(TEXT.encode()).hexdigest()),),
        make=make,
    )


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch, request):
    """Set the folders that are looked through; tests of the real data keep theirs."""
    if "data_set" not in request.fixturenames:
        monkeypatch.setenv("NEARER_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("NEARER_CACHE", str(tmp_path / "cache"))


def left(tmp_path):
    return [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_it_is_downloaded_once_and_found_the_second_time(source, original, tmp_path):
    assert source.find() is None
    np.testing.assert_array_equal(source.load(download=True, verbose=False)["rows"], CONTENT["rows"])
    original.unlink()
    assert source.find() == tmp_path / "cache/data/tiny_folder/tiny.npz"
    np.testing.assert_array_equal(source.load()["rows"], CONTENT["rows"])
    assert left(tmp_path) == [source.find()]


def test_the_folder_of_the_user_comes_before_the_cache(source, tmp_path):
    source.load(download=True, verbose=False)
    path = tmp_path / "data/tiny_folder/tiny.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(source.find().read_bytes())
    assert source.find() == path


def test_nothing_is_downloaded_unasked(source, tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        source.load()
    told = str(error.value)
    for part in (source.originals[0].address, "CC0", "load_tiny(download=True)", "nearer data tiny --download"):
        assert part in told
    assert str(tmp_path / "cache/data/tiny_folder") in told
    assert "NEARER_DATA" in told
    assert not left(tmp_path)


def test_originals_that_lie_in_the_folder_are_enough(source, original, tmp_path):
    folder = tmp_path / "data/tiny_folder"
    folder.mkdir(parents=True)
    original.rename(folder / "rows.txt")
    np.testing.assert_array_equal(source.load()["rows"], CONTENT["rows"])
    assert source.find() == tmp_path / "cache/data/tiny_folder/tiny.npz"


def test_a_download_with_another_checksum_is_refused_and_not_kept(source, original, tmp_path):
    original.write_text("1 2 3\n3 1 2\n")
    with pytest.raises(ValueError, match=r"rows.txt is not the original of file:.* but .* is expected"):
        source.load(download=True, verbose=False)
    assert not left(tmp_path)
    unknown = replace(source, originals=(Original(original.as_uri()),))
    with pytest.raises(ValueError, match=r"its contents have the sha256 .* is expected"):
        unknown.load(download=True, verbose=False)
    assert not left(tmp_path)


class Answer:
    """What a server sends: so many bytes are announced, and reading may end in an error."""

    def __init__(self, length, error=None):
        self.headers, self.error, self.parts = {"Content-Length": str(length)}, error, [TEXT.encode(), b""]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def read(self, _):
        if self.error and len(self.parts) == 1:
            raise self.error
        return self.parts.pop(0)


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (Answer(1000), ConnectionError, "cannot download file:.*: it ended after 12 of 1,000 bytes"),
        (Answer(12, TimeoutError("too slow")), ConnectionError, "cannot download file:.*: too slow"),
        (Answer(12, IncompleteRead(b"")), ConnectionError, "cannot download file:.*: IncompleteRead"),
        (Answer(12, KeyboardInterrupt("Ctrl-C")), KeyboardInterrupt, "Ctrl-C"),
    ],
    ids=["short", "slow", "broken", "interrupted"],
)
def test_an_interrupted_download_leaves_nothing(answer, error, words, source, tmp_path, monkeypatch):
    monkeypatch.setattr("nearer.datasets.source.urlopen", lambda *_, **__: answer)
    with pytest.raises(error, match=words):
        source.load(download=True, verbose=False)
    assert not left(tmp_path)


def test_data_are_used_where_they_cannot_be_kept(source, tmp_path, monkeypatch):
    (tmp_path / "cache").touch()  # a file where the folder should be
    with pytest.warns(UserWarning, match=r"'tiny' cannot be kept in .*; NEARER_CACHE names another folder"):
        arrays = source.load(download=True, verbose=False)
    np.testing.assert_array_equal(arrays["rows"], CONTENT["rows"])
    assert source.find() is None


def test_values_of_other_types_are_refused(source, tmp_path):
    needs("pyarrow")
    texts = replace(source, path="tiny_folder/tiny.parquet")
    path = tmp_path / "data/tiny_folder/tiny.parquet"
    path.parent.mkdir(parents=True)
    write_columns(path, {"rows": np.array(["a", None], dtype=object)})
    with pytest.raises(ValueError, match=r"is not the data set 'tiny': its values are of other types: remove it$"):
        texts.load()
    assert not texts.is_intact()


def test_pyarrow_is_asked_for_before_a_download(source, original, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    original.unlink()
    with pytest.raises(ImportError, match=r'needs pyarrow: pip install "nearer\[parquet\]"'):
        replace(source, path="tiny_folder/tiny.parquet").load(download=True, verbose=False)


def test_a_folder_of_the_user_that_is_not_there_is_named(source, tmp_path):
    with pytest.raises(FileNotFoundError, match=rf"now it is {tmp_path / 'data'}, which is not there"):
        source.load()


def test_an_address_without_a_file_says_so(source, original):
    original.unlink()
    with pytest.raises(ConnectionError, match="cannot download file:"):
        source.load(download=True, verbose=False)


def test_a_download_shows_how_far_it_is(source, capfd):
    source.load(download=True)
    assert "download: 100%" in capfd.readouterr().err


def test_what_cannot_be_downloaded_says_why_and_where_to_put_it(source, tmp_path):
    by_hand = replace(source, make=None, originals=(), by_hand="it is a secret.")
    with pytest.raises(FileNotFoundError, match=r"cannot be downloaded: it is a secret\. .*Put tiny\.npz into"):
        by_hand.load(download=True)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"text", bytes(range(256)), b"a single array"])
def test_a_damaged_file_is_refused_and_named(content, source, tmp_path):
    path = tmp_path / "data/tiny_folder/tiny.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    if content == b"a single array":
        with path.open("wb") as file:
            np.save(file, CONTENT["rows"])
    with pytest.raises(ValueError, match=r"/tiny\.npz is damaged or not a file of arrays: remove it$"):
        source.load()
    assert not source.is_intact()


def test_a_damaged_parquet_file_is_refused_and_named(source, tmp_path):
    needs("pyarrow")
    texts = replace(source, path="tiny_folder/tiny.parquet")
    path = tmp_path / "data/tiny_folder/tiny.parquet"
    path.parent.mkdir(parents=True)
    for content in (b"", b"text", b"PAR1" + bytes(range(64)) + b"\x20\x00\x00\x00PAR1"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"/tiny\.parquet is damaged or not a file of arrays: remove it$"):
            texts.load()


def test_whether_a_file_is_intact(source, tmp_path):
    assert not source.is_intact()
    source.load(download=True, verbose=False)
    assert source.is_intact()
    assert dict(source.facts())["found"] == str(source.find())
    np.savez(source.find(), rows=CONTENT["rows"][::-1])
    assert not source.is_intact()
    assert dict(source.facts())["found"] == f"{source.find()}, which is damaged: remove it"


def test_damaged_originals_are_named(source, tmp_path):
    path = tmp_path / "data/tiny_folder/rows.txt"
    path.parent.mkdir(parents=True)
    path.write_text("text")
    with pytest.raises(ValueError, match=r"rows\.txt is not the original of .* is expected: remove /.*rows\.txt$"):
        source.load()
    unknown = replace(source, originals=(Original(source.originals[0].address),))
    with pytest.raises(ValueError, match=r"'tiny' cannot be made from /.*rows\.txt: remove them$"):
        unknown.load()


def test_another_file_in_its_place_is_refused(source, tmp_path):
    path = tmp_path / "data/tiny_folder/tiny.npz"
    path.parent.mkdir(parents=True)
    np.savez(path, rows=CONTENT["rows"][::-1])
    with pytest.raises(
        ValueError, match=r"tiny\.npz is not the data set 'tiny': its contents have .*: remove it$"
    ):
        source.load()
    np.savez(path, other=CONTENT["rows"])
    with pytest.raises(ValueError, match="is not the data set 'tiny': it has no rows"):
        source.load()
    np.savez(path, rows=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="is damaged or not a file of arrays"):
        source.load()


def test_the_checksum_is_of_the_contents_alone():
    wanted = contents_checksum(CONTENT)
    assert contents_checksum({"rows": np.asfortranarray(CONTENT["rows"])}) == wanted
    assert contents_checksum({"rows": CONTENT["rows"].astype(">i2")}) == wanted
    assert contents_checksum({"rows": CONTENT["rows"].astype(np.int32)}) != wanted
    assert contents_checksum({"rows": CONTENT["rows"].T.copy()}) != wanted
    assert contents_checksum({"lines": CONTENT["rows"]}) != wanted
    names = np.array(["a", "bc"])
    assert contents_checksum({"n": names}) == contents_checksum({"n": names.astype(object)})
    assert contents_checksum({"n": names}) == contents_checksum({"n": names.astype("U9")})
    assert contents_checksum({"n": names}) != contents_checksum({"n": np.array(["ab", "c"])})


# All of them --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_says_what_a_user_must_know(name):
    source = SOURCES[name]
    assert source.name == name
    assert source.kind in ("answers", "features", "labels", "texts")
    assert re.fullmatch(r"[0-9a-f]{64}", source.sha256)
    assert source.license.endswith(".")
    assert source.citation.endswith(".")
    assert bool(source.by_hand) != source.can_download
    assert bool(source.make) == bool(source.originals)
    assert all(original.address.startswith("https://") for original in source.originals)
    for original in source.originals:
        if "raw.githubusercontent.com" in original.address:
            assert re.search(r"/[0-9a-f]{40}/", original.address)
    assert callable(getattr(datasets, loader(name)))
    assert loader(name) in datasets.__all__
    with pytest.raises(FileNotFoundError, match=f"the data set '{name}' is not on this machine"):
        getattr(datasets, loader(name))()


def test_every_loader_has_a_source():
    loaders = {name for name in datasets.__all__ if name.startswith("load_")}
    assert loaders == {loader(name) for name in SOURCES}


def test_a_name_that_is_none_lists_those_that_are():
    with pytest.raises(ValueError, match="unknown data set 'musik'; the known ones are music, food73,"):
        datasets.describe("musik")


@pytest.mark.parametrize("name", SOURCES)
def test_the_data_are_what_the_source_says(name, data_set):
    """Loading checks the contents; the numbers of the description are those of the data."""
    loaded = data_set(name)
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\b\d[\d,]*\b", SOURCES[name].size)]
    if SOURCES[name].kind == "answers":
        answers = loaded.answers
        assert answers.n_answers + answers.n_dropped == numbers[0]
        assert answers.n_objects == numbers[-1]
    elif name == "newsgroups":
        assert [len(loaded.texts), len(loaded.classes)] == numbers
        assert loaded.is_test.sum() == 7532
    elif SOURCES[name].kind == "labels":
        assert [*loaded.X.shape, loaded.Y.shape[1]] == numbers
        assert (len(loaded.features), len(loaded.labels)) == (loaded.X.shape[1], loaded.Y.shape[1])
        assert loaded.Y.shape[0] == loaded.X.shape[0]
    else:
        assert [*loaded.X.shape, len(np.unique(loaded.y))] == numbers[:3]
        assert loaded.X.dtype == np.float64
        assert loaded.y.min() == 0


@pytest.mark.parametrize("name", ["music", "cars"])
def test_the_originals_that_are_here_make_the_stored_arrays(name, data_set, tmp_path, monkeypatch):
    stored = data_set(name)
    source = SOURCES[name]
    paths = [source.find().with_name(original.name) for original in source.originals]
    if not all(path.is_file() for path in paths):
        pytest.skip("the originals are not beside what was made of them")
    for original, path in zip(source.originals, paths, strict=True):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == original.sha256
        copy = tmp_path / source.path
        copy.parent.mkdir(exist_ok=True)
        copy.with_name(path.name).write_bytes(path.read_bytes())
    monkeypatch.setenv("NEARER_DATA", str(tmp_path))
    monkeypatch.setenv("NEARER_CACHE", str(tmp_path / "cache"))
    made = getattr(datasets, loader(name))()  # which checks the contents
    np.testing.assert_array_equal(made.answers.rows, stored.answers.rows)
    assert source.find() == tmp_path / "cache/data" / source.path
