"""Tenants of the store: who holds how much, told to operators alone."""

from __future__ import annotations

from pathlib import Path

from tests.server.serving import FOREIGN, OWN, bearer, reaching, services_at
from tests.storage import samples

from assay.records import Scope
from assay.records.access import Access


def test_operators_see_every_tenant_and_its_tokens_and_admins_their_own(tmp_path: Path) -> None:
    with services_at(tmp_path) as services:
        with services.engine.store.writing(Scope(tenant="blue", principal="bob")) as work:
            work.memories.add_many([samples.embedded("m_1"), samples.embedded("m_2", superseded_at=samples.LATE)])
        spare = services.tokens.create(FOREIGN, "spare", Access.READ)
        services.tokens.revoke(FOREIGN, spare.kept.token_id)
        admin, operator = bearer(services, Access.ADMIN), bearer(services, Access.OPERATOR)
        with reaching(services, local=False) as client:
            assert client.get("/api/tenants", headers=admin).status_code == 403
            assert client.get("/api/tokens?all_tenants=true", headers=admin).status_code == 403
            own = client.get("/api/tokens", headers=admin).json()["tokens"]
            assert {token["tenant"] for token in own} == {OWN.tenant}
            found = client.get("/api/tenants", headers=operator).json()
            assert found["next_cursor"] is None
            assert [list(line.values()) for line in found["tenants"]] == [
                ["blue", 1, 2, 0, 0],
                ["default", 0, 0, 2, 2],
                ["other", 0, 0, 0, 1],
            ]
            everybody = client.get("/api/tokens?all_tenants=true", headers=operator).json()["tokens"]
            assert [(token["tenant"], token["name"]) for token in everybody] == [
                ("default", "test"),
                ("default", "test"),
                ("other", "spare"),
            ]
            first = client.get("/api/tenants?limit=1", headers=operator).json()
            second = client.get(f"/api/tenants?limit=2&cursor={first['next_cursor']}", headers=operator).json()
            assert [line["tenant"] for line in (*first["tenants"], *second["tenants"])] == ["blue", "default", "other"]
