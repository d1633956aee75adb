"""From a document to passages: nothing is lost, nothing is too long, and structure decides where to cut."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from semantic_text_splitter import MarkdownSplitter, TextSplitter

from assay.embedding.bundled import load_bundled
from assay.embedding.protocol import Embedder
from assay.errors import BadValue
from assay.records import Format
from assay.records.heading_path import lies_under
from assay.testing import HashedEmbedder
from assay.text.chunking import MAX_CONTEXT, Chunker, _split, build_embedding_text
from assay.text.sections import markdown_sections

WORDS = HashedEmbedder()
LINES = st.sampled_from(
    [
        "# One",
        "## Two",
        "### Three",
        "",
        "",
        "A short line.",
        "word " * 30,
        "- item\n- other",
        "```\ncode = 1\n```",
        "| a | b |",
    ]
)
BODIES = st.lists(LINES, max_size=25).map("\n".join)


@pytest.fixture(scope="module")
def model() -> Embedder:
    return load_bundled(threads=1)


def by_words(limit: int = 60, overlap: int = 0) -> Chunker:
    return Chunker(WORDS.count_tokens, limit, overlap)


def visible(text: str) -> str:
    return re.sub(r"\s", "", text)


@given(BODIES | st.text(max_size=300), st.sampled_from([Format.MARKDOWN, Format.TEXT]), st.integers(30, 80))
def test_every_visible_character_is_in_a_chunk_in_its_order(body: str, kind: Format, limit: int) -> None:
    chunked = by_words(limit).chunk("A title", body, kind)
    assert visible("".join(piece.text for piece in chunked.pieces)) == visible(body)
    assert [piece.position for piece in chunked.pieces] == list(range(len(chunked.pieces)))
    assert set(chunked.skipped) <= {"blank"}


@given(BODIES | st.text(max_size=300), st.sampled_from([Format.MARKDOWN, Format.TEXT]), st.integers(30, 80))
def test_no_chunk_is_longer_than_the_limit_with_its_context(body: str, kind: Format, limit: int) -> None:
    for piece in by_words(limit).chunk("A title", body, kind).pieces:
        assert WORDS.count_tokens(build_embedding_text("A title", piece.heading_path, piece.text)) <= limit
        assert piece.token_count == WORDS.count_tokens(piece.text)
        assert piece.text.strip() == piece.text != ""


@pytest.mark.parametrize("kind", [Format.MARKDOWN, Format.TEXT])
def test_the_limit_holds_for_the_real_tokenizer(model: Embedder, kind: Format) -> None:
    body = (
        "# 見出し\n" + "日本語テキスト。" * 200 + "\n## b\n" + "don't-split_this.py(x=1); " * 200 + "\n\n" + "🙂" * 900
    )
    title = "設計 " * 200
    chunked = Chunker(model.count_tokens, model.token_limit).chunk(title, body, kind)
    sizes = [model.count_tokens(build_embedding_text(title, one.heading_path, one.text)) for one in chunked.pieces]
    assert max(sizes) <= model.token_limit
    assert chunked.skipped == {}
    assert visible("".join(piece.text for piece in chunked.pieces)) == visible(body)


def test_a_section_is_a_chunk_and_keeps_its_path() -> None:
    words = "word " * 30
    body = f"# Guide\n{words}\n## Install\n{words}\n## Use\n{words}\n"
    pieces = by_words(100).chunk("Guide", body).pieces
    assert [piece.heading_path for piece in pieces] == ["Guide", "Guide > Install", "Guide > Use"]
    assert [piece.text.split("\n")[0] for piece in pieces] == ["# Guide", "## Install", "## Use"]


def test_a_bare_heading_goes_with_what_follows() -> None:
    body = "# Guide\n\n## Empty\n## Install\n" + "word " * 30
    (piece,) = by_words().chunk("T", body).pieces
    assert piece.heading_path == "Guide > Install"
    assert piece.text.startswith("# Guide\n\n## Empty\n## Install\n")


def test_a_bare_heading_opens_the_first_chunk_of_a_section_that_must_be_cut() -> None:
    body = "# Guide\n## Install\n\n" + "A sentence of five words. " * 30
    first, second, *_ = by_words().chunk("T", body).pieces
    assert first.text.startswith("# Guide\n## Install\n\nA sentence of")
    assert second.text.startswith("A sentence of")


def test_bare_headings_without_end_make_few_chunks() -> None:
    pieces = by_words().chunk("T", "# a\n" * 2_000).pieces
    assert 2_000 / 60 <= len(pieces) <= 2_000 / 10


def test_a_short_section_goes_with_the_one_under_it_but_not_with_its_neighbour() -> None:
    words = "word " * 10
    under = by_words().chunk("T", f"# A\nshort\n## B\n{words}").pieces
    assert [piece.heading_path for piece in under] == ["A > B"]
    beside = by_words().chunk("T", f"# A\nshort\n# B\n{words}").pieces
    assert [piece.heading_path for piece in beside] == ["A", "B"]


def test_a_short_section_is_left_alone_when_both_do_not_fit() -> None:
    pieces = by_words(60).chunk("T", "# A\nshort\n## B\n" + "word " * 54).pieces
    assert [piece.heading_path for piece in pieces] == ["A", "A > B"]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 40)), max_size=12))
def test_a_chunk_lies_under_every_heading_whose_text_it_holds(outline: list[tuple[int, int]]) -> None:
    body = "".join(f"{'#' * level} h{at}\n" + f"t{at} " * words + "\n" for at, (level, words) in enumerate(outline))
    paths = {section.heading_path.split(" > ")[-1]: section.heading_path for section in markdown_sections(body)}
    for piece in by_words(60).chunk("T", body).pieces:
        for at in set(re.findall(r"\bt(\d+)", piece.text)):
            assert lies_under(piece.heading_path, paths[f"h{at}"])


def test_front_matter_is_found_with_the_text_it_belongs_to() -> None:
    (piece,) = by_words().chunk("T", "---\nowner: ada\n---\n# A\ntext").pieces
    assert piece.heading_path == "A"
    assert "owner: ada" in piece.text


def test_plain_text_is_cut_at_paragraphs() -> None:
    paragraphs = [f"Paragraph {name}. " + "word " * 20 for name in "abcd"]
    pieces = by_words(60).chunk("T", "\n\n".join(paragraphs), Format.TEXT).pieces
    assert [piece.text.count("Paragraph") for piece in pieces] == [2, 2]
    assert [piece.heading_path for piece in pieces] == ["", ""]


def test_headings_in_plain_text_are_text() -> None:
    (piece,) = by_words().chunk("T", "# not a heading\n\ntext", Format.TEXT).pieces
    assert piece.heading_path == ""


def test_json_is_cut_by_records() -> None:
    body = '[{"name": "Ada", "role": "engineer"}, {"name": "Grace", "role": "admiral"}]'
    assert [piece.text for piece in by_words().chunk("T", body, Format.JSON).pieces] == [
        "name: Ada\nrole: engineer",
        "name: Grace\nrole: admiral",
    ]
    nested = by_words().chunk("T", '{"a": 1, "home": {"city": "London"}}', Format.JSON).pieces
    assert [(piece.heading_path, piece.text) for piece in nested] == [("", "a: 1"), ("home", "home.city: London")]
    with pytest.raises(BadValue, match="not JSON"):
        by_words().chunk("T", "{", Format.JSON)


def test_a_string_without_a_break_is_cut_hard() -> None:
    pieces = by_words(60).chunk("T", "x" * 100_000, Format.TEXT).pieces
    assert sum(len(piece.text) for piece in pieces) == 100_000
    assert max(len(piece.text) for piece in pieces) <= 60 * 16


def test_a_long_document_is_cut_whole() -> None:
    body = "".join(f"Sentence number {number} of the long one. " for number in range(5_000))
    pieces = by_words(60).chunk("T", body, Format.TEXT).pieces
    assert visible("".join(piece.text for piece in pieces)) == visible(body)


@pytest.mark.parametrize(("body", "kind"), [(" \n\t\n ", Format.MARKDOWN), ("\n", Format.TEXT), ('""', Format.JSON)])
def test_what_has_nothing_to_see_is_counted_as_blank(body: str, kind: Format) -> None:
    chunked = by_words().chunk("T", body, kind)
    assert (chunked.pieces, chunked.skipped) == ([], {"blank": 1})


def test_a_section_whose_context_leaves_no_room_is_counted() -> None:
    chunked = by_words(28).chunk("a b c d e f g h i j", "text\n# A\n" + "word " * 30)
    assert chunked.skipped == {"context": 1}
    assert [piece.text for piece in chunked.pieces] == ["text"]


def test_chunks_overlap_only_when_asked_to() -> None:
    body = " ".join(f"Sentence {number} here." for number in range(60))
    plain = by_words(60).chunk("T", body, Format.TEXT).pieces
    overlapping = by_words(60, overlap=10).chunk("T", body, Format.TEXT).pieces
    assert all(first.text[-8:] not in second.text for first, second in pairwise(plain))
    for first, second in pairwise(overlapping):
        assert second.text.split(".")[0] in first.text


@pytest.mark.parametrize("overlap", [-1, 31, 60])
def test_an_overlap_that_cannot_be_is_refused(overlap: int) -> None:
    with pytest.raises(BadValue, match=f"overlap {overlap}"):
        by_words(60, overlap)


def test_the_version_tells_of_every_choice() -> None:
    versions = [by_words().version, by_words(61).version, by_words(60, 5).version]
    assert len(set(versions)) == 3
    assert Chunker(len, 60, version="other").version != Chunker(len, 60).version


def test_context_is_said_once() -> None:
    assert build_embedding_text("Guide", "", "x") == "Guide\n\nx"
    assert build_embedding_text("Guide", "Guide > Use", "x") == "Guide > Use\n\nx"
    assert build_embedding_text("Guide", "Guide > Use", "## Use ##\nx") == "Guide\n\n## Use ##\nx"
    assert build_embedding_text("", "", "x") == "x"


def test_a_long_context_keeps_the_title_and_the_deepest_headings() -> None:
    path = " > ".join(f"{level} {'h' * 40}" for level in "abcde")
    place = build_embedding_text("T" * 500, path, "x").split("\n")[0]
    assert place == "T" * 80 + " > " + f"e {'h' * 40}"
    assert len(place) <= MAX_CONTEXT


def test_the_tokens_of_a_text_are_counted_once() -> None:
    asked: Counter[str] = Counter()

    def count(text: str) -> int:
        asked[text] += 1
        return WORDS.count_tokens(text)

    found = Chunker(count, 64).chunk("Ovens", "# Care\n\nWipe it.\n\n# Heat\n\nLet it cool. " + "Wait a little. " * 40)

    assert len(found.pieces) > 2
    assert max(asked.values()) == 1


@pytest.mark.parametrize("letters", ["\u6f22", "\u304b\u306a", "eyJ", "0123456789", "a\u6f22", "a\u200d"])
@pytest.mark.parametrize("after", ["", " and then words. " * 40, "\n\n# A heading\n\nwith text under it"])
def test_letters_without_a_break_are_cut_as_the_splitter_cuts_them(letters: str, after: str) -> None:
    """The splitter is shown a stretch of letters in parts, which saves time and moves no cut."""
    body = f"Some words before. {letters * (12_000 // len(letters))}{after}"
    for kind in (MarkdownSplitter, TextSplitter):
        splitter = kind.from_callback(lambda text: -(-len(text) // 3), 200)
        assert list(_split(splitter, body)) == splitter.chunks(body)
