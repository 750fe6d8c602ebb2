"""A manifest is read strictly: each kind of mistake names its file and its key."""

from pathlib import Path

import pytest

import runtimes
from runtimes.catalog import CATALOG, Runtime, RuntimeManifestError, load, load_catalog

GOOD = (Path(runtimes.__file__).parent / "hermes" / "runtime.toml").read_text()


def manifest(folder: Path, text: str) -> Path:
    path = folder / "sample" / "runtime.toml"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_a_good_manifest_is_read_whole(tmp_path: Path) -> None:
    runtime = load(manifest(tmp_path, GOOD))
    assert isinstance(runtime, Runtime)
    assert (runtime.slug, runtime.port, runtime.start_usual_s) == ("sample", 8642, 3.0)
    assert runtime.health.expect == {"status": "ok", "platform": "hermes-agent"}
    assert runtime.providers["anthropic"].env == "ANTHROPIC_API_KEY"


@pytest.mark.parametrize(
    ("old", "new", "key", "problem"),
    [
        ('title = "Hermes"', "", "title", "is missing"),
        ('title = "Hermes"', 'title = ""', "title", "must not be empty"),
        ('title = "Hermes"', "title = 1", "title", "must be text"),
        ('title = "Hermes"', 'title = "H"\nicon = "x"', "icon", "is not a key"),
        ("port = 8642", 'port = "8642"', "port", "must be a whole number"),
        ("port = 8642", "port = true", "port", "must be a whole number"),
        ("port = 8642", "port = 70000", "port", "must be from 1 to 65535"),
        ("pids = 256", "pids = 0", "pids", "must be from 1"),
        ("start_usual_s = 3.0", "start_usual_s = false", "start_usual_s", "number of seconds"),
        ("start_usual_s = 3.0", "start_usual_s = -1", "start_usual_s", "more than 0"),
        ("start_deadline_s = 90", "start_deadline_s = 3", "start_deadline_s", "more than start_"),
        ("min_memory_mb = 256", "min_memory_mb = 9999", "default_memory_mb", "at least min_"),
        ('["/workspace/.hermes"]', '["data"]', "state_paths", "start with /"),
        ('["/workspace/.hermes"]', "[]", "state_paths", "must not be empty"),
        ('["/workspace/.hermes"]', "[1]", "state_paths", "must be a list of text"),
        ('path = "/health"', 'path = "health"', "health.path", "must start with /"),
        ('status = "ok"', "status = 1", "health.expect.status", "must be text"),
        ("expect = {", "expected = {", "health.expect", "is missing"),
        ("[ready]", "[ready.inner]", "ready.path", "is missing"),
        ("network = true", 'network = "yes"', "build.network", "must be true or false"),
        ("[providers.openai]", "[providers.opnai]", "providers.opnai", "is not one of"),
        ('env = "GEMINI_API_KEY"', "", "providers.gemini.env", "is missing"),
        ('key_prefix = "AIza"', 'prefix = "AIza"', "providers.gemini.key_prefix", "is missing"),
    ],
)
def test_a_mistake_names_its_file_and_key(
    tmp_path: Path, old: str, new: str, key: str, problem: str
) -> None:
    assert old in GOOD
    path = manifest(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(RuntimeManifestError, match=problem) as caught:
        load(path)
    assert caught.value.key == key
    assert str(path) in str(caught.value)


def test_a_table_that_is_none_is_a_mistake(tmp_path: Path) -> None:
    path = manifest(tmp_path, "ready = 1\n" + GOOD.replace("[ready]\n", "[ready_]\n", 1))
    with pytest.raises(RuntimeManifestError, match="ready must be a table"):
        load(path)


def test_no_providers_is_a_mistake(tmp_path: Path) -> None:
    head = GOOD.partition("[providers.anthropic]")[0]
    with pytest.raises(RuntimeManifestError, match="providers must not be empty"):
        load(manifest(tmp_path, head + "[providers]\n"))


def test_broken_toml_names_the_file(tmp_path: Path) -> None:
    path = manifest(tmp_path, "title = ")
    with pytest.raises(RuntimeManifestError, match="is not valid TOML"):
        load(path)


def test_a_folder_without_a_manifest_is_no_runtime(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    manifest(tmp_path, GOOD)
    assert list(load_catalog(tmp_path)) == ["sample"]


def test_the_catalogue_cannot_be_changed() -> None:
    assert "hermes" in CATALOG
    with pytest.raises(TypeError):
        CATALOG["other"] = CATALOG["hermes"]  # type: ignore[index]
