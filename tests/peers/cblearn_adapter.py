"""A pytest plugin under which cblearn's own tests call nearer: its functions, each by the call that replaces it."""

import sys
from types import ModuleType

import numpy as np

from nearer import Comparisons, metrics, simulate


def make_random_triplet_indices(n_objects, size=1.0, random_state=None, repeat=True, monotonic=False, make_all=0):
    n_all = n_objects * (n_objects - 1) * (n_objects - 2) // (6 if monotonic else 2)
    n = round(size * n_all) if isinstance(size, float) else size
    drawn = simulate.random_questions(n_objects, n, unique=not repeat, random_state=random_state)
    return np.sort(drawn, axis=1) if monotonic else drawn


def triplet_response(triplets, embedding, result_format=None):
    if result_format == "tensor-count":
        raise NotImplementedError("nearer has no answers as sparse tensors")
    answers = simulate.answer_questions(triplets, embedding).rows
    if result_format in (None, "list-order"):
        return answers
    yes = answers[:, 1] == np.asarray(triplets)[:, 1]
    return triplets, yes if result_format == "list-boolean" else np.where(yes, 1, -1)


def as_answers(given):
    """Answers in order, or to given questions, as Comparisons; answers alone are to questions that are all different."""
    if isinstance(given, tuple):
        return Comparisons.from_answers(*given)
    if np.ndim(given) == 1:
        return Comparisons.from_answers(np.arange(3 * len(given)).reshape(-1, 3), given)
    return Comparisons(given)


def query_error(true, predicted):
    if np.ndim(predicted) == 2 and np.asarray(predicted).dtype.kind == "f":
        return metrics.triplet_error(predicted, true)
    share, n_questions = metrics.agreement(as_answers(true), as_answers(predicted))
    if n_questions < len(np.unique(np.sort(as_answers(true).rows), axis=0)):
        raise ValueError("cblearn compares answers to the same questions")
    return 1.0 - share


def procrustes_distance(points, reference):
    return metrics.procrustes(points, reference).disparity


def triplets_from_multiselect(X, select, is_ranked=True):
    X = np.asarray(X)
    columns = np.tile(np.arange(1, select + 1), (len(X), 1)) if np.ndim(select) == 0 else select
    selected = np.take_along_axis(X, np.asarray(columns), axis=1)
    answers = Comparisons.from_multiselect(X[:, 0], X[:, 1:], selected)
    if is_ranked:
        answers = Comparisons.concat([answers, Comparisons.from_rankings(X[:, 0], selected)])
    return answers.rows


def triplets_from_oddoneout(X, select=None):
    said = {"odd": "first"} if select is None else {"odd_index": select}
    return Comparisons.from_odd_one_out(X, **said).rows


def triplets_from_mostcentral(X, select=None):
    said = {"central": "first"} if select is None else {"central_index": select}
    return Comparisons.from_most_central(X, **said).rows


MODULES = {
    "datasets": (make_random_triplet_indices, triplet_response),
    "metrics": (query_error, procrustes_distance),
    "preprocessing": (triplets_from_multiselect, triplets_from_oddoneout, triplets_from_mostcentral),
}
package = ModuleType("cblearn")
sys.modules["cblearn"] = package
for name, functions in MODULES.items():
    module = ModuleType(f"cblearn.{name}")
    for function in functions:
        setattr(module, function.__name__, function)
    setattr(package, name, module)
    sys.modules[f"cblearn.{name}"] = module
