"""Write ``model-format-1.nearer``, the file that keeps today's format readable for ever.

Run by hand when the format number changes; the file is named after the number. A file that was once
committed is never written again.

    python tests/data/write_model_fixture.py
"""

from pathlib import Path

import numpy as np

from nearer import Comparisons, OrdinalEmbedding
from nearer.losses import TSTE
from nearer.models import FORMAT
from nearer.simulate import all_triplets

NAMES = ["Vienna", "Rome", "Paris", "Tromsø", "</script>", "東京"]
POINTS = np.array([[0.0, 0.0], [0.0, -1.0], [-2.0, 0.0], [0.0, 3.0], [1.0, 1.0], [5.0, 0.5]])


def main() -> None:
    """Fit six points and write them beside this script."""
    comparisons = Comparisons(all_triplets(POINTS).rows, n_objects=len(NAMES), names=NAMES)
    model = OrdinalEmbedding(loss=TSTE(alpha=2.0), max_epochs=50, random_state=0).fit(comparisons)
    model.save(Path(__file__).with_name(f"model-format-{FORMAT}.nearer"))


if __name__ == "__main__":
    main()
