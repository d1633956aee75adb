"""Two tenants with a unique string, a canary, in everything that they keep.

Each canary begins with its tenant's mark, so that one search of an answer finds what of another tenant is in it. The
rest of a canary names the kind of thing that it stands in. `KINDS` lists them all; the matrix fails when a tenant does
not see one of its own kinds anywhere, because a canary that nobody can see finds no leak.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from tests.security.asgi import Asgi

from assay.access.tokens import NewSignIn
from assay.records import Draft, EdgeKind, Scope
from assay.records.access import Access
from assay.records.datasets import Case, Dataset, Document, Grade
from assay.records.research_log import ResearchSession
from assay.server.services import Services

TENANTS = ("alpha", "beta")
FLAG = "docscore_aggregation"
PROMPT = "planner"
SESSIONS = 12
"""Answered questions of each tenant, so that analysis has something to look through."""
KINDS = (
    "title", "body", "folder", "tag", "trigger", "evidence", "search", "session", "task",
    "question", "research", "prompt", "prompt_note", "token", "dataset", "description", "case", "document",
    "run", "why", "checkpoint", "browser", "trace",
)  # fmt: skip
"""Every kind of canary; a new kind of thing that tenants keep gets one here and is planted below."""


def mark_of(tenant: str) -> str:
    """What every canary of a tenant begins with."""
    return f"zq{tenant}x"


@dataclass(frozen=True, kw_only=True, slots=True)
class Belongings:
    """What one tenant has, by the ids that callers name it with."""

    tenant: str
    memory_id: str
    other_memory_id: str
    """A second memory, to link with."""
    spare_memory_id: str
    """A memory that its own tenant may change, forget and erase."""
    untouched_memory_id: str
    """A memory that only strangers try to change."""
    query_id: str
    session_id: str
    task_id: str
    log_id: str
    ticket: str
    dataset: str
    run_id: str
    trace_id: str
    spare_token_id: str
    untouched_token_id: str
    spare_sign_in_id: str
    """A browser's sign-in that its own tenant may end."""
    untouched_sign_in_id: str
    checkpoint_id: str
    """Empty until everybody has everything: see `plant_all`."""

    def canary(self, kind: str) -> str:
        """The canary of one kind."""
        assert kind in KINDS, f"{kind} is not in KINDS"
        return f"{mark_of(self.tenant)}{kind.replace('_', '')}"

    def as_named_by_a_stranger(self) -> Belongings:
        """The same, with things that nobody else changes in the place of those that are changed."""
        return replace(
            self,
            memory_id=self.untouched_memory_id,
            spare_memory_id=self.untouched_memory_id,
            spare_token_id=self.untouched_token_id,
            spare_sign_in_id=self.untouched_sign_in_id,
        )


async def plant_all(services: Services, app: Asgi) -> dict[str, Belongings]:
    """Give each tenant one of everything, and then a copy of the whole store."""
    planted = [await plant(services, app, tenant) for tenant in TENANTS]
    create = services.engine.store.checkpoints.create
    return {has.tenant: replace(has, checkpoint_id=create(has.canary("checkpoint")).id) for has in planted}


async def plant(services: Services, app: Asgi, tenant: str) -> Belongings:
    """Give a tenant one of everything."""
    scope = Scope(tenant=tenant, principal=f"{mark_of(tenant)}token")
    gardener = _Gardener(services, app, scope)
    memories = gardener.memories()
    query_id = await gardener.search(memories[0])
    await gardener.record_task(memories[0])
    log_id, ticket = await gardener.ask()
    await gardener.govern()
    run_id = await gardener.measure()
    trace_id = await gardener.trace()
    made = [services.tokens.create(scope, f"{mark_of(tenant)}token", Access.READ) for _ in range(2)]
    tokens = [token.kept.token_id for token in made]
    sign_ins = [services.sign_ins.begin(made[1].text, f"browser {gardener.canary('browser')}") for _ in range(2)]
    services.engine.store.log.flush()
    return Belongings(
        tenant=tenant,
        memory_id=memories[0],
        other_memory_id=memories[1],
        spare_memory_id=memories[2],
        untouched_memory_id=memories[3],
        query_id=query_id,
        session_id=gardener.canary("session"),
        task_id=gardener.canary("task"),
        log_id=log_id,
        ticket=ticket,
        dataset=gardener.canary("dataset"),
        run_id=run_id,
        trace_id=trace_id,
        spare_token_id=tokens[0],
        untouched_token_id=tokens[1],
        spare_sign_in_id=_id_of(sign_ins[0]),
        untouched_sign_in_id=_id_of(sign_ins[1]),
        checkpoint_id="",
    )


def _id_of(made: NewSignIn | None) -> str:
    assert made is not None
    return made.kept.session_id


class _Gardener:
    """Plants the canaries of one tenant, over the API where it has a way."""

    def __init__(self, services: Services, app: Asgi, scope: Scope) -> None:
        self._services = services
        self._app = app
        self._scope = scope
        made = services.tokens.create(scope, self.canary("token"), Access.ADMIN)
        self._headers = {"Authorization": f"Bearer {made.text}"}

    def canary(self, kind: str) -> str:
        assert kind in KINDS, f"{kind} is not in KINDS"
        return f"{mark_of(self._scope.tenant)}{kind.replace('_', '')}"

    async def _send(self, method: str, path: str, **body: Any) -> Any:
        answer = await self._app.send(method, path, self._headers, json=body)
        assert answer.status < 300, f"{method} {path}: {answer.status} {answer.text[:300]}"
        return answer.json()

    def memories(self) -> list[str]:
        engine = self._services.engine
        kept = [
            engine.saver.save(
                self._scope,
                Draft(
                    title=f"{self.canary('title')} ledger {number}",
                    body=f"The ledger of {self.canary('body')} is settled on day {number} because the clerk said so.",
                    folder=self.canary("folder"),
                    tags=(self.canary("tag"),),
                    triggers=(self.canary("trigger"),),
                ),
                gated=False,
            ).memory_id
            for number in range(4)
        ]
        found = [memory_id for memory_id in kept if memory_id is not None]
        assert len(found) == len(kept)
        engine.link(self._scope, found[0], EdgeKind.SUPPORTS, found[1], strength=0.8, evidence=self.canary("evidence"))
        return found

    async def search(self, memory_id: str) -> str:
        words = f"ledger settled {self.canary('search')}"
        found = await self._send(
            "POST", "/api/memory/search", query=words, session_id=self.canary("session"), explain=True
        )
        query_id = str(found["query_id"])
        self._services.engine.store.log.flush()
        grade = {"query_id": query_id, "memory_id": memory_id, "relevance": 2}
        await self._send("POST", "/api/judgments", judgments=[grade])
        return query_id

    async def record_task(self, memory_id: str) -> None:
        shares = {"knowledge": 0.5, "uncertainty": 0.5, "context": 0.5}
        name = self.canary("task")
        await self._send("POST", "/api/tasks/preflight", task_id=name, goal=name, **shares)
        await self._send("POST", f"/api/memory/{memory_id}/validate", was_useful=True)

    async def ask(self) -> tuple[str, str]:
        asked = f"When is the ledger of {self.canary('question')} settled?"
        answer = await self._send("POST", "/api/research/query", question=asked, builtin=True)
        now = self._services.clock.now()
        with self._services.engine.store.writing(self._scope) as work:
            for number in range(SESSIONS):
                session = ResearchSession(
                    log_id=f"r_{self._scope.tenant}_{number}",
                    created_at=now - timedelta(hours=number),
                    question=f"why {self.canary('research')} ledger {number}",
                    overall_score=0.1 if number % 2 else 0.9,
                    passed=not number % 2,
                    failure_type="weak_retrieval" if number % 2 else "",
                )
                work.research.put(session, {})
        began = await self._app.send("POST", "/ask", self._headers, form={"question": asked})
        assert began.status == 303, began.text
        return str(answer["session"]["log_id"]), began.location.rpartition("/")[2]

    async def govern(self) -> None:
        text = f'system = "{self.canary("prompt")}"\ntask = "Plan."'
        await self._send("PUT", f"/api/prompts/{PROMPT}", text=text, note=self.canary("prompt_note"))
        await self._send("POST", f"/api/tests/{FLAG}/begin", kind="paired")
        await self._send("POST", f"/api/tests/{FLAG}/pause", why=self.canary("why"))

    async def measure(self) -> str:
        name = self.canary("dataset")
        dataset = Dataset(
            name=name,
            version="1.0.0",
            description=self.canary("description"),
            documents=tuple(
                Document(id=f"d{number}", title="Ledger", text=f"{self.canary('document')} ledger {number}")
                for number in range(3)
            ),
            cases=(
                Case(id="c1", query=f"{self.canary('case')} ledger 1", grades=(Grade(document_id="d1", grade=3),)),
                Case(
                    id="c2",
                    query=f"{self.canary('case')} ledger 2",
                    grades=(Grade(document_id="d2", grade=3),),
                    tags=("generated",),
                ),
            ),
        )
        self._services.shelf(self._scope).keep_dataset(dataset, origin=name)
        wanted = {"dataset": name, "name": self.canary("run"), "metrics": ["ndcg@10"]}
        run_id = str((await self._send("POST", "/api/runs", **wanted))["run_id"])
        label = {"key": "2", "case": "c1", "document": "d1"}
        pressed = await self._app.send("POST", f"/evaluation/label/{name}", self._headers, form=label)
        assert pressed.status == 303, pressed.text
        return run_id

    async def trace(self) -> str:
        said = self.canary("trace")
        sent = span_request(self._scope.tenant.encode().hex().ljust(32, "1"), said)
        await self._send("POST", "/v1/traces", **sent)
        return str(sent["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"])


def span_request(trace_id: str, said: str) -> dict[str, Any]:
    """A request of OTLP with one search that found one document."""
    texts = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": f"ledger {said}",
        "retrieval.documents.0.document.id": "d1",
        "retrieval.documents.0.document.content": f"ledger of {said}",
    }
    span = {
        "traceId": trace_id,
        "spanId": "1" * 16,
        "name": "search",
        "startTimeUnixNano": "1772355600000000000",
        "endTimeUnixNano": "1772355601000000000",
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in texts.items()],
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
