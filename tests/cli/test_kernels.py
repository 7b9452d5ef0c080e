"""`nearer fit --model kernel`, and the other commands on model files of every kind."""

import pytest

from nearer import ComparisonKernel, OnlineKernel, OrdinalEmbedding, load_model, read
from nearer.cli.models import PARAMETERS, make_model, options_of
from nearer.registry import commands, load


@pytest.fixture(scope="module")
def kernel(nearer, europe, tmp_path_factory):
    """A kernel of Europe by `nearer fit`: the model file, and what was said."""
    model = tmp_path_factory.mktemp("kernel") / "kernel.nearer"
    options = ["--model", "kernel", "--regularization", 0.01, "--seed", 3]
    return model, nearer("fit", europe.file, *options, "-o", model)


@pytest.fixture(scope="module")
def models(europe, kernel, tmp_path_factory):
    """A model file of each kind."""
    live = tmp_path_factory.mktemp("live") / "live.nearer"
    OnlineKernel().fit(europe.answers()).save(live)
    return {OrdinalEmbedding: europe.model, ComparisonKernel: kernel[0], OnlineKernel: live}


def test_fits_a_kernel_and_says_how_far_from_the_best_it_is(kernel, europe):
    model, done = kernel
    facts = done.facts
    n_trained, n_held_out = (int(facts[what].split()[3].replace(",", "")) for what in ("training", "held out"))
    assert n_trained + n_held_out == 3000
    assert 280 < n_held_out < 320  # a tenth of the questions
    learned = load_model(model)
    assert isinstance(learned, ComparisonKernel)
    assert (learned.loss, learned.regularization, learned.random_state) == ("gnmds", 0.01, 3)
    proof = f"objective {learned.objective_:.5f}, at most {learned.gap_:.1e} above the best; converged"
    assert facts["optimum"] == proof
    assert max(map(len, done.stdout.splitlines())) <= 80 + len(str(model))
    again = ComparisonKernel(regularization=0.01, random_state=3).fit(europe.answers())
    assert (again.kernel_ == learned.kernel_).all()


def test_a_loss_without_a_proof_says_so(here, tmp_path):
    (tmp_path / "few.csv").write_text("anchor,near,far\nrome,oslo,bern\noslo,rome,bern\n")
    files = [tmp_path / "few.csv", "-o", tmp_path / "few.nearer"]
    done = here("fit", *files, "--model", "kernel", "--loss", "ckl")
    assert "optimum         not proved, as for ckl or a regularization of 0; converged\n" in done.stdout
    assert load_model(tmp_path / "few.nearer").loss == "ckl"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--dims", 2], "--dims is for --model map, rca or lmnn: --model kernel has no such option"),
        (["--solver", "lbfgs"], "--solver is for --model map"),
        (["--rank", 3], "--rank is for --model low-rank or label-ranker: --model kernel has no such option"),
        (["--early-stopping"], "--early-stopping is for --model map"),
        (["--jobs", 1], "--jobs is for --model map"),
        (["--loss", "tste"], "'tste' has no convex form over kernels: loss must be"),
        (["--loss", "no"], "unknown loss 'no'"),
        (["--model", "kernl"], "unknown model 'kernl'; the known ones are map, kernel"),
    ],
)
def test_refuses_what_does_not_concern_a_kernel_before_reading(refused, tmp_path, options, message):
    said = refused("fit", tmp_path / "no.csv", "--model", "kernel", *options, "-o", tmp_path / "x.nearer")
    assert said.startswith(f"nearer: error: {message}")


@pytest.mark.parametrize("name", commands())
def test_an_option_is_for_every_model_that_has_the_parameter(name):
    options = options_of(name)
    model = make_model(name, {"labels": "class"} if "labels" in options else {}, seed=7)
    assert type(model) is load(commands()[name])
    parameters = {"max_iter" if key == "max_epochs" else key for key in model.get_params()}
    assert {option for option in PARAMETERS if PARAMETERS[option] in parameters} == options & set(PARAMETERS)
    assert model.get_params().get("random_state", 7) == 7


def test_kernels_take_a_number_of_passes(here, tmp_path):
    (tmp_path / "few.csv").write_text("anchor,near,far\nrome,oslo,bern\noslo,rome,bern\n")
    here("fit", tmp_path / "few.csv", "--model", "kernel", "--epochs", 7, "-o", tmp_path / "few.nearer")
    assert load_model(tmp_path / "few.nearer").max_iter == 7


@pytest.mark.parametrize(
    "kind", [OrdinalEmbedding, ComparisonKernel, OnlineKernel], ids=lambda kind: kind.__name__
)
def test_score_neighbors_and_map_know_every_kind_of_model(here, refused, models, europe, tmp_path, kind):
    model, learned = models[kind], load_model(models[kind])
    assert isinstance(learned, kind)
    scored = here("score", model, europe.file).stdout
    assert f"satisfied       {100 * learned.score(read(europe.file)):.1f} % of 3,000 rows" in scored
    lines = here("neighbors", model, "Vienna", "-k", 4).stdout.splitlines()
    distances, names = learned.neighbors(["Vienna"], 4)
    wanted = [
        f"{rank}  {name}  {distance:.4g}"
        for rank, name, distance in zip("1234", names[0], distances[0], strict=True)
    ]
    assert [" ".join(line.split()) for line in lines[1:]] == [" ".join(line.split()) for line in wanted]
    everyone = here("neighbors", model, 0, "-k", 500).stdout.splitlines()
    assert len(everyone) == 67
    drawn = here("map", model, "-o", tmp_path / "map.html").stdout
    assert drawn.endswith("map.html, a map of 67 objects\n")
    page = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert ("the first two principal axes of" in page) == (kind is not OrdinalEmbedding)
    (tmp_path / "strange.csv").write_text("anchor,near,far\nVienna,Atlantis,Rome\n")
    assert "has 1 row about objects unknown to the model: Atlantis" in refused(
        "score", model, tmp_path / "strange.csv"
    )


def test_ctrl_c_keeps_the_iterations_so_far(interrupted, europe, tmp_path):
    arguments = ["fit", europe.file, "--model", "kernel", "--regularization", 0.001, "-o", "k.nearer"]
    done = interrupted(*arguments, cwd=tmp_path)
    assert done.stderr == "nearer: interrupted after 1 iteration; the model so far is in k.partial.nearer\n"
    assert [file.name for file in tmp_path.iterdir()] == ["k.partial.nearer"]
    assert load_model(tmp_path / "k.partial.nearer").n_iter_ == 1
