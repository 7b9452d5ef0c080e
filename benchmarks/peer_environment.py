"""Build the peers' environment, `.venv-peers` beside the package, from the pins in peer-requirements.txt.

Peers need older packages than nearer is tested with, so they live in an environment of their own, and the two
sides meet only through files: npz in, JSON out. Run it with the Python that shall run the peers (3.11).
"""

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE.parent / ".venv-peers"
REQUIREMENTS = HERE / "peer-requirements.txt"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def build() -> Path:
    """Create or complete the environment and return its Python."""
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS], check=True)
    return PYTHON


if __name__ == "__main__":
    print(build())
