"""Which resolvers of the host are asked."""

from provisioner.upstream import host_upstreams


def test_the_hosts_resolvers_are_read_from_its_file(tmp_path):
    file = tmp_path / "resolv.conf"
    file.write_text("# nameserver 1.1.1.1\nsearch x\nnameserver 10.0.0.53\nnameserver\t10.0.0.54\n")

    assert host_upstreams(file) == ["10.0.0.53", "10.0.0.54"]
    assert host_upstreams(tmp_path / "none") == []
