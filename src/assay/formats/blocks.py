"""Parse the fields of a whole block of lines at once with arrays.

- Where fields begin and end.
- Bytes as 64-bit words.
- Ids as 64-bit keys.
- Decimal numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

# --- Where fields begin and end ---
#
# Whatever is not plainly right (blank lines, comments, more or fewer fields) takes the second, slower way, which looks
# at each line's own fields. Lines that begin with `#` are comments, as in trec_eval 10.

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

SLACK = 32
"""Bytes before and after the text, so that eight bytes can be loaded around any field."""
_NEWLINE, _TAB, _RETURN, _SPACE, _HASH = 10, 9, 13, 32, 35


class FieldColumn(NamedTuple):
    """One field of every line."""

    starts: Places
    lengths: Places


class Fields(NamedTuple):
    """Every line's fields."""

    raw: bytes
    """The block with `SLACK` blanks at both ends."""
    text: Bytes
    """The same as numbers."""
    starts: Places
    """[line, field], places in `text`."""
    ends: Places

    def field(self, number: int) -> FieldColumn:
        """One field of every line."""
        starts = np.ascontiguousarray(self.starts[:, number])
        return FieldColumn(starts, self.ends[:, number] - starts)

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return len(self.starts)

    def first(self, lines: int) -> Fields:
        """The first so many of them."""
        return self._replace(starts=self.starts[:lines], ends=self.ends[:lines])


class WrongShape(Exception):
    """Some line has fewer or more fields than it may."""


def split(data: bytes, width: int, *, more: bool = False, tabs: bool = False) -> Fields:
    """The first `width` fields of every line; `more` allows others after them, `tabs` splits at tabs alone."""
    raw = b"".join((b" " * (SLACK - 1), b"\n", data, b" " * SLACK))
    text = np.frombuffer(raw, dtype=np.uint8)
    blank = (text == _TAB) | (text == _NEWLINE) | (text == _RETURN) if tabs else text <= _SPACE
    blank[:SLACK] = blank[-SLACK:] = True
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    breaks = np.flatnonzero(text == _NEWLINE)
    shape = _plain(text, starts, ends, breaks, width) or _parse_carefully(text, starts, ends, breaks, width, more=more)
    return Fields(raw, text, *shape)


def _plain(text: Bytes, starts: Places, ends: Places, breaks: Places, width: int) -> tuple[Places, Places] | None:
    """The usual case: every line has exactly these fields."""
    lines = len(breaks) - 1
    if len(starts) != lines * width:
        return None
    first, last = starts.reshape(lines, width), ends.reshape(lines, width)
    inside = (first[:, 0] > breaks[:-1]).all() and (last[:, -1] <= breaks[1:]).all()
    if not inside or (text[first[:, 0]] == _HASH).any():
        return None
    return first, last


def _parse_carefully(
    text: Bytes, starts: Places, ends: Places, breaks: Places, width: int, *, more: bool
) -> tuple[Places, Places]:
    lines = np.searchsorted(breaks, starts) - 1
    counts = np.bincount(lines, minlength=len(breaks) - 1)
    begin = np.cumsum(counts) - counts
    used = counts > 0
    used[used] = text[starts[begin[used]]] != _HASH
    counts, begin = counts[used], begin[used]
    if (counts < width).any() or (not more and (counts > width).any()):
        raise WrongShape
    chosen = begin[:, None] + np.arange(width)
    return starts[chosen], ends[chosen]


# --- Bytes as 64-bit words ---

Words = NDArray[np.uint64]

_KEEP_LOW = np.array([(1 << (8 * kept)) - 1 for kept in range(9)], dtype=np.uint64)


def windows(text: Bytes) -> Words:
    """The little-endian 64-bit integer that begins at each byte. A view: nothing is copied."""
    return as_strided(text[:8].view("<u8"), shape=(len(text) - 7,), strides=(1,), writeable=False)


def low_bytes(words: Words, kept: Places) -> Words:
    """Keep only the first bytes of each integer; the others become 0."""
    return words & _KEEP_LOW[np.clip(kept, 0, 8)]


def high_bytes(words: Words, kept: Places, fill: int) -> Words:
    """Keep only the last bytes of each integer; the others become `fill`."""
    mask = _KEEP_LOW[8 - np.clip(kept, 0, 8)]
    return (words & ~mask) | (np.uint64(fill * 0x0101_0101_0101_0101) & mask)


# --- Ids as 64-bit keys ---
#
# Every step is a bijection of what was read so far, so ids of up to eight bytes never share a key. Two longer ids do
# with a chance of 1 in 2^64; only documents of one topic are ever compared, which makes one such accident in some ten
# billion evaluations of a million topics.

LONGEST_ID = 4_000
"""Bytes in a topic or document id."""
_MULTIPLY = np.uint64(0x9E37_79B9_7F4A_7C15)
_MIX = np.uint64(0xD6E8_FEB8_6659_FD93)
_FOLD = np.uint64(32)


def keys_of(text: Bytes, field: FieldColumn) -> Words:
    """The key of every id in a field."""
    at, (starts, lengths) = windows(text), field
    keys = _step(np.zeros(len(starts), dtype=np.uint64), low_bytes(at[starts], lengths))
    rest = np.flatnonzero(lengths > 8)
    done = 8
    while rest.size:
        words = low_bytes(at[starts[rest] + done], lengths[rest] - done)
        keys[rest] = _step(keys[rest], words)
        done += 8
        rest = rest[lengths[rest] > done]
    return keys


def _step(keys: Words, words: Words) -> Words:
    mixed = (keys ^ words) * _MULTIPLY
    mixed ^= mixed >> _FOLD
    mixed *= _MIX
    mixed ^= mixed >> _FOLD
    return mixed


# --- Decimal numbers ---
#
# A number such as `-12.345678` of up to 19 characters is read as one integer, eight digits a word (the dot taken for a
# 0 and removed again), and divided by its power of ten. The quotient is within two units of the last place of the
# exact double; the few that lie so close to the middle between two float32 that this could matter, and all other
# spellings (exponents, more digits), are read by Python. Nothing but a finite float32 passes.

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


def float32s(text: Bytes, field: FieldColumn) -> NDArray[np.float32]:
    """The numbers of a field as the nearest double rounded to float32, which is what trec_eval compares."""
    negative, unsigned = _without_sign(text, field)
    read = _read(text, unsigned)
    doubles = read.digits.astype(np.float64) / _TENS[read.decimals].astype(np.float64)
    with np.errstate(over="ignore"):
        values = np.where(negative, -doubles, doubles).astype(np.float32)
        again = np.flatnonzero(read.strange | _near_the_middle(doubles))
        values[again] = [_parse_one_by_one(text, field, int(place)) for place in again]
    if not np.isfinite(values).all():
        raise NotANumber
    return values


def whole_numbers(text: Bytes, field: FieldColumn, largest: int) -> NDArray[np.int16]:
    """The whole numbers of a field, none of larger size than this."""
    negative, unsigned = _without_sign(text, field)
    read = _read(text, unsigned)
    dotted = text[field.starts + field.lengths - 1] == _DOT
    if (read.strange | dotted | (read.decimals > 0) | (read.digits > largest)).any():
        raise NotANumber
    values = read.digits.astype(np.int16)
    return np.where(negative, -values, values)


def _without_sign(text: Bytes, field: FieldColumn) -> tuple[NDArray[np.bool_], FieldColumn]:
    first = text[field.starts]
    negative = first == _MINUS
    signed = negative | (first == _PLUS)
    return negative, FieldColumn(field.starts + signed, field.lengths - signed)


def _read(text: Bytes, field: FieldColumn) -> _Read:
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
    """The last characters of each field; the dot counts as a 0, and -1 decimals mean there is none."""
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


def _parse_one_by_one(text: Bytes, field: FieldColumn, place: int) -> float:
    start = field.starts[place]
    spelt = text[start : start + field.lengths[place]].tobytes()
    try:
        # Python also reads `1_000` and `nan`; neither is a score.
        return float("nan") if b"_" in spelt else float(spelt)
    except ValueError as problem:
        raise NotANumber from problem
