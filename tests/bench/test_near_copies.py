"""Copies are made of what questions need, each with a sentence less."""

from __future__ import annotations

from bench.collections import Collection, Document
from bench.near_copies import add_copies

NEEDED = Document("d1", "Lamp", "The lamp is lit. It burns oil. A keeper tends it.")
OTHER = Document("d2", "Ferry", "The ferry leaves at noon.")


def test_only_what_a_question_needs_is_copied() -> None:
    plain = Collection(name="set", documents=[NEEDED, OTHER], questions={"q": "?"}, judgments={"q": {"d1": 1}})
    copied = add_copies(plain, 2)
    assert [document.id for document in copied.documents] == ["d1", "d1~0", "d1~1", "d2"]
    for copy in copied.documents[1:3]:
        assert copy.title == NEEDED.title
        assert copy.text.startswith("The lamp is lit.")
        assert copy.text.count(".") == NEEDED.text.count(".")
        assert "May 2026" in copy.text
    assert copied.name != plain.name
    assert add_copies(plain, 0).documents == plain.documents
