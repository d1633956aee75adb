"""Stores with planted faults for `bench.audit`: filled templates, and a writer for each form that is read.

Everything comes from a seed. The writers make the files as the tools make them: SQLite tables with the columns of
mem0, Qdrant, Chroma and LangGraph, JSON lines, and Markdown folders.
"""

from __future__ import annotations

import json
import pickle
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from assay.records.store_audits import StoreFault, StoreKind
from bench import audit_texts as texts
from bench.audit_texts import Pair

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
DATED = frozenset({StoreKind.MEM0, StoreKind.CHROMA, StoreKind.LANGGRAPH, StoreKind.JSONL})
"""Kinds that say when a memory was written."""
SHARES = {
    StoreFault.DUPLICATE: 0.08,
    StoreFault.CONTRADICTION: 0.04,
    StoreFault.STALE: 0.06,
    StoreFault.JUNK: 0.06,
    StoreFault.SECRET: 0.04,
    StoreFault.INJECTED_ORDER: 0.04,
    StoreFault.SELF_FEEDING: 0.05,
}
"""Share of the memories that have each fault."""
HARD = 0.08
"""Share of hard negatives."""
OWNERS = ("ada", "ben", "carla")
_LANGUAGES = ("French", "Dutch", "Polish", "Greek", "Welsh", "Hindi", "Swahili", "Korean")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


@dataclass(frozen=True, kw_only=True)
class PlantedMemory:
    """A memory of a planted store, and the faults it has."""

    text: str
    faults: frozenset[StoreFault] = frozenset()
    owner: str = ""
    written: datetime = FIRST_DAY
    number: int = 0
    partner: int | None = None
    """The place, before they are put in order, of the memory that it makes a fault with."""
    planted_as: int = 0
    """Its own such place."""
    also: frozenset[StoreFault] = field(default_factory=frozenset)
    """Faults that a finding may name here without being wrong: the other side of a contradiction."""

    @property
    def key(self) -> str:
        """Its id."""
        return f"m{self.number:05d}"


class _Names:
    """Names for templates; services and persons are used up, so that no two memories share a subject by chance."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._services: list[str] = []
        self._persons: list[str] = []
        self._rounds: Counter[str] = Counter()

    def fill(self) -> dict[str, str]:
        """Return a value for every name."""
        rng = self._rng
        city, city2 = rng.sample(texts.CITIES, 2)
        language, language2 = rng.sample(_LANGUAGES, 2)
        hour, hour2 = rng.sample(range(1, 23), 2)
        digit, digit2 = rng.sample(range(2, 9), 2)
        small, small2 = rng.sample(range(11, 60), 2)
        port, port2 = rng.sample(range(1_100, 9_900), 2)
        return {
            "service": self._take_service(),
            "person": self._take_person(),
            "person2": self._take_person(),
            "person3": self._take_person(),
            "city": city,
            "city2": city2,
            "language": language,
            "language2": language2,
            "tool": rng.choice(texts.TOOLS),
            "food": rng.choice(texts.FOODS),
            "weekday": rng.choice(_WEEKDAYS),
            "prefix": rng.choice(texts.PREFIX),
            "hour": str(hour),
            "hour2": str(hour2),
            "digit": str(digit),
            "digit2": str(digit2),
            "small": str(small),
            "small2": str(small2),
            "port": str(port),
            "port2": str(port2),
            "past_year": str(rng.randrange(1990, 2020)),
            "past_date": _write_day(rng, date(2018, 1, 1), date(2023, 12, 31)),
            "old_date": _write_day(rng, date(2024, 6, 1), date(2026, 9, 30)),
            "future_date": _write_day(rng, date(2027, 2, 1), date(2029, 12, 31)),
            **_make_secrets(rng),
        }

    def _take_service(self) -> str:
        """Return a name that was not used; when all were, they come again with a number."""
        if not self._services:
            number = self._rounds["services"] or ""
            self._rounds["services"] += 1
            names = [f"{one}-{two}{number}" for one in texts.PREFIX for two in texts.SUFFIX]
            self._services = _shuffled(self._rng, names)
        return self._services.pop()

    def _take_person(self) -> str:
        """Return a name that was not used; when all were, they come again with a second family name."""
        if not self._persons:
            number = self._rounds["persons"]
            self._rounds["persons"] += 1
            second = "" if number == 0 else f"-{texts.LAST[number % len(texts.LAST)]}"
            if number >= len(texts.LAST):
                raise RuntimeError("there are not enough names")
            names = [f"{one} {two}{second}" for one in texts.FIRST for two in texts.LAST]
            self._persons = _shuffled(self._rng, names)
        return self._persons.pop()


def _shuffled(rng: random.Random, names: list[str]) -> list[str]:
    rng.shuffle(names)
    return names


def _write_day(rng: random.Random, first: date, last: date) -> str:
    day = first + timedelta(days=rng.randrange((last - first).days))
    return rng.choice((day.isoformat(), f"{day.day} {day:%B} {day.year}", f"{day:%B} {day.day}, {day.year}"))


def _make_secrets(rng: random.Random) -> dict[str, str]:
    def letters(count: int, alphabet: str) -> str:
        return "".join(rng.choice(alphabet) for _ in range(count))

    mixed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    return {
        "github": "ghp_" + letters(36, mixed),
        "aws": letters(40, mixed + "/+"),
        "password": f"{letters(5, mixed)}!{letters(4, mixed)}7{letters(3, mixed)}x",
        "jwt": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI{letters(20, mixed)}.{letters(43, mixed)}",
        "card": _make_card(rng),
        "stripe": "sk_live_" + letters(24, mixed),
        "slack": f"xoxb-{letters(12, '0123456789')}-{letters(12, '0123456789')}-{letters(24, mixed)}",
        "hexkey": letters(40, "0123456789abcdef"),
    }


def _make_card(rng: random.Random) -> str:
    digits = [4, *(rng.randrange(10) for _ in range(14))]
    doubled = sum(sum(divmod(2 * digit, 10)) if place % 2 == 0 else digit for place, digit in enumerate(digits))
    digits.append(-doubled % 10)
    written = "".join(map(str, digits))
    return " ".join(written[place : place + 4] for place in range(0, 16, 4))


# --- Planting ---


def plant(seed: int, count: int, half: str, kind: StoreKind) -> list[PlantedMemory]:
    """Return the memories of a planted store, in the order in which they were written."""
    rng = random.Random(f"{seed} {half}")
    planter = _Planter(rng, half, owners=OWNERS if kind in (StoreKind.MEM0, StoreKind.LANGGRAPH) else ("",))
    for fault, share in SHARES.items():
        planter.plant(fault, round(share * count))
    planter.plant_hard(round(HARD * count))
    planter.plant_good(count - len(planter.memories))
    return planter.in_order()


@dataclass
class _Planter:
    rng: random.Random
    half: str
    owners: tuple[str, ...]
    memories: list[PlantedMemory] = field(default_factory=list)
    names: _Names = field(init=False)

    def __post_init__(self) -> None:
        self.names = _Names(self.rng)

    def plant(self, fault: StoreFault, count: int) -> None:
        """Add memories until there are so many with this fault."""
        plain: Mapping[StoreFault, Mapping[str, tuple[str, ...]]] = {
            StoreFault.SECRET: texts.SECRETS,
            StoreFault.INJECTED_ORDER: texts.ORDERS,
        }
        for number in range(count):
            if fault is StoreFault.JUNK:
                template = texts.JUNK[self.half][number % len(texts.JUNK[self.half])]
                self._add(f"{template}{'' if number % 3 else ' ' + '!' * (1 + number % 4)}", fault)
            elif fault is StoreFault.SELF_FEEDING:
                self._add_echo(number)
            elif fault is StoreFault.DUPLICATE:
                self._add_copy(number)
            elif fault is StoreFault.CONTRADICTION:
                pairs = texts.CONTRADICTIONS[self.half]
                self._add_pair(pairs[number % len(pairs)], fault)
            elif fault is StoreFault.STALE:
                self._add_stale(number)
            else:
                templates = plain[fault][self.half]
                self._add(templates[number % len(templates)].format_map(self.names.fill()), fault)

    def plant_hard(self, count: int) -> None:
        """Add hard negatives: alike and both true, short, about orders and passwords, questions."""
        templates = texts.HARD_NEGATIVES[self.half]
        for number in range(count):
            self._add(templates[number % len(templates)].format_map(self.names.fill()))

    def plant_good(self, count: int) -> None:
        """Add ordinary memories."""
        templates = texts.GOOD[self.half]
        before: dict[str, str] = {}
        for number in range(count):
            template = templates[number % len(templates)]
            # Every second value of a relation with several values is about the person of the line before.
            names = self.names.fill()
            if "also" in template or "as well" in template:
                names |= {name: before[name] for name in ("person", "language2") if name in before}
            before = names
            self._add(template.format_map(names))

    def in_order(self) -> list[PlantedMemory]:
        """Return the memories with times and numbers: in the order of the store, pairs at random distances."""
        places = list(range(len(self.memories)))
        self.rng.shuffle(places)
        made = [
            replace(memory, number=number, planted_as=place)
            for place, (memory, number) in enumerate(zip(self.memories, places, strict=True))
        ]
        for place, memory in enumerate(made):
            if memory.partner is not None and made[memory.partner].number > memory.number:
                other = made[memory.partner]
                made[memory.partner] = replace(other, number=memory.number)
                made[place] = replace(memory, number=other.number)
        step = (AS_OF - FIRST_DAY - timedelta(days=60)) / max(1, len(made))
        dated = [replace(memory, written=FIRST_DAY + step * memory.number) for memory in made]
        # Plans are written before their day: the writing of a passed plan is not what makes it stale.
        return sorted(dated, key=lambda memory: memory.number)

    def _add(
        self, text: str, *faults: StoreFault, owner: str | None = None, partner: int | None = None, also: bool = False
    ) -> int:
        chosen = self.rng.choice(self.owners) if owner is None else owner
        found = frozenset() if also else frozenset(faults)
        may_be = frozenset(faults) if also else frozenset()
        self.memories.append(PlantedMemory(text=text, faults=found, owner=chosen, partner=partner, also=may_be))
        return len(self.memories) - 1

    def _add_pair(self, pair: Pair, fault: StoreFault) -> None:
        names = self.names.fill()
        first = self._add(pair.first.format_map(names), fault, also=fault is StoreFault.CONTRADICTION)
        owner = self.memories[first].owner
        if fault is StoreFault.STALE:
            self._add(pair.second.format_map(names), owner=owner, partner=first)
        else:
            self._add(pair.second.format_map(names), fault, owner=owner, partner=first)

    def _add_stale(self, number: int) -> None:
        plans, pairs = texts.PASSED_PLANS[self.half], texts.STALE_PAIRS[self.half]
        if number % 2:
            self._add(plans[number // 2 % len(plans)].format_map(self.names.fill()), StoreFault.STALE)
        else:
            self._add_pair(pairs[number // 2 % len(pairs)], StoreFault.STALE)

    def _add_copy(self, number: int) -> None:
        if number % 2:
            pairs = texts.NEAR_DUPLICATES[self.half]
            pair = pairs[number // 2 % len(pairs)]
            names = self.names.fill()
            first = self._add(pair.first.format_map(names), StoreFault.DUPLICATE, also=True)
            owner = self.memories[first].owner
            self._add(pair.second.format_map(names), StoreFault.DUPLICATE, owner=owner, partner=first)
            return
        templates = texts.GOOD[self.half]
        text = templates[number // 2 % len(templates)].format_map(self.names.fill())
        first = self._add(text)
        owner = self.memories[first].owner
        copied = text if number % 4 else f"{text.rstrip('.')} "
        self._add(copied, StoreFault.DUPLICATE, owner=owner, partner=first)

    def _add_echo(self, number: int) -> None:
        templates = texts.SELF_FEEDING[self.half]
        names = self.names.fill()
        good = texts.GOOD[self.half]
        first = good[number % len(good)].format_map(self.names.fill())
        second = good[(number + 1) % len(good)].format_map(self.names.fill())
        template = templates[number % len(templates)]
        owner = self.rng.choice(self.owners)
        partner = self._add(first, owner=owner) if "{copy" in template else None
        if "{copy2}" in template:
            self._add(second, owner=owner)
        filled = template.format_map({**names, "copy": first, "copy2": second, "copy_lower": _lower(first)})
        self._add(filled, StoreFault.SELF_FEEDING, owner=owner, partner=partner)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


# --- Writing ---


def write_store(kind: StoreKind, memories: list[PlantedMemory], folder: Path) -> Path:
    """Write a store of a kind; return what is to be named to the audit."""
    return _WRITERS[kind](memories, folder)


def key_of(kind: StoreKind, memory: PlantedMemory) -> str:
    """Return how the reader of a kind names a memory; Markdown has no ids of its own."""
    if kind is StoreKind.CHROMA:
        return f"notes/{memory.key}"
    if kind is StoreKind.LANGGRAPH:
        return f"memories.{memory.owner or 'all'}/{memory.key}"
    if kind is StoreKind.SERVER_MEMORY:
        return f"{_entity_of(memory)}#{memory.number % PER_ENTITY}"
    return memory.key


PER_ENTITY = 20
"""Observations of one entity."""


def _entity_of(memory: PlantedMemory) -> str:
    return f"Topic {memory.number // PER_ENTITY}"


def _write_jsonl(memories: list[PlantedMemory], folder: Path) -> Path:
    path = folder / "memories.jsonl"
    lines = [{"id": memory.key, "text": memory.text, "created_at": memory.written.isoformat()} for memory in memories]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _write_server_memory(memories: list[PlantedMemory], folder: Path) -> Path:
    path = folder / "memory.jsonl"
    entities: dict[str, list[str]] = {}
    for memory in memories:
        entities.setdefault(_entity_of(memory), []).append(memory.text)
    lines: list[dict[str, object]] = [
        {"type": "entity", "name": name, "entityType": "notes", "observations": told} for name, told in entities.items()
    ]
    lines += [
        {"type": "relation", "from": f"Topic {number}", "to": f"Topic {number + 1}", "relationType": "precedes"}
        for number in range(len(entities) - 1)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def pickle_point(point_id: str, payload: Mapping[str, object], vector: list[float]) -> bytes:
    """Return a point as Qdrant's local storage pickles it, without the package: an object of a class with a state."""
    state = {
        "__dict__": {"id": point_id, "vector": vector, "payload": dict(payload)},
        "__pydantic_extra__": None,
        "__pydantic_fields_set__": {"id", "vector", "payload"},
        "__pydantic_private__": None,
    }
    data = pickle.dumps(state, protocol=4)
    # The head and the end of the pickle go; the state is built into the object between them.
    return b"\x80\x04" + b"cqdrant_client.http.models.models\nPointStruct\n)\x81" + data[2:-1] + b"b."


def _write_mem0(memories: list[PlantedMemory], folder: Path) -> Path:
    top = folder / "mem0"
    place = top / "qdrant" / "collection" / "mem0"
    place.mkdir(parents=True)
    vector = [0.125] * 384
    with closing(sqlite3.connect(place / "storage.sqlite")) as points, points:
        points.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        for memory in memories:
            payload = {
                "data": memory.text,
                "hash": memory.key,
                "user_id": memory.owner,
                "created_at": memory.written.isoformat(),
            }
            points.execute("INSERT INTO points VALUES (?, ?)", (memory.key, pickle_point(memory.key, payload, vector)))
    with closing(sqlite3.connect(top / "history.db")) as history, history:
        history.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,"
            " created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT)"
        )
        for memory in memories:
            row = (f"h{memory.key}", memory.key, None, memory.text, "ADD", memory.written.isoformat(), None, 0)
            history.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", row)
    return top


def _write_chroma(memories: list[PlantedMemory], folder: Path) -> Path:
    top = folder / "chroma"
    top.mkdir()
    with closing(sqlite3.connect(top / "chroma.sqlite3")) as database, database:
        database.executescript(
            "CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL);"
            "CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT, scope TEXT, collection TEXT NOT NULL);"
            "CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL,"
            " seq_id BLOB NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);"
            "CREATE TABLE embedding_metadata (id INTEGER, key TEXT NOT NULL, string_value TEXT, int_value INTEGER,"
            " float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));"
            "INSERT INTO collections VALUES ('c1', 'notes');"
            "INSERT INTO segments VALUES ('s1', 'metadata', 'METADATA', 'c1');"
        )
        for number, memory in enumerate(memories, start=1):
            database.execute(
                "INSERT INTO embeddings (id, segment_id, embedding_id, seq_id) VALUES (?, 's1', ?, ?)",
                (number, memory.key, number),
            )
            values = (("chroma:document", memory.text), ("created_at", memory.written.isoformat()))
            for name, value in values:
                database.execute(
                    "INSERT INTO embedding_metadata (id, key, string_value) VALUES (?, ?, ?)", (number, name, value)
                )
    return top


def _write_langgraph(memories: list[PlantedMemory], folder: Path) -> Path:
    path = folder / "store.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "CREATE TABLE store (prefix text NOT NULL, key text NOT NULL, value text NOT NULL, created_at TIMESTAMP,"
            " updated_at TIMESTAMP, expires_at TIMESTAMP, ttl_minutes REAL, PRIMARY KEY (prefix, key))"
        )
        for memory in memories:
            written = memory.written.strftime("%Y-%m-%d %H:%M:%S.%f")
            row = (f"memories.{memory.owner or 'all'}", memory.key, json.dumps({"content": memory.text}))
            database.execute("INSERT INTO store VALUES (?, ?, ?, ?, ?, NULL, NULL)", (*row, written, written))
    return path


def _write_markdown(memories: list[PlantedMemory], top: Path, names: list[str]) -> Path:
    top.mkdir()
    size = -(-len(memories) // len(names))
    for place, name in enumerate(names):
        lines = [f"# Notes {place}", ""]
        for number, memory in enumerate(memories[place * size : (place + 1) * size]):
            if number % 50 == 0:
                lines += ["", f"## Part {number // 50}", ""]
            first, *rest = memory.text.split("\n")
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        (top / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return top


def _write_letta(memories: list[PlantedMemory], folder: Path) -> Path:
    return _write_markdown(memories, folder / "letta", ["human.md", "persona.md", "projects.md"])


def _write_agent_files(memories: list[PlantedMemory], folder: Path) -> Path:
    return _write_markdown(memories, folder / "agents", ["CLAUDE.md"])


_WRITERS: Mapping[StoreKind, Callable[[list[PlantedMemory], Path], Path]] = {
    StoreKind.MEM0: _write_mem0,
    StoreKind.SERVER_MEMORY: _write_server_memory,
    StoreKind.CHROMA: _write_chroma,
    StoreKind.LANGGRAPH: _write_langgraph,
    StoreKind.LETTA: _write_letta,
    StoreKind.AGENT_FILES: _write_agent_files,
    StoreKind.JSONL: _write_jsonl,
}


KINDS: tuple[StoreKind, ...] = tuple(_WRITERS)
"""Every kind that can be planted."""
