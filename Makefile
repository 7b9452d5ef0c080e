# Every target sets itself up. Needs Python 3.11 or newer and make; everything else goes into .venv.
#
#   PYTHON=…       the Python to build the environment with; by default the first of the usual names that will do
#   CONSTRAINTS=…  a file of pinned versions for pip, such as constraints.txt
#   WORKERS=…      processes of the suite: by default one per core, up to 8; 0 runs it in a single process
#   TEST_EXTRAS=…  the extras that the suite runs with: test, or test,gpu with PyTorch (3 GB)
#   PYTEST_ARGS=…  further arguments for pytest, such as PYTEST_ARGS="-k jit -x"
#
# All paths are relative and tools are started through the environment's Python, so that a folder with blanks
# in its name is as good as any.

PYTHON ?=
CONSTRAINTS ?=
WORKERS ?= auto
TEST_EXTRAS ?= test
PYTEST_ARGS ?=

VENV := .venv
LOWEST := .venv-lowest
PY := $(VENV)/bin/python

# The tests of a file share compiled loops and fixtures, so a file stays in one process. The processes share what they
# compile through the cache on disk.
PYTEST := pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile

# Names to look for, what to ask of them, and how to call it.
NAMES := python3 python3.14 python3.13 python3.12 python3.11 python
GOOD := sys.version_info >= (3, 11)
WANTED := Python 3.11 or newer

.DEFAULT_GOAL := help
.PHONY: help demo test venv check format bench bench-gpu docs lowest clean
.NOTPARALLEL:

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1 /p' Makefile | while read -r name what; do printf '  make %-10s %s\n' "$$name" "$$what"; done

demo: $(VENV)/.for-demo  ## the map of Europe from answers alone: leaves europe.html and europe.png
	$(PY) -m nearer demo

test: $(VENV)/.for-test  ## the whole suite, with the examples of docstrings, README and documentation
	$(PY) -m $(PYTEST) $(PYTEST_ARGS)

venv: $(VENV)/.for-test  ## build .venv: the package, editable, and everything the tests need

check: $(VENV)/.for-check  ## style, types, docstrings, and who may import whom
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command as run; run()'
	$(PY) -m numpydoc lint $$(find src/nearer -name '*.py')

format: $(VENV)/.for-check  ## format the code
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench-gpu: $(VENV)/.for-gpu  ## measure on this machine's GPU, beside PyTorch's own gradients
	$(PY) benchmarks/gpu.py

bench: $(VENV)/.for-test  ## measure against peers; the records go to docs/benchmarks/records
	$(PY) benchmarks/run.py

docs: $(VENV)/.for-docs  ## build the documentation in docs/_build/html; a warning is an error
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

lowest: $(LOWEST)/.for-test  ## the suite at the lowest supported versions
	$(LOWEST)/bin/python -m $(PYTEST) $(PYTEST_ARGS)

clean:  ## remove environments and everything built
	rm -rf $(VENV) $(LOWEST) build dist docs/_build docs/gallery docs/api/generated docs/api_registry.rst docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis src/*.egg-info
	find src tests docs benchmarks -name __pycache__ -prune -exec rm -rf {} +

# Environments. A stamp says for what an environment was filled; it is stale when pyproject.toml is newer.

$(VENV)/.for-demo: EXTRAS := maps
$(VENV)/.for-test: EXTRAS := $(TEST_EXTRAS)
$(VENV)/.for-gpu: EXTRAS := test,gpu
$(VENV)/.for-check: EXTRAS := $(TEST_EXTRAS),check
$(VENV)/.for-docs: EXTRAS := docs

$(VENV)/.for-%: pyproject.toml $(CONSTRAINTS) | $(VENV)/.made
	$(PY) -m pip install --quiet --disable-pip-version-check $(if $(CONSTRAINTS),--constraint "$(CONSTRAINTS)") --editable ".[$(EXTRAS)]"
	@touch $@

$(LOWEST)/.for-test: pyproject.toml constraints-lowest.txt | $(LOWEST)/.made
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-lowest.txt --editable ".[$(TEST_EXTRAS)]"
	@touch $@

# The lowest versions have no builds for later Pythons.
$(LOWEST)/.made: NAMES := python3.11 python3
$(LOWEST)/.made: GOOD := sys.version_info[:2] == (3, 11)
$(LOWEST)/.made: WANTED := Python 3.11 (for its lowest versions)

$(VENV)/.made $(LOWEST)/.made:
	@python=; \
	for name in $(if $(PYTHON),"$(PYTHON)",$(NAMES)); do \
	  if "$$name" -c 'import sys; sys.exit(not ($(GOOD)))' 2>/dev/null; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "nearer needs $(WANTED); tried: $(or $(PYTHON),$(NAMES))." >&2; \
	  echo "Install one, or say where it is: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
	  case $$(basename "$$python") in python3*) package=$$(basename "$$python")-venv;; *) package=python3-venv;; esac; \
	  echo "$$python cannot build environments, for want of its venv module. On Debian and Ubuntu:" >&2; \
	  echo "    apt install $$package" >&2; \
	  exit 1; \
	fi; \
	echo "building $(@D) with $$("$$python" --version)"; \
	"$$python" -m venv $(@D)
	@touch $@
