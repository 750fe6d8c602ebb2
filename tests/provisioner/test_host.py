"""What the node sets on its host."""

from pathlib import Path

from provisioner.host import ensure_agents_share


def share(folder: Path, number: int) -> Path:
    path = folder / "cpu.shares"
    path.write_text(f"{number}\n")
    return path


def test_agents_together_weigh_more_than_one_process_of_the_host(tmp_path):
    path = share(tmp_path, 1024)

    ensure_agents_share({path: 8192})

    assert path.read_text() == "8192"


def test_a_share_that_an_operator_set_higher_stays(tmp_path):
    path = share(tmp_path, 20_000)

    ensure_agents_share({path: 8192})

    assert path.read_text().strip() == "20000"


def test_a_host_with_other_groups_is_left_alone(tmp_path):
    ensure_agents_share({tmp_path / "missing" / "cpu.shares": 8192})

    assert list(tmp_path.iterdir()) == []
