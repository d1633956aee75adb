"""Checksums that tell a real number or key from one that only looks like it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_RIPPLE_TO_BITCOIN = str.maketrans("rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz", _BASE58)
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def passes_luhn(digits: str) -> bool:
    """Whether the last digit is the Luhn check digit of the others."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def passes_base58_check(text: str) -> bool:
    """Whether a Base58 text ends in the double SHA-256 checksum of Bitcoin keys."""
    number = 0
    for letter in text:
        place = _BASE58.find(letter)
        if place < 0:
            return False
        number = number * 58 + place
    leading = len(text) - len(text.lstrip("1"))
    payload = b"\0" * leading + number.to_bytes((number.bit_length() + 7) // 8, "big")
    return len(payload) > 4 and _double_sha256(payload[:-4])[:4] == payload[-4:]


def passes_ripple(text: str) -> bool:
    """Whether a Ripple family seed, which has an alphabet of its own, ends in its checksum."""
    return passes_base58_check(text.translate(_RIPPLE_TO_BITCOIN))


def passes_bech32(text: str) -> bool:
    """Whether a text with a human-readable part is sound Bech32 or Bech32m."""
    text = text.lower()
    prefix, _, data = text.rpartition("1")
    if not prefix or any(letter not in _BECH32 for letter in data):
        return False
    values = [ord(letter) >> 5 for letter in prefix] + [0] + [ord(letter) & 31 for letter in prefix]
    return _bech32_remainder(values + [_BECH32.index(letter) for letter in data]) in {1, 0x2BC830A3}


def passes_stellar(text: str) -> bool:
    """Whether a Stellar seed ends in its CRC-16 checksum."""
    number = 0
    for letter in text:
        place = _BASE32.find(letter)
        if place < 0:
            return False
        number = number << 5 | place
    payload = number.to_bytes(len(text) * 5 // 8, "big")
    return _crc16(payload[:-2]) == int.from_bytes(payload[-2:], "little")


def _double_sha256(data: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def _bech32_remainder(values: Sequence[int]) -> int:
    generators = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
    remainder = 1
    for value in values:
        top = remainder >> 25
        remainder = (remainder & 0x1FFFFFF) << 5 ^ value
        for place, generator in enumerate(generators):
            if top >> place & 1:
                remainder ^= generator
    return remainder


def _crc16(data: bytes) -> int:
    remainder = 0
    for byte in data:
        remainder ^= byte << 8
        for _ in range(8):
            remainder = (remainder << 1 ^ 0x1021 if remainder & 0x8000 else remainder << 1) & 0xFFFF
    return remainder
