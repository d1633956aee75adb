"""Decimal numbers of a whole block at once, with the very bits that reading them one by one gives.

A number such as `-12.345678` of up to 19 characters is read as one integer, eight digits a word (the dot taken for a 0
and removed again), and divided by its power of ten. The quotient is within two units of the last place of the exact
double; the few that lie so close to the middle between two float32 that this could matter, and all other spellings
(exponents, more digits), are read by Python. Nothing but a finite float32 passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.formats.fields import Bytes, Field, Places
from assay.formats.words import Words, high_bytes, windows

_LONGEST = 19
"""Digits that always fit into 64 bits."""
_TENS = 10 ** np.arange(_LONGEST + 1, dtype=np.uint64)
_ZEROS, _DOTS = np.uint64(0x3030_3030_3030_3030), np.uint64(0x2E2E_2E2E_2E2E_2E2E)
_LOW7, _HIGH = np.uint64(0x7F7F_7F7F_7F7F_7F7F), np.uint64(0x8080_8080_8080_8080)
_OVER_NINE = np.uint64(0x7676_7676_7676_7676)
_PLACE_OF_BYTE = np.uint64(0x0001_0203_0405_0607)
_MINUS, _PLUS, _DOT = 45, 43, 46


class _Read(NamedTuple):
    """Unsigned decimals: the digits as one integer, how many stand after the dot, and which could not be read so."""

    digits: Words
    decimals: Places
    strange: NDArray[np.bool_]


class NotANumber(Exception):
    """Some field is no finite number of the kind expected."""


def float32s(text: Bytes, field: Field) -> NDArray[np.float32]:
    """The numbers of a field as the nearest double rounded to float32, which is what trec_eval compares."""
    negative, unsigned = _without_sign(text, field)
    read = _read(text, unsigned)
    doubles = read.digits.astype(np.float64) / _TENS[read.decimals].astype(np.float64)
    with np.errstate(over="ignore"):
        values = np.where(negative, -doubles, doubles).astype(np.float32)
        again = np.flatnonzero(read.strange | _near_the_middle(doubles))
        values[again] = [_slowly(text, field, int(place)) for place in again]
    if not np.isfinite(values).all():
        raise NotANumber
    return values


def whole_numbers(text: Bytes, field: Field, largest: int) -> NDArray[np.int16]:
    """The whole numbers of a field, none of larger size than this."""
    negative, unsigned = _without_sign(text, field)
    read = _read(text, unsigned)
    dotted = text[field.starts + field.lengths - 1] == _DOT
    if (read.strange | dotted | (read.decimals > 0) | (read.digits > largest)).any():
        raise NotANumber
    values = read.digits.astype(np.int16)
    return np.where(negative, -values, values)


def _without_sign(text: Bytes, field: Field) -> tuple[NDArray[np.bool_], Field]:
    first = text[field.starts]
    negative = first == _MINUS
    signed = negative | (first == _PLUS)
    return negative, Field(field.starts + signed, field.lengths - signed)


def _read(text: Bytes, field: Field) -> _Read:
    """Words are taken from the end of the field: its last eight characters, the eight before, the first few."""
    at, ends, lengths = windows(text), field.starts + field.lengths, field.lengths
    read = _read_word(at[ends - 8], lengths)
    strange = read.strange | (lengths < 1) | (lengths > _LONGEST) | ((lengths == 1) & (read.decimals == 0))
    for taken in (8, 16):
        rows = np.flatnonzero((lengths > taken) & ~strange)
        if not rows.size:
            break
        word = _read_word(at[ends[rows] - taken - 8], lengths[rows] - taken)
        dotted = word.decimals >= 0
        strange[rows] |= word.strange | (dotted & (read.decimals[rows] >= 0))
        read.decimals[rows] = np.where(dotted, word.decimals + taken, read.decimals[rows])
        read.digits[rows] += word.digits * _TENS[taken]
    return _without_dot(read.digits, read.decimals, strange)


def _read_word(words: Words, lengths: Places) -> _Read:
    """The last characters of each word; the dot counts as a 0, and -1 decimals mean there is none."""
    words = high_bytes(words, lengths, ord("0"))
    dots = _zero_bytes(words ^ _DOTS)
    values = (words ^ _ZEROS) & ~(dots * np.uint64(0xFF))
    strange = (((values + _OVER_NINE) | values) & _HIGH) != 0
    strange |= (dots & (dots - np.uint64(1))) != 0
    decimals = 7 - ((dots * _PLACE_OF_BYTE) >> np.uint64(56)).astype(np.int64)
    decimals[dots == 0] = -1
    return _Read(_eight_digits(values), decimals, strange)


def _zero_bytes(words: Words) -> Words:
    """1 in every byte that is 0."""
    return (~(((words & _LOW7) + _LOW7) | words | _LOW7)) >> np.uint64(7)


def _eight_digits(values: Words) -> Words:
    """Eight digits, the first in the lowest byte, as one number: pairs, then fours, then all."""
    pairs = (values * np.uint64(10) + (values >> np.uint64(8))) & np.uint64(0x00FF_00FF_00FF_00FF)
    fours = (pairs * np.uint64(100) + (pairs >> np.uint64(16))) & np.uint64(0x0000_FFFF_0000_FFFF)
    return (fours * np.uint64(10_000) + (fours >> np.uint64(32))) & np.uint64(0xFFFF_FFFF)


def _without_dot(digits: Words, decimals: Places, strange: NDArray[np.bool_]) -> _Read:
    after = np.maximum(decimals, 0)
    after[strange] = 0
    dotted = (decimals >= 0) & ~strange
    whole, rest = np.divmod(digits, _TENS[np.minimum(after + 1, _LONGEST)])
    return _Read(np.where(dotted, whole * _TENS[after] + rest, digits), after, strange)


def _near_the_middle(doubles: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Doubles so close to half way between two float32 that their last bits decide; and all outside normal float32."""
    low = (doubles.view(np.uint64) & np.uint64(0x1FFF_FFFF)).astype(np.int64) - (1 << 28)
    unusual = (doubles != 0.0) & ((doubles < 2e-38) | (doubles > 3e38))
    near: NDArray[np.bool_] = (np.abs(low) <= 8) | unusual
    return near


def _slowly(text: Bytes, field: Field, place: int) -> float:
    start = field.starts[place]
    spelt = text[start : start + field.lengths[place]].tobytes()
    try:
        # Python also reads `1_000` and `nan`; neither is a score.
        return float("nan") if b"_" in spelt else float(spelt)
    except ValueError as problem:
        raise NotANumber from problem
