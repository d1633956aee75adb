"""Every command line of Assay in three environments: the base install, with the extra `memory`, and with all extras.

`python -m tests.packaging.matrix` builds the environments, runs the commands and prints the exit codes side by side.
`test_matrix.py` holds them to the table below.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from tests.evaluation.made import golden
from tests.packaging.environments import EXTRAS, Environment, build_wheel, make_environment

from assay.extras import install_command
from assay.formats.golden import write_golden

DRIVER = Path(__file__).parent / "driver.py"
CASES = 12


class Needs(NamedTuple):
    """The command ends with 3 and names this extra's install command."""

    extra: str


Expected = int | Needs | None
"""An exit code; None: the command is not run there, since it serves until it is stopped or takes minutes."""
MEMORY = Needs("memory")


class Row(NamedTuple):
    """One command line and how it ends in each environment."""

    line: str
    base: Expected
    memory: Expected
    everything: Expected
    stdin: str = ""

    @property
    def arguments(self) -> list[str]:
        return self.line.split(" ") if self.line else []

    def expected(self, environment: str) -> Expected:
        return {"base": self.base, "memory": self.memory, "all": self.everything}[environment]


def works(line: str, code: int = 0, stdin: str = "") -> Row:
    """A command that ends alike in all environments."""
    return Row(line, code, code, code, stdin)


def with_memory(line: str, code: int = 0, stdin: str = "") -> Row:
    """A command that needs the extra `memory`."""
    return Row(line, MEMORY, code, code, stdin)


TRACE = "0af7651916cd43dd8448eb211c80319c"
MAIN_JOB = (
    works(""),
    works("--help"),
    works("--version"),
    works("help"),
    works("help flag set"),
    works("version"),
    works("config"),
    works("doctor"),
    works("trust --list"),
    works("metrics"),
    works("metrics ndcg@10"),
    works("dataset list"),
    works("dataset check golden"),
    works("dataset check hotel"),
    works("dataset show golden"),
    works("dataset show save-scenarios"),
    works("dataset import golden --name kept"),
    works("dataset export kept out-beir --format beir"),
    works("dataset check out-beir"),
    works("dataset export kept out-trec --format trec"),
    works("dataset export kept out-ragas --format ragas"),
    works("dataset split kept parts --part dev=0.5 --part test=0.5"),
    Row("dataset export kept out-parquet --format parquet", Needs("parquet"), Needs("parquet"), 0),
    works("dataset generate notes made --builtin"),
    works("label made --annotator ada", stdin="3331q"),
    works("label made --annotator eve", stdin="3321q"),
    works("label made --agreement"),
    works("label made --apply labelled"),
    works("run golden --system python:search:good --name good"),
    works("run golden --system python:search:poor --name poor"),
    works("run golden --system http:service.toml --name served"),
    works("run golden --system run:ranking.trec --name ranked"),
    Row("run golden --system mcp:server.toml", Needs("mcp"), Needs("mcp"), 3),
    works("compare good poor"),
    works("compare good poor --json"),
    works("baseline bless good"),
    works("baseline show"),
    works("gate good --junit gate.xml --comment comment.md --sarif gate.sarif --summary-file step.md"),
    works("gate poor --junit gate.xml --comment comment.md --sarif gate.sarif --summary-file step.md", 1),
    works("gate good --baseline poor --self-test --replays 20"),
    works("report poor"),
    works("report poor --html --name page"),
    works("report poor --why q03 --dataset golden"),
    works("report poor --why lost --probe --calls 5 --dataset golden"),
    works("measure --qrels qrels.txt --run ranking.trec --metrics ndcg@10"),
    works("bench list"),
    works("bench memory --system markdown-grep"),
    works("bench import theirs.jsonl --set starter --out theirs.capsule"),
    works("bench verify theirs.capsule"),
    works("bench table theirs.capsule"),
    works("bench overlay audit --out overlay.json --version-name 1"),
    works("experiment list"),
    works("experiment show latest", 3),
)
"""What needs no memory: datasets, runs, comparisons, gates, reports. It works in the base install."""

MEMORY_COMMANDS = (
    with_memory("start notes --yes --to begun --system assay:embedder.kind=none"),
    with_memory("run hotel --system assay:embedder.kind=none --sample 0.05 --name assay"),
    with_memory("experiment run golden --set mode=quick --base assay:embedder.kind=none --sample 0.2", 1),
    with_memory("bench memory --system bm25 --system vector"),
    with_memory("init"),
    with_memory("save --title Cookies --text Sessions.end.after.an.hour"),
    with_memory("search cookies"),
    with_memory("ask cookies"),
    with_memory("show m_0", 3),
    with_memory("update m_0 --title Other", 3),
    with_memory("list"),
    with_memory("export kept.jsonl"),
    with_memory("import kept.jsonl"),
    with_memory("why m_0", 3),
    with_memory("restore m_0", 3),
    with_memory("link m_0 caused m_1", 3),
    with_memory("ingest notes"),
    with_memory("health"),
    with_memory("validate m_0 --useful", 3),
    with_memory("rate a_0 --useful", 3),
    with_memory("observe --session s --path notes/a.md"),
    with_memory("learn status"),
    with_memory("learn run"),
    with_memory("learn terms"),
    with_memory("learn changes"),
    with_memory("learn approve", 2),
    with_memory("learn rollback --memory m_0", 3),
    with_memory("flag list"),
    with_memory("flag show mmr"),
    with_memory("flag on mmr"),
    with_memory("flag off mmr"),
    with_memory("flag set mmr on"),
    with_memory("flag review reconsolidation"),
    with_memory("index status"),
    with_memory("index compact"),
    with_memory("index reembed"),
    with_memory("index delete"),
    with_memory("session list"),
    with_memory("session show s", 3),
    with_memory("task preflight fix --knowledge 0.5 --uncertainty 0.5 --context 0.5"),
    with_memory("task postflight fix --knowledge 0.6 --uncertainty 0.4 --context 0.6"),
    with_memory("task outcomes"),
    with_memory("attribution"),
    with_memory("tier nobody normal", 3),
    with_memory("variant list"),
    with_memory("variant add words assay:channels=fts5"),
    with_memory("variant remove words"),
    with_memory("dataset review kept"),
    with_memory("judgments status"),
    with_memory("judgments list"),
    with_memory("judgments collect"),
    with_memory("judgments grade", 3),
    with_memory("judgments add nobody nobody 1", 3),
    with_memory("shadow status"),
    with_memory("shadow replay mmr"),
    with_memory("ladder list"),
    with_memory("ladder show mmr"),
    with_memory("flag off mmr"),
    with_memory("ladder begin mmr"),
    with_memory("ladder collect mmr"),
    with_memory("ladder pause mmr --why testing"),
    with_memory("ladder resume mmr"),
    with_memory("ladder graduate mmr", 3),
    with_memory("ladder rollback mmr --why testing", 3),
    with_memory("ladder watch"),
    Row("ladder offline mmr hotel", MEMORY, None, None),
    with_memory("analyze"),
    with_memory("prompts list"),
    with_memory("prompts show planner"),
    with_memory("prompts set planner --add Be.brief."),
    with_memory("prompts diff planner 0"),
    with_memory("prompts compare planner 0", 2),
    with_memory("prompts split planner", 2),
    with_memory("prompts use planner 0"),
    with_memory("prompts rollback planner", 3),
    with_memory("tenant list"),
    with_memory("token create --scope read --name ci"),
    with_memory("token list"),
    with_memory("token revoke t_0", 3),
    with_memory("token sessions"),
    with_memory("token end s_0", 3),
    with_memory("audit-log"),
    with_memory("audit memories.jsonl --plan plan.json"),
    with_memory("repair plan.json --to repaired.jsonl"),
    with_memory("traces import spans.json"),
    with_memory("traces list"),
    with_memory(f"traces show {TRACE}"),
    with_memory("traces report"),
    with_memory("traces scores scores.json"),
    with_memory(f"dataset from-traces traced --trace {TRACE}"),
    with_memory("rescan"),
    with_memory("retention run --dry-run"),
    with_memory("retention restore nothing.jsonl", 3),
    with_memory("checkpoint create before"),
    with_memory("checkpoint list"),
    with_memory("checkpoint restore before"),
    with_memory("checkpoint delete before"),
    with_memory("move --to moved.db"),
    with_memory("forget m_0 --dry-run", 3),
    with_memory("dataset build use --from-log"),
    Row("judge run good --built-in", Needs("judge"), 2, 2),
    Row("judge rerun good --about groundedness --built-in", Needs("judge"), 2, 2),
    Row("judge spot-check good --about groundedness --built-in", Needs("judge"), 2, 2),
    Row("judge list", Needs("judge"), 0, 0),
    Row("judge certify --built-in", Needs("judge"), 0, 0),
    with_memory("judge gold golden"),
    Row("judge calibrate --labels none.jsonl --about groundedness --built-in", Needs("judge"), 3, 3),
    with_memory("tune thresholds"),
    Row("tune fusion hotel", MEMORY, None, None),
    Row("simulate feedback agent-memory", MEMORY, None, None),
    Row("demo", MEMORY, None, None),
    Row("init --db postgresql://127.0.0.1:1/none", MEMORY, Needs("postgres"), 4),
    Row("serve", Needs("serve"), Needs("serve"), None),
    Row("mcp", Needs("mcp"), Needs("mcp"), 0),
)
"""What needs an extra: the base install names it in one line."""

ROWS = (*MAIN_JOB, *MEMORY_COMMANDS)

SEARCH = """
import re

def _numbered(query, places, k):
    case = re.search(r"[0-9]+", query)[0]
    return [f"d{case}-{place}" for place in places][:k]

def good(query, k):
    return _numbered(query, (0, 1, 2, 3, 4), k)

def poor(query, k):
    return _numbered(query, (3, 4), k)
"""
SERVICE = """
url = "http://127.0.0.1:{port}/search"

[response]
results = "hits"
id = "document.id"
score = "score"
"""
NOTES = """# Sessions

## Cookie lifetime

A session cookie lives for 12 hours after the last request. Nobody may raise this above 24 hours.

## Storage

Sessions are kept in the database and are removed every night at 02:00 by a job that takes 5 minutes.
"""


class Outcome(NamedTuple):
    """What came of one command line."""

    row: Row
    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def blames_itself(self) -> bool:
        return "This is a bug" in self.stdout + self.stderr or "Traceback" in self.stderr


def run_matrix(environment: Environment, folder: Path) -> list[Outcome]:
    """Run every command line of the table in one environment, one after the other in one folder."""
    rows = [row for row in ROWS if row.expected(environment.name) is not None]
    steps = [{"arguments": row.arguments, "stdin": row.stdin} for row in rows]
    with _served() as port:
        _furnish(folder, port)
        told = subprocess.run(
            [str(environment.python), "-W", "error", str(DRIVER)],
            input=json.dumps(steps),
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder / "home")},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    if told.returncode:
        raise RuntimeError(told.stderr)
    return [Outcome(row=row, **outcome) for row, outcome in zip(rows, json.loads(told.stdout), strict=True)]


def differences(environment: str, outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each outcome that is not what the table says."""
    return [f"assay {one.row.line}: {wrong}" for one in outcomes if (wrong := _wrong(environment, one))]


def _wrong(environment: str, outcome: Outcome) -> str:
    expected = outcome.row.expected(environment)
    told = " ".join((outcome.stderr.strip() or outcome.stdout.strip()).split())[:300]
    if outcome.blames_itself:
        return f"blames itself: {told}"
    if isinstance(expected, Needs):
        fits = outcome.code == 3 and install_command(expected.extra) in outcome.stderr
        return "" if fits else f"exit {outcome.code}, not 3 with the extra {expected.extra}: {told}"
    return "" if outcome.code == expected else f"exit {outcome.code}, not {expected}: {told}"


def _furnish(folder: Path, port: int) -> None:
    """What the commands work on."""
    dataset = golden(CASES)
    write_golden(folder / "golden" / "golden.json", dataset)
    (folder / "theirs.jsonl").write_text('{"question": "mara-1", "ids": ["s2:5"]}\n', encoding="utf-8")
    (folder / "memories.jsonl").write_text('{"id": "1", "text": "The relay is blue."}\n', encoding="utf-8")
    noted = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": "Where is the relay?",
        "retrieval.documents.0.document.id": "hall",
        "retrieval.documents.0.document.content": "The relay is in the hall.",
    }
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in noted.items()]
    span = {"traceId": TRACE, "spanId": "b7ad6b7169203331", "name": "ask", "attributes": attributes}
    spans = {"resourceSpans": [{"scopeSpans": [{"spans": [span | {"startTimeUnixNano": "1700000000000000000"}]}]}]}
    (folder / "spans.json").write_text(json.dumps(spans), encoding="utf-8")
    (folder / "audit").mkdir()
    (folder / "audit" / "errors_conv_0.json").write_text("[]", encoding="utf-8")
    (folder / "search.py").write_text(SEARCH, encoding="utf-8")
    (folder / "service.toml").write_text(SERVICE.format(port=port), encoding="utf-8")
    (folder / "server.toml").write_text('command = ["true"]\n', encoding="utf-8")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text(NOTES, encoding="utf-8")
    ranking = [
        f"{case.id} Q0 d{number}-{place} {place + 1} {9 - place} made"
        for number, case in enumerate(dataset.cases)
        for place in range(5)
    ]
    (folder / "ranking.trec").write_text("\n".join(ranking) + "\n", encoding="utf-8")
    judged = [f"{case.id} 0 {one.document_id} {one.grade}" for case in dataset.cases for one in case.grades]
    (folder / "qrels.txt").write_text("\n".join(judged) + "\n", encoding="utf-8")


@contextmanager
def _served() -> Iterator[int]:
    """A search service on loopback that knows the dataset; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Search)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class _Search(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        case = "".join(filter(str.isdigit, asked["query"]))
        hits = [{"document": {"id": f"d{case}-{place}"}, "score": 9 - place} for place in range(5)]
        body = json.dumps({"hits": hits}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


def lines_of(found: Mapping[str, Sequence[Outcome]]) -> Iterator[str]:
    """The table: a line for each command, a column for each environment."""
    codes = {name: {one.row.line: str(one.code) for one in outcomes} for name, outcomes in found.items()}
    width = max(len(row.line) for row in ROWS) + len("assay ")
    yield f"{'command':{width}}  {'  '.join(f'{name:>6}' for name in found)}"
    for row in ROWS:
        cells = "  ".join(f"{codes[name].get(row.line, '-'):>6}" for name in found)
        yield f"{f'assay {row.line}':{width}}  {cells}"
    bugs = sum(one.blames_itself for outcomes in found.values() for one in outcomes)
    for name, outcomes in found.items():
        slowest = max(outcomes, key=lambda one: one.seconds)
        spent = sum(one.seconds for one in outcomes)
        yield f"{name}: {spent:.0f} s in all, the longest {slowest.seconds:.1f} s: assay {slowest.row.line}"
    yield f"\n{len(ROWS)} command lines, {bugs} outputs that blame Assay itself. '-': not run there."


def main(names: Sequence[str]) -> int:
    """Build the environments that are named, else all of them; run everything, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder) / "dist")
        found: dict[str, list[Outcome]] = {}
        for name in names or EXTRAS:
            (work := Path(folder) / f"work-{name}").mkdir()
            found[name] = run_matrix(make_environment(name, wheel, Path(folder) / name), work)
    sys.stdout.write("\n".join(lines_of(found)) + "\n")
    wrong = [f"{name}: {line}" for name, outcomes in found.items() for line in differences(name, outcomes)]
    sys.stdout.write("".join(f"not as expected: {line}\n" for line in wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
