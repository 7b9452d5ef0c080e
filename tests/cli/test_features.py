"""Models of features: `nearer fit --labels` and `--comparisons`, and the other commands on such a model."""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from extras import needs
from nearer import RCA, BilinearSimilarity, Comparisons, SoftmaxSimilarity, load_model, write
from nearer.cli.models import options_of
from nearer.cli.training_data import Labeled
from nearer.formats import read_features
from nearer.metrics import retrieval_map_scorer
from nearer.registry import FEATURES, REGISTRY, commands
from nearer.simulate import comparisons_from_labels

MODELS = [name for name in commands() if REGISTRY[commands()[name]].section == FEATURES]
OPTIONS = {"low-rank": ["--rank", "3"]}  # of four features
TAUGHT = [name for name in MODELS if "comparisons" in options_of(name)]
COLUMNS = ("heel", "sole", "shaft", "price")


class Shoes:
    """Ninety shoes of three kinds, as files: two features tell the kinds apart, two are louder and do not."""

    def __init__(self, folder):
        random = np.random.default_rng(0)
        self.folder = folder
        self.y = np.arange(90) % 3
        self.labels = np.array(["pump", "boot", "mule"])[self.y]
        told = np.array([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]])[self.y] + 0.3 * random.normal(size=(90, 2))
        self.X = np.column_stack([told, 2.0 * random.normal(size=(90, 2))])[:, [2, 0, 3, 1]]
        self.names = [f"{kind}-{number}" for number, kind in enumerate(self.labels)]
        self.csv = self.table("shoes.csv", kind=self.labels)
        self.plain = self.table("plain.csv")
        np.savez(folder / "shoes.npz", X=self.X, y=self.y)
        rows = comparisons_from_labels(self.y, 400, 0).rows
        self.rows = rows
        self.numbered, self.answers = folder / "numbered.csv", folder / "answers.csv"
        write(Comparisons(rows), self.numbered)
        write(Comparisons(rows, names=self.names), self.answers)

    def table(self, file, order=(0, 1, 2, 3), names=None, **more):
        columns = {"name": self.names if names is None else names}
        columns |= {COLUMNS[place]: self.X[:, place].tolist() for place in order}
        columns |= {header: list(cells) for header, cells in more.items()}
        lines = [columns, *zip(*columns.values(), strict=True)]
        (self.folder / file).write_text("".join(",".join(map(str, line)) + "\n" for line in lines))
        return self.folder / file


@pytest.fixture(scope="session")
def shoes(tmp_path_factory):
    return Shoes(tmp_path_factory.mktemp("shoes"))


@pytest.fixture(scope="session")
def fitted(nearer, shoes):
    """A bilinear similarity by `nearer fit`: the model file, and what was said."""
    model = shoes.folder / "shoes.nearer"
    options = ["--model", "bilinear", "--labels", "kind", "--seed", 3]
    return model, nearer("fit", "shoes.csv", *options, "-o", "shoes.nearer", cwd=shoes.folder)


def test_says_what_there_is_and_whether_learning_helped(fitted, shoes):
    model, done = fitted
    said = done.facts
    assert (said["objects"], said["features"], said["classes"]) == ("90", "4", "3")
    learned = float(said["held out"].split()[3])
    assert said["held out"].endswith("among 9 objects that this fit was not shown")
    told = re.fullmatch(
        r"(.*) by Euclidean distance, (.*) by plain cosine, (.*) by cosine after LDA", said["baselines"]
    )
    distance, cosine, lda = map(float, told.groups())
    assert learned > max(distance, cosine) + 0.2
    assert learned >= lda
    found = load_model(model)
    assert said["shrinkage"] == f"{found.shrinkage_:.3g}, chosen on the held-out fit"
    assert said["regularization"] == f"{found.regularization_:.3g}, chosen on the held-out fit"
    assert said["optimum"] == f"objective at most {found.gap_:.1e} above the best; converged"
    assert said["saved"] == "shoes.nearer, fitted anew on all 90 objects"
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "feature names" not in done.stderr
    # The saved model is what the library gives for all objects, and knows their features by name.
    chosen = {name: getattr(found, f"{name}_") for name in ("shrinkage", "discriminant", "regularization")}
    same = BilinearSimilarity(**chosen, random_state=3).fit(shoes.X, shoes.labels)
    assert (same.matrix_ == found.matrix_).all()
    assert found.feature_names_in_.tolist() == list(COLUMNS)


def test_the_held_out_precision_is_that_of_objects_of_each_class_that_were_not_learned(here, shoes, tmp_path):
    given = Labeled(read_features(shoes.csv, labels="kind"))
    train, test = given.split(0.2, seed=5)
    assert np.unique(test.table.labels, return_counts=True)[1].tolist() == [6, 6, 6]
    assert len(train.table) == 72
    assert not {tuple(row) for row in train.table.X} & {tuple(row) for row in test.table.X}
    done = here(
        "fit",
        shoes.csv,
        "--model",
        "rca",
        "--labels",
        "kind",
        "--held-out",
        0.2,
        "--seed",
        5,
        "-o",
        tmp_path / "m",
    )
    trial = RCA(random_state=5).fit(train.table.X, train.table.labels)
    wanted = retrieval_map_scorer(trial, test.table.X, test.table.labels)
    assert done.facts["held out"].startswith(f"mean average precision {wanted:.3f} among 18 objects")


@pytest.mark.parametrize("name", MODELS)
def test_every_model_learns_from_labels_and_finds_neighbors(here, shoes, tmp_path, name):
    model = tmp_path / "m.nearer"
    done = here("fit", shoes.csv, "--model", name, *OPTIONS.get(name, []), "--labels", "kind", "-o", model)
    assert "fitted anew on all 90 objects" in done.stdout
    learned = load_model(model)
    assert type(learned).__name__ == commands()[name]
    assert learned.feature_names_in_.tolist() == list(COLUMNS)
    done = here("neighbors", model, "--features", shoes.csv, "boot-4", "-k", 3)
    assert done.stderr == f"nearer: left out of {shoes.csv}, as the model was fitted without: kind\n"
    lines = done.stdout.splitlines()
    del learned.feature_names_in_
    values, numbers = learned.neighbors(None, shoes.X, 3)
    wanted = [f"{shoes.names[i]} {value:.4g}" for i, value in zip(numbers[4], values[4], strict=True)]
    assert [" ".join(line.split()[1:]) for line in lines[1:]] == wanted
    similar = name in ("bilinear", "softmax", "low-rank")
    heading = "most like boot-4, by similarity" if similar else "nearest to boot-4, by distance"
    assert lines[0] == heading


@pytest.mark.parametrize("name", TAUGHT)
@pytest.mark.parametrize("answers", ["answers.csv", "numbered.csv"])
def test_models_learn_from_answers_by_name_and_by_row(here, shoes, tmp_path, name, answers):
    model, files = tmp_path / "m.nearer", [shoes.plain, "--comparisons", shoes.folder / answers]
    said = here("fit", *files, "--model", name, *OPTIONS.get(name, []), "-o", model).facts
    assert (said["objects"], said["features"], said["answers"]) == ("90", "4", "400")
    assert said["training"].endswith("% of 360 answers")
    assert "% of 40 answers, 95 % interval" in said["held out"]
    assert said["plain"].endswith("% of 40 answers by Euclidean distance")
    assert said["saved"].endswith("fitted anew on all 400 answers")
    learned = load_model(model)
    del learned.feature_names_in_
    told = here("score", model, shoes.folder / answers, "--features", shoes.plain).stdout
    share = learned.score_comparisons(shoes.X, shoes.rows)
    assert f"satisfied       {100 * share:.1f} % of 400 rows\n" in told
    assert "90 in the answers, 0 of them unknown to the features" in told
    assert ("matched         by number" in told) == (answers == "numbered.csv")


def test_names_that_are_numbers_are_names(here, shoes, tmp_path):
    turned = [f"{89 - row:03}" for row in range(90)]
    table = shoes.table("ids.csv", names=turned)
    write(Comparisons(89 - shoes.rows), tmp_path / "ids.csv")
    for features, answers, file in [(table, tmp_path / "ids.csv", "a"), (shoes.plain, shoes.numbered, "b")]:
        here("fit", features, "--comparisons", answers, "--model", "bilinear", "-o", tmp_path / file)
    assert (load_model(tmp_path / "a").matrix_ == load_model(tmp_path / "b").matrix_).all()
    told = here("neighbors", tmp_path / "a", "--features", table, "007", "-k", 1).stdout
    assert told.startswith("most like 007, by similarity\n")


def test_arrays_and_sparse_features(here, refused, shoes, tmp_path):
    here("fit", shoes.folder / "shoes.npz", "--labels", "y", "--model", "lmnn", "-o", tmp_path / "m")
    lines = here("neighbors", tmp_path / "m", "--features", shoes.folder / "shoes.npz", 4).stdout.splitlines()
    assert lines[0] == "nearest to 4, by distance"
    assert len(lines) == 6
    sparse = csr_array(np.where(np.abs(shoes.X) > 0.5, shoes.X, 0.0))
    save_npz(tmp_path / "sparse.npz", sparse)
    given = [tmp_path / "sparse.npz", "--comparisons", shoes.numbered, "-o", tmp_path / "s"]
    here("fit", *given, "--model", "bilinear", "--solver", "oasis")
    assert (
        "% of 400 rows"
        in here("score", tmp_path / "s", shoes.numbered, "--features", tmp_path / "sparse.npz").stdout
    )
    assert here("neighbors", tmp_path / "s", "--features", tmp_path / "sparse.npz", 4).stdout.startswith(
        "most like 4"
    )
    assert "sparse.npz holds sparse features; ITML takes dense ones only" in refused(
        "fit", *given, "--model", "itml"
    )
    said = refused("neighbors", tmp_path / "m", "--features", tmp_path / "sparse.npz", 4)
    assert "sparse.npz holds sparse features; LMNN takes dense ones only" in said


def test_parquet_as_well(here, shoes, tmp_path):
    needs("pyarrow")
    import pyarrow
    import pyarrow.parquet

    columns = {header: shoes.X[:, place] for place, header in enumerate(COLUMNS)}
    columns |= {"class": shoes.labels.tolist(), "name": shoes.names}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "shoes.parquet")
    here("fit", tmp_path / "shoes.parquet", "--labels", "class", "--model", "rca", "-o", tmp_path / "m")
    found = [
        here("neighbors", tmp_path / "m", "--features", file, "boot-4").stdout
        for file in (tmp_path / "shoes.parquet", shoes.plain)
    ]
    assert found[0] == found[1]


def test_options_of_a_bilinear_similarity(here, shoes, tmp_path):
    given = [shoes.csv, "--labels", "kind", "--model", "bilinear", "-o", tmp_path / "m", "--quiet"]
    options = ["--regularization", 0.1, "--triplets", 2000, "--psd", "--epochs", 500, "--held-out", 0, "--seed", 4]
    said = here("fit", *given, *options).facts
    assert (said["regularization"], said["held out"]) == ("0.1", "none, as asked")
    assert said["saved"].endswith("fitted on all 90 objects")
    wanted = {"regularization": 0.1, "n_triplets": 2000, "psd": True, "max_iter": 500, "random_state": 4}
    assert wanted.items() <= load_model(tmp_path / "m").get_params().items()
    said = here("fit", *given, "--solver", "oasis").facts
    assert load_model(tmp_path / "m").solver == "oasis"
    assert not {"regularization", "optimum"} & set(said)


def test_a_similarity_of_class_probabilities(here, refused, shoes, tmp_path):
    asked = ["fit", shoes.csv, "--labels", "kind", "--model", "softmax", "-o", tmp_path / "m", "--seed", 4]
    done = here(*asked, "--explain")
    found = load_model(tmp_path / "m")
    said = done.facts
    assert said["held out"].endswith("among 9 objects that this fit was not shown")
    assert said["regularization"] == f"{found.regularization_:.3g}, chosen on the held-out fit"
    assert said["weight"] == f"{found.weight_:.3g}, chosen on the held-out fit"
    assert said["output"] == f"{found.output_}, chosen on the held-out fit"
    assert re.search("shrinkage +discriminant +regularization +output +weight +error", done.stdout)
    # The saved model is what the library gives for all objects, with the settings of the held-out fit.
    settings = {
        name: getattr(found, f"{name}_")
        for name in ("regularization", "output", "weight", "shrinkage", "discriminant")
    }
    same = SoftmaxSimilarity(**settings, random_state=4).fit(shoes.X, shoes.labels)
    np.testing.assert_array_equal(found.similarity(shoes.X, shoes.X), same.similarity(shoes.X, shoes.X))
    assert found.feature_names_in_.tolist() == list(COLUMNS)
    here(*asked, "--regularization", 0.5, "--epochs", 77, "--seconds", 100, "--held-out", 0)
    wanted = {"regularization": 0.5, "max_iter": 77, "max_seconds": 100.0, "weight": "auto"}
    assert wanted.items() <= load_model(tmp_path / "m").get_params().items()
    told = refused("fit", shoes.csv, "--model", "softmax", "--comparisons", shoes.answers, "-o", tmp_path / "n")
    assert "--comparisons is for --model bilinear, low-rank, lego or itml: --model softmax has no such" in told
    help_text = " ".join(here("fit", "--help").stdout.split())
    assert "nearer fit shoes.csv --model softmax --labels kind" in help_text
    assert "class probabilities (softmax" in re.sub("[│ ]+", " ", help_text)


def test_of_few_objects_none_are_held_out(here, tmp_path):
    (tmp_path / "few.csv").write_text("x,y,z\n0,1,a\n0,2,a\n5,1,b\n5,2,b\n5,4,b\n")
    done = here("fit", tmp_path / "few.csv", "--labels", "z", "--model", "lego", "-o", tmp_path / "m")
    assert done.facts["held out"] == "none: 5 objects in 2 classes are too few"


def test_features_in_another_order_are_matched_by_their_headers(here, refused, fitted, shoes):
    model, _ = fitted
    turned = shoes.table("turned.csv", order=(2, 0, 3, 1), colour=range(90))
    for command in (["neighbors", model, "boot-4"], ["score", model, shoes.answers]):
        wanted = here(*command, "--features", shoes.plain)
        found = here(*command, "--features", turned)
        assert found.stdout == wanted.stdout
        assert wanted.stderr == ""
        assert found.stderr == f"nearer: left out of {turned}, as the model was fitted without: colour\n"
    less = shoes.table("less.csv", order=(2, 0))
    said = refused("neighbors", model, "boot-4", "--features", less)
    assert said == f"nearer: error: {less} has no columns 'sole', 'price'; it has 'name', 'shaft', 'heel'\n"
    np.save(shoes.folder / "more.npy", np.ones((3, 5)))
    said = refused("neighbors", model, 0, "--features", shoes.folder / "more.npy")
    assert said.endswith("more.npy has 5 features, and the model was fitted with 4\n")


def test_neighbors_by_name_and_number_and_of_objects_never_seen(here, refused, fitted, shoes):
    model, _ = fitted
    (shoes.folder / "new.csv").write_text("id,heel,sole,shaft,price\nclog,1,0,1,0\nsock,0,1,0,1\n")
    new = ["--features", shoes.folder / "new.csv", "--names", "id"]
    lines = here("neighbors", model, "sock", *new, "-k", 9).stdout.splitlines()
    assert [line.split()[:-1] for line in lines[1:]] == [["1", "clog"]]
    assert here("neighbors", model, 0, *new).stdout.startswith("most like clog, by similarity\n")
    said = refused("neighbors", model, "sok", *new)
    assert said.endswith("new.csv has no object called 'sok'; did you mean sock?\n")
    said = refused("neighbors", model, 2, *new[:2])
    assert "new.csv has no object called '2'; its 2 objects are numbered 0 to 1\n" in said


def test_score_counts_objects_that_have_no_features(here, refused, fitted, shoes, tmp_path):
    model, _ = fitted
    (tmp_path / "more.csv").write_text("anchor,near,far\npump-0,pump-3,boot-1\npump-0,wellington,boot-1\n")
    asked = ("score", model, tmp_path / "more.csv", "--features", shoes.plain)
    assert "has 1 row about objects unknown to the features: wellington" in refused(*asked)
    told = here(*asked, "--unknown", "skip").stdout
    assert "% of 1 row\n" in told
    assert "wellington; 1 row about them left out of the score" in told
    said = refused("score", model, tmp_path / "more.csv", "--features", shoes.folder / "shoes.npz")
    assert "more.csv names its objects and" in said
    assert "shoes.npz has no names: they cannot be matched" in said


def test_each_command_says_what_such_a_model_needs(refused, fitted, europe, shoes, tmp_path):
    model, _ = fitted
    needs = "compares objects by their features and has none of its own: it needs a table of the objects' features"
    assert needs in refused("neighbors", model, "boot-4")
    assert needs in refused("score", model, shoes.answers)
    said = refused("map", model, "-o", tmp_path / "m.html")
    reason = "such a model has no objects of its own to compare or map"
    assert said == f"nearer: error: {model} is a BilinearSimilarity: {reason}\n"
    for command in (["neighbors", europe.model, "Vienna"], ["score", europe.model, europe.file]):
        for option in (["--features", shoes.csv], ["--names", "name"]):
            said = refused(*command, *option)
            assert (
                said
                == f"nearer: error: {option[0]} is for models of features: {europe.model} has objects of its own\n"
            )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--labels", "kind"],
            "--labels is for --model bilinear, softmax, low-rank, lego, itml, rca, lmnn or label-ranker: --model map",
        ),
        (
            ["--comparisons", "a.csv"],
            "--comparisons is for --model bilinear, low-rank, lego or itml: --model map has no such",
        ),
        (
            ["--names", "id"],
            "--names is for --model bilinear, softmax, low-rank, lego, itml, rca, lmnn or label-ranker: --model map",
        ),
        (["--psd"], "--psd is for --model bilinear or low-rank: --model map has no such option"),
        (["--model", "kernel", "--triplets", 9], "--triplets is for --model bilinear: --model kernel has no such"),
        (
            ["--model", "rca", "--comparisons", "a.csv"],
            "--comparisons is for --model bilinear, low-rank, lego or itml: --model",
        ),
        (
            ["--model", "itml", "--loss", "ste"],
            "--loss is for --model map, kernel or low-rank: --model itml has no such option",
        ),
        (
            ["--model", "itml", "--regularization", 1],
            "--regularization is for --model map, kernel, bilinear, softmax or lmnn",
        ),
        (
            ["--model", "bilinear"],
            "--model bilinear learns from features with --labels or --comparisons, and neither",
        ),
        (["--model", "lmnn"], "--model lmnn learns from features with --labels, and that is not given"),
        (
            ["--model", "lego", "--labels", "kind", "--comparisons", "a.csv"],
            "--model lego learns from features with --labels or --comparisons, and both are given",
        ),
        (
            ["--model", "bilinear", "--labels", "kind", "--solver", "sgd"],
            "--solver must be 'lbfgs', 'sdca', 'oasis' or an object with the method solve; got 'sgd'",
        ),
        (["--model", "bilinear", "--labels", "kind"], "there is no file no.csv"),
        (
            ["--model", "bilinear", "--labels", "kind", "x.csv"],
            "one table of features is wanted; got 2 files: no.csv",
        ),
    ],
)
def test_refuses_what_does_not_concern_the_model_before_reading(refused, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    assert refused("fit", "no.csv", *options, "-o", "x.nearer").startswith(f"nearer: error: {message}")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("x,kind\n1,a\n2,b\n", ["--labels", "sort"], "f.csv has no column 'sort'; it has 'x', 'kind'"),
        (
            "x,z,kind\n1,2,a\n2,tall,b\n",
            ["--labels", "kind"],
            "f.csv, line 3 has 'tall' in column 'z', where a finite",
        ),
        (
            "x,kind\n1,a\n,b\n",
            ["--labels", "kind"],
            "f.csv, line 3 has an empty cell in column 'x', where a finite",
        ),
        ("x,kind\n1,a\nnan,b\n", ["--labels", "kind"], "f.csv, line 3 has 'nan' in column 'x', where a finite"),
        ("x,kind\n1,a\n2,\n", ["--labels", "kind"], "f.csv, line 3 has an empty cell in column 'kind'"),
        ("x,id\n1,a\n2,b\n", ["--labels", "x", "--names", "no"], "f.csv has no column 'no'"),
        ("x\n1\n2\n", ["--comparisons", "a.csv"], "a.csv is about objects that f.csv does not have: 2"),
        (
            "name,x\n0,1\n1,1\n7,2\n",
            ["--comparisons", "a.csv"],
            "a.csv is about objects that f.csv does not have: 2",
        ),
        (
            "name,x\na,1\nb,2\n",
            ["--comparisons", "names.csv"],
            "names.csv is about objects that f.csv does not have: c",
        ),
        ("x\n1\n2\n3\n", ["--comparisons", "names.csv"], "names.csv names its objects and f.csv has no names"),
        ("x\n1\n2\n3\n4\n", ["--comparisons", "four.csv", "--solver", "sdca"], "this learner takes triplets"),
    ],
)
def test_says_in_a_line_what_is_wrong_and_writes_nothing(refused, tmp_path, monkeypatch, text, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.csv").write_text(text)
    (tmp_path / "a.csv").write_text("anchor,near,far\n0,1,2\n")
    (tmp_path / "names.csv").write_text("anchor,near,far\na,b,c\n")
    (tmp_path / "four.csv").write_text("i,j,l,k\n0,1,2,3\n")
    said = refused("fit", "f.csv", "--model", "bilinear", *options, "-o", "m.nearer")
    assert said.startswith(f"nearer: error: {message}")
    assert said.count("\n") == 1
    assert not (tmp_path / "m.nearer").exists()
    assert "it is an input" in refused(
        "fit", "f.csv", "--model", "bilinear", "--comparisons", "a.csv", "-o", "a.csv"
    )


@pytest.mark.parametrize("name", MODELS)
def test_ctrl_c_keeps_what_can_be_kept_and_the_old_model(interrupted_here, shoes, tmp_path, monkeypatch, name):
    (tmp_path / "m.nearer").write_bytes(b"old")
    more = {"bilinear": ["--regularization", "1e-6"], "lego": ["--epochs", "3"]}
    options = more.get(name, OPTIONS.get(name, []))
    arguments = ["fit", shoes.csv, "--model", name, "--labels", "kind", *options, "-q", "-o", "m.nearer"]
    monkeypatch.chdir(tmp_path)
    done = interrupted_here(*arguments)
    assert (tmp_path / "m.nearer").read_bytes() == b"old"
    counts = dict.fromkeys(("bilinear", "softmax", "lmnn"), " after 1 iteration")
    # The first record of the others is of the first pass, not of the start.
    counts |= dict.fromkeys(("lego", "itml", "low-rank"), " after 2 iterations")
    if name in counts:
        assert done.stderr == f"nearer: interrupted{counts[name]}; the model so far is in m.partial.nearer\n"
        partial = load_model(tmp_path / "m.partial.nearer")
        assert partial.feature_names_in_.tolist() == list(COLUMNS)
        assert getattr(partial, "n_iter_", 1) == (2 if name in ("lego", "itml", "low-rank") else 1)
    else:
        assert done.stderr == "\nnearer: interrupted\n"
        assert [file.name for file in tmp_path.iterdir()] == ["m.nearer"]


def test_early_stopping_is_on_off_or_left_to_the_model(here, shoes, tmp_path):
    base = [
        "fit",
        shoes.csv,
        "--model",
        "low-rank",
        "--rank",
        2,
        "--steps",
        300,
        "--labels",
        "kind",
        "--held-out",
        0,
    ]
    for flags, expected in (([], "auto"), (["--early-stopping"], True), (["--no-early-stopping"], False)):
        here(*base, *flags, "-o", tmp_path / "m")
        assert load_model(tmp_path / "m").early_stopping == expected


def test_columns_that_are_no_features_are_ignored(here, shoes, tmp_path):
    options = ["--model", "rca", "--labels", "kind"]
    with_price = here("fit", shoes.folder / "shoes.csv", *options, "-o", tmp_path / "a.nearer")
    without = here("fit", shoes.folder / "shoes.csv", *options, "--ignore", "price", "-o", tmp_path / "b.nearer")
    assert with_price.facts["features"] == "4"
    assert without.facts["features"] == "3"
    compared = ["--model", "lego", "--comparisons", shoes.answers, "--ignore", "kind"]
    done = here("fit", shoes.folder / "shoes.csv", *compared, "-o", tmp_path / "c.nearer")
    assert done.facts["features"] == "4"
    unknown = here("fit", shoes.folder / "shoes.csv", *options, "--ignore", "colour", "-o", tmp_path / "d", code=2)
    assert "shoes.csv has no column 'colour'" in unknown.stderr


def test_parameters_are_checked_before_the_file_is_read(here, shoes, tmp_path):
    options = ["--model", "bilinear", "--labels", "kind", "--regularization", "0"]
    done = here("fit", shoes.folder / "shoes.csv", *options, "-o", tmp_path / "e.nearer", code=2)
    assert done.stdout == ""
    assert "regularization must be 'auto', a number > 0 or infinity; got 0.0" in done.stderr


def test_columns_of_uneven_spread_are_worth_a_word(here, shoes, tmp_path):
    shoes.table("uneven.csv", kind=shoes.labels, weight=1e6 * np.arange(90))
    done = here(
        "fit", shoes.folder / "uneven.csv", "--model", "lego", "--labels", "kind", "-o", tmp_path / "f.nearer"
    )
    assert done.facts["spread"].startswith("columns differ ")
