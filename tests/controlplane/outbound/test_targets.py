"""Where requests may go (T10): public addresses, and what the operator allows."""

from ipaddress import ip_address

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from controlplane.outbound import HostUnknown, OutboundRefused, check_url
from controlplane.outbound.addresses import is_public
from controlplane.outbound.targets import check_settings

INSIDE = [
    *("127.0.0.1", "127.1.2.3", "0.0.0.9", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1"),
    *("198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1"),
    *("255.255.255.255", "192.88.99.1", "168.63.129.16", "100.100.100.200"),
    *("::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "2002:7f00:1::1"),
    *("2002:808:808::1", "2001:0:7f00:1::1", "2001:10::1", "2001:20::1", "3fff::1", "5f00::1"),
    *("fec0::1", "100::1", "4000::1"),
]
OUTSIDE = ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_that_is_not_public_is_refused(address):
    host = f"[{address}]" if ":" in address else address

    with pytest.raises(OutboundRefused):
        check_url(f"https://{host}/v1")


@pytest.mark.parametrize("address", INSIDE)
def test_so_is_a_name_that_leads_there(names, address):
    names["trap.example"] = [[address]]

    with pytest.raises(OutboundRefused, match=r"trap\.example leads to a private"):
        check_url("https://trap.example/v1")


@pytest.mark.parametrize("address", OUTSIDE)
def test_a_public_address_may_be_reached(names, address):
    names["public.example"] = [[address]]

    check_url("https://public.example/v1")
    assert is_public(ip_address(address))


def test_one_address_inside_among_public_ones_is_refused(names):
    names["mixed.example"] = [["8.8.8.8", "10.0.0.1"]]

    with pytest.raises(OutboundRefused):
        check_url("https://mixed.example")


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "127.1", "127.0.1"),
        *("134744072", "8.8.8.010", "8.8.8.0x8", "8.8.8.8.", "1.2.3.4.5", "0", "00000000010.0.0.1"),
    ],
)
def test_a_number_in_an_odd_form_is_refused(host):
    with pytest.raises(OutboundRefused):
        check_url(f"http://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "ftp://public.example",
            "gopher://public.example",
            "//public.example",
        ),
        *("https://", "https:///path", "https://user@public.example", "https://u:p@public.example"),
        *(
            "https://public.example:99999",
            "https://[::1",
            "https://pub lic.example",
            "public.example",
        ),
        *("https://public.example\t.evil", "https://public.example\n", "https://[fe80::1%25eth0]/"),
        *("https://ⓟublic.example", "https://public。example", "https://１２７.0.0.1", ""),
    ],
)
def test_what_is_not_plainly_an_address_is_refused(names, url):
    names["public.example"] = [["8.8.8.8"]]

    with pytest.raises(OutboundRefused):
        check_url(url)


def test_a_name_that_does_not_exist_is_told_apart():
    with pytest.raises(HostUnknown, match=r"there is no host typo\.example"):
        check_url("https://typo.example")


@pytest.mark.parametrize(
    ("allow", "url"),
    [
        ("10.1.2.3:8000", "http://10.1.2.3:8000/v1"),
        ("10.1.2.0/24", "http://10.1.2.3:9/v1"),
        ("models.internal:443", "https://Models.internal/v1"),
        ("10.1.2.3:443", "https://models.internal/v1"),
        ("[fd00::5]:80", "http://[fd00::5]/v1"),
        ("fd00::/8", "http://[fd00::5]/v1"),
    ],
)
def test_what_the_operator_allows_may_be_reached(settings, names, allow, url):
    names["models.internal"] = names["Models.internal"] = names["models.internal"] = [["10.1.2.3"]]
    settings.ROOST_OUTBOUND_ALLOW = [allow]

    check_url(url)


@pytest.mark.parametrize(
    ("allow", "url"),
    [
        ("10.1.2.3:8000", "http://10.1.2.3:8001/v1"),
        ("10.1.2.3:8000", "http://10.1.2.4:8000/v1"),
        ("10.1.2.0/24", "http://10.1.3.3/v1"),
        ("models.internal:443", "http://models.internal/v1"),
        ("models.internal:443", "https://other.internal/v1"),
    ],
)
def test_and_nothing_beside_it(settings, names, allow, url):
    names["models.internal"] = names["other.internal"] = [["10.1.2.3"]]
    settings.ROOST_OUTBOUND_ALLOW = [allow]

    with pytest.raises(OutboundRefused):
        check_url(url)


@pytest.mark.parametrize(
    "entry", ["10.0.0.1", "host", "10.0.0.0/33", "host:port", ":80", "10.0.0.1/8"]
)
def test_a_setting_that_cannot_be_meant_stops_the_start(settings, entry):
    settings.ROOST_OUTBOUND_ALLOW = [entry]

    with pytest.raises(ImproperlyConfigured, match="ROOST_OUTBOUND_ALLOW"):
        check_settings()


@given(st.ip_addresses(v=4))
def test_an_address_is_no_more_public_for_being_mapped(address):
    assert is_public(ip_address(f"::ffff:{address}")) == is_public(address)


@given(st.ip_addresses())
def test_whatever_is_public_is_global_to_python_too(address):
    assert address.is_global or not is_public(address)
