"""The experiments of four papers: every table and figure, rerun with one command.

``nearer papers`` lists them, ``nearer papers run sdca table2`` reruns one. Each paper is one file, which tells its
protocol from top to bottom: with the public estimators, and in plain numpy where the library has no such method.
"""

from importlib import import_module

from nearer.papers.experiment import SCALES, Experiment, Verdict

__all__ = ["PAPERS", "SCALES", "Experiment", "Verdict", "experiments"]

# By the name that is typed: the module, and the reference.
PAPERS = {
    "svrg-sbb": (
        "svrg_sbb",
        "Ma et al., Stochastic Non-convex Ordinal Embedding with Stabilized Barzilai-Borwein Step Size, AAAI 2018",
    ),
    "loreta": (
        "loreta",
        "Shalit et al., Online Learning in the Embedded Manifold of Low-rank Matrices, JMLR 2012",
    ),
    "erkle": ("erkle", "Heim et al., Efficient Online Relative Comparison Kernel Learning, SDM 2015"),
    "sdca": ("sdca", "Wu et al., Learning Relative Similarity by Stochastic Dual Coordinate Ascent, AAAI 2014"),
}


def experiments(paper: str) -> dict[str, Experiment]:
    """Return the experiments of a paper by name, in its order.

    Parameters
    ----------
    paper : str
        One of `PAPERS`.

    Returns
    -------
    dict
        From names such as ``"table2"`` to experiments.

    Examples
    --------
    >>> from nearer.papers import experiments
    >>> experiments("sdca")["table2"].data
    ('vehicle', 'vowel', 'letter', 'svmguide4', 'segment')
    """
    if paper not in PAPERS:
        raise ValueError(f"unknown paper {paper!r}; the papers are {', '.join(PAPERS)}")
    module = import_module(f"nearer.papers.{PAPERS[paper][0]}")
    return {experiment.name: experiment for experiment in module.EXPERIMENTS}
