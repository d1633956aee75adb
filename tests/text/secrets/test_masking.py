"""The rules hold on the development list, say what they masked, and leave everything else alone."""

from __future__ import annotations

import random

import pytest
from tests.text.secrets.made import base58_check, card, seed_phrase
from tests.text.secrets.samples import lookalikes, secrets

from assay.records import Mask
from assay.text.secrets import KINDS, find_secrets, mask_json, mask_text
from assay.text.secrets.formats import passes_base58_check, passes_bech32, passes_luhn, passes_ripple, passes_stellar


def masked(text: str) -> str:
    return mask_text(text, "body", [])


@pytest.mark.parametrize("seed", [1, 7])
def test_at_least_97_in_100_of_the_development_list_are_masked(seed: int) -> None:
    samples = secrets(seed)
    missed = [sample.text for sample in samples if any(secret in masked(sample.text) for secret in sample.secrets)]
    share = 1 - len(missed) / len(samples)
    assert share >= 0.97, missed


@pytest.mark.parametrize("seed", [2, 8])
def test_at_most_one_in_100_lookalikes_is_masked(seed: int) -> None:
    samples = lookalikes(seed)
    falsely = [text for text in samples if masked(text) != text]
    assert len(falsely) <= len(samples) // 100, falsely


# What 0.1 stored in clear, kind by kind.
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("pay with 4539 1488 0343 6467 please", "4539 1488 0343 6467"),
        ("machine api.example.com login bob password n3trcPass", "n3trcPass"),
        ("curl -u admin:hunter2 https://nexus.example.com", "hunter2"),
        ("DB_PASSWORD=s3cr3t", "s3cr3t"),
        ("https://b.s3.amazonaws.com/d?X-Amz-Signature=" + "0a1b" * 16, "0a1b" * 16),
        ("https://discord.com/api/webhooks/123456789012345678/" + "aB3-" * 17, "aB3-" * 17),
        ("Set-Cookie: session=" + "aB3x" * 8 + "; Path=/", "aB3x" * 8),
        ("sentry sntryu_" + "0a1b" * 16, "0a1b" * 16),
        ("grafana glsa_" + "aB3x" * 8 + "_0a1b2c3d", "aB3x" * 8),
        ("docker dckr_pat_" + "aB3x" * 7, "aB3x" * 7),
        ("linear lin_api_" + "aB3x" * 10, "aB3x" * 10),
        ("figma figd_" + "aB3x" * 10, "aB3x" * 10),
        ("ETH private key: 0x" + "0a1b" * 16, "0a1b" * 16),
        ("age AGE-SECRET-KEY-1" + "QZ3X" * 14, "QZ3X" * 14),
        ("Private-Lines: 1\n" + "aB3x" * 16 + "\nPrivate-MAC: " + "0a1b" * 16, "aB3x" * 16),
    ],
)
def test_what_was_stored_in_clear_is_masked(text: str, secret: str) -> None:
    assert secret not in masked(text)


def test_a_mask_tells_the_kind_and_every_kind_is_listed() -> None:
    kinds = {finding.kind for sample in secrets() for finding in find_secrets(sample.text)}
    assert len(kinds) > 90
    assert kinds <= set(KINDS)
    assert masked("clone with ghp_" + "aB3" * 12) == "clone with [masked: GitHub token]"


def test_masking_twice_changes_nothing_more() -> None:
    for sample in secrets():
        once = masked(sample.text)
        assert masked(once) == once, sample.text


def test_a_mask_of_no_known_kind_hides_nothing() -> None:
    assert masked("[masked: token] password: zx81-Kf93-qq") == "[masked: token] password: [masked: named secret]"


def test_overlapping_findings_become_one_mask_of_the_most_telling_kind() -> None:
    masks: list[Mask] = []
    key = "ghp_" + "aB3" * 12
    assert mask_text(f"GITHUB_TOKEN={key}", "body", masks) == "GITHUB_TOKEN=[masked: GitHub token]"
    assert masks == [Mask("GitHub token", "body", len(key))]


def test_names_in_json_give_their_values_away_and_ids_do_not() -> None:
    masks: list[Mask] = []
    given = {"db_password": "hunter2-x", "max_tokens": "2048", "nextPageToken": "aB3xQ9zL2mN4", "note": "plain", "n": 3}
    clean = mask_json(given, "metadata", masks)
    assert clean == {**given, "db_password": "[masked: named secret]"}
    assert [mask.kind for mask in masks] == ["named secret"]


def test_checksums_tell_real_numbers_from_others() -> None:
    rng = random.Random(3)
    number = card(rng, "4", 16)
    wrong = number[:-1] + str((int(number[-1]) + 1) % 10)
    assert passes_luhn(number)
    assert masked(f"card {number}") == "card [masked: card number]"
    assert masked(f"card {wrong}") == f"card {wrong}"
    key = base58_check(b"\x80" + rng.randbytes(32) + b"\x01")
    assert passes_base58_check(key)
    assert not passes_base58_check(key[:-1] + ("2" if key[-1] != "2" else "3"))
    assert passes_bech32("A12UEL5L")
    assert not passes_bech32("a12uel5m")
    assert passes_stellar("SAV76USXIJOBMEQXPANUOQM6F5LIOTLPDIDVRJBFFE2MDJXG24TAPUU7")
    assert not passes_stellar("SAV76USXIJOBMEQXPANUOQM6F5LIOTLPDIDVRJBFFE2MDJXG24TAPUU6")
    assert passes_ripple("snoPBrXtMeMyMHUVTgbuqAfg1SUTb")
    assert not passes_ripple("snoPBrXtMeMyMHUVTgbuqAfg1SUTc")


@pytest.mark.parametrize("words", [12, 24])
def test_a_seed_phrase_is_known_by_its_length_and_by_what_it_is_called(words: int) -> None:
    phrase = seed_phrase(random.Random(words), words)
    assert masked(f"seed phrase: {phrase}") == "seed phrase: [masked: seed phrase]"
    assert masked(f"words of the day: {phrase}") == f"words of the day: {phrase}"


def test_words_behind_a_seed_phrase_are_masked_rather_than_one_of_it_left() -> None:
    phrase = seed_phrase(random.Random(1))
    assert masked(f"wallet seed: {phrase} until Friday") == "wallet seed: [masked: seed phrase] until Friday"
    assert masked(f"wallet seed: {phrase} kept safe with Anna") == "wallet seed: [masked: seed phrase] Anna"


def test_fewer_words_are_no_seed_phrase() -> None:
    text = f"wallet seed: {seed_phrase(random.Random(1), 11)}"
    assert masked(text) == text


def test_public_halves_of_keys_are_left_alone() -> None:
    for name in ("PUBLIC KEY", "CERTIFICATE", "PGP PUBLIC KEY BLOCK"):
        text = f"-----BEGIN {name}-----\n{'aB3x' * 16}\n-----END {name}-----"
        assert masked(text) == text


def test_a_text_is_found_clean_or_masked_again_and_again() -> None:
    long = "The night desk is staffed from 22:00 to 06:00 by one person. " * 4
    for _ in range(2):
        assert masked("m_0001") == "m_0001"
        assert masked(long) == long
        assert masked(f"{long}DB_PASSWORD=s3cr3t") == f"{long}DB_PASSWORD=[masked: connection string password]"
        assert masked(f"{long}\ud800") == f"{long}\ud800"
        assert masked("DB_PASSWORD=s3cr3t") == "DB_PASSWORD=[masked: connection string password]"
    # More short texts than are remembered: the first ones are looked at again, with the same result.
    for number in range(5_000):
        assert masked(f"m_{number:04}") == f"m_{number:04}"
    assert masked("DB_PASSWORD=s3cr3t") == "DB_PASSWORD=[masked: connection string password]"
