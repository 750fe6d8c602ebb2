"""What may stand in a list of hosts, and what a refusal says to do."""

import pytest

from controlplane.agents.egress import check_hosts
from controlplane.agents.errors import ImpossibleSetting


@pytest.mark.parametrize(
    ("host", "kept"),
    [
        ("api.github.com", "api.github.com"),
        (" API.GitHub.com. ", "api.github.com"),
        ("*.example.com", "*.example.com"),
        ("db.example.com:05432", "db.example.com:5432"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("1password.com", "1password.com"),
        ("0xproject.com", "0xproject.com"),
        ("mylocal.com", "mylocal.com"),
        ("local.example.com", "local.example.com"),
    ],
)
def test_a_host_is_kept_as_it_is_asked_for(host, kept):
    assert check_hosts([host]) == [kept]


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("http://a.com", "write the host without http://"),
        ("https://a.com:8443", "write the host without https://"),
        ("https://a.com/v1", "without a scheme, user or path"),
        ("a.com/v1", "without a scheme, user or path"),
        ("me@a.com", "without a scheme, user or path"),
        *((host, "an IPv6 address cannot be listed") for host in ("::1", "[::1]:80", "[::1]")),
        *((host, "an IPv6 address cannot be listed") for host in ("2001:db8::1", "fe80::/10")),
        *((host, "a number cannot be listed") for host in ("9.9.9.9", "9.9.9.9:53", "127.1")),
        *((host, "a number cannot be listed") for host in ("0x7f.1", "0x7f.0.0.1", "2130706433")),
        *((host, "a number cannot be listed") for host in ("0x7f000001", "0177.0.0.1", "a.0x1")),
        ("10.0.0.0/8", "a network cannot be listed"),
        ("a.com:", "leave the colon out"),
        *((f"a.com:{port}", "from 1 to 65535") for port in ("0", "65536", "http", "1:2", "-1")),
        *((host, "never open to agents") for host in ("localhost", "localhost:80", "x.localhost")),
        *((host, "never open to agents") for host in ("localhost.localdomain", "*.local", "a.lan")),
        *((host, "never open to agents") for host in ("kubernetes.default.svc", "x.internal")),
        *((host, "never open to agents") for host in ("a.svc.cluster.local", "LOCALHOST.")),
        *((host, "write api.github.com") for host in ("", "*", "*.", "com", "a..b", "a_b.com")),
        *(
            (host, "write api.github.com")
            for host in ("a b.com", "*.*.com", "-a.com", "a.com,b.com")
        ),
    ],
)
def test_a_refusal_says_what_is_wrong_with_it(host, says):
    with pytest.raises(ImpossibleSetting) as refusal:
        check_hosts(["api.github.com", host])

    assert refusal.value.field == "egress_hosts"
    assert says in str(refusal.value)
