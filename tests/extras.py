"""Tests of what needs an optional package or program: skipped without it, or failed when NEARER_REQUIRE_ALL=1."""

import importlib.util
import os
import shutil

import pytest


def installed(module):
    """Whether a package is there; fails the test when all of them must be."""
    found = importlib.util.find_spec(module) is not None
    if not found and os.environ.get("NEARER_REQUIRE_ALL") == "1":
        pytest.fail(f"{module} is not installed, and NEARER_REQUIRE_ALL=1")
    return found


def needs(*modules):
    """Skip the test where one of the packages is not there."""
    for module in modules:
        if not installed(module):
            pytest.skip(f"{module} is not installed")


def program(name):
    """Return the path of a program; skip the test where it is not there."""
    path = shutil.which(name)
    if path is None:
        if os.environ.get("NEARER_REQUIRE_ALL") == "1":
            pytest.fail(f"{name} is not installed, and NEARER_REQUIRE_ALL=1")
        pytest.skip(f"{name} is not installed")
    return path
