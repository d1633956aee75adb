"""The commands that `egress` watches, each as somebody uses it, over a small folder of notes and a small dataset.

`COMMANDS` begins with those that the short form runs. Every command of the command line has an entry; a test holds it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE_S = 180.0
LONG_S = 30.0
"""onnxruntime with its telemetry on first looks up its maker's address within this time."""
QUESTION = "How long are backups kept?"
NOTES = {
    "backups": "# Backups\n\nBackups are kept for 30 days, then deleted by the nightly job.\n",
    "access": "# Access\n\nThe office door opens with a badge from 7 in the morning.\n",
    "invoices": "# Invoices\n\nInvoices are paid within 14 days of receipt.\n",
}
QUERIES = {
    "q1": (QUESTION, "backups"),
    "q2": ("When does the office door open?", "access"),
    "q3": ("When are invoices paid?", "invoices"),
}
_SYSTEM = """
def search(query, k):
    text = "Backups are kept for 30 days."
    return {"results": [{"id": "backups", "text": text}], "answer": text}
"""
_SERVING = re.compile(r"https?://\S+?(?=[\s;]|$)")


class CommandFailedError(Exception):
    """A command did not do its work, so that watching it proves nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Workplace:
    """A folder to work in, and the variables that commands are started with."""

    folder: Path
    environment: Mapping[str, str]

    def assay(self, *arguments: str, codes: Sequence[int] = (0,)) -> str:
        """Run a command to its end; what it printed."""
        done = subprocess.run(
            _program(arguments),
            cwd=self.folder,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode not in codes:
            raise CommandFailedError(f"exit {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
        return done.stdout

    def found(self, *arguments: str) -> Any:
        """The same with --json, read."""
        return json.loads(self.assay(*arguments, "--json"))

    @contextmanager
    def server(self, *arguments: str) -> Iterator[str]:
        """A server for the length of a block; its address."""
        child = subprocess.Popen(
            _program(arguments),
            cwd=self.folder,
            env={**self.environment, "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield _address(child)
        finally:
            child.send_signal(signal.SIGTERM)
            child.communicate(timeout=PATIENCE_S)


def _program(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "assay", *arguments]


def _address(child: subprocess.Popen[str]) -> str:
    """Where a server says that it serves."""
    assert child.stdout is not None
    told = []
    for line in child.stdout:
        told.append(line)
        if found := _SERVING.search(line):
            return found[0].rstrip("/")
    raise CommandFailedError(f"it does not serve: {''.join(told)[-300:]}")


Act = Callable[[Workplace], object]


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """One command as it is used."""

    name: str
    """As on the command line, such as `judge run`."""
    act: Act


def prepare(folder: Path) -> None:
    """Lay out notes, a dataset, a system and a run file in an empty folder."""
    (folder / "notes").mkdir(parents=True)
    for name, text in NOTES.items():
        (folder / "notes" / f"{name}.md").write_text(text, encoding="utf-8")
    dataset = folder / "tiny"
    (dataset / "qrels").mkdir(parents=True)
    corpus = [{"_id": name, "title": name, "text": text} for name, text in NOTES.items()]
    queries = [{"_id": query_id, "text": text} for query_id, (text, _) in QUERIES.items()]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (dataset / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    judged = "".join(f"{query_id}\t{found}\t1\n" for query_id, (_, found) in QUERIES.items())
    (dataset / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", encoding="utf-8")
    ranked = "".join(f"{query_id} Q0 {found} 1 1.0 made\n" for query_id, (_, found) in QUERIES.items())
    (folder / "made.trec").write_text(ranked, encoding="utf-8")
    qrels = "".join(f"{query_id} 0 {found} 1\n" for query_id, (_, found) in QUERIES.items())
    (folder / "made.qrels").write_text(qrels, encoding="utf-8")
    (folder / "answering.py").write_text(_SYSTEM, encoding="utf-8")


def _serve(place: Workplace) -> None:
    with place.server("serve", "--port", "0") as address:
        found = _ask(f"{address}/api/memory/search", {"query": QUESTION})
        if not found["hits"]:
            raise CommandFailedError("the server found nothing")
        _ask(f"{address}/api/research/query", {"question": QUESTION})
        for page in ("/", "/memory", "/evaluation", "/evaluation/queries", "/evaluation/runs"):
            _ask(f"{address}{page}")


def _ask(url: str, body: Mapping[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE_S) as answer:
        content = answer.read()
    return json.loads(content) if body is not None else content


_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "egress", "version": "1"}},
}
_READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
_SEARCH = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "memory_search", "arguments": {"query": QUESTION}},
}


def _mcp(place: Workplace) -> None:
    done = subprocess.run(
        _program(["mcp"]),
        input="".join(json.dumps(line) + "\n" for line in (_HELLO, _READY, _SEARCH)),
        cwd=place.folder,
        env=dict(place.environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    _check_search([json.loads(line) for line in done.stdout.splitlines()], done.stderr)


def _mcp_http(place: Workplace) -> None:
    with place.server("mcp", "--http", "--port", "0") as address:
        hello, session = _message(address, _HELLO, {})
        _message(address, _READY, session)
        answers, _ = _message(address, _SEARCH, session)
    _check_search([*hello, *answers], "")


def _message(address: str, message: Mapping[str, Any], headers: Mapping[str, str]) -> tuple[list[Any], dict[str, str]]:
    """Send one message of MCP over HTTP; the messages of the answer, and the headers that belong to the session."""
    accept = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    request = urllib.request.Request(address, json.dumps(message).encode(), {**accept, **headers})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=PATIENCE_S) as answer:
        text = answer.read().decode()
        session = answer.headers.get("Mcp-Session-Id")
    lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith(("data:", "{"))]
    told = {"Mcp-Session-Id": session} if session else {}
    return [json.loads(line) for line in lines if line], {**told, "MCP-Protocol-Version": "2025-11-25"}


def _check_search(answers: Sequence[Any], errors: str) -> None:
    found = next((answer for answer in answers if answer.get("id") == 2), None)
    if found is None or "Backups" not in json.dumps(found.get("result", {})):
        raise CommandFailedError(f"the tool found nothing: {json.dumps(found)[:300]} {errors[-300:]}")


def _serve_long(place: Workplace) -> None:
    """Leave a server alone for longer than libraries wait until they send what they collected."""
    with place.server("serve", "--port", "0") as address:
        _ask(f"{address}/api/memory/search", {"query": QUESTION})
        time.sleep(LONG_S)


def _memories(place: Workplace, *filters: str) -> list[str]:
    """The ids of memories, the newest first."""
    return [str(memory["memory_id"]) for memory in place.found("list", *filters)["memories"]]


def _one(name: str, *more: str, codes: Sequence[int] = (0,)) -> Command:
    """A command that is one call."""
    return Command(name=name, act=lambda place: place.assay(*name.split(), *more, codes=codes))


def _on_a_memory(name: str, *more: str, codes: Sequence[int] = (0,)) -> Command:
    """A command that takes the id of a memory."""
    return Command(name=name, act=lambda place: place.assay(*name.split(), _memories(place)[0], *more, codes=codes))


COMMANDS: tuple[Command, ...] = (
    _one("ingest", "notes"),
    _one("ask", QUESTION),
    Command(name="serve", act=_serve),
    Command(name="mcp", act=_mcp),
    _one("run", "tiny", "--name", "focused"),
    _one("save", "--title", "Backups", "--text", "Backups are kept for 30 days."),
    _one("search", QUESTION),
    _one("doctor"),
    Command(name="mcp --http", act=_mcp_http),
    _one("demo"),
    _one("start", "notes", "--yes", "--to", "begun"),
    Command(
        name="run --system",
        act=lambda place: place.assay("run", "tiny", "--system", "assay:mode=quick", "--name", "quick"),
    ),
    _one("compare", "focused", "quick"),
    _one("gate", "quick", "--baseline", "focused", codes=(0, 2)),
    _one("baseline bless", "focused"),
    _one("report", "focused", "--html", "--no-baseline"),
    _one("report --why", "lost", "--probe", "--calls", "3"),
    Command(
        name="run python:",
        act=lambda place: place.assay("run", "tiny", "--system", "python:answering:search", "--name", "answers"),
    ),
    _one("judge run", "answers", "--built-in"),
    _one("judge list"),
    _one("judge certify", "--built-in"),
    _one("judge gold", "tiny", codes=(0, 2)),
    _one("bench list"),
    _one("bench memory", "--system", "markdown-grep"),
    _one("measure", "--qrels", "made.qrels", "--run", "made.trec", "-m", "mrr"),
    _one("metrics"),
    _one("doctor --egress"),
    _one("config"),
    _one("trust", "--list"),
    _one("version"),
    _one("init"),
    _one("list"),
    _on_a_memory("show"),
    _on_a_memory("why"),
    _on_a_memory("validate", "--useful"),
    _on_a_memory("update", "--text", "The badge opens the door from 8 in the morning."),
    Command(name="restore", act=lambda place: place.assay("restore", _memories(place, "--status", "superseded")[0])),
    Command(name="link", act=lambda place: place.assay("link", _memories(place)[0], "enabled", _memories(place)[1])),
    Command(
        name="rate",
        act=lambda place: place.assay("rate", place.found("ask", QUESTION)["session"]["log_id"], "--useful"),
    ),
    _one("observe", "--session", "s1", "--wrote", "Backups are kept for 30 days."),
    _one("task preflight", "fix", "--knowledge", "0.5", "--uncertainty", "0.5", "--context", "0.5"),
    _one("session list"),
    _one("attribution"),
    _on_a_memory("tier", "important"),
    _one("variant list"),
    _one("judgments status"),
    _one("health"),
    _one("flag list"),
    _one("index status"),
    _one("learn status"),
    # Three cases are too few to tune on or to learn from; both say so after they have searched.
    _one("tune fusion", "tiny", "-n", "3", codes=(2,)),
    _one("simulate feedback", "tiny", "--rounds", "5", "--searches", "2", "--repeats", "1", codes=(0, 2)),
    _one("export", "notes.jsonl"),
    _one("import", "notes.jsonl"),
    _one("help", "run"),
    _one("dataset list"),
    _one("dataset check", "tiny"),
    _one("experiment list"),
    _one("label", "tiny"),
    _one("shadow status"),
    _one("ladder list"),
    _one("analyze"),
    _one("prompts list"),
    _one("checkpoint create", "egress"),
    _one("move", "--to", "moved.db"),
    _one("retention run"),
    _one("rescan"),
    _on_a_memory("forget", "--dry-run"),
    _one("tenant list"),
    _one("token create", "--name", "egress"),
    _one("audit-log"),
    _one("audit", "notes.jsonl", "--plan", "plan.json"),
    _one("repair", "plan.json", "--to", "repaired.jsonl"),
    _one("traces list"),
    Command(name="serve for half a minute", act=_serve_long),
)


def inherited() -> dict[str, str]:
    """What of this process's environment the commands get: where programs are, and no setting of anybody's."""
    return {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
