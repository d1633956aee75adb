"""How much of what a memory returns is needed: `python -m bench.precision --data DIR [--cache DIR] [--part PART]`.

Searches go the way of an agent: the verb `memory.search` as an MCP caller, with the default settings. Each line stands
beside the same search with nothing left out (`min_relevance` 0). Intervals are 95 % bootstrap intervals over cases.

`precisionmembench` follows the protocol of that benchmark's runner: a belief is saved as one text (name, aliases,
content, why it matters) with its scope as folder and its aliases as trigger phrases; a case asks for 20 results of each
scope; pinned beliefs of the scope are left out of what counts. Precision is the share of expected beliefs among those
returned: 0 where something was expected and nothing returned, and no value where neither. Recall has no value where
nothing was expected. The default threshold was chosen on the bundled sets and on one half of the cases; both halves are
printed. `text alone` saves no trigger phrases. The printed figures of other systems are computed from their reports.

`locomo` saves each turn of a chat as a note and asks for ten: recall of the evidence turns, and tokens returned.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.access.policies import Grant
from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.hashing import bucket
from assay.memory.engine import Engine
from assay.memory.saving import Refused
from assay.records import Draft, Format, Scope
from assay.records.access import Access
from assay.settings import Settings
from assay.statistics import bootstrap_mean
from assay.testing import FixedClock
from assay.text.surroundings import find_surroundings
from assay.verbs import memory as memory_verbs
from assay.verbs import searching
from assay.verbs.verb import Caller, Surface
from assay.wiring import open_engine
from bench.remembered import RememberedEmbedder

PARTS = ("precisionmembench", "locomo")
FOLDER = "memory-benchmarks"
GOAL_PRECISION, GOAL_RECALL = 0.60, 0.90
LOST_RECALL, KEPT_TOKENS = 0.01, 0.5
"""Goals on LoCoMo: the recall that may be lost, and the share of the tokens that may be returned."""
BUDGET = 220
"""Tokens for a list that is cut twice: by the default of MCP, and by the caller's budget."""
CUT_TWICE = -1.0
"""Stands in the place of a threshold for that."""
ALONE = -2.0
"""Stands in the place of a threshold for whole lists over turns that know nothing of those around them, as before."""
USER = "test-user"
MOST_BELIEFS = 20
"""Results that the benchmark's runner asks for."""
CURVE = (0.0, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
UNANSWERABLE = 5
"""The category of LoCoMo whose questions have no answer in the chat."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """Saves and searches as an agent over MCP does."""

    engine: Engine
    settings: Settings
    tenant: str

    @property
    def caller(self) -> Caller:
        """The caller that the MCP server makes."""
        grant = Grant(Scope(tenant=self.tenant), Access.OPERATOR, person=False)
        return Caller(
            opened=self.engine, settings=self.settings, grant=grant, surface=Surface.MCP, via="mcp memory_search"
        )

    def search(self, **fields: Any) -> list[tuple[str, int]]:
        """Return the source ids of the hits with their tokens."""
        found = searching.search(self.caller, searching.SEARCH.make(fields))
        with self.engine.store.reading(self.caller.scope) as work:
            return [(str(work.memories.get(hit.memory_id).source_id), hit.tokens) for hit in found.hits]

    def save(self, **fields: Any) -> str:
        """Save a note; return what was decided."""
        return str(memory_verbs.save(self.caller, memory_verbs.SAVE.make(fields)).decision)


@contextmanager
def open_store(embedder: Embedder) -> Iterator[tuple[Engine, Settings]]:
    """A new store in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(db=str(Path(folder) / "assay.db"))
        with open_engine(settings, embedder=embedder, clock=FixedClock()) as engine:
            yield engine, settings


def show_mean(values: Sequence[float]) -> str:
    """A mean with its interval."""
    interval = bootstrap_mean(values, rng=np.random.default_rng(1), bounds=(0.0, 1.0))
    return f"{np.mean(values):.2f} [{interval.low:.2f}, {interval.high:.2f}]"


# --- PrecisionMemBench ---


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One case with what was returned for it."""

    name: str
    returned: tuple[str, ...]
    expected: frozenset[str]

    @property
    def precision(self) -> float | None:
        """As the benchmark's runner computes it."""
        if not self.returned:
            return 0.0 if self.expected else None
        return len(self.expected & set(self.returned)) / len(self.returned)

    @property
    def recall(self) -> float | None:
        """The share of what was expected that was returned."""
        return len(self.expected & set(self.returned)) / len(self.expected) if self.expected else None

    @property
    def exact(self) -> bool:
        """Whether exactly what was expected was returned."""
        return set(self.returned) == self.expected


class Beliefs:
    """The seed of the benchmark, saved in a store."""

    def __init__(
        self, engine: Engine, settings: Settings, seed: Sequence[Mapping[str, Any]], *, triggers: bool
    ) -> None:
        self._engine, self._settings, self._triggers = engine, settings, triggers
        self._known: dict[str, dict[str, Any]] = {}
        self.decisions: dict[str, int] = {}
        for belief in seed:
            self.add(belief)

    def add(self, belief: Mapping[str, Any]) -> None:
        """Save a belief, or save it again with other aliases."""
        self._known[belief["_id"]] = dict(belief)
        parts = [belief["canonical_name"], *belief["aliases"], belief["content"], belief["why_it_matters"]]
        decision = self._agent(belief["user_id"]).save(
            title=belief["canonical_name"],
            body=" ".join(filter(None, parts)),
            format=Format.TEXT,
            folder=_folder(belief["scope"][0]),
            triggers=belief["aliases"] if self._triggers else None,
            source_id=belief["_id"],
        )
        self.decisions[decision] = self.decisions.get(decision, 0) + 1

    def add_aliases(self, belief_id: str, aliases: Iterable[str]) -> None:
        """Save a belief again with further aliases."""
        belief = self._known[belief_id]
        self.add({**belief, "aliases": [*belief["aliases"], *aliases]})

    def ask(self, case: Mapping[str, Any], min_relevance: float | None) -> Judged:
        """Ask for what is relevant to a case."""
        user, most = case.get("userId", USER), case.get("budget", {}).get("maxBeliefs", MOST_BELIEFS)
        pinned = [
            one["_id"] for one in self._known.values() if one["user_id"] == user and _is_pinned(one, case["scope"])
        ]
        lists = []
        if case["query"].strip() and most:
            for scope in case["scope"]:
                found = self._agent(user).search(
                    query=case["query"], k=most, folder=_folder(scope), min_relevance=min_relevance
                )
                lists.append([belief for belief, _ in found if belief not in pinned])
        wanted = case["expect"].get("relevantBeliefs", {})
        expected = wanted.get("shouldOnlyInclude", wanted.get("mustInclude", []))
        returned = _by_turns(lists)[: max(0, most - len(pinned))]
        return Judged(name=case.get("caseId", ""), returned=tuple(returned), expected=frozenset(expected))

    def _agent(self, user: str) -> Agent:
        return Agent(engine=self._engine, settings=self._settings, tenant=user)


def _folder(scope: str) -> str:
    return scope.replace(":", "/")


def _is_pinned(belief: Mapping[str, Any], scopes: Sequence[str]) -> bool:
    over = belief["superseded_by"] or belief["resolved_at"] or belief["type"] == "open_question"
    return bool(belief["pinned"] and not over and set(belief["scope"]) & set(scopes))


def _by_turns(lists: Sequence[Sequence[str]]) -> list[str]:
    """The first of each list, then the second of each, each belief once."""
    longest = max(map(len, lists), default=0)
    return list(dict.fromkeys(found[rank] for rank in range(longest) for found in lists if rank < len(found)))


def ask_cases(place: Path, embedder: Embedder, *, triggers: bool, min_relevance: float | None) -> list[Judged]:
    """Ask every single-turn case."""
    with open_store(embedder) as (engine, settings):
        beliefs = Beliefs(engine, settings, _read(place / "beliefs.seed.json"), triggers=triggers)
        return [beliefs.ask(case, min_relevance) for case in _read(place / "retrieval.cases.json")]


def ask_sessions(place: Path, embedder: Embedder, *, min_relevance: float | None) -> list[Judged]:
    """Ask every turn of the session cases; beliefs that a turn creates or changes are saved after it."""
    found = []
    with open_store(embedder) as (engine, settings):
        beliefs = Beliefs(engine, settings, _read(place / "beliefs.seed.json"), triggers=True)
        for session in _read(place / "session-retrieval.cases.json"):
            for turn in session["turns"]:
                case = {"query": turn["userMessage"], "scope": turn["scope"], "expect": turn["expect"]}
                found.append(beliefs.ask({**case, "caseId": f"turn {turn['turnIndex']}"}, min_relevance))
                if "createBeliefAtTurn" in turn:
                    beliefs.add(turn["createBeliefAtTurn"])
                if "updateBeliefAtTurn" in turn:
                    change = turn["updateBeliefAtTurn"]
                    beliefs.add_aliases(change["beliefId"], change.get("addAliases", ()))
    return found


def is_first_half(case: Judged) -> bool:
    """Whether a case is of the half on which the default was chosen."""
    return bucket(case.name, "precision") < 50


def tell_precision(place: Path, embedder: Embedder) -> bool:
    """Print both lists for every configuration; return whether the goals are met with the default settings."""
    print("\n## PrecisionMemBench\n\n| | cases | precision | recall | returned | exact |\n|" + " --- |" * 6)
    uncut = ask_cases(place, embedder, triggers=True, min_relevance=0.0)
    cut = ask_cases(place, embedder, triggers=True, min_relevance=None)
    _tell("nothing left out", uncut)
    _tell("default of MCP", cut)
    _tell("default of MCP, half it was chosen on", [case for case in cut if is_first_half(case)])
    _tell("default of MCP, other half", [case for case in cut if not is_first_half(case)])
    _tell("default of MCP, text alone", ask_cases(place, embedder, triggers=False, min_relevance=None))
    _tell("sessions, nothing left out", ask_sessions(place, embedder, min_relevance=0.0))
    _tell("sessions, default of MCP", ask_sessions(place, embedder, min_relevance=None))
    for threshold in CURVE[1:]:
        _tell(f"min_relevance {threshold:g}", ask_cases(place, embedder, triggers=True, min_relevance=threshold))
    for report in sorted((place / "reports").glob("*.json")):
        told = json.loads(report.read_text(encoding="utf-8"))
        _tell(f"published: {told['provider']}", _read_report(told, place))
    _tell_errors(cut, {one["_id"]: one for one in _read(place / "beliefs.seed.json")})
    precision, recall = _mean(case.precision for case in cut), _mean(case.recall for case in cut)
    return precision >= GOAL_PRECISION and recall >= GOAL_RECALL


def _tell(name: str, cases: Sequence[Judged]) -> None:
    precision = [case.precision for case in cases if case.precision is not None]
    recall = [case.recall for case in cases if case.recall is not None]
    returned = np.mean([len(case.returned) for case in cases])
    print(
        f"| {name} | {len(cases)} | {show_mean(precision)} | {show_mean(recall)} | {returned:.1f} |"
        f" {sum(case.exact for case in cases)} |",
        flush=True,
    )


def _read_report(told: Mapping[str, Any], place: Path) -> list[Judged]:
    wanted = {
        case["caseId"]: case["expect"].get("relevantBeliefs", {}) for case in _read(place / "retrieval.cases.json")
    }
    return [
        Judged(
            name=case["caseId"],
            returned=tuple(case["relevantBeliefs"]),
            expected=frozenset(wanted[case["caseId"]].get("shouldOnlyInclude", ())),
        )
        for case in told["cases"]
    ]


def _tell_errors(cases: Sequence[Judged], seed: Mapping[str, Mapping[str, Any]]) -> None:
    """Print what was returned too much by kind, and what was missed."""
    kinds: dict[str, list[str]] = {}
    for case in cases:
        for belief in set(case.returned) - case.expected:
            kinds.setdefault(_kind_of(seed[belief]), []).append(f"{case.name}: {belief}")
        for belief in case.expected - set(case.returned):
            kinds.setdefault("missed", []).append(f"{case.name}: {belief}")
    for kind, lines in sorted(kinds.items()):
        print(f"\n{kind} ({len(lines)}):\n" + "\n".join(f"- {line}" for line in sorted(lines)))


def _kind_of(belief: Mapping[str, Any]) -> str:
    if belief["superseded_by"] or belief["resolved_at"]:
        return "returned although superseded or resolved"
    return "returned although an open question" if belief["type"] == "open_question" else "returned and not expected"


# --- LoCoMo ---


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceFound:
    """One question with the share of its evidence that was returned."""

    recall: float
    precision: float | None
    tokens: int
    hits: int


def ask_chat(
    chat: Mapping[str, Any], embedder: Embedder, thresholds: Sequence[float]
) -> dict[float, list[EvidenceFound]]:
    """Ask the questions of one chat that have evidence, with each cut; `ALONE` is asked of a store of its own."""
    found: dict[float, list[EvidenceFound]] = {threshold: [] for threshold in thresholds}
    drafts = _turns(chat["conversation"])
    with open_store(embedder) as (engine, settings):
        saved = (replace(draft, surroundings="") for draft in drafts) if ALONE in thresholds else drafts
        for _, outcome in engine.saver.save_many(Scope(), saved, batch=200):
            if isinstance(outcome, Refused):
                raise outcome.error
        engine.indexes.compact(Scope())
        agent = Agent(engine=engine, settings=settings, tenant=Scope().tenant)
        for question in chat["qa"]:
            evidence = frozenset(re.findall(r"D\d+:\d+", " ".join(question.get("evidence", ()))))
            if question["category"] == UNANSWERABLE or not evidence:
                continue
            for threshold in thresholds:
                cut = {"token_budget": BUDGET} if threshold == CUT_TWICE else {"min_relevance": max(threshold, 0.0)}
                hits = agent.search(query=question["question"], k=10, **cut)
                right = len({turn for turn, _ in hits} & evidence)
                found[threshold].append(
                    EvidenceFound(
                        recall=right / len(evidence),
                        precision=right / len(hits) if hits else None,
                        tokens=sum(tokens for _, tokens in hits),
                        hits=len(hits),
                    )
                )
    return found


def _turns(chat: Mapping[str, Any]) -> Iterator[Draft]:
    """Each turn as a note, titled by who spoke and when."""
    number = 1
    while f"session_{number}_date_time" in chat:
        when = chat[f"session_{number}_date_time"]
        turns = chat.get(f"session_{number}", ())
        texts = [f"{turn['speaker']}: {turn['text']}{_picture_of(turn)}" for turn in turns]
        for turn, text, around in zip(turns, texts, find_surroundings(texts), strict=True):
            yield Draft(
                title=f"{turn['speaker']}, {when}",
                body=text,
                surroundings=around,
                format=Format.TEXT,
                source_id=turn["dia_id"],
            )
        number += 1


def _picture_of(turn: Mapping[str, Any]) -> str:
    return f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""


def tell_locomo(place: Path, embedder: Embedder) -> bool:
    """Print recall and tokens for each threshold; return whether the goal is met with both cuts."""
    default = Settings().mcp_min_relevance
    thresholds = sorted({*CURVE, default})
    found: dict[float, list[EvidenceFound]] = {threshold: [] for threshold in (ALONE, *thresholds, CUT_TWICE)}
    for chat in _read(place / "locomo5.json"):
        for cuts in ((ALONE,), (*thresholds, CUT_TWICE)):
            for threshold, answers in ask_chat(chat, embedder, cuts).items():
                found[threshold] += answers
    print(
        "\n## LoCoMo\n\n| min_relevance | questions | evidence recall@10 | precision | hits | tokens |\n|"
        + " --- |" * 6
    )
    for threshold, answers in found.items():
        precision = [one.precision for one in answers if one.precision is not None]
        named = {CUT_TWICE: f"default of MCP, token_budget {BUDGET}", ALONE: "0, without the turns around"}
        name = named.get(threshold, f"{threshold:g}")
        name += " (default of MCP)" if threshold == default else ""
        print(
            f"| {name} | {len(answers)} | {show_mean([one.recall for one in answers])} | {show_mean(precision)} |"
            f" {np.mean([one.hits for one in answers]):.1f} | {np.mean([one.tokens for one in answers]):.0f} |",
            flush=True,
        )
    lost = _mean(one.recall for one in found[ALONE]) - _mean(one.recall for one in found[CUT_TWICE])
    kept = _mean(one.tokens for one in found[CUT_TWICE]) / _mean(one.tokens for one in found[ALONE])
    both = f"the default of MCP and a token budget of {BUDGET}"
    print(f"\nwith {both}: {lost:+.3f} recall lost against turns alone, {kept:.0%} of their tokens returned")
    return lost <= LOST_RECALL and kept <= KEPT_TOKENS


def _mean(values: Iterable[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))


def _read(path: Path) -> list[dict[str, Any]]:
    read: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return read


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was asked for; exit code 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.precision", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"folder that holds {FOLDER}")
    parser.add_argument("--cache", type=Path, help="folder that keeps vectors for the next run")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may repeat")
    asked = parser.parse_args(arguments)
    tellers = {"precisionmembench": tell_precision, "locomo": tell_locomo}
    with tempfile.TemporaryDirectory() as folder:
        embedder = RememberedEmbedder(load_bundled(), asked.cache or Path(folder))
        missed = [part for part in asked.part or PARTS if not tellers[part](asked.data / FOLDER / part, embedder)]
    print("\n" + ("\n".join(f"MISSED: the goal of {part}" for part in missed) or "Every goal is met."))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
