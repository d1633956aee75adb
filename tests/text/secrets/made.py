"""Samples that need arithmetic: keys with checksums, encoded keys, cards."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_SHORT_WORDS = [
    "river",
    "copper",
    "lantern",
    "meadow",
    "violin",
    "harbor",
    "pencil",
    "orchard",
    "thunder",
    "basket",
    "cabin",
    "mirror",
]
_B64 = string.ascii_letters + string.digits + "+/"


def base58_check(payload: bytes, alphabet: str = _BASE58) -> str:
    """Encode bytes with their checksum."""
    data = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number = int.from_bytes(data, "big")
    text = ""
    while number:
        number, digit = divmod(number, 58)
        text = alphabet[digit] + text
    return alphabet[0] * (len(data) - len(data.lstrip(b"\0"))) + text


def seed_phrase(rng: random.Random, words: int = 12) -> str:
    """Words as a wallet gives them to be written down."""
    return " ".join(rng.choices(_SHORT_WORDS, k=words))


def card(rng: random.Random, begin: str, length: int) -> str:
    """A card number with a right check digit."""
    body = begin + "".join(rng.choices(string.digits, k=length - len(begin) - 1))
    doubled = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(body))]
    return body + str(-sum(value - 9 if value > 9 else value for value in doubled) % 10)


def pem(rng: random.Random, name: str, lines: int = 6) -> str:
    """An armoured block."""
    body = "\n".join("".join(rng.choices(_B64, k=64)) for _ in range(lines))
    return f"-----BEGIN {name}-----\n{body}\n-----END {name}-----"


def MADE(rng: random.Random) -> list[tuple[str, list[str]]]:  # noqa: N802
    """Texts and the secrets in them."""
    blocks = [
        pem(rng, name)
        for name in (
            "RSA PRIVATE KEY",
            "PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "EC PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
            "DSA PRIVATE KEY",
        )
    ]
    one = pem(rng, "PRIVATE KEY")
    cut = pem(rng, "RSA PRIVATE KEY").rsplit("\n", 1)[0]
    encoded = base64.b64encode(pem(rng, "PRIVATE KEY").encode()).decode()
    wif = base58_check(b"\x80" + rng.randbytes(32) + b"\x01")
    old_wif = base58_check(b"\x80" + rng.randbytes(32))
    phrase, long_phrase = seed_phrase(rng), seed_phrase(rng, 24)
    visa, master, amex = card(rng, "4", 16), card(rng, "53", 16), card(rng, "37", 15)
    grouped = " ".join(visa[place : place + 4] for place in range(0, 16, 4))
    dashed = "-".join(master[place : place + 4] for place in range(0, 16, 4))
    putty = "\n".join("".join(rng.choices(_B64, k=64)) for _ in range(4))
    jwk = "".join(rng.choices(string.ascii_letters, k=43))
    secret_value = base64.b64encode(b"s3cret-value").decode()
    return [
        *((f"the key\n{block}\nkeep it", block.split("\n")[1:3]) for block in blocks),
        (json.dumps({"type": "service_account", "private_key": one}), [json.dumps(one)[60:160]]),
        (f"cut off\n{cut}", cut.split("\n")[1:3]),
        (f"tls.key: {encoded}", [encoded]),
        (f"wallet {wif}", [wif]),
        (f"import {old_wif} please", [old_wif]),
        (f"wallet words to write down: {phrase}", [phrase]),
        (f"Seed phrase:\n{phrase}\n", [phrase]),
        (f"ledger backup {long_phrase}", [long_phrase]),
        (
            "Recovery phrase\n" + "\n".join(f"{place}. {word}" for place, word in enumerate(phrase.split(), 1)),
            [" ".join(phrase.split()[3:4])],
        ),
        (f"pay with {visa} exp 12/27", [visa]),
        (f"card {grouped}", [grouped]),
        (f"mastercard {dashed}", [dashed]),
        (f"amex {amex}", [amex]),
        (
            f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 4\n{putty}\nPrivate-MAC: {'ab12' * 16}",
            putty.split("\n"),
        ),
        (json.dumps({"kty": "EC", "crv": "P-256", "x": "abc", "d": jwk}), [jwk]),
        (f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ndata:\n  blob: {secret_value}\n", [secret_value]),
    ]
