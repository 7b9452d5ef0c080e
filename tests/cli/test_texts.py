"""Models of texts: `nearer fit --text`, and the other commands on the pipeline that it saves."""

import json
import re

import numpy as np
import pytest
from sklearn.pipeline import Pipeline, make_pipeline

from extras import needs
from nearer import BilinearSimilarity, Comparisons, InformationGain, load_model, read, write
from nearer.cli.models import make_model, options_of
from nearer.cli.training_data import read_data
from nearer.features import TextFeatures
from nearer.metrics import retrieval_map_scorer
from nearer.models import save_model
from nearer.registry import commands
from nearer.simulate import comparisons_from_labels

OF_TEXTS = [name for name in commands() if "text" in options_of(name)]
OPTIONS = {"low-rank": ["--rank", 3]}
TOPICS = {
    "sea": "ship harbour sail anchor wave tide",
    "money": "bank stock bond price market trade",
    "garden": "rose tulip spade hedge lawn seed",
}
COMMON = "today people said again perhaps north south morning evening letter"


def same(found, wanted):
    assert found[0].terms_.tolist() == wanted[0].terms_.tolist()
    assert (found[1].matrix_ == wanted[1].matrix_).all()


class News:
    """Ninety short texts on three topics, as files; most words are about nothing."""

    def __init__(self, folder):
        random = np.random.default_rng(0)
        self.folder = folder
        self.labels = np.array(list(TOPICS))[np.arange(90) % 3]
        self.texts = [
            " ".join([*random.choice(TOPICS[label].split(), 2), *random.choice(COMMON.split(), 8)]) + "."
            for label in self.labels
        ]
        self.names = [f"{label}-{number}" for number, label in enumerate(self.labels)]
        self.csv, self.jsonl = folder / "news.csv", folder / "news.jsonl"
        rows = list(zip(self.names, self.texts, self.labels, strict=True))
        lines = ["name,body,topic,page", *(f'{name},"{text}",{label},7' for name, text, label in rows)]
        self.csv.write_text("\n".join(lines))
        records = [{"name": name, "body": text, "topic": str(label)} for name, text, label in rows]
        self.jsonl.write_text("\n".join(map(json.dumps, records)))
        self.rows = comparisons_from_labels(np.arange(90) % 3, 600, 0).rows
        self.answers = folder / "answers.csv"
        write(Comparisons(self.rows, names=self.names), self.answers)


@pytest.fixture(scope="session")
def news(tmp_path_factory):
    return News(tmp_path_factory.mktemp("news"))


@pytest.fixture(scope="session")
def fitted(nearer, news):
    """A bilinear similarity of texts by `nearer fit`: the model file, and what was said."""
    options = ["--model", "bilinear", "--text", "body", "--labels", "topic", "--seed", 3]
    return news.folder / "news.nearer", nearer("fit", "news.csv", *options, "-o", "news.nearer", cwd=news.folder)


def test_says_what_there_is_and_whether_learning_helped(fitted, news):
    model, done = fitted
    said = done.facts
    found = load_model(model)
    assert type(found) is Pipeline
    terms, similarity = found[0], found[1]
    assert (said["objects"], said["classes"]) == ("90", "3")
    assert said["terms"] == f"{len(terms.terms_)}; most informative: {', '.join(terms.terms_[:5])}, …"
    assert set(terms.terms_[:5]) <= set(" ".join(TOPICS.values()).split())
    assert terms.column_ == "body"
    learned = float(said["held out"].split()[3])
    distance, cosine = (
        float(re.search(rf"(\S*) by {how}", said["baselines"])[1])
        for how in ("Euclidean distance", "plain cosine")
    )
    assert said["held out"].endswith("among 9 objects that this fit was not shown")
    assert learned > distance
    assert learned >= cosine
    assert said["saved"] == "news.nearer, fitted anew on all 90 objects"
    assert max(map(len, done.stdout.splitlines())) <= 80
    # The saved pipeline is what the library gives for all texts.
    X = TextFeatures(2000).fit_transform(news.texts, news.labels)
    chosen = {name: getattr(similarity, f"{name}_") for name in ("shrinkage", "discriminant", "regularization")}
    same = BilinearSimilarity(**chosen, random_state=3).fit(X, news.labels)
    assert (same.matrix_ == similarity.matrix_).all()


def test_held_out_objects_have_no_part_in_the_choice_of_terms(here, news, tmp_path):
    text = f"{news.csv.read_text()}\n" + "\n".join(f'odd-{n},"zebra {n}",zoo,7' for n in range(12))
    (tmp_path / "news.csv").write_text(text)
    options = {"labels": "topic", "text": "body"}
    model = make_model("bilinear", options, seed=5)
    data = read_data([tmp_path / "news.csv"], options, model, read)
    train, test = data.split(0.2, seed=5)
    assert (len(train.table), len(test.table), len(data.table)) == (82, 20, 102)
    train.fit(model)
    wanted = TextFeatures(2000).fit(train.table.X, train.table.labels)
    assert (
        model[0].terms_.tolist() == wanted.terms_.tolist() != TextFeatures(2000).fit(data.table.X).terms_.tolist()
    )
    assert (model[0].idf_ == wanted.idf_).all()
    asked = ["fit", tmp_path / "news.csv", "--text", "body", "--labels", "topic", "--model", "bilinear"]
    done = here(*asked, "--held-out", 0.2, "--seed", 5, "-o", tmp_path / "m")
    score = retrieval_map_scorer(model, test.table.X, test.table.labels)
    assert done.facts["held out"].startswith(f"mean average precision {score:.3f} among 20 objects")


@pytest.mark.parametrize("name", OF_TEXTS)
def test_every_such_model_learns_from_labels_and_finds_neighbors(here, news, tmp_path, name):
    asked = ["fit", news.csv, "--text", "body", "--labels", "topic", "--model", name, *OPTIONS.get(name, [])]
    here(*asked, "-o", tmp_path / "m")
    found = load_model(tmp_path / "m")
    assert [type(step).__name__ for _, step in found.steps] == ["TextFeatures", commands()[name]]
    lines = here("neighbors", tmp_path / "m", "--features", news.csv, "money-4", "-k", 3).stdout.splitlines()
    X = found[:-1].transform(news.texts)
    values, numbers = found[-1].neighbors(None, X, 3)
    wanted = [f"{news.names[i]} {value:.4g}" for i, value in zip(numbers[4], values[4], strict=True)]
    assert [" ".join(line.split()[1:]) for line in lines[1:]] == wanted


@pytest.mark.parametrize("name", [name for name in OF_TEXTS if "comparisons" in options_of(name)])
def test_every_such_model_learns_from_answers(here, news, tmp_path, name):
    asked = ["fit", news.csv, "--text", "body", "--comparisons", news.answers, "--model", name]
    said = here(*asked, *OPTIONS.get(name, []), "-o", tmp_path / "m").facts
    terms = TextFeatures(20_000).fit(news.texts).terms_
    assert said["terms"] == f"{len(terms)}; in most texts: {', '.join(terms[:5])}, …"
    assert "% of 60 answers, 95 % interval" in said["held out"]
    assert said["saved"].endswith("fitted anew on all 600 answers")
    found = load_model(tmp_path / "m")
    assert found[0].scores_ is None
    told = here("score", tmp_path / "m", news.answers, "--features", news.csv).stdout
    share = found[-1].score_comparisons(found[:-1].transform(news.texts), news.rows)
    assert f"satisfied       {100 * share:.1f} % of 600 rows\n" in told


def test_options_of_a_low_rank_similarity(here, news, tmp_path):
    asked = ["fit", news.csv, "--text", "body", "--labels", "topic", "--model", "low-rank", "--held-out", 0]
    options = ["--rank", 4, "--solver", "pa", "--learning-rate", 0.01, "--steps", 500, "--terms", 12]
    said = here(*asked, *options, "--seed", 2, "-o", tmp_path / "m").facts
    terms, model = load_model(tmp_path / "m")
    assert said["steps"] == "500"  # two factors: no cosine, so it does not stop early
    assert len(terms.terms_) == 12
    wanted = {"rank": 4, "solver": "pa", "learning_rate": 0.01, "n_steps": 500, "random_state": 2}
    assert wanted.items() <= model.get_params().items()


def test_files_of_every_kind_are_the_same(here, fitted, news, tmp_path):
    model, _ = fitted
    wanted = here("neighbors", model, "--features", news.csv, "sea-0").stdout
    files = [news.jsonl]
    (tmp_path / "news.tsv").write_text(news.csv.read_text().replace(",", "\t"))
    files.append(tmp_path / "news.tsv")
    asked = ["--text", "body", "--labels", "topic", "--model", "bilinear", "--seed", 3, "-q"]
    for file in files:
        assert here("neighbors", model, "--features", file, "sea-0").stdout == wanted
        here("fit", file, *asked, "-o", tmp_path / "m.nearer")
        same(load_model(tmp_path / "m.nearer"), load_model(model))


def test_parquet_as_well(here, fitted, news, tmp_path):
    needs("pyarrow")
    import pyarrow
    import pyarrow.parquet

    columns = {"body": news.texts, "topic": news.labels.tolist(), "name": news.names}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "news.parquet")
    asked = ["--text", "body", "--labels", "topic", "--model", "bilinear", "--seed", 3]
    here("fit", tmp_path / "news.parquet", *asked, "-o", tmp_path / "m")
    same(load_model(tmp_path / "m"), load_model(fitted[0]))


def test_pipelines_that_were_saved_elsewhere(here, news, tmp_path):
    X = TextFeatures().fit_transform(news.texts, news.labels)
    made = make_pipeline(InformationGain(9), BilinearSimilarity("sdca", n_triplets=500, random_state=0))
    save_model(made.fit(X.toarray(), news.labels), tmp_path / "numbers.nearer")
    np.save(tmp_path / "x.npy", X.toarray())
    lines = here("neighbors", tmp_path / "numbers.nearer", "--features", tmp_path / "x.npy", 4, "-k", 1).stdout
    chosen = made[:-1].transform(X.toarray())
    assert f"{made[-1].neighbors(None, chosen, 1)[1][4, 0]} " in lines
    made = make_pipeline(TextFeatures(), BilinearSimilarity("sdca", n_triplets=500, random_state=0))
    save_model(made.fit(news.texts, news.labels), tmp_path / "texts.nearer")
    (tmp_path / "t.csv").write_text(news.csv.read_text().replace("body", "text"))
    told = here("neighbors", tmp_path / "texts.nearer", "--features", tmp_path / "t.csv", "sea-0").stdout
    assert told.startswith("most like sea-0, by similarity\n")
    save_model(make_pipeline(made[-1]), tmp_path / "one.nearer")
    np.save(tmp_path / "x.npy", made[:-1].transform(news.texts).toarray())
    assert here("neighbors", tmp_path / "one.nearer", "--features", tmp_path / "x.npy", 0, "-k", 2).stdout


def test_each_command_says_what_such_a_model_needs(refused, fitted, news, tmp_path):
    model, _ = fitted
    assert "it needs a table of the objects' features, with --features FILE" in refused(
        "neighbors", model, "sea-0"
    )
    assert "it needs a table of the objects' features" in refused("score", model, news.answers)
    (tmp_path / "other.csv").write_text("name,page\na,1\n")
    said = refused("neighbors", model, "a", "--features", tmp_path / "other.csv")
    assert said.endswith("other.csv has no column 'body'; it has 'name', 'page'\n")
    said = refused("map", model, "-o", tmp_path / "m.html")
    assert said.endswith("is a Pipeline: such a model has no objects of its own to compare or map\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--text is for --model bilinear, softmax or low-rank: --model map has no such option"),
        (
            ["--model", "itml", "--labels", "x"],
            "--text is for --model bilinear, softmax or low-rank: --model itml has no",
        ),
        (
            ["--model", "bilinear", "--labels", "x", "--rank", 3],
            "--rank is for --model low-rank or label-ranker: --model bilinear",
        ),
        (["--model", "bilinear"], "--model bilinear learns from features with --labels or --comparisons"),
        (
            ["--model", "bilinear", "--labels", "x", "--ignore", "y"],
            "--ignore is for tables of numbers: with --text all other columns are ignored",
        ),
        (
            ["--model", "low-rank", "--labels", "x", "--solver", "sdca"],
            "unknown solver 'sdca'; the known ones are 'gd', 'loreta'",
        ),
        (["--model", "low-rank", "--labels", "x", "--loss", "no"], "unknown loss 'no'"),
        (
            ["--model", "low-rank", "--labels", "x", "--learning-rate", "y"],
            "--learning-rate must be auto or a number",
        ),
        (["--model", "bilinear", "--labels", "x"], "there is no file no.csv"),
    ],
)
def test_refuses_what_does_not_go_together_before_reading(refused, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    said = refused("fit", "no.csv", "--text", "body", *options, "-o", "x.nearer")
    assert said.startswith(f"nearer: error: {message}")


def test_terms_are_of_texts(refused):
    said = refused("fit", "no.csv", "--model", "bilinear", "--labels", "x", "--terms", 9, "-o", "x.nearer")
    assert said == "nearer: error: --terms is for texts: name their column with --text COLUMN\n"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("f.csv", "words,kind\na b,x\n", "f.csv has no column 'body'; it has 'words', 'kind'"),
        ("f.csv", "body,kind\nship sea,x\nship,\n", "f.csv, line 3 has an empty cell in column 'kind'"),
        ("f.csv", "body,kind\nship,x\nsea,y\n", "no term is in at least min_df=2 of the 2 texts"),
        (
            "f.jsonl",
            '{"body": "a", "kind": 1}\n{"body": 3, "kind": 1}',
            "f.jsonl, line 2 has 3 and no text in column",
        ),
        ("f.npy", "", "cannot tell the format of f.npy: texts are read from .csv, .tsv, .txt, .jsonl"),
    ],
)
def test_says_in_a_line_what_is_wrong(refused, tmp_path, monkeypatch, file, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text(text)
    asked = ["--text", "body", "--labels", "kind", "--model", "bilinear", "-o", "m.nearer"]
    said = refused("fit", file, *asked)
    assert said.startswith(f"nearer: error: {message}")
    assert said.count("\n") == 1
    assert not (tmp_path / "m.nearer").exists()


def test_a_model_file_without_a_name_is_called_as_the_table(here, refused, news, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ["fit", news.csv, "--text", "body", "--labels", "topic", "--model", "low-rank", "--rank", 3]
    asked += ["--held-out", 0, "--steps", 100]
    made = f"{news.csv.stem}.nearer"
    assert here(*asked).facts["saved"].startswith(made)
    assert load_model(made)[-1].rank == 3
    assert f"{made} exists already" in refused(*asked)
