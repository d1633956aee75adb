"""No text that a user sends costs the square of its length: doubled inputs may cost little more than twice as much.

Processor time is compared within one process, the best of several tries, so that a busy machine does not matter.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import AssayError
from assay.formats.strict_json import read_object
from assay.memory.saving.secrets import mask_text
from assay.server.errors import Refused
from assay.server.limits import check_json
from assay.server.security.callers import shown_by
from assay.text.wording import Wording

UNITS = ("1-", "a.", "*a ", "_a ", "/.", "`x ", "#a", "eyJ", "sk-", "secret ", "aws ", "token is ", "http://", "1,000,")
KEY = "-----BEGIN PRIVATE KEY-----"
SMALL, TRIES = 20_000, 3
MOST = 1.5
"""The exponent of growth that is allowed: 1 is linear, 2 is the square. Noise needs some room."""


def growth(work: Callable[[str], object], unit: str) -> float:
    """The exponent with which the time of the work grows between one size and four times that size."""
    texts = [(unit * (size // len(unit) + 1))[:size] for size in (SMALL, 4 * SMALL)]
    work(texts[0])
    small, large = (min(_seconds(work, text) for _ in range(TRIES)) for text in texts)
    # Below a millisecond the clock is too coarse to tell growth from noise, and nothing can be stalled by it.
    return math.log(max(large, 1e-3) / max(small, 1e-3), 4)


def _seconds(work: Callable[[str], object], text: str) -> float:
    begun = time.process_time()
    work(text)
    return time.process_time() - begun


@pytest.mark.parametrize("unit", UNITS)
def test_comparing_claims_reads_a_text_in_linear_time(unit: str) -> None:
    assert growth(Wording, unit) < MOST


@pytest.mark.parametrize("unit", [*UNITS, KEY])
def test_masking_secrets_takes_linear_time(unit: str) -> None:
    assert growth(lambda text: mask_text(text, "body", []), unit) < MOST


def test_a_repeated_key_is_found_in_linear_time(tmp_path: Path) -> None:
    def refuse(text: str) -> None:
        keys = ",".join(f'"k{number}":1' for number in range(len(text) // 10))
        with pytest.raises(Refused, match="twice"):
            check_json(f'{{{keys},"k0":1}}'.encode())

    assert growth(refuse, "x") < MOST
    path = tmp_path / "twice.json"

    def refuse_file(text: str) -> None:
        inner = json.dumps({f"k{number}": 1 for number in range(len(text) // 10)})
        path.write_text(f'{{"a": {inner[:-1]}, "k0": 1}}}}', encoding="utf-8")
        with pytest.raises(AssayError, match="twice"):
            read_object(path)

    assert growth(refuse_file, "x") < MOST


def test_cookies_are_read_in_linear_time() -> None:
    assert growth(lambda text: shown_by([("cookie", f'a="{text}')]), "\\") < MOST
