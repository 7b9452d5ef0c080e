"""Files of the library that import optional packages are not searched for examples where these are not installed."""

from importlib.util import find_spec

ENGINES = "src/nearer/embedding/engines"
NEEDS = {f"{ENGINES}/torch.py": "torch", f"{ENGINES}/triton.py": "triton"}

collect_ignore = [path for path, package in NEEDS.items() if find_spec(package) is None]
