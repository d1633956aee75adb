"""No text that a user sends costs more than in proportion to its length (`design/linear-time.md`).

Every entry point of `bench.complexity.entries` is given every hostile text, and every regular expression of the source
the texts that it nearly matches. A first look takes one short run each; whatever looks steep, or takes long, is
measured again, the best of several runs, before it counts: a busy machine only ever makes a run slower.
"""

from __future__ import annotations

import pytest
from bench.complexity.entries import ENTRIES, Entry
from bench.complexity.growth import ALLOWED, confirm, measure_growth, run_once, screen
from bench.complexity.hostile import CHARACTERS, STRUCTURES, UNITS, Hostile, all_hostile, near_matches, repeated
from bench.complexity.patterns import BOUNDED, MADE, OWN, FoundPattern, find_patterns, use_pattern

from assay.errors import AssayError
from assay.formats.front_matter import split
from assay.formats.web_pages import page_to_markdown
from assay.memory.saving.agreement import TOO_LONG, compare_statements
from assay.metrics.spec import parse_specs
from assay.records.fields import read_toml_text
from assay.text.chunking import Chunker
from assay.text.secrets.formats import PREFIXED, SHAPED

SIZE = 4_000
"""Characters of the first look: a quadratic pattern needs 8 ms or more for them, a linear one a millisecond."""
HEAVY_SIZE = 2_000
"""The same for work that takes long for each character."""
SLOWEST = 1.0
"""Seconds in which an entry point of bounded input has answered or refused."""


def steep(entry: Entry, text: Hostile) -> str:
    """What is wrong with an entry point on a text; empty when nothing is."""
    size = min(HEAVY_SIZE if entry.heavy else SIZE, entry.limit)
    if entry.bounded:
        spent = run_once(entry.work, text.make(size))
        for _ in range(3 if spent > SLOWEST else 0):
            spent = min(spent, run_once(entry.work, text.make(size)))
        return f"{entry.name}, {text.name}: {spent:.2f} s" if spent > SLOWEST else ""
    if screen(entry.work, text.make, size).exponent <= ALLOWED:
        return ""
    sure = confirm(entry.work, text.make, size, most=min(entry.limit, 64_000))
    return f"{entry.name}, {text.name}: exponent {sure.exponent:.2f}" if sure.exponent > ALLOWED else ""


def chosen(entry: Entry) -> tuple[Hostile, ...]:
    """The texts for an entry point: a heavy one gets some of every kind."""
    every = all_hostile()
    return every if not entry.heavy else (*every[: -len(STRUCTURES) : 8], *STRUCTURES[::2])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_point_takes_linear_time(entry: Entry) -> None:
    assert list(filter(None, (steep(entry, text) for text in chosen(entry)))) == []


@pytest.mark.parametrize("name", ["read a JSON request", "read JSON lines"])
def test_a_last_key_that_is_there_twice_is_found_in_linear_time(name: str) -> None:
    """Looking a key up among all others takes so little that 4,000 characters, as above, cannot tell."""
    [entry] = [entry for entry in ENTRIES if entry.name == name]
    [text] = [text for text in STRUCTURES if text.name == "many keys, the last one twice"]
    # A dictionary grows in steps, which alone gives an exponent of up to 1.3; looking through all keys gives 2.
    assert confirm(entry.work, text.make, SIZE, most=512_000).exponent < 1.6


PATTERNS, UNLISTED = find_patterns()


def test_every_regular_expression_of_the_source_is_known() -> None:
    assert UNLISTED == []
    assert len(PATTERNS) > 150
    places = {found.place for found in PATTERNS}
    assert set(BOUNDED) <= places
    assert set(BOUNDED.values()) <= {entry.name for entry in ENTRIES}
    assert set(MADE) <= places


def steep_patterns(found: FoundPattern) -> list[str]:
    use = use_pattern(found)
    suspects = [text for text in near_matches(found.pattern) if screen(use, text.make, SIZE).exponent > ALLOWED]
    measured = [(text.name, confirm(use, text.make, SIZE, most=64_000).exponent) for text in suspects]
    return [f"{found.place} {found.pattern.pattern!r}: {name}" for name, exponent in measured if exponent > ALLOWED]


def test_every_regular_expression_takes_linear_time_for_what_it_nearly_matches() -> None:
    held = [found for found in dict.fromkeys(PATTERNS) if found.place not in {*OWN, *BOUNDED}]
    assert [line for found in held for line in steep_patterns(found)] == []


def test_patterns_for_short_texts_are_not_exponential() -> None:
    """A name of 34 characters (`token` and 29 digits) once took a minute: digits could be parted in too many ways."""
    for found in dict.fromkeys(PATTERNS):
        if found.place in BOUNDED:
            use = use_pattern(found)
            assert max((run_once(use, text.make(64)) for text in near_matches(found.pattern)), default=0) < 0.2


def test_masking_takes_linear_time_whatever_a_secret_begins_with() -> None:
    prefixes = {rule.prefix for rule in PREFIXED}
    anchors = {anchor for rule in SHAPED for anchor in rule.anchors}
    texts = [Hostile(unit, repeated(unit)) for unit in sorted(prefixes | anchors)]
    (masking,) = (entry for entry in ENTRIES if entry.name == "mask secrets")
    assert len(texts) > 100
    assert list(filter(None, (steep(masking, text) for text in texts))) == []


@pytest.mark.parametrize("letter", ["\u6f22", "\u304b\u306a", "a\u200d"])
def test_letters_without_a_break_are_cut_in_linear_time(letter: str) -> None:
    """100,000 of them once took the splitter 2 s: for each passage it looked at every letter up to the next break."""
    chunker = Chunker(len, 256)
    assert confirm(lambda text: chunker.chunk("a", text), repeated(letter), 32_000, most=32_000).exponent <= ALLOWED


BROKEN_TAGS = (
    *(
        "<a ",
        "<a b='",
        "<a ='\"",
        '<a b="x',
        "</a ",
        "<!--",
        "<![CDATA[",
        "<?",
        "&#9",
        "<code>x",
        "<ul><li>x",
        "<pre>x",
    ),
    *("<div></x>", "<table><tr><td>x<td>y", "<script>", "<title>x", "<h1>x", "<main>x"),
)


@pytest.mark.parametrize("ending", ["", ">", "'>", '">'])
def test_a_page_of_broken_tags_is_read_in_linear_time(ending: str) -> None:
    """16,000 times `<a ` took the parser of the standard library 40 s."""
    texts = {unit: lambda size, unit=unit: unit * (size // len(unit)) + ending for unit in BROKEN_TAGS}
    steep_units = [unit for unit, make in texts.items() if screen(page_to_markdown, make, 8_000).exponent > ALLOWED]
    sure = {unit: confirm(page_to_markdown, texts[unit], 8_000, most=128_000).exponent for unit in steep_units}
    assert {unit: exponent for unit, exponent in sure.items() if exponent > ALLOWED} == {}


@pytest.mark.slow
def test_work_that_is_steep_inside_blocks_of_a_bounded_size_counts_as_linear() -> None:
    def of_a_block(block: str) -> int:
        return sum(block.count(letter, place) for place, letter in enumerate(block))

    def by_blocks(text: str) -> int:
        return sum(of_a_block(text[start : start + 8_000]) for start in range(0, len(text), 8_000))

    assert measure_growth(by_blocks, repeated("ab"), 8_000).exponent > ALLOWED
    assert confirm(by_blocks, repeated("ab"), 8_000, most=256_000).exponent <= ALLOWED
    assert confirm(of_a_block, repeated("ab"), 2_000, most=16_000).exponent > ALLOWED


@pytest.mark.slow
def test_the_measurement_tells_quadratic_from_linear_work() -> None:
    def quadratic(text: str) -> int:
        return sum(text.count("b") for _ in text)

    def linear(text: str) -> int:
        return sum(text.count("b", place, place + 100) for place in range(len(text)))

    assert confirm(quadratic, repeated("a"), 2_000, most=16_000).exponent > 1.5
    assert confirm(linear, repeated("a"), 16_000, most=64_000).exponent < ALLOWED
    assert measure_growth(linear, repeated("a"), 64).exponent == 0


def test_hostile_texts_have_the_length_that_was_asked_for() -> None:
    texts = all_hostile()
    assert len({text.name for text in texts}) == len(texts) == len(CHARACTERS) + len(UNITS) + len(STRUCTURES)
    for text in texts:
        assert 1_000 <= len(text.make(2_000)) <= 2_400


def test_notes_that_are_too_long_are_not_compared() -> None:
    many = " ".join(f"The limit of w{number} is {number}." for number in range(400))
    assert compare_statements(many, f"{many} And more.") is TOO_LONG
    assert compare_statements("a " * 30_000, "b " * 30_000) is TOO_LONG
    assert compare_statements(many, many).agrees
    assert not compare_statements(many, many).adds
    assert TOO_LONG.agrees
    assert TOO_LONG.adds


def test_front_matter_without_an_end_in_sight_is_text() -> None:
    doubling = "\n".join(f"a{number}: &a{number} [*a{number - 1}, *a{number - 1}]" for number in range(1, 40))
    for written in ("a: " + "[" * 5_000, f"a0: &a0 [1]\n{doubling}", "a: &a [*a]"):
        text = f"---\n{written}\n---\nbody\n"
        assert split(text).body == text
        assert split(text).problem


def test_too_many_metrics_and_endless_keys_are_refused() -> None:
    with pytest.raises(AssayError, match="501 metrics were asked for"):
        parse_specs(",".join(f"ndcg@{number}" for number in range(1, 502)))
    assert len(parse_specs(",".join(f"ndcg@{number}" for number in range(1, 501)))) == 500
    for text in ("a" + ".a" * 2_000 + " = 1", "a = " + "[" * 5_000):
        with pytest.raises(ValueError, match=r"dots|nested"):
            read_toml_text(text)
