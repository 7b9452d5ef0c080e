"""How Sphinx builds the documentation: offline, with every warning an error (`make docs`)."""

import shutil
import sys
import warnings
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "benchmarks"), str(HERE / "papers")]

import tables  # noqa: E402  (docs/benchmarks/tables.py)
import verdicts  # noqa: E402  (docs/papers/verdicts.py)

import nearer  # noqa: E402
from nearer.datasets import SOURCES  # noqa: E402
from nearer.datasets.source import loader  # noqa: E402
from nearer.losses import LOSSES  # noqa: E402
from nearer.registry import PARTS, REGISTRY  # noqa: E402
from nearer.solver import Solver  # noqa: E402

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
suppress_warnings = ["sphinx_gallery.space_in_filename"]  # blanks in the path of the checkout are harmless
exclude_patterns = ["_build", "examples", "gallery/**/*.ipynb", "api_registry.rst", "papers/records"]

autosummary_generate = ["api.rst", "api_registry.rst"]
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
html_static_path = ["_static"]
html_css_files = ["nearer.css"]
html_theme_options = {
    "header_links_before_dropdown": 5,  # as many as docs/index.md lists: a sixth would not fit at 1280 pixels
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}

warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)  # plt.show in the gallery


def write_registry() -> None:
    """Write the sections of the API page that the registry, the solvers and the losses determine."""
    sections: dict[str, dict[str, list[str]]] = {}  # names by module by section
    for name, entry in REGISTRY.items():
        module = "nearer" if entry.top_level else entry.module
        sections.setdefault(entry.section, {}).setdefault(module, []).append(name)
    for module in PARTS:
        exported = vars(import_module(module))
        classes = [name for name in exported["__all__"] if isinstance(exported[name], type)]
        solvers = [name for name in classes if issubclass(exported[name], Solver)]
        if solvers:
            sections.setdefault("Solvers", {})[module] = solvers
    sections["Losses"] = {"nearer.losses": [loss.__name__ for loss in LOSSES.values()]}
    lines = []
    for title, modules in sections.items():
        lines += [title, "-" * len(title), ""]
        for module, names in modules.items():
            lines += [f".. currentmodule:: {module}", "", ".. autosummary::", "   :toctree: api/generated", ""]
            lines += [*(f"   {name}" for name in names), ""]
    (HERE / "api_registry.rst").write_text("\n".join(lines), encoding="utf-8")


write_registry()
shutil.rmtree(HERE / "api", ignore_errors=True)  # pages of names that are gone would be warned about


def setup(app):
    """Insert what the records say into the pages, and leave inherited members out."""
    app.connect("source-read", insert_tables)
    app.connect("autodoc-skip-member", skip_inherited)


def insert_tables(app, docname, source):
    """Replace the marks of tables: of records of benchmarks and of the papers, and of data sets."""
    address = "records" if docname.startswith("papers/") else "papers/records"
    source[0] = verdicts.insert_records(source[0], address=address)
    source[0] = tables.insert_columns(source[0], HERE / "benchmarks/records")
    if docname == "benchmarks":
        source[0] = source[0].replace(tables.MARK, tables.render(HERE / "benchmarks/records"))
    if docname == "datasets":
        source[0] = source[0].replace("<!-- the table of data sets -->", table_of_data_sets())
        source[0] = source[0].replace("<!-- the licenses of data sets -->", licenses_of_data_sets())


def table_of_data_sets():
    """Return a table with a row per data set."""
    return tables.markdown_table(
        [
            {
                "name": f"`{data.name}`",
                "loader": f"`{loader(data.name)}`",
                "kind": data.kind,
                "content": data.content,
                "size": data.size,
                "download": "yes" if data.can_download else "by hand",
                "not as in a paper": data.stand_in,
            }
            for data in SOURCES.values()
        ]
    )


def licenses_of_data_sets():
    """Return a list with an entry per data set."""
    return "\n".join(f"- `{data.name}`: license: {data.license} {data.citation}" for data in SOURCES.values())


def skip_inherited(app, what, name, member, skip, options):
    """Skip what scikit-learn and Python add to every class."""
    if name in ("set_output", "get_feature_names_out"):
        return True
    owner = getattr(member, "fget", None) or getattr(member, "__func__", member)
    return None if (getattr(owner, "__module__", None) or "nearer").startswith("nearer") else True
