"""What a program adds is used like what is built in: metrics, systems, judges, gate rules."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.embedding.registry import EMBEDDERS
from assay.errors import (
    BadValue,
    ExtensionFailed,
    InputError,
    NameTaken,
    NotComparable,
    SettingError,
    UnknownMetric,
    UnknownSystem,
)
from assay.evaluation.datasets import DATASET_FORMATS, Source, export_dataset, load_dataset
from assay.evaluation.gating import GateOptions
from assay.evaluation.gating import judge as gate_judge
from assay.evaluation.gating.rules import GATE_RULES
from assay.evaluation.readings import reading_of
from assay.evaluation.results import load_run
from assay.extend import (
    Ask,
    Case,
    CaseView,
    Dataset,
    Document,
    Embedder,
    EmbedderRequest,
    Grade,
    JudgeInput,
    Parameter,
    Question,
    Retrieved,
    RuleVerdict,
    Status,
    System,
    channel,
    dataset_format,
    embedder,
    gate_rule,
    judge,
    metric,
    not_applicable,
    system,
)
from assay.judging.registry import JUDGES, JudgeRequest, find_judge
from assay.memory.searching.channels import CHANNELS
from assay.metrics.catalog import METRICS
from assay.records import Channel, Draft, Scope, SearchRequest
from assay.records.evaluations import OutcomeKind
from assay.records.judging import RubricKind, VerdictOutcome
from assay.settings import Settings
from assay.systems.registry import SYSTEMS, SystemRequest, parse_spec
from assay.testing import HashedEmbedder
from assay.wiring import open_engine
from assay.wiring.adapter_kinds import FRAMEWORKS, SEARCH_ENGINES, STORES
from assay.wiring.engines import load_embedder

DOCS = Dataset(
    name="docs",
    documents=tuple(Document(id=name, text=f"All about {name}.") for name in ("a", "b", "c")),
    cases=tuple(
        Case(id=f"q-{name}", query=f"what is {name}?", grades=(Grade(document_id=name, grade=1),))
        for name in ("a", "b", "c")
    ),
    relevance_level=1,
)


def search(query: str, k: int) -> list[str]:
    return [query[8], "a", "b"][:k]


def first_is_b(case: CaseView) -> bool:
    """Is the first result b?"""
    return case.ids[0] == "b"


def without(saved: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """A registry as it would be without one entry."""
    entries, *rest = saved
    return ({known: entry for known, entry in entries.items() if known != name}, *rest)


def test_a_plain_function_is_a_metric() -> None:
    result = assay.evaluate(DOCS, search, metrics=["recall@1", first_is_b])
    assert result.value("first_is_b") == pytest.approx(1 / 3)
    assert result.value("recall@1") == 1.0
    assert METRICS.find("first_is_b") is not None


def test_none_is_not_zero_and_an_outcome_says_why() -> None:
    def only_a(case: CaseView) -> float | None:
        return 1.0 if case.relevant == {"a"} else None

    def told(case: CaseView) -> Any:
        return True if case.relevant == {"a"} else not_applicable("it is not about a")

    result = assay.evaluate(DOCS, search, metrics=[only_a, told])
    assert (result.aggregates[next(iter(result.aggregates))].scored, result.value("only_a")) == (1, 1.0)
    assert result.per_case("told")["q-b"].reason == "it is not about a"
    assert result.per_case("only_a")["q-b"].kind is OutcomeKind.NOT_APPLICABLE


def test_a_metric_with_a_cutoff_and_a_parameter_is_asked_for_by_name() -> None:
    letter = Parameter(name="letter", meaning="which letter", default="a")

    @metric(cutoff="required", parameters=[letter], lowest=0, highest=1)
    def has_letter(case: CaseView) -> bool:
        """Is a letter among the first k?"""
        return case.parameter("letter") in case.ids[: case.k]

    result = assay.evaluate(DOCS, search, metrics="has_letter@1,has_letter(letter=b)@2")
    assert result.value("has_letter@1") == pytest.approx(1 / 3)
    assert result.value("has_letter(letter=b)@2") == pytest.approx(2 / 3)
    with pytest.raises(UnknownMetric, match="needs a cutoff"):
        assay.evaluate(DOCS, search, metrics="has_letter")


@pytest.mark.parametrize("returned", [math.nan, math.inf, "many", [1]])
def test_what_is_not_a_number_is_refused_with_metric_case_and_value(returned: object) -> None:
    def broken(case: CaseView) -> object:
        return returned

    with pytest.raises(ExtensionFailed, match=r"the metric broken returned .* for the case q-a"):
        assay.evaluate(DOCS, search, metrics=[broken])


def test_a_metric_that_raises_names_itself_and_the_case() -> None:
    def divides(case: CaseView) -> float:
        return 1 / 0

    with pytest.raises(ExtensionFailed, match="the metric divides failed on the case q-a: ZeroDivisionError"):
        assay.evaluate(DOCS, search, metrics=[divides])


def test_the_name_of_a_metric_that_is_there_cannot_be_taken() -> None:
    def ndcg(case: CaseView) -> float:
        return 1.0

    with pytest.raises(NameTaken, match=r"'ndcg': Assay itself \(family ranking\) and .*ndcg"):
        assay.evaluate(DOCS, search, metrics=[ndcg])


def test_a_function_without_a_name_is_refused() -> None:
    with pytest.raises(BadValue, match="<lambda>"):
        assay.evaluate(DOCS, search, metrics=[lambda case: 1.0])


def test_a_run_is_read_where_the_metric_is_not_known(tmp_path: Path) -> None:
    @metric(better="lower", lowest=0)
    def tokens(case: CaseView) -> float:
        return len(case.query)

    before = METRICS.save()
    result = assay.evaluate(DOCS, search, metrics=["mrr", tokens], runs=tmp_path)
    METRICS.restore(without(before, "tokens"))
    assert result.folder is not None
    read = load_run(result.folder)
    assert read.value("tokens") == result.value("tokens")
    assert "tokens" in str(assay.compare(read, result))
    with pytest.raises(UnknownMetric, match="nothing here computes tokens"):
        assay.evaluate(DOCS, search, metrics="tokens")


def test_runs_measured_with_other_code_are_not_compared(tmp_path: Path) -> None:
    def scale_by(factor: float) -> Any:
        scope: dict[str, Any] = {}
        exec(f"def scaled(case):\n    return {factor}\n", scope)
        return scope["scaled"]

    before = assay.evaluate(DOCS, search, metrics=[scale_by(1.0)], name="before")
    METRICS.restore(without(METRICS.save(), "scaled"))
    after = assay.evaluate(DOCS, search, metrics=[scale_by(2.0)], name="after")
    with pytest.raises(NotComparable):
        assay.compare(before, after)


@pytest.fixture
def letters() -> None:
    @system("letters")
    class Letters(System):
        """Gives the letter of the question first."""

        name = "letters"

        def __init__(self, target: str, dataset: Dataset) -> None:
            self.target = target
            self.known = [document.id for document in dataset.documents]

        def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
            return Retrieved(ids=tuple([query[8], *(one for one in self.known if one != query[8])][:k]))

    system("plain-letters")(search)


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize("spec", ["letters", "letters:anything", "plain-letters"])
def test_a_registered_system_is_named_like_a_built_in_one(spec: str) -> None:
    assert assay.evaluate(DOCS, spec, metrics="recall@1").value("recall@1") == 1.0


@pytest.mark.usefixtures("letters")
def test_a_class_that_cannot_be_made_says_why() -> None:
    @system("needs-more")
    class NeedsMore(System):
        name = "needs-more"

        def __init__(self, more: str) -> None: ...

        def retrieve(self, query: str, k: int, case: Case) -> Retrieved:
            return Retrieved(ids=())

    with pytest.raises(ExtensionFailed, match="the system needs-more cannot be opened: TypeError"):
        assay.evaluate(DOCS, "needs-more", metrics="recall@1")
    with pytest.raises(UnknownSystem, match="no kind of system is called 'leters'") as caught:
        parse_spec("leters", Path())
    assert "'letters'" in caught.value.remedy


def test_every_built_in_system_is_registered() -> None:
    assert SYSTEMS.names()[:5] == ("assay", "python", "http", "mcp", "run")
    assert set(SYSTEMS.names()[5:]) == {"traces", *FRAMEWORKS, *STORES, *SEARCH_ENGINES}
    opened = SYSTEMS.find("python")
    assert opened is not None
    request = SystemRequest(text="python:x", target="x", dataset=DOCS, folder=Path())
    with pytest.raises(UnknownSystem):
        opened.open(request)


def opened(name: str, about: RubricKind) -> Any:
    request = JudgeRequest(about=about, settings=None, store=None, scope=Scope(tenant="t", principal="p"))
    return find_judge(name, about).open(request)


def test_a_function_is_a_judge_and_its_code_is_part_of_who_it_is() -> None:
    @judge("length", about=["correctness", "groundedness"])
    def length(given: JudgeInput) -> float | None:
        """Long answers are better."""
        if not given.answer.strip():
            return None
        return min(5.0, len(given.answer.split())) if given.answer != "raise" else 1 / 0

    found = opened("length", RubricKind.CORRECTNESS)
    asked = [JudgeInput(kind=RubricKind.CORRECTNESS, question="?", answer=text) for text in ("a b c", " ", "raise")]
    said = [found.judge_case(one).verdict for one in asked]
    assert [one.score for one in said] == [3.0, None, None]
    assert [one.outcome for one in said] == [VerdictOutcome.SCORED, VerdictOutcome.SKIPPED, VerdictOutcome.UNAVAILABLE]
    assert "ZeroDivisionError" in said[2].reason
    assert found.fingerprint().judge_kind == "own"
    with pytest.raises(BadValue, match="the judge length does not judge abstention"):
        find_judge("length", RubricKind.ABSTENTION)
    with pytest.raises(BadValue, match="no judge is called 'lenght'; close names: length"):
        find_judge("lenght", RubricKind.CORRECTNESS)
    assert JUDGES.names() == ("builtin", "builtin-correctness", "builtin-overlap", "model", "length")


def test_an_abstention_judge_says_yes_or_no() -> None:
    @judge("shy", about="abstention")
    def shy(given: JudgeInput) -> bool:
        return "not know" in given.answer

    found = opened("shy", RubricKind.ABSTENTION)
    given = JudgeInput(kind=RubricKind.ABSTENTION, question="?", answer="I do not know.")
    assert found.judge_case(given).verdict.abstained is True


def ran() -> Any:
    return reading_of(assay.evaluate(DOCS, search, metrics="recall@1", name="now"))


def test_a_registered_rule_is_asked_in_every_gate_and_decides() -> None:
    @gate_rule("three-cases")
    def three_cases(question: Question) -> RuleVerdict:
        count = len(question.run.cases)
        return RuleVerdict(
            rule="three-cases", status=Status.PASS if count == 3 else Status.FAIL, sentence=f"{count} cases were asked"
        )

    verdict = gate_judge(ran(), None)
    assert verdict.status is Status.PASS
    assert "3 cases were asked" in repr(verdict)


def test_a_rule_that_raises_leaves_the_gate_inconclusive() -> None:
    @gate_rule("broken")
    def broken(question: Question) -> RuleVerdict:
        raise KeyError("nothing")

    @gate_rule("elsewhere", datasets=["other"])
    def elsewhere(question: Question) -> None:
        raise AssertionError("not asked over this dataset")

    verdict = gate_judge(ran(), None)
    assert verdict.status is Status.INCONCLUSIVE
    (said,) = [one for one in verdict.rules if one.rule == "broken"]
    assert "KeyError" in said.sentence


def test_a_rule_whose_package_cannot_be_loaded_leaves_the_gate_inconclusive() -> None:
    entries, names, problems, points = GATE_RULES.save()
    line = "the package strict 1.0 cannot add the gate rule 'strict': ImportError: gone"
    GATE_RULES.restore((entries, names, {**problems, "strict": line}, points))
    verdict = gate_judge(ran(), None)
    assert verdict.status is Status.INCONCLUSIVE
    assert line in json.dumps(verdict.as_json())


def read_names(path: Path) -> Dataset:
    """One document and one question for each line."""
    names = path.read_text(encoding="utf-8").split()
    return Dataset(
        name=path.stem,
        documents=tuple(Document(id=name, text=name) for name in names),
        cases=tuple(Case(id=f"q-{name}", query=name, grades=(Grade(document_id=name, grade=1),)) for name in names),
        relevance_level=1,
    )


def test_a_registered_format_is_told_by_its_ending_read_and_written(tmp_path: Path) -> None:
    def write_names(dataset: Dataset, path: Path) -> None:
        path.write_text("\n".join(document.id for document in dataset.documents), encoding="utf-8")

    dataset_format("names", endings=[".names"], write=write_names)(read_names)
    (tmp_path / "few.names").write_text("a b c", encoding="utf-8")
    found = load_dataset(tmp_path / "few.names")
    assert [case.query for case in found.cases] == ["a", "b", "c"]
    export_dataset(found, tmp_path / "again.txt", kind="names")
    read = load_dataset(tmp_path / "again.txt", source=Source(format="names"))
    assert [document.id for document in read.documents] == ["a", "b", "c"]


def test_a_format_that_fails_names_the_file_and_what_went_wrong(tmp_path: Path) -> None:
    dataset_format("names", endings=[".names"])(read_names)
    (tmp_path / "bad.names").write_bytes(b"\xff")
    with pytest.raises(ExtensionFailed, match=r"the format names that reads .*bad.names failed: UnicodeDecodeError"):
        load_dataset(tmp_path / "bad.names")
    with pytest.raises(InputError, match="format 'names' is not known") as caught:
        export_dataset(DOCS, tmp_path / "out", kind="names")
    assert "golden" in caught.value.remedy


def test_every_built_in_format_is_registered() -> None:
    assert DATASET_FORMATS.names() == (
        "golden",
        "golden-files",
        "golden-lines",
        "anchored",
        "beir",
        "trec",
        "ragas",
        "questions",
        "longmemeval",
        "parquet",
    )


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[assay.Memory]:
    with assay.Memory(tmp_path / "notes.db", embedder="none") as memory:
        memory.save(body="The tiger is fed at nine, by two keepers.", title="Feeding the tiger", folder="cats")
        memory.save(body="The owl is fed at night, when it wakes up.", title="Feeding the owl", folder="birds")
        yield memory


def found_by(memory: assay.Memory, query: str, **more: Any) -> dict[str, tuple[str, ...]]:
    return {hit.title: tuple(hit.channels) for hit in memory.search(query, **more).hits}


def add_nicknames(memory: assay.Memory, score: float = 1.0) -> None:
    ids = {line.title: line.memory_id for line in memory.list().memories}

    @channel("nicknames", weight=0.5)
    def find_nicknames(ask: Ask) -> list[tuple[str, float]]:
        """Finds memories by other names of what they are about."""
        return [(ids["Feeding the tiger"], score), ("m_nobody", 1.0)] if "stripes" in ask.parsed.words else []


def test_a_registered_channel_votes_in_a_search_and_is_told_apart(notes: assay.Memory) -> None:
    assert found_by(notes, "whose back has stripes", mode="focused") == {}
    add_nicknames(notes)
    assert found_by(notes, "whose back has stripes", mode="focused") == {"Feeding the tiger": ("nicknames",)}
    assert "nicknames" in found_by(notes, "tiger stripes and its feeding", mode="focused")["Feeding the tiger"]
    assert found_by(notes, "stripes", channels=["nicknames"]) == {"Feeding the tiger": ("nicknames",)}
    explained = notes.search("stripes", channels=["nicknames"], explain=True).hits[0].explanation
    assert explained is not None
    assert "nicknames" in repr(explained)


def test_filters_hold_for_an_added_channel(notes: assay.Memory) -> None:
    add_nicknames(notes)
    assert found_by(notes, "stripes", channels=["nicknames"], folder="birds") == {}


def test_a_channel_that_raises_is_left_out_and_the_others_answer(notes: assay.Memory) -> None:
    add_nicknames(notes, score=7.0)
    result = notes.search("feeding the tiger with stripes", mode="focused")
    assert result.hits[0].title == "Feeding the tiger"
    (said,) = [line for line in result.degraded if "nicknames" in line]
    assert "gave a score outside 0 to 1" in said


def test_a_channel_that_nobody_registered_is_refused(notes: assay.Memory) -> None:
    with pytest.raises(BadValue, match="nobodys"):
        notes.search("stripes", channels=["nobodys"])
    assert CHANNELS.names() == ("vector", "fts5", "bm25", "trigger", "graph")


def test_a_metric_of_the_whole_run_can_be_a_floor() -> None:
    result = reading_of(assay.evaluate(DOCS, search, metrics="recall@1,suite_time", name="now"))
    slow = gate_judge(result, None, GateOptions(floors={"suite_time": 3600.0, "recall@1": 0.5}))
    assert slow.status is Status.PASS
    (said,) = [rule for rule in slow.rules if rule.about == "suite_time"]
    assert "within the ceiling" in said.sentence
    unknown = gate_judge(result, None, GateOptions(floors={"chunk_tokens": 1.0, "recall@1": 0.5}))
    assert unknown.status is Status.INCONCLUSIVE


def test_a_registered_embedder_makes_the_vectors_of_a_memory(tmp_path: Path) -> None:
    asked: list[EmbedderRequest] = []

    @embedder("hashed", summary="Hashes of words.")
    def load_hashed(request: EmbedderRequest) -> Embedder:
        asked.append(request)
        return HashedEmbedder()

    assert EMBEDDERS.names()[:3] == ("minilm", "granite", "static")
    assert EMBEDDERS.all()["hashed"].entry.summary == "Hashes of words."
    settings = Settings(
        db=str(tmp_path / "notes.db"), embedder="registered", embedder_name="hashed", embedder_threads=2
    )
    with open_engine(settings) as engine:
        engine.saver.save(Scope(), Draft(title="Feeding the tiger", body="The tiger is fed at nine, by two keepers."))
        found = engine.searcher.search(Scope(), SearchRequest(query="feeding the tiger", channels=(Channel.VECTOR,)))
        with engine.store.reading(Scope()) as work:
            assert work.vectors.active() == HashedEmbedder().model
    assert [hit.title for hit in found] == ["Feeding the tiger"]
    assert {request.threads for request in asked} == {2}


def test_an_embedder_that_nobody_registered_is_refused() -> None:
    with pytest.raises(SettingError, match=r"needs the setting embedder\.name"):
        load_embedder(Settings(embedder="registered"))
    with pytest.raises(BadValue, match="no embedder is called 'nobodys'"):
        load_embedder(Settings(embedder="registered", embedder_name="nobodys"))
