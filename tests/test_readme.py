"""What README and documentation say works: Python blocks run, in order; shell blocks name real commands."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from nearer.cli import COMMANDS
from nearer.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/papers").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, *languages):
    """Give the fenced blocks of these languages, each with the number of its first line."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        if found[1] in languages:
            yield text.count("\n", 0, found.start(2)) + 1, found[2]


def pages_with(*languages):
    chosen = [page for page in PAGES if any(blocks(page, *languages))]
    return pytest.mark.parametrize("page", chosen, ids=lambda page: page.relative_to(ROOT).as_posix())


@pages_with("python")
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for line, source in blocks(page, "python"):
        # Blank lines before the code make a traceback point to the line of the page.
        exec(compile("\n" * (line - 1) + source, page, "exec"), names)


@pages_with("console", "sh")
def test_commands_and_their_options_exist(page):
    commands = get_command(app).commands
    assert set(commands) == set(COMMANDS)
    for _, source in blocks(page, "console", "sh"):
        for line in re.sub(r"\\\n", " ", source).splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[:1] != ["nearer"] or words[1:2] in ([], ["--help"], ["--version"]):
                continue
            assert words[1] in commands, f"{page.name}: nearer has no command {words[1]}"
            known = {"-h", "--help"}.union(*(option.opts for option in commands[words[1]].params))
            unknown = {word for word in words[2:] if re.match("--?[a-z]", word)} - known
            assert not unknown, f"{page.name}: nearer {words[1]} has no option {', '.join(unknown)}"


@pages_with("console", "sh")
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for _, source in blocks(page, "console", "sh"):
        assert set(re.findall(r"^(?:\$ )?make ([a-z]+)", source, re.MULTILINE)) <= targets


@pytest.mark.parametrize("page", sorted({*PAGES, *ROOT.glob("*.md")}), ids=lambda page: page.name)
def test_links_to_files_of_the_project_lead_somewhere(page):
    prose = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", prose):
        if "://" not in target and not target.startswith("gallery/"):  # made when the pages are built
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_citations_are_of_this_version():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    lines = dict(line.split(": ", 1) for line in citation.splitlines() if re.match(r"[a-z-]+: ", line))
    assert lines["cff-version"] == "1.2.0"
    assert (lines["version"], lines["license"]) == (wanted["version"], wanted["license"])
    assert {"message", "title", "authors:"} <= {*lines, *citation.split()}
    assert f"version = {{{wanted['version']}}}" in (ROOT / "docs/citing.md").read_text(encoding="utf-8")
