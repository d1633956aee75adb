"""Assay's own answers as a system: the pipeline of `assay ask` over a dataset's documents.

- Searching as a run asks for it: mode, channels and folders of the configuration and the case.
- A store that keeps no record of the questions.
- How long planning, retrieval, generation and evaluation took.
- An answer with its references in the order of the marks in its text.
- How the searches of one question were made, joined.
- The system.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

from assay.errors import StoreUnavailable
from assay.records.answers import GivenAnswer, RetrievedChunk
from assay.records.evaluations import Retrieved, Seen
from assay.records.research_log import NoticeKind, ResearchStatus
from assay.records.searching import Mode
from assay.systems.assay_engine import AssaySystem, EngineSearch

if TYPE_CHECKING:
    from assay.memory.engine import Engine
    from assay.memory.searching import Searcher
    from assay.records import Scope
    from assay.records.datasets import Case
    from assay.records.research import Passage, Synthesis
    from assay.records.research_log import Notice, ResearchAnswer
    from assay.records.searching import SearchRequest, SearchResult

# --- Searching as a run asks for it ---


class CaseSearcher:
    """Searches for the pipeline with what the run and the case ask for, and remembers the searches of a question."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._current = threading.local()

    def begin(self, wanted: SearchRequest) -> list[EngineSearch]:
        """Begin a question: its searches are made like `wanted`, and end up in the list that is returned."""
        self._current.wanted, self._current.made = wanted, []
        made: list[EngineSearch] = self._current.made
        return made

    def search(self, scope: Scope, request: SearchRequest) -> SearchResult:
        """One search of the pipeline."""
        wanted: SearchRequest = self._current.wanted
        asked = replace(
            request,
            mode=request.mode if wanted.mode is Mode.AUTO else wanted.mode,
            channels=wanted.channels,
            folder_mode=wanted.folder_mode,
            previous_query=wanted.previous_query,
            session_id=wanted.session_id,
            working_memory=wanted.working_memory,
            context_type=wanted.context_type,
            token_budget=wanted.token_budget,
            tokens_used=wanted.tokens_used,
            min_relevance=wanted.min_relevance,
            origin=wanted.origin,
            tool_name=wanted.tool_name,
        )
        result = self._searcher.search(scope, asked)
        self._current.made.append(EngineSearch(asked, result))
        return result


# --- A store that keeps no record of the questions ---
#
# The store of a corpus is used by every run over it. Records of earlier runs would fill it, and flags that learn from
# earlier questions would make two runs of one system differ.


class _UnrecordedResearch:
    """The research records of a unit of work; new ones are dropped."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def put(self, *_: Any) -> None:
        """Keep nothing."""


class _UnrecordedWork:
    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.research = _UnrecordedResearch(inner.research)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class UnrecordedStore:
    """A store whose research records are not kept; everything else is as in the store itself."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def writing(self, scope: Scope) -> Iterator[_UnrecordedWork]:
        """A unit of work that drops research records."""
        with self._inner.writing(scope) as work:
            yield _UnrecordedWork(work)


def prepare_engine(engine: Engine) -> tuple[Engine, CaseSearcher]:
    """The engine as a pipeline under test needs it, and its searcher: questions are not recorded."""
    prepared, searcher = copy(engine), CaseSearcher(engine.searcher)
    prepared.searcher = cast("Searcher", searcher)
    prepared.store = cast("Any", UnrecordedStore(engine.store))
    return prepared, searcher


# --- How long planning, retrieval, generation and evaluation took ---

Stopwatch = Callable[[], float]
EVALUATING = "evaluating"
"""The event with which an evaluation begins; every other event ends it."""
STAGES = {"plan": "planning", "search": "retrieval", "answer": "generation"}
"""What a run calls the stages of the pipeline."""
EVALUATION = "evaluation"


class PipelineEvent(Protocol):
    """What is read of an event of the pipeline."""

    @property
    def kind(self) -> str:
        """Such as `started` or `evaluating`."""
        ...

    @property
    def stage(self) -> str:
        """`plan`, `search` or `answer`."""
        ...


@dataclass(slots=True)
class StageTimes:
    """Milliseconds by stage: the time after each event belongs to what that event began."""

    stopwatch: Stopwatch = time.perf_counter
    spent: dict[str, float] = field(default_factory=dict)
    _stage: str = ""
    _since: float = 0.0

    def listen(self, event: PipelineEvent) -> None:
        """Close what was going on, and begin what the event announces."""
        self.stop()
        self._stage = EVALUATION if event.kind == EVALUATING else STAGES.get(event.stage, "")

    def stop(self) -> None:
        """Close what was going on."""
        now = self.stopwatch()
        if self._stage:
            self.spent[self._stage] = self.spent.get(self._stage, 0.0) + (now - self._since) * 1000.0
        self._stage, self._since = "", now


# --- An answer with its references in the order of the marks in its text ---

_MARK = re.compile(r"\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")


def read_answer(synthesis: Synthesis, chunk: Callable[[int], RetrievedChunk]) -> GivenAnswer:
    """What the pipeline answered; `chunk` gives the passage of a number.

    References stand in the order in which the text first points to them, and the marks in the text count them from 1.
    """
    cited = {citation.number for citation in synthesis.citations}
    marked = [int(number) for mark in _MARK.findall(synthesis.text) for number in re.findall(r"\d+", mark)]
    order = list(dict.fromkeys([*(number for number in marked if number in cited), *sorted(cited)]))
    place = {number: position for position, number in enumerate(order, start=1)}

    def renumber(mark: re.Match[str]) -> str:
        return f"[{re.sub(r'[0-9]+', lambda found: str(place.get(int(found[0]), found[0])), mark[1])}]"

    return GivenAnswer(
        text=_MARK.sub(renumber, synthesis.text),
        references=tuple(chunk(number) for number in order),
        abstained=synthesis.abstained,
        confidence=synthesis.confidence,
    )


# --- How the searches of one question were made, joined ---


def join_seen(each: Sequence[Seen]) -> Seen | None:
    """What several searches show together: found by any of them counts as found, left out only where all left it out.

    What pairs of searches are worth, such as scores by channel, is known of a single search alone.
    """
    if len(each) < 2:
        return each[0] if each else None
    return Seen(
        indexed=each[0].indexed,
        channels=_join_channels([seen.channels or {} for seen in each]),
        excluded=_left_out_by_all([seen.excluded for seen in each]),
        shut_out=_left_out_by_all([seen.shut_out for seen in each]),
        fused=_join_lists([seen.fused or () for seen in each]),
    )


def _join_channels(each: Sequence[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys(name for channels in each for name in channels)
    return {name: _join_lists([channels.get(name, ()) for channels in each]) for name in names}


def _join_lists(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(document for documents in lists for document in documents))


def _left_out_by_all(each: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    known = [set(documents) for documents in each if documents is not None]
    first = each[0]
    if first is None or len(known) < len(each):
        return None
    return tuple(document for document in first if all(document in documents for documents in known))


# --- The system ---


class AnswersQuestions(Protocol):
    """The pipeline of `assay ask`."""

    def ask(self, scope: Scope, question: str, *, listen: Callable[[Any], None] | None = None) -> ResearchAnswer:
        """Answer a question."""
        ...


NOTED = {
    NoticeKind.SEARCH: "",
    NoticeKind.FALLBACK: "rules planned or answered in the model's place, or mended what it wrote",
    NoticeKind.WITHHELD: "the answer was withheld by a checkpoint that is set to block",
}
"""Notices that a run counts, in words that are the same for each case; empty: the notice's own."""


def _note_of(notice: Notice) -> str:
    return NOTED[notice.kind] or notice.message


class AssayAnswers(AssaySystem):
    """Answers questions from a memory. What it retrieves is what the answer was made from, best first."""

    def __init__(self, *given: Any, pipeline: AnswersQuestions, searcher: CaseSearcher, **more: Any) -> None:
        super().__init__(*given, **more)
        self._pipeline = pipeline
        self._searches = searcher
        self._made: dict[str, list[EngineSearch]] = {}

    def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
        """One question: passages, the answer, and how long each stage took."""
        made = self._searches.begin(self._request(query, k, case))
        times = StageTimes()
        answer = self._pipeline.ask(self._scope, query, listen=times.listen)
        times.stop()
        if answer.session.status is ResearchStatus.FAILED:
            raise StoreUnavailable(answer.synthesis.reason, remedy="See what `assay ask` says to this question.")
        self._made[case.id] = made
        numbered = {passage.number: self._passage_chunk(passage) for passage in answer.passages}
        documents = [self._document(passage.memory_id) for passage in answer.passages]
        return Retrieved(
            ids=tuple(dict.fromkeys(documents)),
            passages=tuple(numbered.values()),
            stages=times.spent,
            answer=read_answer(answer.synthesis, numbered.__getitem__),
            notes=tuple(dict.fromkeys(_note_of(notice) for notice in answer.notices if notice.kind in NOTED)),
        )

    def seen(self, case: Case, given: Retrieved) -> Seen | None:  # noqa: ARG002 - the log knows more
        """How the lists of the pipeline's searches were made, joined."""
        made = self._made.pop(case.id, [])
        return join_seen([self._telling.seen(case, search) for search in made])

    def _passage_chunk(self, passage: Passage) -> RetrievedChunk:
        document = self._document(passage.memory_id)
        return RetrievedChunk(
            rel_path=passage.rel_path or document,
            heading_path=passage.heading_path,
            text=passage.text,
            chunk_id=f"{document}:passage:{passage.number}",
        )
