"""What each original is made into, on made-up originals of a few lines."""

import base64
import io
import json
import pathlib
import pickle
import tarfile

import numpy as np
import pytest
from scipy.io import savemat

from nearer.datasets import (
    cars,
    coil20,
    food73,
    isolet,
    label_set,
    letter,
    music,
    newsgroups,
    office_caltech,
    segment,
    svmguide4,
    things,
    vehicle,
    vowel,
)
from nearer.datasets.r_data import RVector
from nearer.datasets.source import contents_checksum


@pytest.fixture
def text(tmp_path):
    def write(content, name="original.txt"):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return write


def test_music_counts_from_0(tmp_path):
    savemat(tmp_path / "a.mat", {"triplets": np.array([[1, 2, 412], [3, 3, 1]], dtype=np.uint16)})
    made = music.make([tmp_path / "a.mat"])["triplets"]
    assert made.tolist() == [[0, 1, 411], [2, 2, 0]]
    assert made.dtype == np.int16


def test_cars_are_the_columns_of_the_survey(text):
    header = "survey_round,chosen_center,triplet_object_1,triplet_object_2,triplet_object_3,response_time"
    made = cars.make([text(f"{header}\n1,32,32,16,30,11.108\n2,18,15,18,53,19.5\n")])
    assert made["query"].tolist() == [[31, 15, 29], [14, 17, 52]]
    assert made["chosen_center"].tolist() == [31, 17]
    assert made["survey_round"].tolist() == [1, 2]
    assert made["response_time"].tolist() == [np.float32(11.108), 19.5]
    assert np.bincount(made["class_id"]).tolist() == [24, 15, 17, 4]
    assert made["class_names"][made["class_id"][20]] == "OUTLIERS"


def test_things_number_people_in_order(text, tmp_path):
    tables = [np.eye(3), np.eye(3, 2), np.eye(3, 4)]
    for number, table in enumerate(tables):
        np.save(tmp_path / f"{number}.npy", table)
    answers = text("0 1 2 7\n2 0 1 3\n1 2 0 7\n", "answers.txt")
    names = text("aardvark\nabacus\naccordion\n", "names.txt")
    made = things.make([answers, names, *(tmp_path / f"{number}.npy" for number in range(3))])
    assert made["triplets"].tolist() == [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    assert made["participant"].tolist() == [1, 0, 1]
    assert made["concepts"].tolist() == ["aardvark", "abacus", "accordion"]
    shapes = [made[name].shape for name in ("spose49", "clip_vit_b32", "word2vec300")]
    assert shapes == [(3, 3), (3, 2), (3, 4)]


def test_things_are_never_unpickled(text, tmp_path):
    np.save(tmp_path / "bad.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle"):
        things.make([text("0 1 2 0\n", "answers.txt"), text("a\n", "names.txt"), *[tmp_path / "bad.npy"] * 3])


def test_office_caltech_has_four_domains(tmp_path):
    paths = []
    for number, domain in enumerate(office_caltech.DOMAINS):
        paths.append(tmp_path / f"{domain}.mat")
        savemat(paths[-1], {"fts": np.full((2, 3), float(number)), "labels": np.array([[1.0], [10.0]])})
    made = office_caltech.make(paths)
    assert set(made) == set(office_caltech.SOURCE.arrays)
    assert made["webcam_X"].tolist() == [[2, 2, 2], [2, 2, 2]]
    assert made["webcam_y"].tolist() == [0, 9]
    assert (made["webcam_X"].dtype, made["webcam_y"].dtype) == (np.uint8, np.int8)


@pytest.mark.parametrize("module", [coil20, isolet])
def test_tables_of_matlab_count_classes_from_0(module, tmp_path):
    savemat(tmp_path / "a.mat", {"X": np.array([[0.5, 1.0]]), "Y": np.array([[20.0]])})
    made = module.SOURCE.make([tmp_path / "a.mat"])
    assert (made["X"].tolist(), made["y"].tolist()) == ([[0.5, 1.0]], [19])
    assert (made["X"].dtype, made["y"].dtype) == (np.float32, np.int8)


def test_vehicle_joins_its_parts(text):
    numbers = " ".join(str(number) for number in range(18))
    made = vehicle.make([text(f"{numbers} van \n", "xaa.dat"), text(f"{numbers} bus\n\n", "xab.dat")])
    assert made["X"].tolist() == [list(range(18))] * 2
    assert made["y"].tolist() == [3, 0]
    assert len(made["features"]) == 18


def test_vowel_has_a_part_to_predict(text):
    features = ", ".join(["-0.5"] * 10)
    made = vowel.make([text(f"0, 3, 1, {features}, 0\n1, 8, 0, {features}, 10\n")])
    assert made["X"].tolist() == [[-0.5] * 10] * 2
    assert (made["y"].tolist(), made["is_uci_test"].tolist()) == ([0, 10], [0, 1])


def test_letter_numbers_the_alphabet(text):
    numbers = ",".join(str(number) for number in range(16))
    made = letter.make([text(f"T,{numbers}\nA,{numbers}\n")])
    assert made["X"].tolist() == [list(range(16))] * 2
    assert made["classes"][made["y"]].tolist() == ["T", "A"]


def test_segment_counts_classes_from_0(text):
    numbers = " ".join(["1.5"] * 19)
    made = segment.make([text(f"{numbers} 2\n{numbers} 7\n")])
    assert (made["X"].tolist(), made["y"].tolist()) == ([[1.5] * 19] * 2, [1, 6])


def test_svmguide4_reads_pairs_and_numbers_classes(text):
    made = svmguide4.make([text("-3 1:0.5 10:2\n3 2:1e-3\n-3\n")])
    assert made["X"].tolist() == [[0.5, *[0] * 8, 2], [0, 0.001, *[0] * 8], [0] * 10]
    assert (made["y"].tolist(), made["classes"].tolist()) == ([0, 1, 0], [-3, 3])


@pytest.fixture
def archive(tmp_path):
    """Four posts, not in order."""
    posts = {
        "20news-bydate-test/sci.space/90": "The rocket flies to the moon",
        "20news-bydate-train/sci.space/12": "Rocket science: caf\xe9, rocket fuel",
        "20news-bydate-train/rec.autos/5": "a car on the MOON2 and a moon",
        "20news-bydate-train/rec.autos/43": "car fuel",
    }
    path = tmp_path / "20news-bydate.tar.gz"
    with tarfile.open(path, "w:gz") as file:
        for name, post in posts.items():
            content = post.encode("latin-1")
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return path


def test_newsgroups_are_in_order_of_part_and_group(archive):
    made = newsgroups.make([archive])
    assert made["split"].tolist() == ["train", "train", "train", "test"]
    assert made["group"].tolist() == ["rec.autos", "rec.autos", "sci.space", "sci.space"]
    assert made["text"][0] == "car fuel"
    assert "café" in made["text"][2]


def test_newsgroups_counts_are_of_words_in_two_posts(archive):
    made = newsgroups.make_counts([archive])
    assert made["vocab"].tolist() == ["car", "fuel", "moon", "rocket"]  # science and flies are in one post only
    dense = np.zeros(made["shape"], dtype=int)
    for row, (start, end) in enumerate(zip(made["indptr"], made["indptr"][1:], strict=False)):
        dense[row, made["indices"][start:end]] = made["data"][start:end]
    # MOON2 is no word of letters; of terms in equally many posts the first are taken
    assert dense.tolist() == [[1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 2], [0, 0, 1, 1]]
    assert made["is_train"].tolist() == [True, True, True, False]
    assert made["classes"][made["y"]].tolist() == ["rec.autos", "rec.autos", "sci.space", "sci.space"]
    few = newsgroups.count_terms(newsgroups.make([archive]), 2)
    assert few["vocab"].tolist() == ["car", "fuel"]


def test_newsgroups_counts_are_made_from_the_texts(data_set):
    data_set("newsgroups-counts")
    data_set("newsgroups")
    made = newsgroups.count_terms(newsgroups.SOURCE.load())
    stored = newsgroups.COUNTS.load()
    for name in newsgroups.COUNTS.arrays:
        np.testing.assert_array_equal(made[name], stored[name])


# tiny <- list(name = "tiny", dataset = table, attributesIndexes = 1:2, labels = data.frame(index = 3:4, …), …), with
# the columns Cluster1, Cluster2, city and TAG_.net of zeros and ones, and .labelcount; save(tiny, version = 2, …)
TINY_MLDR = """
/Td6WFoAAAFpIt42AgAhARwAAAAQz1jM4APTAUBdACkRB1RXIuRuUsqfktkkYTyzHMdu+351IdX0vS3GcNIf6aTiVyYWYnsFTVz1
LuieaNU+5y5OfJqX77QcFNpIB1T6dreBiG9VZgG3UKPKjVYaGIFd/8wrt6ZvAP81IIzSzdmrIEfTI2mJfGlDwUwb34yJT9X8fSLD
dVw6ihVKuSzk3jla++VRhVXpJQFY5tu+CpJ9b4IVILx+li18oFX9TUDkTyd4DWFqCeY91xd5yN/lsNLtH92Fz4LOstwfcoI0H0i2
EmpX3uF5mdcAfLp2pXOF2DFchsWgpdcZjeyHSqD3uIz8tTTq1P7YiVJe3doNNdjRvnPqGLqCvcBPU5qkQuxclbx8ghgLfFWKgErk
v5+VNvDAK2bXn29xaforks35nJwJHBbj4wnzWnf8P00sK+JxAOyquQ2JlJCtpByDedQAAFGKZwgAAdgC1AcAALQhges+MA2LAgAA
AAABWVo=
"""


def test_label_sets_are_the_places_of_ones_in_a_table_of_R(tmp_path):
    (tmp_path / "tiny.rda").write_bytes(base64.b64decode(TINY_MLDR))
    made = label_set.make([tmp_path / "tiny.rda"])
    loaded = label_set.label_set(made)
    assert loaded.X.toarray().tolist() == [[0, 1], [1, 0], [0, 0], [1, 1]]
    assert loaded.Y.toarray().tolist() == [[1, 0], [0, 0], [0, 1], [1, 1]]
    assert loaded.features.tolist() == ["Cluster1", "Cluster2"]
    assert loaded.labels.tolist() == ["city", "TAG_.net"]
    assert [made[name].dtype for name in ("X_indices", "Y_indptr", "Y_shape")] == [np.uint16, np.int32, np.int64]


@pytest.mark.parametrize(
    "column",
    [
        RVector([1.0, 0.0]),
        RVector(["1", "0"]),
        RVector(np.array([2, 1]), {"levels": RVector(["0", "1"])}),
        RVector(np.array([1, 2]), {"levels": RVector(["1", "0"])}),
    ],
)
def test_ones_of_a_column_of_R_may_be_numbers_texts_or_levels(column):
    assert label_set.is_one(column).tolist() == [True, False]


def test_a_column_of_other_values_is_no_label():
    with pytest.raises(ValueError, match="other values than 0 and 1"):
        label_set.is_one(RVector([0.0, 2.0]))


INGREDIENTS = {
    "b.jpg": {"name": "Soup", "tastes": [{"percent": "33", "name": "Salty"}, {"percent": "0", "name": "Sweet"}]},
    "a.jpg": {"name": "Cake", "tastes": [{"percent": "17", "name": "Salty"}, {"percent": "100", "name": "Sweet"}]},
    "c.jpg": {"name": "Bread", "tastes": []},
    "d.jpg": None,
}


@pytest.fixture
def foods(text, tmp_path, monkeypatch):
    monkeypatch.setattr(food73, "ORDER", (1, 0))

    def write(pool):
        (tmp_path / "pool.pkl").write_bytes(pickle.dumps(pool))
        return [tmp_path / "pool.pkl", text(json.dumps(INGREDIENTS), "ingredients.json")]

    return write


def test_foods_with_tastes_are_in_the_order_of_the_answers(foods):
    made = food73.make(foods({"3pool": [[(1, 2), (2, 1)], [(np.int64(0), np.int64(2))]]}))
    assert made["triplets"].tolist() == [[0, 1, 2], [0, 2, 1], [1, 0, 2]]
    assert made["image_names"].tolist() == ["b.jpg", "a.jpg"]
    assert made["dish_names"].tolist() == ["Soup", "Cake"]
    assert made["taste_percent"].tolist() == [[33, 0], [17, 100]]
    assert made["taste_names"].tolist() == ["Salty", "Sweet"]


def test_a_pickle_that_could_run_code_is_refused(foods):
    with pytest.raises(pickle.UnpicklingError, match="it names pathlib"):
        food73.make(foods({"3pool": [pathlib.PurePosixPath("a")]}))


def test_the_order_of_the_foods_is_that_of_the_stored_data(data_set, tmp_path):
    stored, path = data_set("food73"), food73.SOURCE.find().with_name("ingredients.json")
    if not path.is_file():
        pytest.skip("the table of ingredients is not beside the data")
    pairs = [[] for _ in range(stored.answers.n_objects)]
    for a, b, c in stored.answers.rows.tolist():
        pairs[a].append((b, c))
    (tmp_path / "pool.pkl").write_bytes(pickle.dumps({"3pool": pairs}))
    made = food73.make([tmp_path / "pool.pkl", path])
    assert contents_checksum({name: made[name] for name in food73.SOURCE.arrays}) == food73.SOURCE.sha256
