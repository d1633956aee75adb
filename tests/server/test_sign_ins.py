"""Browsers sign in for a while: the cookie is not the token, and what ends a sign-in ends it on the server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.serving import FOREIGN, OWN, bearer, cookie_secret, reaching, services_at, token_text

from assay.errors import SettingError
from assay.records.access import Access
from assay.server.security.callers import COOKIE, SECURE_COOKIE
from assay.server.services import Services
from assay.testing import FixedClock

PAGE = "/api/flags"
HOUR = 3600


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def services(tmp_path: Path, clock: FixedClock) -> Iterator[Services]:
    with services_at(tmp_path, clock=clock) as found:
        yield found


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    with reaching(services, local=False, pages=True) as found:
        yield found


def sign_in(client: TestClient, token: str) -> SimpleCookie:
    [csrf] = re.findall(r'name="csrf_token" value="([0-9a-f]+)"', client.get("/login").text)
    answer = client.post("/login", data={"token": token, "csrf_token": csrf})
    assert answer.status_code == 303, answer.text
    return SimpleCookie(answer.headers["Set-Cookie"])


def opens(client: TestClient, secret: str, name: str = COOKIE) -> bool:
    client.cookies.clear()
    return client.get(PAGE, headers={"Cookie": f"{name}={secret}"}).status_code == 200


def test_the_cookie_holds_a_secret_that_is_not_the_token_and_the_store_holds_neither(
    client: TestClient, services: Services, tmp_path: Path
) -> None:
    token = token_text(services)
    cookie = sign_in(client, token)[COOKIE]
    assert opens(client, cookie.value)
    assert token not in cookie.value
    assert not opens(client, token)
    assert (cookie["max-age"], cookie["secure"], cookie["path"]) == (str(12 * HOUR), "", "/")
    services.engine.store.checkpoints.create("now")
    held = [file for file in tmp_path.rglob("*") if file.is_file() and _holds(file, token, cookie.value)]
    assert held == []


def _holds(file: Path, *secrets: str) -> bool:
    return any(secret.encode() in file.read_bytes() for secret in secrets)


def test_signing_out_ends_the_session_on_the_server(client: TestClient, services: Services) -> None:
    secret = sign_in(client, token_text(services))[COOKIE].value
    page = client.get("/memory")
    csrf = re.search(r'action="/logout"><input type="hidden" name="csrf_token" value="([0-9a-f]+)"', page.text)
    assert csrf is not None
    answer = client.post("/logout", data={"csrf_token": csrf[1]})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/login")
    assert not opens(client, secret)
    assert [one.is_open for one in services.sign_ins.all(OWN)] == [False]


def test_a_session_ends_by_age_and_by_silence(client: TestClient, services: Services, clock: FixedClock) -> None:
    secret = cookie_secret(services, token_text(services))
    for _ in range(11):
        clock.advance(seconds=59 * 60)
        assert opens(client, secret)
    clock.advance(seconds=59 * 60)
    assert opens(client, secret)
    clock.advance(seconds=13 * 60)
    assert not opens(client, secret), "it is 12 hours and one minute old"
    silent = cookie_secret(services, token_text(services))
    clock.advance(seconds=HOUR)
    assert not opens(client, silent), "nobody used it for an hour"


def test_the_times_are_settings(tmp_path: Path, clock: FixedClock) -> None:
    with (
        services_at(tmp_path, clock=clock, server_session_hours=1.0, server_session_idle_minutes=10.0) as services,
        reaching(services, local=False) as client,
    ):
        token = token_text(services)
        assert sign_in(client, token)[COOKIE]["max-age"] == str(HOUR)
        secret = cookie_secret(services, token)
        clock.advance(seconds=9 * 60)
        assert opens(client, secret)
        clock.advance(seconds=10 * 60)
        assert not opens(client, secret)


@pytest.mark.parametrize("hours", [0.0, -1.0, 10_000.0, 1e300])
def test_times_that_make_no_sense_are_refused(tmp_path: Path, hours: float) -> None:
    with pytest.raises(SettingError, match=r"server\.session_hours"), services_at(tmp_path, server_session_hours=hours):
        raise AssertionError("it must not begin to serve")


def test_a_revoked_token_ends_its_sessions_at_once_also_in_another_process(
    client: TestClient, services: Services, tmp_path: Path, clock: FixedClock
) -> None:
    token = token_text(services)
    secret, other = cookie_secret(services, token), cookie_secret(services, token_text(services))
    assert opens(client, secret)
    with services_at(tmp_path, clock=clock) as elsewhere:
        elsewhere.tokens.revoke(OWN, services.tokens.all(OWN)[0].token_id)
    assert not opens(client, secret)
    assert opens(client, other)
    assert services.sign_ins.begin(token, "browser test") is None


def test_an_expired_token_ends_its_sessions(client: TestClient, services: Services, clock: FixedClock) -> None:
    token = token_text(services, days=1)
    clock.advance(seconds=23 * HOUR + 50 * 60)
    secret = cookie_secret(services, token)
    assert opens(client, secret)
    clock.advance(seconds=10 * 60)
    assert not opens(client, secret)


def test_each_login_has_a_new_secret_and_ends_the_one_before(client: TestClient, services: Services) -> None:
    token = token_text(services)
    first = sign_in(client, token)[COOKIE].value
    second = sign_in(client, token)[COOKIE].value
    assert first != second
    assert not opens(client, first)
    assert opens(client, second)


def test_a_forged_csrf_token_of_another_session_is_refused(client: TestClient, services: Services) -> None:
    secrets = [cookie_secret(services, token_text(services)) for _ in range(2)]
    tokens = []
    for secret in secrets:
        page = client.get("/memory", headers={"Cookie": f"{COOKIE}={secret}"}).text
        tokens.append(re.findall(r'name="csrf_token" value="([0-9a-f]+)"', page)[0])
    assert tokens[0] != tokens[1]
    answer = client.post("/logout", data={"csrf_token": tokens[0]}, headers={"Cookie": f"{COOKIE}={secrets[1]}"})
    assert answer.status_code == 403
    assert opens(client, secrets[1])


def test_behind_a_declared_proxy_the_cookie_is_secure_and_bound_to_the_host(tmp_path: Path, clock: FixedClock) -> None:
    with (
        services_at(tmp_path, clock=clock, server_behind_https="yes") as services,
        reaching(services, local=False) as client,
    ):
        token = token_text(services)
        cookie = sign_in(client, token)[SECURE_COOKIE]
        assert cookie["secure"]
        assert cookie["httponly"]
        assert (cookie["path"], cookie["domain"], cookie["samesite"].lower()) == ("/", "", "lax")
        assert opens(client, cookie.value, SECURE_COOKIE)
        assert not opens(client, cookie_secret(services, token), COOKIE), "another host could have set this one"


def test_over_https_the_cookie_is_secure(services: Services) -> None:
    with reaching(services, local=False) as client:
        client.base_url = client.base_url.copy_with(scheme="https")
        assert sign_in(client, token_text(services))[SECURE_COOKIE]["secure"]
        assert client.get(PAGE).status_code == 200


def test_admins_list_and_end_the_sessions_of_their_tenant_alone(client: TestClient, services: Services) -> None:
    secret = cookie_secret(services, token_text(services, Access.READ))
    ours, theirs, reader = bearer(services), bearer(services, scope=FOREIGN), bearer(services, Access.READ)
    [listed] = client.get("/api/sign-ins", headers=ours).json()["sign_ins"]
    assert (listed["is_open"], listed["via"], listed["token_name"]) == (True, "browser test", "test")
    assert secret not in str(listed)
    assert "digest" not in listed
    address = f"/api/sign-ins/{listed['session_id']}"
    assert client.get("/api/sign-ins", headers=theirs).json() == {"sign_ins": []}
    assert client.delete(address, headers=theirs).status_code == 404
    assert client.delete(address, headers=reader).status_code == 403
    assert opens(client, secret)
    ended = client.delete(address, headers=ours).json()
    assert (ended["is_open"], ended["session_id"]) == (False, listed["session_id"])
    assert not opens(client, secret)
    with services.engine.store.reading(OWN) as work:
        actions = [line.action for line in work.audit.entries(target=listed["session_id"])]
    assert actions == ["session.end", "session.begin"]


def test_the_page_lists_sessions_and_ends_one(client: TestClient, services: Services) -> None:
    admin = sign_in(client, token_text(services))[COOKIE].value
    reader = cookie_secret(services, token_text(services, Access.READ))
    given = {"Cookie": f"{COOKIE}={admin}"}
    page = client.get("/evaluation/sign-ins", headers=given)
    assert page.text.count(">open<") == 2
    [wanted] = [one.session_id for one in services.sign_ins.all(OWN) if one.via == "browser test"]
    assert f"/evaluation/sign-ins/{wanted}/end" in page.text
    csrf = re.findall(r'name="csrf_token" value="([0-9a-f]+)"', page.text)[0]
    answer = client.post(f"/evaluation/sign-ins/{wanted}/end", data={"csrf_token": csrf}, headers=given)
    assert answer.status_code == 303
    assert not opens(client, reader)
    assert opens(client, admin)


def test_a_sign_in_that_is_over_leaves_the_list_after_a_month(services: Services, clock: FixedClock) -> None:
    token = token_text(services)
    cookie_secret(services, token)
    clock.advance(days=31)
    cookie_secret(services, token)
    assert len(services.sign_ins.all(OWN)) == 1
