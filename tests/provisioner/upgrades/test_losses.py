"""Keys that a runtime's configuration had and has no more; never what they hold."""

import os
from fnmatch import fnmatchcase

import pytest

from provisioner.snapshots import manifest
from provisioner.upgrades import losses, reading
from provisioner.upgrades.losses import Lost, config_files, lost
from provisioner.upgrades.reading import MOST_BYTES, Unreadable, keys_of, told
from runtimes.catalog import CATALOG

SAME = {"model", "model.default", "servers", "servers[0]", "servers[0].url"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '{"model": {"default": "a"}, "servers": [{"url": "b"}]}'),
        ("a.json", "// as its runtime writes it\n{model: {default: 'a'}, servers: [{url: 'b'},],}"),
        ("a.json5", "{model: {default: 'a'}, servers: [{url: 'b'}]}"),
        ("a.yaml", "model:\n  default: a\nservers:\n  - url: b\n"),
        ("a.yml", "model: {default: a}\nservers: [{url: b}]\n"),
        ("a.toml", '[model]\ndefault = "a"\n[[servers]]\nurl = "b"\n'),
    ],
)
def test_each_format_says_the_same(name, content):
    assert keys_of(name, content.encode()) == SAME


def test_an_env_file_has_names():
    content = b"# comment\nexport A=1\nB='x=y'\nC=\nD=${A}\n"

    assert keys_of(".env", content) == {"A", "B", "D"}


@pytest.mark.parametrize("value", ["null", '""', "{}", "[]"])
def test_a_key_without_a_value_does_not_count(value):
    assert keys_of("a.json", f'{{"a": {value}, "b": 0, "c": false}}'.encode()) == {"b", "c"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", b'{"a": '),
        ("a.json", b"\xff\xfe"),
        ("a.yaml", b"a: [b"),
        ("a.yaml", b"a: !!python/object/apply:os.system [id]"),
        ("a.yaml", b"a: &a [*a]"),
        ("a.toml", b"a = "),
        ("a.json", b"[" * 100_000),
        ("a.json", b"[" * 200 + b"1" + b"]" * 200),
        ("a.json", b" " * (MOST_BYTES + 1)),
        ("a.json", b"[" + b"1," * 30_000 + b"1]"),
        ("a.ini", b"[a]"),
        ("a.yaml", b"a: &a [1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                   b"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                   b"e: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"),
        ("a.json", b'{"%s": 1}' % (b"k" * 3000)),
        ("a.yaml", b"a: &a {<<: *a}"),
        ("a.yaml", b"a: &a [%s]\nb: [%s]\n" % (b",".join([b"~"] * 999), b",".join([b"*a"] * 999))),
    ],
    ids=["cut", "bytes", "yaml", "object", "loop", "toml", "deep", "nested", "large", "many",
         "format", "bomb", "long", "merges-itself", "empties"],
)  # fmt: skip
def test_what_cannot_be_read_is_not(name, content):
    with pytest.raises(Unreadable) as problem:
        keys_of(name, content)
    assert problem.value.__cause__ is None  # whose words would hold what the file holds


@pytest.mark.parametrize("error", [MemoryError, RecursionError])
def test_what_is_too_much_for_a_reader_is_unreadable(monkeypatch, error):
    def read(text):
        raise error

    monkeypatch.setattr(reading.tomllib, "loads", read)
    with pytest.raises(Unreadable):
        keys_of("a.toml", b"a = 1")


def test_a_mapping_has_the_keys_that_it_merges():
    content = (
        b"base: &base {a: 1, b: 2}\nlarge: &large {<<: *base, c: 3}\nx: {<<: [*large, *base]}\n"
    )

    found = keys_of("a.yaml", content)

    assert {"x.a", "x.b", "x.c", "large.a"} < found
    assert len(found) == 3 + 2 + 3 + 3


def test_what_mappings_merge_is_bounded_while_it_is_read():
    keys = ", ".join(f"k{number}: 1" for number in range(1000))
    content = f"a: &a {{{keys}}}\n" + "".join(f"b{n}: {{<<: *a}}\n" for n in range(100))

    with pytest.raises(Unreadable):
        reading._yaml(content)


def test_a_credential_in_a_keys_place_is_masked():
    assert told("env.sk-ant-api03-s3cretS3CRETs3cret") == "env.***"
    assert len(told("a" * 1000)) == 200


@pytest.fixture
def sides(tmp_path):
    for side in ("before", "after"):
        (tmp_path / side / "deep").mkdir(parents=True)
    return tmp_path / "before", tmp_path / "after"


def test_what_went_is_told_once_at_its_top(sides):
    before, after = sides
    (before / "deep" / "a.yaml").write_text("a: {b: 1, c: 2}\nkept: 1\nlist: [1, 2]\n")
    (after / "deep" / "a.yaml").write_text("kept: 2\nnew: 1\nlist: [9]\n")

    found = lost(["deep/a.yaml"], before, after, ())

    assert found == [Lost("deep/a.yaml", "a"), Lost("deep/a.yaml", "list[1]")]
    assert str(found[0]) == "a of deep/a.yaml"


def test_what_was_emptied_is_lost(sides):
    before, after = sides
    (before / ".env").write_text("TOKEN=abc\n")
    (after / ".env").write_text("TOKEN=\n")

    assert lost([".env"], before, after, ()) == [Lost(".env", "TOKEN")]


@pytest.mark.parametrize("what", ["gone", "broken", "folder", "link", "pipe"])
def test_a_file_that_cannot_be_read_any_more_is_lost(sides, tmp_path, what):
    before, after = sides
    (before / "a.json").write_text('{"a": 1}')
    (tmp_path / "elsewhere.json").write_text('{"a": 1}')
    made = {
        "gone": lambda path: None,
        "broken": lambda path: path.write_text("{"),
        "folder": lambda path: path.mkdir(),
        "link": lambda path: path.symlink_to(tmp_path / "elsewhere.json"),
        "pipe": os.mkfifo,
    }
    made[what](after / "a.json")

    found = lost(["a.json"], before, after, ())

    assert found == [Lost("a.json", "")]
    assert str(found[0]) == "all of a.json"


@pytest.mark.parametrize("content", ["{", "", "{}"])
def test_one_that_said_nothing_before_cannot_lose_it(sides, content):
    before, after = sides
    (before / "a.json").write_text(content)

    assert lost(["a.json"], before, after, ()) == []


def test_what_may_go_is_not_mourned(sides):
    before, after = sides
    (before / "a.json").write_text('{"meta": {"at": 1}, "model": {"old": 1, "kept": 1}}')
    (after / "a.json").write_text('{"model": {"kept": 1}}')

    assert lost(["a.json"], before, after, ["a.json:meta", "*:model.ol?"]) == []
    assert lost(["a.json"], before, after, ["b.json:meta", "a.json:model.old"]) == [
        Lost("a.json", "meta")
    ]


def test_the_files_are_those_of_the_patterns(tmp_path):
    for path in ("agents/main/auth.json", "agents/main/other.json", "openclaw.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("{}")
    (tmp_path / "agents" / "auth.json").symlink_to("main/auth.json")

    found = config_files(manifest.of(tmp_path), ["openclaw.json", "agents/*auth.json"])

    assert found == ["agents/main/auth.json", "openclaw.json"]


def test_of_many_files_those_that_are_named_go_first(tmp_path, monkeypatch):
    monkeypatch.setattr(losses, "MOST_FILES", 3)
    for name in ("a/1.json", "a/2.json", "a/3.json", "z.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")

    found = config_files(manifest.of(tmp_path), ["a/*.json", "z.json"])

    assert found == ["a/1.json", "a/2.json", "z.json"]


EMPTY = {"json": b"{}", "toml": b"", "env": b"", "yaml": b"", "yml": b""}


@pytest.mark.parametrize("runtime", CATALOG.values(), ids=CATALOG)
def test_every_runtimes_configuration_can_be_read(runtime):
    assert runtime.config
    for pattern in runtime.config:
        name = pattern.replace("*", "")
        assert not name.startswith(("/", "workspace"))
        assert keys_of(name, EMPTY[name.rpartition(".")[2]]) == set()


@pytest.mark.parametrize("runtime", CATALOG.values(), ids=CATALOG)
def test_what_may_go_is_of_its_own_files(runtime):
    for rule in runtime.config_may_drop:
        path = rule.rpartition(":")[0]
        assert any(fnmatchcase(path, pattern) for pattern in runtime.config), rule
