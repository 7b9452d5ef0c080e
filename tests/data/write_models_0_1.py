"""Write ``models-0.1/``: one small file per estimator and variant, and what nearer 0.1.0 answers with each.

Run with nearer 0.1.0 (commit 6a50715), whose parameter names these are; later ones have other names. The files
that are committed are never written again: ``test_old_model_files.py`` reads them with the nearer of the day.

    PYTHONPATH=<nearer 0.1.0>/src python tests/data/write_models_0_1.py
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import nearer  # noqa: E402
from nearer import (  # noqa: E402
    ITML,
    LEGO,
    LMNN,
    RCA,
    BilinearSimilarity,
    ComparisonKernel,
    FeatureMap,
    InformationGain,
    LabelRanker,
    LowRankSimilarity,
    OnlineKernel,
    OrdinalEmbedding,
    load_model,
    write,
)
from nearer.embedding import SVRG  # noqa: E402
from nearer.features import TextFeatures  # noqa: E402
from nearer.losses import GNMDS  # noqa: E402
from nearer.similarity import Euclidean  # noqa: E402
from nearer.simulate import comparisons_from_points  # noqa: E402
from test_old_model_files import FOLDER, LEARN_ON, NAMES, named, outputs  # noqa: E402

TEXTS = [
    "ship sea wind anchor",
    "sea ship sail wave",
    "sail the sea with wind",
    "wave tide anchor",
    "bank price market",
    "price bank trade",
    "trade at a price bond",
    "market bond trade stock",
]
TOPICS = ["sea", "sea", "sea", "sea", "money", "money", "money", "money"]


def inputs():
    """Make the data: twelve named objects with answers, 24 rows of four features in three classes, and texts."""
    random = np.random.default_rng(7)
    places = random.normal(size=(len(NAMES), 2))
    y = np.arange(24) % 3
    X = random.normal(size=(24, 4)) + 2.0 * np.eye(3, 4)[y]
    scores = X @ random.normal(size=(4, 5)) + 0.3 * random.normal(size=(24, 5))
    Y = (scores > np.quantile(scores, 0.6)).astype(int)
    return {
        "train": comparisons_from_points(places, 240, random_state=1).rows,
        "answers": comparisons_from_points(places, 12, random_state=2).rows,
        "questions": comparisons_from_points(places, 20, random_state=3).rows,
        "X": X,
        "y": y,
        "Y": Y,
        "X_new": random.normal(size=(6, 4)),
        "texts": np.array(TEXTS),
    }


def models(data):
    """Fit every estimator; settings are fixed so that little is chosen by held-out data."""
    answers, X, y, Y = named(data["train"]), data["X"], data["y"], data["Y"]
    points = X @ np.arange(8.0).reshape(4, 2)
    embed = {"regularization": 0.01, "tol": 1e-2, "random_state": 0}
    yield "embedding", OrdinalEmbedding(max_epochs=37, random_state=0).fit(answers)
    svrg = SVRG(step=0.02, epsilon=0.5)
    yield "embedding-svrg", OrdinalEmbedding(3, "ste", svrg, max_epochs=41, **embed).fit(answers)
    yield "embedding-float32", OrdinalEmbedding(loss="soe", solver="batch", dtype="float32", **embed).fit(answers)

    yield "comparison-kernel", ComparisonKernel(random_state=0, max_iter=200).fit(answers)
    yield "comparison-kernel-ste", ComparisonKernel("ste", regularization=0.05, max_iter=150).fit(answers)
    few = named(data["train"][:80])
    online = {"passes": 3, "replay": "fair", "random_state": 5}
    yield "online-kernel", OnlineKernel(GNMDS(2.0), aggressiveness=0.4, margin=1.5, **online).fit(few)
    yield "online-kernel-step", OnlineKernel("ste", step=0.3, shrinkage=0.02, **online).fit(few)
    yield "online-kernel-probability", OnlineKernel(probability=0.8, aggressiveness=None, n_objects=12).fit(few)

    drawn = {"n_triplets": 150, "random_state": 0}
    sdca = {"regularization": 0.02, "output": "last", **drawn}
    yield "bilinear-sdca", BilinearSimilarity(max_epochs=9, drawing="classes", tol=1e-2, **sdca).fit(X, y)
    yield "bilinear-sdca-psd", BilinearSimilarity(psd=True, tol=1e-2, **sdca).fit(X, y)
    oasis = {"aggressiveness": 0.23, "max_epochs": 2, **drawn}
    yield "bilinear-oasis", BilinearSimilarity("oasis", symmetric=True, **oasis).fit(X, y)
    yield "bilinear-oasis-psd", BilinearSimilarity("oasis", psd=True, **oasis).fit(X, y)

    low_rank = {"n_steps": 60, "random_state": 3}
    yield "low-rank", LowRankSimilarity(2, drawing="classes", learning_rate=0.05, **low_rank).fit(X, y)
    general = {"psd": False, "sampling": "random", "init": "gaussian"}
    yield "low-rank-general", LowRankSimilarity(2, **general, learning_rate=0.02, **low_rank).fit(X, y)
    yield "low-rank-gd", LowRankSimilarity(2, "gd", init="identity", **low_rank).fit(X, y)
    yield "low-rank-pa", LowRankSimilarity(2, "pa", learning_rate=0.1, **low_rank).fit(X, y)
    yield "low-rank-ste", LowRankSimilarity(2, loss="ste", learning_rate=0.05, **low_rank).fit(X, y)

    ranker = {"n_steps": 50, "random_state": 4}
    yield "ranker", LabelRanker(2, **ranker).fit(X, Y)
    yield "ranker-all", LabelRanker(2, sampling="all", learning_rate=0.05, init="gaussian", **ranker).fit(X, Y)
    yield "ranker-pa", LabelRanker(2, "pa", learning_rate=0.1, fit_intercept=False, **ranker).fit(X, Y)
    yield "ranker-perceptron", LabelRanker(None, "perceptron", learning_rate=0.1, **ranker).fit(X, Y)
    yield "ranker-group-perceptron", LabelRanker(None, "group-perceptron", learning_rate=0.1, **ranker).fit(X, Y)
    yield "ranker-popularity", LabelRanker(solver="popularity").fit(X, Y)
    yield "ranker-classes", LabelRanker(2, learning_rate=0.05, **ranker).fit(X, y)

    yield "lego", LEGO(0.3, max_epochs=2, n_constraints=40, random_state=0).fit(X, y)
    yield "itml", ITML(0.5, max_iter=7, tol=1e-2, n_constraints=30, random_state=0).fit(X, y)
    yield "rca", RCA(2, n_chunks=6, chunk_size=3, random_state=0).fit(X, y)
    yield "lmnn", LMNN(2, n_components=3, regularization=0.4, max_iter=15).fit(X, y)
    yield "euclidean", Euclidean().fit(X)
    yield "feature-map", FeatureMap(alpha=0.3, gamma=0.2).fit(X, points)
    yield "information-gain", InformationGain(2).fit(X, y)
    yield "text-features", TextFeatures(6, min_documents=1).fit(TEXTS, TOPICS)


def write_with_cli(data):
    """Write the files that only ``nearer fit`` writes: a table's columns, and a pipeline of texts (format 2)."""

    def fit(*arguments):
        command = [sys.executable, "-m", "nearer", "fit", *map(str, arguments), "--seed", "1"]
        subprocess.run(command, check=True, cwd=folder, env=os.environ, stdout=subprocess.DEVNULL)

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write(named(data["train"]), place / "answers.csv")
        fit("answers.csv", "--epochs", 30, "--regularization", 0.02, "-o", FOLDER / "embedding-cli.nearer")
        rows = [
            ",".join(map(repr, row)) + f",c{label}"
            for row, label in zip(data["X"].tolist(), data["y"], strict=True)
        ]
        (place / "table.csv").write_text("\n".join(["one,two,three,four,kind", *rows]))
        options = ["--triplets", 150, "--regularization", 0.05, "-o", FOLDER / "bilinear-cli.nearer"]
        fit("table.csv", "--model", "bilinear", "--labels", "kind", *options)
        lines = [f'"{text}",{topic}' for text, topic in zip(TEXTS * 2, TOPICS * 2, strict=True)]
        (place / "docs.csv").write_text("\n".join(["body,topic", *lines]))
        options = ["--rank", 2, "--steps", 60, "--terms", 8, "-o", FOLDER / "pipeline-cli.nearer"]
        fit("docs.csv", "--text", "body", "--labels", "topic", "--model", "low-rank", *options)


def main() -> None:
    """Write the files, and the inputs and outputs beside them."""
    if nearer.__version__ != "0.1.0":
        sys.exit(f"these are the files of nearer 0.1.0, and this is {nearer.__version__}")
    FOLDER.mkdir(exist_ok=True)
    expected = inputs()
    for name, model in models(expected):
        model.save(FOLDER / f"{name}.nearer")
    write_with_cli(expected)
    for path in sorted(FOLDER.glob("*.nearer")):
        name, model = path.stem, load_model(path)
        expected |= {f"{name}/{key}": value for key, value in outputs(name, model, expected).items()}
        if name in LEARN_ON:
            LEARN_ON[name](model, expected)
            expected |= {f"{name}/on/{key}": value for key, value in outputs(name, model, expected).items()}
    np.savez_compressed(FOLDER / "expected.npz", **expected)


if __name__ == "__main__":
    main()
