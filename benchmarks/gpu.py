"""What a GPU can do: gradients per second, beside PyTorch's own, beside cblearn, and a whole fit of very many triplets.

`make bench-gpu`, or `python benchmarks/gpu.py 1000000000` with the number of triplets of the whole fit. Objects and
rows are drawn uniformly at random, the worst case for the caches.
"""

import sys
import time

import numpy as np
import torch

import record
from nearer import Comparisons, OrdinalEmbedding
from nearer.comparisons import ComparisonSource
from nearer.embedding.engines.torch import TorchProblem
from nearer.losses import LOSSES, as_loss

SIZES = ((1_000_000, 32, 50_000_000), (100_000, 10, 50_000_000), (10_000, 10, 10_000_000))
CHUNK = 20_000_000


def random_triplets(n: int, m: int, seed: int, points: torch.Tensor | None = None) -> np.ndarray:
    """Return m triplets of n objects, turned around where the points disagree."""
    random = torch.Generator("cuda").manual_seed(seed)
    a = torch.randint(n, (m,), generator=random, dtype=torch.int32, device="cuda")
    b = (a + torch.randint(1, n // 2, (m,), generator=random, dtype=torch.int32, device="cuda")) % n
    c = (a + torch.randint(n // 2, n, (m,), generator=random, dtype=torch.int32, device="cuda")) % n
    if points is not None:
        x = points[a.long()]
        wrong = (x - points[b.long()]).square().sum(1) > (x - points[c.long()]).square().sum(1)
        b, c = torch.where(wrong, c, b), torch.where(wrong, b, c)
    return torch.stack([a, b, c], 1).cpu().numpy()


def seconds_of(run, times: int = 5) -> float:
    """Return the shortest time of some runs, after two that compile."""

    def finished() -> None:
        run()
        torch.cuda.synchronize()

    finished()
    finished()
    return record.best_of(times, finished)


def gradient_rows() -> list[dict]:
    """Triplets per second of value and gradient: ours, PyTorch's operations, and its automatic derivatives."""
    rows = []
    for n, d, m in SIZES:
        comparisons = Comparisons(random_triplets(n, m, 0), n_objects=n)
        points = 0.3 * np.random.default_rng(0).standard_normal((n, d))
        for name in LOSSES if n > 10_000 else ("ste",):
            problem = TorchProblem(comparisons, as_loss(name, d), 0.0, 1, np.random.default_rng(0), device="cuda")
            for dtype in ("float32", "float64") if name == "ste" else ("float32",):
                x = problem.from_numpy(points.astype(dtype))
                seconds = seconds_of(lambda problem=problem, x=x: problem.value_and_gradient(x))
                row = {"n_objects": n, "d": d, "triplets": m, "loss": name, "dtype": dtype}
                rows.append(row | {"by": "nearer", "per_second": m / seconds, "seconds": seconds})
            if name == "ste":
                x = problem.from_numpy(points.astype("float32"))
                rows.append(row | others(problem, x, m, "PyTorch's operations") | {"dtype": "float32"})
                rows.append(row | others(problem, x, m, "PyTorch's autograd") | {"dtype": "float32"})
            del problem
            torch.cuda.empty_cache()
    return rows


def others(problem: TorchProblem, x: torch.Tensor, m: int, by: str) -> dict:
    """Time what does without Triton: on at most ten million rows, which is enough to fill the GPU."""
    some = min(m, 10_000_000)
    i, j, l, k = problem._columns(slice(0, some))  # noqa: E741

    def operations() -> None:
        problem.uses_triton = False
        problem._add_rows(x, torch.zeros_like(x), (i, j, l, k), None, 1.0)
        problem.uses_triton = True

    def autograd() -> None:
        y = x.clone().requires_grad_()
        near, far = (y[i] - y[j]).square().sum(1), (y[l] - y[k]).square().sum(1)
        torch.nn.functional.softplus(near - far).mean().backward()

    seconds = seconds_of(operations if by == "PyTorch's operations" else autograd, 3)
    return {"by": by, "per_second": some / seconds, "seconds": seconds * m / some}


def cblearn_rows() -> list[dict]:
    """A fit of ten million triplets of 10,000 objects: ours and cblearn's on the same GPU, at the same error."""
    n, d, m = 10_000, 10, 10_000_000
    truth = torch.randn((n, d), generator=torch.Generator("cuda").manual_seed(1), device="cuda")
    train = random_triplets(n, m, 2, truth)
    test = Comparisons(random_triplets(n, 100_000, 3, truth), n_objects=n)
    rows = []

    def row(by: str, seconds: float, model: OrdinalEmbedding, points: np.ndarray) -> None:
        model.embedding_ = points
        what = {"n_objects": n, "d": d, "triplets": m, "by": by}
        rows.append(what | {"seconds": seconds, "held_out_error": 1.0 - model.score(test)})
        print(rows[-1], flush=True)

    comparisons = Comparisons(train, n_objects=n)
    for name, parameters in {
        "nearer, as typed": {},
        "nearer, STE": {"loss": "ste", "regularization": 0.0},
    }.items():
        for attempt in ("first", "second"):  # the first one compiles
            begun = time.perf_counter()
            model = OrdinalEmbedding(d, device="cuda", dtype="float32", random_state=0, **parameters).fit(
                comparisons
            )
            seconds = time.perf_counter() - begun
            row(f"{name}, {attempt} fit", seconds, model, model.embedding_)
    try:
        from cblearn.embedding import STE
    except ImportError as error:
        print(f"cblearn is passed over: {error}")
        return rows
    for max_iter in (1,):  # a pass takes it a minute
        begun = time.perf_counter()
        peer = STE(d, backend="torch", device="cuda", max_iter=max_iter, random_state=0).fit(train)
        row(f"cblearn's STE, torch, max_iter={max_iter}", time.perf_counter() - begun, model, peer.embedding_)
    return rows


def whole_fit(m: int) -> list[dict]:
    """A million objects in ten dimensions, from a source of chunks, until 5 % of held-out triplets are wrong."""
    n, d = 1_000_000, 10
    truth = torch.randn((n, d), generator=torch.Generator("cuda").manual_seed(1), device="cuda")
    test = Comparisons(random_triplets(n, 200_000, 1, truth), n_objects=n)

    def chunks():
        for number in range(-(-m // CHUNK)):
            yield Comparisons(random_triplets(n, min(CHUNK, m - number * CHUNK), 10 + number, truth), n_objects=n)

    errors: list[dict] = []
    begun = time.perf_counter()

    def watch(entry: dict) -> bool:
        judged.embedding_ = entry["points"]
        error = 1.0 - judged.score(test)
        errors.append({"seconds": time.perf_counter() - begun, "iteration": entry["iteration"], "error": error})
        print(errors[-1], f"loss {entry['loss']:.4f}", flush=True)
        return error <= 0.05

    judged = OrdinalEmbedding(1, loss="ste", regularization=0.0, max_iter=1, tol=1.0).fit([[0, 1, 2]])
    model = OrdinalEmbedding(
        d,
        loss="ste",
        regularization=0.0,
        device="cuda",
        dtype="float32",
        random_state=0,
        callback=watch,
        max_iter=500,
    )
    source = ComparisonSource((chunks,), n_rows=m, n_columns=3, n_objects=n)
    model.fit(source)
    seconds = [entry["seconds"] for entry in errors]
    return [
        {
            "by": "nearer, STE, to 5 % held-out error",
            "n_objects": n,
            "d": d,
            "triplets": m,
            "seconds": time.perf_counter() - begun,
            "seconds_before_first_iteration": seconds[0],
            "iterations": errors[-1]["iteration"],
            "held_out_error": errors[-1]["error"],
            "seconds_per_iteration": (seconds[-1] - seconds[0]) / max(1, len(errors) - 1),
            "peak_gpu_bytes": torch.cuda.max_memory_allocated(),
        }
    ]


def main() -> None:
    gpu = {"gpu": torch.cuda.get_device_properties(0).name, "torch": torch.__version__}
    n_triplets = int(sys.argv[1]) if sys.argv[1:] else 10**8
    question = "Triplets per second of value and gradient on a GPU: ours, PyTorch's operations, and its autograd"
    record.write("gpu_gradient", question, gradient_rows(), **gpu)
    question = "Whole fits on a GPU, from comparisons in memory or a source of chunks"
    record.write("gpu_fits", question, whole_fit(n_triplets) + cblearn_rows(), **gpu)


if __name__ == "__main__":
    main()
