"""How Sphinx builds the documentation: offline, with every warning an error (`make docs`)."""

import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "benchmarks"))

import tables  # noqa: E402  (docs/benchmarks/tables.py)

import nearer  # noqa: E402

project = "nearer"
author = "The nearer developers"
copyright = "2026, The nearer developers"
version = release = nearer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
suppress_warnings = ["sphinx_gallery.space_in_filename"]  # blanks in the checkout's own path do no harm
exclude_patterns = ["_build", "examples", "gallery/**/*.ipynb"]

autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

sphinx_gallery_conf = {
    "capture_repr": (),  # printed output only, no addresses of objects
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "nearer"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}

warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)  # plt.show in the gallery


def setup(app):
    """Put the tables of the records where the benchmarks' page asks for them, and leave machinery out."""
    app.connect("source-read", _with_tables)
    app.connect("autodoc-skip-member", _skipped)


def _with_tables(app, docname, source):
    if docname == "benchmarks":
        source[0] = source[0].replace(tables.MARK, tables.render(HERE / "benchmarks/records"))


def _skipped(app, what, name, member, skip, options):
    """Leave out what scikit-learn and Python add to every class: the page of a thing has what is of the house."""
    if name in ("set_output", "get_feature_names_out"):
        return True
    home = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return None if (getattr(home, "__module__", None) or "nearer").startswith("nearer") else True
