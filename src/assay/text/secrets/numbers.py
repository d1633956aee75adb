"""Numbers that are secrets: payment cards, told from order numbers by brand, length and check digit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.text.secrets.checksums import passes_luhn
from assay.text.secrets.rule import Finding

CARD = "card number"
_GROUPED = r"\d{4}([ .-])\d{4}\1\d{4}\1\d{1,7}|3[47]\d{2}([ .-])\d{6}\2\d{5}|3[0689]\d{2}([ .-])\d{6}\3\d{4}"
_NUMBER = re.compile(rf"(?<![\w.])(?<![\w.]-)(?:{_GROUPED}|\d{{14,19}})(?![\w-]|[.,]\d)")
_BRANDS = re.compile(
    r"4\d{15}|4\d{18}"  # Visa
    r"|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}(?:\d{3})?"  # Discover
    r"|3(?:0[0-5]|09|[689]\d)\d{11}"  # Diners Club
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|62\d{14,17}|81\d{14}"  # UnionPay
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"  # Maestro
    r"|220[0-4]\d{12,15}|(?:60|65|81|82|508)\d{12,14}"  # Mir, RuPay
)
_OTHER_NUMBER = re.compile(
    r"order|tracking|invoice|serial|isbn|imei|iccid|phone|ticket|parcel|shipment|transaction id|trace|request"
    r"|timestamp|account id|user id|"
    r"snowflake|ean|gtin|sku|barcode|reference|bestell|rechnung|id\W{0,3}$",
    re.IGNORECASE,
)


def find_cards(text: str) -> Iterator[Finding]:
    """Find numbers of payment cards."""
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if not _BRANDS.fullmatch(digits) or not passes_luhn(digits) or len(set(digits)) < 2:
            continue
        if match[0].isdigit() and _OTHER_NUMBER.search(text, max(0, match.start() - 30), match.start()):
            continue
        yield Finding(match.start(), match.end(), CARD)
