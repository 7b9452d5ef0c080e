"""What a user waits for and what a large fit needs: import, help, a second process that fits, peak memory.

Each is measured in processes of its own. A second process finds its loops compiled by the first.
"""

import subprocess
import sys

from record import best_of, write

FIT = """
import numpy as np
from nearer import OrdinalEmbedding
random = np.random.default_rng(0)
points = random.standard_normal((100, 2))
rows = np.array([random.choice(100, 3, replace=False) for _ in range(500)])
rows = np.tile(rows, (20, 1))
OrdinalEmbedding(random_state=0).fit(rows)
"""
MEMORY = """
import resource, threading, time
import numpy as np
from nearer import Comparisons, OrdinalEmbedding

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6

random = np.random.default_rng(0)
warm = random.integers(0, 100, size=(600, 3), dtype=np.int32)
warm = warm[(warm[:, 0] != warm[:, 1]) & (warm[:, 0] != warm[:, 2]) & (warm[:, 1] != warm[:, 2])]
OrdinalEmbedding(max_iter=1).fit(Comparisons(warm))
a = random.integers(0, 10_000, size=10_000_000, dtype=np.int32)
rows = np.empty((10_000_000, 3), dtype=np.int32)
rows[:, 0] = a
rows[:, 1] = (a + 1) % 10_000
rows[:, 2] = (a + 2) % 10_000
del a
before, peak, done = resident(), 0.0, False

def watch():
    global peak
    while not done:
        peak = max(peak, resident())
        time.sleep(0.002)

watcher = threading.Thread(target=watch)
watcher.start()
begun = time.perf_counter()
OrdinalEmbedding(random_state=0, max_iter=3).fit(rows)
seconds = time.perf_counter() - begun
done = True
watcher.join()
print(peak - before, seconds)
"""


def run(*arguments: str) -> str:
    command = [sys.executable, "-W", "ignore", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    nothing = best_of(5, lambda: run("-c", "pass"))
    imported = best_of(5, lambda: run("-c", "import nearer"))
    helped = best_of(5, lambda: run("-m", "nearer", "--help"))
    run("-c", FIT)
    fitted = best_of(5, lambda: run("-c", FIT))
    peak, seconds = map(float, run("-c", MEMORY).split())
    write(
        "start_up",
        "What a user waits for, and the memory of a large fit",
        [
            {"what": "import nearer, above an empty Python", "seconds": imported - nothing, "asked": "under 0.05"},
            {"what": "nearer --help, the whole process", "seconds": helped, "asked": "under 0.5"},
            {
                "what": "a second process that imports and fits 10,000 triplets",
                "seconds": fitted,
                "asked": "under 2.5",
            },
            {
                "what": "fit of 10 million int32 triplets, MB above input and import",
                "MB": peak,
                "asked": "at most 200",
            },
            {"what": "the same fit (3 epochs at most)", "seconds": seconds},
        ],
    )


if __name__ == "__main__":
    main()
