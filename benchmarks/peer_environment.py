"""Build the peers' environments beside the package: `.venv-peers`, `.venv-metric-learn` and so on.

Peers need older packages than nearer is tested with, so they live in environments of their own, and the two
sides meet only through files: npz in, JSON out. Run it with the Python that shall run the peers (3.11).
"""

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = {
    "peers": "peer-requirements.txt",
    "metric-learn": "metric-learn-requirements.txt",
    "pymanopt": "pymanopt-requirements.txt",
    "salmon": "salmon-requirements.txt",
}


def build(name: str = "peers") -> Path:
    """Create or complete an environment and return its Python."""
    environment = HERE.parent / f".venv-{name}"
    python = environment / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        venv.create(environment, with_pip=True)
    wanted = HERE / REQUIREMENTS[name]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--requirement", wanted], check=True)
    return python


if __name__ == "__main__":
    for name in REQUIREMENTS:
        print(build(name))
