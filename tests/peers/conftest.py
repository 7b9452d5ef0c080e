"""The adapters are plugins of the peers' own test runs, and need the peers' sources."""

collect_ignore_glob = ["*_adapter.py"]
