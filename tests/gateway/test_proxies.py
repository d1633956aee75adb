"""Whose word about a caller's address and scheme counts."""

from __future__ import annotations

import pytest

from assay.errors import SettingError
from assay.gateway.headers import Peer, Proxies, key_of

NEAR = Proxies(["127.0.0.1", "::1", "10.0.0.0/8"])


def test_without_trusted_proxies_headers_change_nothing() -> None:
    headers = [("x-forwarded-for", "192.0.2.7"), ("x-forwarded-proto", "https")]
    assert Proxies().peer("127.0.0.1", "http", headers) == Peer("127.0.0.1", "http", forwarded=True)
    assert Proxies().peer("127.0.0.1", "http", []) == Peer("127.0.0.1", "http", forwarded=False)


def test_headers_of_others_than_proxies_change_nothing() -> None:
    headers = [("x-forwarded-for", "192.0.2.7"), ("x-forwarded-proto", "https")]
    assert NEAR.peer("192.0.2.1", "http", headers) == Peer("192.0.2.1", "http", forwarded=True)


@pytest.mark.parametrize(
    ("stated", "address"),
    [
        (["192.0.2.7"], "192.0.2.7"),
        (["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
        (["198.51.100.1, 192.0.2.7, 10.1.2.3"], "192.0.2.7"),
        (["192.0.2.7", "10.1.2.3"], "192.0.2.7"),
        (["192.0.2.7:4711"], "192.0.2.7"),
        (["[2001:db8::1]:4711"], "2001:db8::1"),
        (["::ffff:192.0.2.7"], "192.0.2.7"),
        (["10.9.9.9"], "10.9.9.9"),
        (["192.0.2.7, unknown"], "127.0.0.1"),
        (["192.0.2.7, unknown, 10.1.2.3"], "10.1.2.3"),
        ([""], "127.0.0.1"),
        ([], "127.0.0.1"),
    ],
)
def test_the_rightmost_address_that_is_not_a_proxy_counts(stated: list[str], address: str) -> None:
    headers = [("x-forwarded-for", value) for value in stated]
    assert NEAR.peer("127.0.0.1", "http", headers).address == address


@pytest.mark.parametrize(
    ("stated", "scheme"),
    [(["https"], "https"), (["HTTPS"], "https"), (["http"], "http"), (["ftp"], "http"), (["https", "http"], "http")],
)
def test_the_scheme_is_the_one_the_proxy_says(stated: list[str], scheme: str) -> None:
    headers = [("x-forwarded-proto", value) for value in stated]
    assert NEAR.peer("127.0.0.1", "http", headers).scheme == scheme


@pytest.mark.parametrize("text", ["proxy.example", "10.0.0.0/99", "", "*"])
def test_what_is_not_an_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SettingError, match="trusted_proxies") as problem:
        Proxies([text])
    assert "10.0.0.0/8" in problem.value.remedy


def test_addresses_are_counted_by_network_where_one_has_many() -> None:
    assert key_of("2001:db8::1") == key_of("2001:db8::ffff") != key_of("2001:db8:0:1::1")
    assert key_of("192.0.2.1") != key_of("192.0.2.2")
    assert key_of("::ffff:192.0.2.1") == key_of("192.0.2.1")
    assert key_of("unknown") == "address unknown"
