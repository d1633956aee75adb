"""Where a user's text, file or request enters Assay: each place with what it does there and how much it takes.

`limit` is the most characters that the place lets through: more is cut or refused before the work begins.
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from starlette.requests import Request

from assay.analysis.prompts import diff_of, with_sentence
from assay.cli.hits import _snippet as cut_snippet
from assay.evaluation.ci import escape
from assay.evaluation.datasets.formats import Source
from assay.evaluation.datasets.loading import read_path
from assay.evaluation.proposals.choosing import propose_questions
from assay.evaluation.question_generation import find_key_sections
from assay.evaluation.running.planning import Budget
from assay.formats import front_matter
from assay.formats.anchored import read_note
from assay.formats.memory_files import open_source
from assay.formats.ragas import read_ragas
from assay.formats.strict_json import read_lines, read_list, read_object
from assay.formats.test_collections import read_topics_and_qrels
from assay.formats.trec import read_beir_qrels, read_grades, read_trec_qrels, stream_run
from assay.gateway.headers import Hosts
from assay.judging.builtin.correctness import BuiltinCorrectness
from assay.judging.builtin.gold_answers import GoldEvidence, check_gold
from assay.judging.builtin.judges import BuiltinGroundedness, features_without_passages, read_abstention
from assay.judging.builtin.support import remove_marks
from assay.judging.injection import clean, find_orders, remove_orders
from assay.judging.labels import read_labels
from assay.judging.prompts import parse_prompt, read_bundled
from assay.judging.rubric import load_rubric, parse_rubric, read_verdict
from assay.mcp.tools import frame_as_data
from assay.memory.ingesting.files import LONGEST_GLOB, read_file, walk
from assay.memory.saving import drafts, options, spam_filter
from assay.memory.saving.drafts import mask_secrets, mask_text
from assay.memory.saving.neighbours import compare_texts, share_taken_over
from assay.memory.saving.spam_filter import find_stuffing, match_orders
from assay.memory.saving.subjects import Labelled
from assay.memory.searching.channels import Precise, inverse_frequencies
from assay.memory.searching.highlighting import mark_matches
from assay.memory.searching.modes import choose_mode
from assay.memory.searching.options import SearchOptions
from assay.memory.searching.query import classify_intent, full_text_query, parse
from assay.metrics.spec import parse_specs
from assay.models.structured import UnreadableReply
from assay.records import Draft, Format, Pressure, Scope, SearchRequest, heading_path, values
from assay.records.datasets import Document
from assay.records.judging import RubricKind
from assay.records.research import Passage
from assay.records.research_log import PromptVersion
from assay.records.saving import ImportFormat
from assay.research.planner import RulePlanner
from assay.research.synthesiser import ExtractiveSynthesiser
from assay.server.idempotency import make_keyed_write
from assay.server.limits import check_json
from assay.server.pages.page import environment
from assay.server.security.browsers import read_csrf_token
from assay.server.security.callers import keep_own_cookies, read_credentials
from assay.storage.erasing import Marks
from assay.testing import HashedEmbedder
from assay.text import sections
from assay.text.chunking import Chunker
from assay.text.claims import claims, sentences
from assay.text.facts import read_facts
from assay.text.questions import read_question
from assay.text.sections import blocks
from assay.text.terms import stems, words
from assay.text.wording import Wording
from bench.complexity.growth import Work

BODY = 1_000_000
"""Characters of a memory that a request may bring."""
REQUEST = 4_194_304
FILE = 16_000_000
HEADER = 65_536
QUERY = 20_000
REPLY = 50_000
PROMPT = 200_000
PASSAGE = 4_096
"""Characters of a passage: 256 tokens of at least 16 characters."""

Read = Callable[[Path], object]
Frame = Callable[[str], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A place where text comes in."""

    name: str
    work: Work
    limit: int
    heavy: bool = False
    """Each text takes long: the suite tries it with fewer of them."""
    bounded: bool = False
    """It holds everything against everything up to a bound and refuses beyond: held to a time, not to an exponent."""


def _drain(items: Iterable[Any]) -> None:
    deque(items, maxlen=0)


@cache
def _kept_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is there until the process ends."""
    return tempfile.TemporaryDirectory(prefix="complexity-")


def _folder() -> Path:
    return Path(_kept_folder().name)


def _plain(text: str) -> str:
    return text


def _file(name: str, read: Read, frame: Frame = _plain) -> Work:
    """Write the text into a file and read that."""

    def work(text: str) -> object:
        path = _folder() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(frame(text), encoding="utf-8", newline="")
        return read(path)

    return work


def _import(kind: ImportFormat) -> Read:
    return lambda path: _drain(open_source(path, kind).read())


def _ingest(path: Path) -> None:
    for found in walk([path], root=path.parent).files:
        _drain(read_file(found))


def _dataset(path: Path) -> object:
    return read_path(path, source=Source())


def _topics(path: Path) -> object:
    qrels = _folder() / "judged.txt"
    qrels.write_text("1 0 d1 1\n", encoding="utf-8")
    return read_topics_and_qrels(path, qrels, name="a")


def _note(path: Path) -> object:
    return read_note(path, path.parent)


def _labels(path: Path) -> object:
    return read_labels(path, RubricKind.GROUNDEDNESS)


def _draft(text: str, **more: Any) -> Draft:
    return Draft(title=text[:500].strip() or "a", body=text.strip() or "a", **more)


def _labelled_draft(text: str) -> Draft:
    parts = tuple(part for start in range(0, 50 * 200, 200) if (part := text[start : start + 200].strip()))
    return Draft(title="a", body="a", tags=parts, triggers=parts, metadata={"a": text[:50_000], "b": [text[:10_000]]})


def _check(draft: Draft) -> None:
    drafts.check_draft(draft)
    clean = mask_secrets(drafts.remove_hidden_text(draft)[0])[0]
    spam_filter.find_doubts(clean)
    options.score_quality(clean)


def _compare_notes(text: str) -> object:
    first, second = (Labelled(title=text[:200], body=body) for body in (text, f"{text} and more"))
    return compare_texts(first, second, 0.99)


def _compare_reversed(text: str) -> object:
    """Every word in another order: nothing corresponds at the same place."""
    first, second = (Labelled(title="a", body=body) for body in (text, " ".join(text.split(" ")[::-1])))
    return compare_texts(first, second, 0.99)


def _chunk(kind: Format) -> Work:
    chunker = Chunker(HashedEmbedder().count_tokens, 256)
    return lambda text: chunker.chunk("A title", text, kind)


def _front_matter(text: str) -> object:
    found = front_matter.split(text)
    return (found.title, found.tags, found.aliases, found.created)


def _ask_index(text: str) -> object:
    return full_text_query(parse(text), lambda _: 1, 100, SearchOptions())


def _precise(text: str) -> float:
    parsed = parse(text[:QUERY])
    line = f" {' '.join(words(text[:PASSAGE]))} "
    scorer = Precise(parsed, inverse_frequencies(parsed, lambda _: 1, 100))
    return scorer.score(f"{line}\n{line}\n{line}") if parsed.words else 0.0


def _answer(text: str) -> object:
    passage = Passage(number=1, memory_id="m_a", title="a", text=text[:PASSAGE])
    return ExtractiveSynthesiser().synthesise(text or "a", [passage])


def _check_gold(text: str) -> object:
    return check_gold(text[:1_000], text, [GoldEvidence(text, "8 May 2023", "Ada")])


def _reply(text: str) -> None:
    with suppress(UnreadableReply):
        read_verdict(text, load_rubric(RubricKind.GROUNDEDNESS))


def _diff(text: str) -> str:
    first = PromptVersion(prompt_id="planner", version=1, text=text, created_at=None, active=False)
    second = PromptVersion(prompt_id="planner", version=2, text=text[::-1], created_at=None, active=True)
    return diff_of(first, second)


def _render(text: str) -> str:
    page = environment().from_string("{{ text }} {{ text | beginning }} {{ text | one_line }} {{ text | plain }}")
    return page.render(text=text)


def _framework_cookies(text: str) -> object:
    kept = keep_own_cookies([(b"cookie", text.encode())], [("cookie", text.encode().decode("latin-1"))])
    return Request({"type": "http", "headers": kept}).cookies


def _json(make: Callable[[str], Any]) -> Frame:
    return lambda text: json.dumps(make(text))


def _csv(text: str) -> str:
    made = io.StringIO()
    rows = [("user_input", "response"), (text[:100_000], "a"), *(line.split(",") for line in text.split("\n"))]
    csv.writer(made).writerows(rows)
    return made.getvalue()


def _json_lines(make: Callable[[str], Any]) -> Frame:
    return lambda text: "".join(json.dumps(make(line)) + "\n" for line in text.split("\n"))


def _conversation(text: str) -> list[dict[str, Any]]:
    parts = [text[start : start + 2_000] for start in range(0, len(text), 2_000)] or ["a"]
    nodes = {
        str(number): {
            "id": str(number),
            "parent": str(number - 1) if number else None,
            "children": [str(number + 1)] if number + 1 < len(parts) else [],
            "message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [part]}},
        }
        for number, part in enumerate(parts)
    }
    return [{"id": "a", "title": text[:100], "mapping": nodes, "current_node": str(len(parts) - 1)}]


def _golden(text: str) -> dict[str, Any]:
    return {"name": "a", "version": "1.0.0", "entities": [{"entity_id": "a", "content": text}], "queries": []}


def _entity(line: str) -> dict[str, Any]:
    return {"type": "entity", "name": line or "a", "observations": [line]}


def _mem0(text: str) -> list[dict[str, Any]]:
    return [{"id": "a", "memory": text, "user_id": text, "categories": [text]}]


def _labelled_answer(text: str) -> dict[str, Any]:
    return {"question": text, "answer": text, "label": 1}


def _many_topics(text: str) -> str:
    return "<top>\n<num> 1\n<title> a\n</top>\n" * (len(text) // 32)


_SCOPE = Scope(principal="a")

_TEXTS: dict[str, tuple[Work, int]] = {
    "find the sections of Markdown": (sections.markdown_sections, BODY),
    "find the sections of reStructuredText": (sections.split_rst, FILE),
    "read JSON as lines of text": (blocks, BODY),
    "find words and stems": (stems, BODY),
    "find sentences": (sentences, BODY),
    "take a text apart for comparing": (Wording, BODY),
    "read facts": (lambda text: read_facts.__wrapped__(text, title=text[:200]), BODY),
    "find copied words": (lambda text: share_taken_over(text, text), BODY),
    "read front matter": (_front_matter, FILE),
    "take out hidden characters": (lambda text: drafts.strip_hidden(text, "body", []), BODY),
    "mask secrets": (lambda text: mask_text(text, "body", []), BODY),
    "look for orders": (match_orders, spam_filter.MOST_READ),
    "look for stuffing": (find_stuffing, spam_filter.MOST_READ),
    "check a draft of JSON": (lambda text: drafts.check_draft(_draft(text, format=Format.JSON)), BODY),
    "name a heading path": (heading_path.normalise, BODY),
    "check an id": (lambda text: values.identifier(text, "id"), BODY),
    "parse a query": (parse, 100_000),
    "ask the full-text index": (_ask_index, 100_000),
    "choose the mode of a search": (lambda text: choose_mode(SearchRequest(query=text), Pressure.NONE), 100_000),
    "guess the intent of a query": (classify_intent, 100_000),
    "score a passage precisely": (_precise, QUERY),
    "show a snippet": (lambda text: cut_snippet(text, text[:1_000]), PASSAGE),
    "mark the words of a query": (lambda text: mark_matches(text[:1_000], text), PASSAGE),
    "frame stored text for a model": (lambda text: frame_as_data(text, what="a"), BODY),
    "find what was forgotten": (lambda text: Marks(names=("Ada",), pieces=("tea",)).in_value(text), BODY),
    "read a question": (read_question, QUERY),
    "plan a question": (lambda text: RulePlanner().plan(text), QUERY),
    "clean judged text": (clean, BODY),
    "look for orders to a judge": (find_orders, BODY),
    "take out orders to a judge": (remove_orders, BODY),
    "find the claims of an answer": (claims, BODY),
    "judge an answer without passages": (lambda text: features_without_passages(text[:1_000], text), BODY),
    "judge an answer by its reference": (lambda text: BuiltinCorrectness().weigh(text[:1_000], text, text), PASSAGE),
    "hold a reference against its evidence": (_check_gold, PASSAGE),
    "find an abstention": (read_abstention, BODY),
    "take marks from a sentence": (remove_marks, 1_000),
    "read the reply of a judge": (_reply, REPLY),
    "read a rubric": (lambda text: parse_rubric(text, "a"), PROMPT),
    "read a prompt": (lambda text: parse_prompt("planner", text), PROMPT),
    "add a sentence to a prompt": (lambda text: with_sentence("planner", read_bundled("planner"), text), PROMPT),
    "compare two prompts": (_diff, PROMPT),
    "read metric specs": (parse_specs, QUERY),
    "read a budget": (Budget.parse, QUERY),
    "match a file name": (lambda text: fnmatchcase("a" * 255, text), LONGEST_GLOB),
    "match a path": (lambda text: fnmatchcase(text, "*a*b*c*.md"), PASSAGE),
    "read a JSON request": (lambda text: check_json(text.encode()), REQUEST),
    "read a text in a JSON request": (lambda text: check_json(json.dumps({"a": text}).encode()), REQUEST),
    "read cookies": (lambda text: read_credentials([("cookie", text)]), HEADER),
    "let the framework read cookies": (_framework_cookies, HEADER),
    "read an authorisation header": (lambda text: read_credentials([("authorization", text)]), HEADER),
    "read the Host": (lambda text: Hosts(()).check("GET", [("host", text)]), HEADER),
    "read the Origin": (lambda text: Hosts(()).check("POST", [("host", "localhost"), ("origin", text)]), HEADER),
    "read a form": (lambda text: read_csrf_token(None, text.encode()), REQUEST),
    "read an idempotency key": (lambda text: make_keyed_write(_SCOPE, text, b"a", b"b"), HEADER),
    "show stored text on a page": (_render, BODY),
    "escape text for a comment in CI": (escape, QUERY),
}

_HEAVY: dict[str, tuple[Work, int]] = {
    "cut Markdown into passages": (_chunk(Format.MARKDOWN), BODY),
    "cut plain text into passages": (_chunk(Format.TEXT), BODY),
    "compare two notes": (_compare_notes, BODY),
    "compare two notes in another order": (_compare_reversed, BODY),
    "check a draft": (lambda text: _check(_draft(text)), BODY),
    "check the labels of a draft": (lambda text: _check(_labelled_draft(text)), 100_000),
    "answer a question from passages": (_answer, QUERY),
    "judge an answer": (lambda text: BuiltinGroundedness().judge(text[:1_000], text, [text]), PASSAGE),
    "find telling sentences": (lambda text: find_key_sections([Document(id="a", text=text)]), BODY),
    "propose questions": (
        lambda text: propose_questions([Document(id="a", text=text)], per_document=10, most=10),
        BODY,
    ),
}

_FILES: dict[str, tuple[Work, int]] = {
    "read a JSON object": (_file("object.json", read_object), FILE),
    "read a JSON list": (_file("list.json", read_list), FILE),
    "read JSON lines": (_file("lines.jsonl", lambda path: _drain(read_lines(path))), FILE),
    "read TREC judgments": (_file("qrels.txt", read_trec_qrels), FILE),
    "read grades": (_file("grades.txt", read_grades), FILE),
    "read BEIR judgments": (_file("qrels.tsv", read_beir_qrels), FILE),
    "read a TREC run": (_file("run.txt", lambda path: _drain(stream_run(path))), FILE),
    "read topics by line": (_file("topics.tsv", _topics), FILE),
    "read a topic with tags": (_file("topics.xml", _topics, lambda text: f"<top>{text}</top>"), FILE),
    "read many topics with tags": (_file("topics2.xml", _topics, _many_topics), FILE),
    "read samples of Ragas": (_file("ragas.csv", read_ragas, _csv), FILE),
    "read a golden dataset": (_file("golden.json", _dataset), FILE),
    "read a golden document": (_file("golden2.json", _dataset, _json(_golden)), FILE),
    "read a note of a vault": (_file("vault/a.md", _note), FILE),
    "read a reStructuredText note of a vault": (_file("vault/a.rst", _note), FILE),
    "read labelled answers": (_file("labels.jsonl", _labels, _json(_labelled_answer)), FILE),
    "ingest a Markdown file": (_file("ingest/a.md", _ingest), FILE),
    "ingest a reStructuredText file": (_file("ingest/a.rst", _ingest), FILE),
    "ingest a JSON file": (_file("ingest/a.json", _ingest), FILE),
    "ingest a web page": (_file("ingest/a.html", _ingest), FILE),
    "ingest JSON lines": (_file("ingest/a.jsonl", _ingest, _json_lines(lambda line: {"text": line})), FILE),
    "import a Markdown note": (_file("notes/a.md", _import(ImportFormat.MARKDOWN)), FILE),
    "import from mem0": (_file("mem0.json", _import(ImportFormat.MEM0), _json(_mem0)), FILE),
    "import from server-memory": (
        _file("memory.jsonl", _import(ImportFormat.SERVER_MEMORY), _json_lines(_entity)),
        FILE,
    ),
    "import from ChatGPT": (
        _file("conversations.json", _import(ImportFormat.CHATGPT), _json(_conversation)),
        FILE,
    ),
    "import JSON lines": (_file("import.jsonl", _import(ImportFormat.JSONL)), FILE),
}

_BOUNDED = frozenset(
    {
        "compare two notes",
        "compare two notes in another order",
        "compare two prompts",
        "answer a question from passages",
        "judge an answer",
        "judge an answer without passages",
        "match a file name",
        "plan a question",
        "read a question",
        "read the reply of a judge",
        "take marks from a sentence",
    }
)

_SLOW = frozenset(
    {
        "hold a reference against its evidence",
        "ingest JSON lines",
        "judge an answer by its reference",
        "judge an answer without passages",
        "look for orders",
        "look for orders to a judge",
        "read a question",
        "plan a question",
        "read samples of Ragas",
        "take a text apart for comparing",
        "take out orders to a judge",
    }
)


ENTRIES: tuple[Entry, ...] = tuple(
    Entry(name=name, work=work, limit=limit, heavy=table is _HEAVY or name in _SLOW, bounded=name in _BOUNDED)
    for table in (_TEXTS, _HEAVY, _FILES)
    for name, (work, limit) in table.items()
)
"""Every place, named by what it does."""
