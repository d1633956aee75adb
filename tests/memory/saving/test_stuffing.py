"""Words without sentences are told from prose in any language, from code, tables and lists."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.evaluation.datasets import load_dataset
from assay.evaluation.datasets.bundled import FILES, load_scenarios
from assay.memory.saving.spam_filter import find_stuffing
from assay.text.terms import words

DOCUMENTS = load_dataset("agent-memory").documents
VOCABULARY = sorted({word for one in DOCUMENTS for word in words(one.text) if len(word) > 1})

FINNISH = (
    "Leipomo avautuu arkisin kello kuusi aamulla ja sulkeutuu heti, kun viimeinen leip\u00e4 on myyty. Suuremmat "
    "er\u00e4t tilataan edellisen\u00e4 p\u00e4iv\u00e4n\u00e4 ennen puoltap\u00e4iv\u00e4\u00e4;"
    " my\u00f6h\u00e4isi\u00e4 "
    "tilauksia otetaan vastaan ainoastaan silloin, jos taikinaa j\u00e4\u00e4 yli. Hapanjuuri ruokitaan kahdesti "
    "p\u00e4iv\u00e4ss\u00e4, kes\u00e4ll\u00e4 kolmasti, koska helteell\u00e4 se pilaantuu nopeammin. Toimitukset "
    "ajetaan tavarapy\u00f6r\u00e4ll\u00e4 keh\u00e4tien sis\u00e4puolella, muualle Joonas ajaa pakettiautolla "
    "vakiokierroksen. Laskut l\u00e4hetet\u00e4\u00e4n kuukauden lopussa, muistutukset vasta nelj\u00e4n viikon "
    "kuluttua, ja vakioasiakkaat saavat ostaa velaksi. Valitukset k\u00e4sittelee rouva Virtanen, joka vastaa niihin "
    "viel\u00e4 samana iltana. Varastossa pidet\u00e4\u00e4n jauhoja kolmen viikon tarpeisiin, suolaa kuukaudeksi."
)
GERMAN = (
    "Die B\u00e4ckerei \u00f6ffnet montags bis freitags um sechs Uhr und schlie\u00dft, sobald das letzte Brot "
    "verkauft ist. Wer gr\u00f6\u00dfere Mengen braucht, bestellt bis zum Vortag um zw\u00f6lf; sp\u00e4tere "
    "Bestellungen nehmen wir nur an, wenn noch Teig \u00fcbrig ist. Der Sauerteig wird zweimal am Tag aufgefrischt, "
    "im Sommer dreimal, weil er bei Hitze schneller kippt. Ausgeliefert wird mit dem Lastenrad innerhalb der "
    "Ringstra\u00dfe, au\u00dferhalb f\u00e4hrt Jonas mit dem Lieferwagen eine feste Runde. Rechnungen gehen am "
    "Monatsende hinaus, Mahnungen erst nach vier Wochen, und Stammkunden d\u00fcrfen anschreiben lassen."
)


@given(st.integers(0, 2**32))
def test_words_of_a_memory_in_no_order_are_stuffing_with_or_without_stops(seed: int) -> None:
    rng = random.Random(seed)
    heap = rng.sample(VOCABULARY, 200)
    assert find_stuffing(" ".join(heap))
    assert find_stuffing(" ".join(f"{' '.join(heap[at : at + 9]).capitalize()}." for at in range(0, 200, 9)))


@pytest.mark.parametrize(
    "text",
    [
        "Deploy deploy deploy, deploy! " * 12,
        "The of quick brown, with is fox at and the or jumps by was over. " * 5,
        FINNISH + " " + " ".join(VOCABULARY[100:180]),
    ],
)
def test_repeated_disordered_and_appended_words_are_stuffing(text: str) -> None:
    assert find_stuffing(text)


@pytest.mark.parametrize(
    "text",
    [
        FINNISH,
        GERMAN,
        "".join(f"\u7b2c{place}\u6b21\u65e9\u4e0a\u516d\u70b9\u5f00\u95e8\u3002" for place in range(90)),
        "- flour\n- sugar\n- salt\n- yeast\n- butter\n- eggs\n- milk\n" * 3,
        "| host | port |\n| --- | --- |\n" + "| db | 5432 |\n" * 30,
        "```python\n" + "for name in names:\n    seen.add(name)\n" * 20 + "```",
        '{"retries": 3, "timeout": 30, "hosts": ["a", "b"]}\n' * 20,
    ],
)
def test_prose_in_other_languages_lists_tables_and_code_are_not(text: str) -> None:
    assert find_stuffing(text) == ""


def test_no_note_that_comes_with_the_package_is_stuffing() -> None:
    notes = [one.text for name in ("agent-memory", "hotel", "vault") for one in load_dataset(name).documents]
    notes += [side.body for name in FILES for one in load_scenarios(name) for side in (one.old, one.new)]
    assert [text for text in notes if find_stuffing(text)] == []
