"""A made-up paper of one experiment, for tests of how experiments are run."""

import sys

import pytest
import toy_experiment

from nearer import papers


@pytest.fixture
def log(tmp_path, monkeypatch):
    """The file to which the toy writes the number of each trial that it starts."""
    path = tmp_path / "log.txt"
    path.touch()
    monkeypatch.setenv("TOY_LOG", str(path))
    return path


@pytest.fixture
def toy(log, monkeypatch):
    """The experiment of the made-up paper "toy", the only paper while a test runs."""
    monkeypatch.setitem(sys.modules, "nearer.papers.toy", toy_experiment)
    for name in list(papers.PAPERS):
        monkeypatch.delitem(papers.PAPERS, name)
    monkeypatch.setitem(papers.PAPERS, "toy", ("toy", "Nobody, Of Numbers, never"))
    return toy_experiment.EXPERIMENTS[0]
