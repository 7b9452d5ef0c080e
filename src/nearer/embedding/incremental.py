"""Learning while answers arrive: what ``OrdinalEmbedding.partial_fit`` does with further answers.

New answers move the objects that they mention by a few local steps (AdaGrad). If the earlier answers are kept, all of
them refine the map from where it is whenever they have grown by a few percent, and the map is fitted anew, its
settings chosen again, when they have doubled. A refinement or a fit takes time in proportion to the answers, but is
due ever less often, so that the time per answer stays about the same.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from nearer.comparisons import Comparisons, coerce
from nearer.comparisons.random_state import child_generator, resumed_generator
from nearer.embedding.engines import memory_engine
from nearer.embedding.engines.cpu import CPUProblem
from nearer.embedding.fitting import average_ties, fit_map, threads_of
from nearer.embedding.init import center, random_points
from nearer.embedding.settings import DEFAULTS, SETTINGS
from nearer.embedding.solvers import LBFGS
from nearer.losses import baseline_loss
from nearer.monitor import Monitor
from nearer.parameters import is_auto

PASSES = 5  # of local steps over the new answers
FIRST_STEP = 0.25  # how far the first answer may move a new object without the earlier answers
SHARE = 0.2  # the same with them, as a share of the root mean square distance from the center
FEW_MENTIONS = 20  # up to here an object moves by local steps between two refinements
GROWTH = 0.02  # by which the answers have grown when they refine the map
REFINE_ITER, REFINE_TOL = 10, 1e-4
FIT_GROWTH = 0.25  # by which they have grown when new starts are tried
ENOUGH = 600  # rows from which settings are chosen: of fewer the choice was no better than the defaults
PRIOR_ROWS, MAX_PRIOR = 30.0, 0.3  # until then the ridge is worth this number of rows, but no more than this


@dataclass(frozen=True)
class KeptAnswers:
    """The answers so far, in the numbers of the map, and how many there were when it was last refined or fitted.

    Frozen, so that a failed call leaves the answers of a model as they were. ``parts`` are joined when they are
    needed, not for every answer.
    """

    parts: tuple[Comparisons, ...]
    n_refined: int = 0
    n_fitted: int = 0  # from new starts too
    n_chosen: int = 0  # of which settings were chosen
    has_grown: bool = True  # False for the answers of ``fit``, which model files do not hold
    n_mentions: np.ndarray | None = None  # of each object, when the map was last refined

    @classmethod
    def of_fit(cls, answers: Comparisons) -> "KeptAnswers":
        """Return the answers of a fit."""
        return cls((answers,), len(answers), len(answers), len(answers), has_grown=False)

    @cached_property
    def n_rows(self) -> int:
        """Number of comparisons."""
        return sum(map(len, self.parts))

    def extend(self, answers: Comparisons) -> "KeptAnswers":
        """Return these answers and further ones."""
        if not len(answers):
            return self
        known = self
        if not self.has_grown:  # the first call after ``fit``
            known = replace(self, parts=tuple(in_numbers(part, part.rows) for part in self.parts)).refined()
        extended = replace(known, parts=(*known.parts, answers), has_grown=True)
        vars(extended)["n_rows"] = self.n_rows + len(answers)  # the sum is known: parts may be many
        return extended

    def join(self, n_objects: int) -> "KeptAnswers":
        """Return the same answers as one part, about this number of objects."""
        joined = Comparisons.concat(self.parts) if len(self.parts) > 1 else self.parts[0]
        if joined.n_objects != n_objects:
            joined = in_numbers(joined, joined.rows, n_objects)
        return replace(self, parts=(joined,))

    def refined(self) -> "KeptAnswers":
        """Return the same answers, joined, as those that the map was refined with last."""
        (answers,) = self.parts
        n_mentions = np.bincount(answers.rows.ravel(), minlength=answers.n_objects)
        return replace(self, n_refined=len(answers), n_mentions=n_mentions)

    @property
    def refinement_due(self) -> bool:
        """Whether the answers have grown enough to refine the map."""
        return self.n_rows >= (1.0 + GROWTH) * self.n_refined

    @property
    def fit_due(self) -> bool:
        """Whether the answers have grown enough to try new starts."""
        return self.n_rows >= (1.0 + FIT_GROWTH) * self.n_fitted or self.choice_due

    @property
    def choice_due(self) -> bool:
        """Whether the answers have doubled since settings were chosen, or are now enough to choose."""
        return self.n_rows >= max(ENOUGH, 2 * self.n_chosen)

    def to_record(self) -> dict[str, Any]:
        """Return what a model file holds of them."""
        answers = self.join(max(part.n_objects for part in self.parts)).parts[0]
        columns = {"weights": answers.weights, "subjects": answers.subjects}
        if answers.n_answers < len(answers):
            columns["answers"] = answers.answers
        return {
            "rows": answers.rows,
            "n_refined": self.n_refined,
            "n_fitted": self.n_fitted,
            "n_chosen": self.n_chosen,
            **{name: column for name, column in columns.items() if column is not None},
        }

    @classmethod
    def from_record(cls, record: dict[str, Any], n_objects: int) -> "KeptAnswers":
        """Return the answers that a model file holds; ValueError or KeyError if it holds something else."""
        columns = {name: record[name] for name in ("weights", "subjects", "answers") if name in record}
        answers = Comparisons(record["rows"], n_objects=n_objects, **columns)
        n_refined, n_fitted, n_chosen = (int(record[name]) for name in ("n_refined", "n_fitted", "n_chosen"))
        before = np.bincount(answers.rows[:n_refined].ravel(), minlength=n_objects)
        return cls((answers,), n_refined, n_fitted, n_chosen, n_mentions=before)


def in_numbers(comparisons: Comparisons, rows: np.ndarray, n_objects: int | None = None) -> Comparisons:
    """Return comparisons with these rows in the numbers of a map, without names."""
    answers = comparisons.answers if comparisons.n_answers < len(comparisons) else None
    return Comparisons(
        rows,
        n_objects=n_objects or comparisons.n_objects,
        weights=comparisons.weights,
        subjects=comparisons.subjects,
        answers=answers,
    )


def learn(model: Any, comparisons: Comparisons) -> bool:
    """Fit the map anew, or move points and refine it, whatever further answers make due.

    Returns whether a new fit was interrupted by Ctrl-C.
    """
    is_new = not hasattr(model, "embedding_")
    names, n_known = (comparisons.names, 0) if is_new else (model.names_, len(model.embedding_))
    rows, names, n_objects = coerce.merge_objects(comparisons, names, n_known)
    answers = coerce.drop_zero_weights(in_numbers(comparisons, rows, n_objects))
    if is_new:
        if not len(answers):
            raise ValueError("there is nothing to learn from: no comparisons, or all weights are zero")
        model._check_init(n_objects)
        model.n_features_in_ = comparisons.shape[1]
        model._kept = KeptAnswers(())
    model.names_ = names
    n_before = getattr(model, "n_samples_seen_", 0)  # files of nearer 0.1 have no count
    model.n_samples_seen_ = n_before + len(answers)
    kept = model._kept if model.keep_answers else None
    kept = model._kept = None if kept is None else kept.extend(answers)
    fit_due = is_new or (kept is not None and kept.fit_due)
    if fit_due:
        _fit_anew(model, KeptAnswers((answers,)) if kept is None else kept, n_objects)
    else:
        _move_locally(model, answers)
        if kept is not None and kept.refinement_due:
            _refine(model, kept, n_objects)
    return fit_due and model.stop_reason_ == "interrupted"


def _fit_anew(model: Any, kept: KeptAnswers, n_objects: int) -> None:
    """Fit all answers, from new starts and from the map so far, and keep its orientation."""
    kept = kept.join(n_objects)
    settings = None if kept.choice_due else _settings_so_far(model, kept)
    random, before = resumed_generator(model.random_state, kept.n_rows), getattr(model, "embedding_", None)
    selection = getattr(model, "selection_", None)
    if before is not None:
        before, _ = _add_points(before, model.energy_, kept.parts[0], random)
    ties = () if settings is None else _ties_so_far(model, float(settings["regularization"]))
    result = fit_map(model, kept.parts[0], random, settings, before, ties=ties)
    model._set_result(result, warn=False)
    if before is not None and before.shape == model.embedding_.shape:
        rotation, _ = orthogonal_procrustes(model.embedding_, before)
        model.embedding_ = model.embedding_ @ rotation
    if kept.choice_due:
        kept = replace(kept, n_chosen=kept.n_rows)
    else:
        model.selection_ = selection
    if model.keep_answers:
        model._kept = replace(kept.refined(), n_fitted=kept.n_rows)


def _settings_so_far(model: Any, kept: KeptAnswers) -> dict[str, Any]:
    """Return the parameters; in place of "auto" what was chosen last, or defaults for few answers."""
    if kept.n_chosen:
        auto = {
            "n_components": model.embedding_.shape[1],
            "loss": model.loss_,
            "regularization": model.regularization_ * kept.n_refined / kept.n_rows,
        }
    else:
        n_components = min(DEFAULTS["n_components"], kept.parts[0].n_objects - 1)
        auto = DEFAULTS | {
            "n_components": n_components,
            "regularization": min(PRIOR_ROWS / kept.n_rows, MAX_PRIOR),
        }
    parameters = {name: getattr(model, name) for name in SETTINGS}
    return {name: auto[name] if is_auto(value) else value for name, value in parameters.items()}


def _ties_so_far(model: Any, ridge: float) -> list[dict[str, Any]]:
    """Return the settings whose maps the last choice averaged with the chosen one, at the ridge that is now due."""
    records = getattr(model, "selection_", None) or []
    averaged = [record for record in records if record.get("averaged")]
    if not averaged:
        return []
    (chosen,) = [record for record in averaged if record["chosen"]]
    others = [{name: record[name] for name in SETTINGS} for record in averaged if record is not chosen]
    share = ridge / chosen["regularization"] if chosen["regularization"] else 1.0
    known = {} if is_auto(model.loss) else {"loss": model.loss}  # records name losses of your own only
    return [tie | known | {"regularization": share * tie["regularization"]} for tie in others]


def _move_locally(model: Any, answers: Comparisons) -> None:
    """Place new objects and move those that the answers mention, by steps on these answers only.

    If all answers are kept, only objects with few of them move: the others wait for the next refinement, which is
    better than such steps.
    """
    kept, random = model._kept, child_generator(model.random_state)
    if kept is not None:
        random = resumed_generator(model.random_state, kept.n_rows)
    points, energy = _add_points(model.embedding_, model.energy_, answers, random)
    steps_energy, first_step = energy, FIRST_STEP
    if kept is not None and len(answers):
        first_step = SHARE * float(np.sqrt(np.vdot(points, points) / len(points)))
        is_settled = np.zeros(len(points), dtype=bool)
        is_settled[: len(kept.n_mentions)] = kept.n_mentions >= FEW_MENTIONS
        answers = answers[~is_settled[answers.rows].all(axis=1)]
        steps_energy = np.where(is_settled, np.inf, energy)  # their rate is 0
    if len(answers):
        problem = CPUProblem(answers, model.loss_, 0.0, 1, random)
        points = problem.adagrad_run(points, steps_energy, first_step, PASSES)
    model.embedding_, model.energy_ = points, np.where(np.isfinite(steps_energy), steps_energy, energy)


def _add_points(
    points: np.ndarray, energy: np.ndarray, answers: Comparisons, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return copies with places for new objects, and for those that are mentioned for the first time."""
    new = answers.n_objects - len(points)
    points = np.vstack([points, np.zeros((new, points.shape[1]), points.dtype)])
    energy = np.concatenate([energy, np.zeros(new)])
    unplaced = coerce.mentioned_objects(answers) & (energy == 0.0) & ~points.any(axis=1)
    unplaced[len(points) - new :] = True
    if unplaced.any():
        places = random_points(len(points), points.shape[1], str(points.dtype), random)
        points[unplaced] = places[unplaced]
    return points, energy


def _refine(model: Any, kept: KeptAnswers, n_objects: int) -> None:
    """Lower the objective of all answers from the map so far, by a bounded number of iterations."""
    kept = kept.join(n_objects)
    answers = kept.parts[0]
    if is_auto(model.regularization):
        # The ridge acts like a fixed number of extra answers, so its share falls as answers grow.
        model.regularization_ *= kept.n_refined / kept.n_rows
    loss, random = model.loss_, child_generator(model.random_state)
    monitor = Monitor(REFINE_ITER, REFINE_TOL * baseline_loss(loss))
    engine, n_jobs = memory_engine(model.device), threads_of(model, answers)
    with engine(answers, loss, model.regularization_, n_jobs, random) as problem:
        points = LBFGS().solve(problem, model.embedding_, monitor).solution
        ties = _ties_so_far(model, model.regularization_)
        if ties:
            points = average_ties(model, points, ties, answers, random, monitor, REFINE_ITER)
        model.embedding_ = center(points, coerce.mentioned_objects(answers))
        model.energy_ = problem.energies(model.embedding_)
    model._kept = kept.refined()
