"""No text makes the masker slow: four times as much text takes about four times as long."""

from __future__ import annotations

import math
import time

import pytest

from assay.text.secrets import find_secrets
from assay.text.secrets.formats import PREFIXED

UNITS = (
    *(
        "1-",
        "a.",
        "*a ",
        "eyJ",
        "eyJ.",
        "sk-",
        "secret ",
        "secret:",
        "token is ",
        "password='a",
        "password: ",
        "pass x ",
    ),
    *(
        "-----BEGIN PRIVATE KEY-----",
        "LS0tLS1CRUdJTi",
        "https://a:",
        "https://a@",
        "?token=",
        "&sig=a",
        "Cookie: a=b; ",
    ),
    *(
        "abandon ",
        "1. abandon ",
        "4111 ",
        "4111111111111111 ",
        "[1,",
        "curl -u ",
        "docker ",
        "--password ",
        "$2y$",
        "login ",
    ),
    *(
        "user a1!",
        "a1a1a1a1a1 is the ",
        "kind: Secret\ndata:\n",
        "backup codes: a1b2-",
        "authorization ",
        "密码是",
        "пароль ",
    ),
    *("İ", "[masked: named secret]", "[masked: ", 'variable "password" {', "api key ", "hooks/", "/reset/", "c9", "K"),
)
SIZE, TRIES = 10_000, 2
MOST = 1.4
"""The exponent of growth that is allowed: 1 is linear, 2 is the square. Noise needs some room."""


def seconds(text: str) -> float:
    begun = time.process_time()
    find_secrets(text)
    return time.process_time() - begun


@pytest.mark.parametrize("unit", UNITS)
def test_masking_takes_linear_time(unit: str) -> None:
    texts = [(unit * (size // len(unit) + 1))[:size] for size in (SIZE, 4 * SIZE)]
    small, large = (min(seconds(text) for _ in range(TRIES)) for text in texts)
    # Below some milliseconds the clock tells growth from noise no more, and nothing can be stalled by it.
    assert math.log(max(large, 0.01) / max(small, 0.01), 4) < MOST


def test_every_prefix_of_a_token_takes_linear_time() -> None:
    for prefix in sorted({rule.prefix for rule in PREFIXED}):
        text = (prefix * (SIZE // len(prefix) + 1))[: SIZE // 2]
        assert seconds(text) < 0.5, prefix
