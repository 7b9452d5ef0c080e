"""Files as one source: folders and patterns, parts that can be pickled, damaged files, and numbers that are names."""

import gzip
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extras import needs
from nearer import Comparisons, read, scan, write
from nearer.formats import source as scanning
from nearer.formats.survey import DistinctNumbers

ROWS = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0], [2, 0, 1]])


def same_rows(source, comparisons):
    made = Comparisons.of(source)
    named = [[made.names[i] for i in row] if made.names else row.tolist() for row in made.rows]
    wanted = [
        [comparisons.names[i] for i in row] if comparisons.names else row.tolist() for row in comparisons.rows
    ]
    return named == wanted


@pytest.fixture
def folder(tmp_path):
    for number, name in enumerate(("b.csv", "a.npy", "c.jsonl")):
        write(ROWS[2 * number : 2 * number + 2], tmp_path / name)
    (tmp_path / "notes.md").write_text("no answers")
    (tmp_path / ".hidden.csv").write_text("no answers")
    (tmp_path / "_SUCCESS.csv").write_text("")
    return tmp_path


def test_a_folder_is_its_readable_files_in_order(folder):
    for paths in (folder, str(folder), [folder]):
        source = scan(paths)
        assert (len(source), source.n_objects, len(source.parts)) == (6, 3, 3)
        assert Comparisons.of(source).rows.tolist() == ROWS[[2, 3, 0, 1, 4, 5]].tolist()


def test_a_pattern_is_the_files_that_match(folder):
    assert len(scan(folder / "[ab].*")) == 4
    assert len(scan([f"{folder}/*.csv", folder / "a.npy"])) == 4
    (folder / "[ab].csv").write_text("anchor,near,far\n0,1,2\n1,0,2\n")
    assert len(scan(folder / "[ab].csv")) == 2  # a file of that name


def test_what_matches_no_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"the folder .* has no file whose name ends in \.csv"):
        scan(tmp_path)
    with pytest.raises(ValueError, match=r"no file matches .*\*\.csv whose name ends in"):
        scan(tmp_path / "*.csv")
    with pytest.raises(FileNotFoundError, match="no file"):
        scan(tmp_path / "none.csv")


@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_a_large_file_has_many_parts_that_can_be_pickled(tmp_path, monkeypatch, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        import pyarrow
        import pyarrow.parquet

        columns = [np.ascontiguousarray(column, dtype=np.int32) for column in np.tile(ROWS, (5, 1)).T]
        table = pyarrow.table(columns, names=["anchor", "near", "far"])
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    else:
        np.save(tmp_path / "a.npy", np.tile(ROWS, (5, 1)))
    monkeypatch.setattr(scanning, "PART_ROWS", 8)
    source = scan(tmp_path, chunk_rows=3)
    assert len(source.parts) == 4
    again = pickle.loads(pickle.dumps(source.parts))
    made = [Comparisons.concat(part()) for part in again]
    assert [len(part) for part in made] == [8, 8, 8, 6]
    assert np.concatenate([part.rows for part in made]).tolist() == np.tile(ROWS, (5, 1)).tolist()
    assert all(part.n_objects == 3 for part in made)


def test_parts_that_are_pickled_together_share_the_names(tmp_path):
    for number in range(20):
        write(
            Comparisons(ROWS, names=[f"{letter * 1000}{number % 2}" for letter in "abc"]),
            tmp_path / f"{number}.csv",
        )
    parts = scan(tmp_path).parts
    assert len(pickle.dumps(parts)) < 1.5 * 6 * 1000 + 20 * 1000
    assert all(chunk.names is parts[0].numbering.names for part in parts for chunk in part())


def test_rows_of_an_answer_are_never_cut_by_parts(tmp_path, monkeypatch):
    needs("pyarrow")
    monkeypatch.setattr(scanning, "PART_ROWS", 2)
    write(Comparisons(ROWS, answers=[0, 0, 0, 1, 1, 2]), tmp_path / "a.parquet")
    source = scan(tmp_path)
    assert len(source.parts) == 1
    assert Comparisons.of(source).n_answers == 3


@pytest.fixture
def damaged(folder):
    (folder / "b.csv").write_bytes(b"PAR1" + bytes(range(256)))
    return folder


def test_a_damaged_file_is_named_or_skipped(damaged):
    with pytest.raises(ValueError, match=r"b\.csv is a parquet file, not text"):
        scan(damaged)
    with pytest.warns(
        UserWarning, match=r"1 of 3 files are left out: .*b\.csv is a .*4 rows of the others are used"
    ):
        source = scan(damaged, bad_files="skip")
    assert len(source) == 4
    with pytest.raises(ValueError, match="bad_files must be"):
        scan(damaged, bad_files="drop")


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".csv.gz"])
def test_a_file_that_was_cut_off_is_damaged(tmp_path, suffix):
    if suffix == ".parquet":
        needs("pyarrow")
    if suffix == ".csv.gz":
        (tmp_path / "bad.csv.gz").write_bytes(gzip.compress(b"0,1,2\n1,0,2\n" * 100))
    else:
        write(np.tile(ROWS, (100, 1)), tmp_path / f"bad{suffix}")
    write(ROWS, tmp_path / "good.npy")
    content = (tmp_path / f"bad{suffix}").read_bytes()
    (tmp_path / f"bad{suffix}").write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(ValueError, match=r"bad"):
        scan(tmp_path)
    with pytest.warns(UserWarning, match="1 of 2 files are left out"):
        assert len(scan(tmp_path, bad_files="skip")) == 6


def test_no_file_that_can_be_read(tmp_path):
    (tmp_path / "a.npy").write_text("no array")
    with pytest.raises(ValueError, match=r"none of 1 files can be read; the first: .*a\.npy"):
        scan(tmp_path, bad_files="skip")


def test_an_impossible_row_makes_no_bad_file(tmp_path):
    np.save(tmp_path / "a.npy", [[0, 1, 2], [1, 1, 2]])
    with pytest.raises(ValueError, match=r"a\.npy, row 1 compares object 1 with itself"):
        scan(tmp_path, bad_files="skip")
    assert len(scan(tmp_path, bad_rows="drop")) == 1


@settings(max_examples=40, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 400), min_size=3, max_size=9, unique=True),
    data=st.data(),
    dense=st.booleans(),
)
def test_columns_of_integers_are_read_as_text_is(tmp_path_factory, numbers, data, dense):
    needs("pyarrow")
    import pyarrow
    import pyarrow.parquet

    folder = tmp_path_factory.mktemp("scan")
    numbers = list(range(len(numbers))) if dense else numbers
    rows = data.draw(st.lists(st.permutations(numbers).map(lambda row: row[:3]), min_size=1, max_size=9))
    table = pyarrow.table(
        [np.array(column) for column in zip(*rows, strict=True)], names=["anchor", "near", "far"]
    )
    pyarrow.parquet.write_table(table, folder / "a.parquet")
    (folder / "a.csv").write_text("anchor,near,far\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    source, text = scan(folder / "a.parquet", chunk_rows=2), read(folder / "a.csv")
    assert (source.names, source.n_objects) == (text.names, text.n_objects)
    assert same_rows(source, text)


def test_a_bad_row_of_numbers_that_are_names_has_the_name(tmp_path):
    needs("pyarrow")
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"anchor": [1001, 1005], "near": [1003, 1005], "far": [1005, 1001]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet, row 1 compares '1005' with itself"):
        scan(tmp_path)
    assert scan(tmp_path, bad_rows="drop").names == ("1001", "1003", "1005")


def test_distinct_numbers_of_any_size():
    numbers = DistinctNumbers()
    for column in ([5, 2], [2**30, 5, 2**29], [], [7]):
        numbers.add(np.array(column, dtype=np.int64))
    assert numbers.values().tolist() == [2, 5, 7, 2**29, 2**30]


def test_n_objects_of_arrays(tmp_path):
    np.save(tmp_path / "a.npy", ROWS)
    assert scan(tmp_path, n_objects=10).n_objects == 10
    with pytest.raises(ValueError, match="only 2 objects"):
        scan(tmp_path, n_objects=2)
    np.save(tmp_path / "b.npy", np.asfortranarray(ROWS))
    assert Comparisons.of(scan(tmp_path / "b.npy", chunk_rows=4)).rows.tolist() == ROWS.tolist()


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".csv", ".jsonl"])
@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize("n_now", [12, 24, 36])
def test_a_file_that_changed_after_the_scan_is_named(tmp_path, monkeypatch, suffix, n_parts, n_now):
    if suffix == ".parquet":
        needs("pyarrow")
    monkeypatch.setattr(scanning, "PART_ROWS", 24 // n_parts)
    path = tmp_path / f"a{suffix}"
    write(np.tile(ROWS, (4, 1)), path)
    source = scan(path, chunk_rows=5)
    assert len(source.parts) == (n_parts if suffix == ".npy" else 1)
    write(np.tile(ROWS, (n_now // 6, 1)), path)
    if n_now == 24:
        assert len(Comparisons.of(source)) == 24
        return
    with pytest.raises(
        ValueError, match=rf"a\{suffix} has changed since it was scanned: \d+ rows.* then, \d+ now"
    ):
        Comparisons.of(source)


def test_parts_of_a_file_with_rows_that_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(scanning, "PART_ROWS", 3)
    np.save(tmp_path / "a.npy", np.vstack([ROWS, [[1, 1, 2]], ROWS]))
    source = scan(tmp_path, bad_rows="drop")
    assert [part.n_rows for part in source.parts] == [3, 3, 2, 3, 1]
    assert len(Comparisons.of(source)) == 12


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_a_damaged_number_is_found_before_memory_is_asked_for(tmp_path, suffix):
    rows = np.tile(ROWS, (100, 1)).astype(np.int32)
    write(rows, tmp_path / "good.npy")
    rows[17, 1] = 1_500_000_000
    if suffix == ".npy":
        np.save(tmp_path / "bad.npy", rows)
        with pytest.raises(
            ValueError, match=r"bad\.npy has an object of number 1,500,000,000, and 1,200 rows mention"
        ):
            scan(tmp_path)
        assert scan(tmp_path, n_objects=1_500_000_001).n_objects == 1_500_000_001
    else:
        np.savez(tmp_path / "bad.npz", triplets=rows)
    with pytest.raises(ValueError, match=r"bad\.np. has an object of number .* give n_objects=1500000001"):
        read(tmp_path / f"bad{suffix}")
    assert read(tmp_path / f"bad{suffix}", n_objects=1_500_000_001).n_objects == 1_500_000_001


def test_so_many_objects_as_a_file_says_it_has(tmp_path):
    write(Comparisons([[0, 1, 20_000_000]], n_objects=30_000_000), tmp_path / "a.jsonl")
    assert scan(tmp_path / "a.jsonl").n_objects == 30_000_000


def cut_off(text):
    return text[: text.rindex(b",", 0, len(text) * 2 // 3)]


def overwritten(text):
    middle = len(text) // 2
    return text[:middle] + bytes(range(100, 140)) + b"\xe9\x01\n" + text[middle + 42 :]


def zeroed(text):
    return text[: len(text) // 2] + bytes(64) + text[len(text) // 2 + 64 :]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".csv.gz"])
@pytest.mark.parametrize("damage", [cut_off, overwritten, zeroed, lambda text: b""])
def test_lines_that_cannot_be_read_are_damage_of_a_file(tmp_path, suffix, damage):
    plain = suffix.removesuffix(".gz")
    write(np.tile(ROWS, (100, 1)), tmp_path / f"bad{plain}")
    text = damage((tmp_path / f"bad{plain}").read_bytes())
    (tmp_path / f"bad{plain}").unlink()
    (tmp_path / f"bad{suffix}").write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
    write(ROWS, tmp_path / "good.npy")
    with pytest.raises(ValueError, match=rf"bad\{suffix}"):
        scan(tmp_path)
    with pytest.warns(UserWarning, match=rf"1 of 2 files are left out: .*bad\{suffix}.*6 rows of the others"):
        assert len(scan(tmp_path, bad_files="skip")) == 6


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_lines_that_cannot_be_read_can_be_dropped(tmp_path, suffix):
    write(np.tile(ROWS, (100, 1)), tmp_path / f"a{suffix}")
    with (tmp_path / f"a{suffix}").open("a") as file:
        file.write("{0")
    assert len(scan(tmp_path, bad_rows="drop", bad_files="skip")) == 600


def test_files_with_names_and_with_numbers_are_named(tmp_path):
    write(ROWS, tmp_path / "a.npy")
    write(ROWS, tmp_path / "b.csv")
    write(Comparisons(ROWS, names=["x", "y", "z"]), tmp_path / "c.csv")
    with pytest.raises(ValueError, match=r"cannot be matched \(.*c\.csv has names, .*a\.npy has numbers\)"):
        scan(tmp_path)
