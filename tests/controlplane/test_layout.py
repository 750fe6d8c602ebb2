"""Folders that must stay plain folders: as packages they would shadow the standard library."""

import platform
import sys
from pathlib import Path

import controlplane

REPOSITORY = Path(__file__).resolve().parents[2]


def test_platform_is_no_package():
    assert not (REPOSITORY / "platform" / "__init__.py").exists()


def test_tests_are_no_packages():
    assert list((REPOSITORY / "tests").rglob("__init__.py")) == []


def test_the_standard_librarys_platform_is_found():
    assert Path(platform.__file__).is_relative_to(Path(sys.base_prefix).resolve())
    assert platform.python_version().startswith("3.")


def test_the_control_plane_is_the_one_of_this_tree():
    assert Path(controlplane.__file__).is_relative_to(REPOSITORY / "platform")
