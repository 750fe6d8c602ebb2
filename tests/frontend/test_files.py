"""What lies on the disk: templates, icons, styles and the lock of borrowed scripts."""

import json
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

import frontend
from controlplane.agents.lifecycle import Status
from frontend.looks import LEVELS, LOOKS
from frontend.templatetags.nouns import KIND_ICONS
from runtimes.catalog import CATALOG

ROOT = Path(frontend.__file__).parent
TEMPLATES = sorted(ROOT.glob("templates/**/*.html"))
INLINE = re.compile(
    r"\sstyle=|<style|\son[a-z]+=|hx-on|javascript:|<script(?![^>]*\ssrc=)", re.IGNORECASE
)
ICONS = (ROOT / "static/frontend/icons.svg").read_text()


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_no_template_has_anything_inline(path: Path) -> None:
    assert INLINE.findall(path.read_text()) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_no_template_marks_text_as_safe(path: Path) -> None:
    assert not re.search(r"\|\s*safe|autoescape\s+off", path.read_text())


def test_every_icon_that_is_named_is_drawn() -> None:
    text = "".join(path.read_text() for path in TEMPLATES)
    names = {f"i-{name}" for name in re.findall(r'{% icon "([a-z]+)"', text)}
    names |= {f"i-{name}" for name in re.findall(r'icon="([a-z]+)"', text)}
    names |= {f"i-{name}" for name in KIND_ICONS.values()}
    names |= {f"s-{look.shape}" for look in [*LOOKS.values(), *LEVELS.values()]}
    names |= {f"g-{slug}" for slug in CATALOG}

    assert [name for name in sorted(names) if f'id="{name}"' not in ICONS] == []


def test_every_static_file_that_is_named_is_there() -> None:
    text = "".join(path.read_text() for path in TEMPLATES)
    names = set(re.findall(r"{% static '([^']+)' %}", text))

    assert names
    ours = {name for name in names if name.startswith("frontend/")}
    assert [name for name in sorted(ours) if finders.find(name) is None] == []
    script = (ROOT / "vendor.js").read_text()
    assert all(name.removeprefix("vendor/") in script for name in names - ours)


def test_the_style_sheet_imports_every_component_once() -> None:
    css = ROOT / "static/frontend/css"
    imported = re.findall(r'@import url\("([a-z]+\.css)"\)', (css / "roost.css").read_text())

    assert sorted([*imported, "roost.css"]) == sorted(path.name for path in css.glob("*.css"))


def test_colours_live_in_one_file() -> None:
    css = (ROOT / "static/frontend/css").glob("*.css")
    colours = {
        path.name: found
        for path in css
        if path.name != "tokens.css"
        and (found := re.findall(r"(?<!%23)#[0-9a-f]{6}\b|rgb\(", path.read_text()))
    }

    assert colours == {}


def test_the_lock_names_no_address() -> None:
    lock = json.loads((ROOT / "package-lock.json").read_text())

    assert lock["packages"]
    assert all("resolved" not in package for package in lock["packages"].values())


def test_every_status_has_a_look() -> None:
    assert set(Status) == set(LOOKS)
